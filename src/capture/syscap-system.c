/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-system.c - recording and machine as metadata; see syscap-system.h.
 *
 * Keys without our prefix are those that Sysprof writes and shows. Captures are passed on to other
 * people, so they contain nothing of the environment. */

#include "syscap-system.h"

#include "base/fd.h"
#include "base/printable.h"
#include "config.h"
#include "syscap-events.h"
#include "syscap-frames.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#define MOUNTS_PATH     "/proc/mounts"
#define MAX_MOUNTS_SIZE (1024 * 1024)

typedef struct
{
  const char *key;
  const char *text; /* NULL: unknown */
} Item;

static gboolean
write_items (LuSyscapWriter *writer, const Item *items, gsize n_items, GError **error)
{
  for (gsize i = 0; i < n_items; i++)
    if (items[i].text != NULL
        && !lu_syscap_write_metadata (writer, items[i].key, items[i].text, error))
      return FALSE;
  return TRUE;
}

/* Writes what Sysprof's recorder writes of sysinfo(). */
static gboolean
write_memory (LuSyscapWriter *writer, GError **error)
{
  struct sysinfo info;

  if (sysinfo (&info) != 0)
    return TRUE;
  {
    const struct
    {
      const char *key;
      guint64 value;
    } items[] = {
      { "sysinfo.uptime", (guint64) info.uptime }, { "sysinfo.totalram", info.totalram },
      { "sysinfo.freeram", info.freeram },         { "sysinfo.sharedram", info.sharedram },
      { "sysinfo.bufferram", info.bufferram },     { "sysinfo.totalswap", info.totalswap },
      { "sysinfo.freeswap", info.freeswap },       { "sysinfo.procs", info.procs },
      { "sysinfo.mem_unit", info.mem_unit }
    };

    for (gsize i = 0; i < G_N_ELEMENTS (items); i++)
      {
        g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, items[i].value);

        if (!lu_syscap_write_metadata (writer, items[i].key, text, error))
          return FALSE;
      }
  }
  return TRUE;
}

/* Writes the command and its directory, as Sysprof's recorder does; not its environment. */
static gboolean
write_spawned (LuSyscapWriter *writer, char *const *command, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *directory = NULL;

  if (command == NULL)
    return TRUE;
  directory = g_get_current_dir ();
  for (guint i = 0; command[i] != NULL; i++)
    {
      g_autofree char *quoted = g_shell_quote (command[i]), *clean = lu_printable (quoted, 0);

      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", clean);
    }
  return lu_syscap_write_metadata (writer, "spawnable.cwd", directory, error)
         && lu_syscap_write_metadata (writer, "spawnable.argv", text->str, error);
}

static gboolean
write_machine (LuSyscapWriter *writer, gboolean redact, GError **error)
{
  g_autofree char *n_cpu = g_strdup_printf ("%ld", sysconf (_SC_NPROCESSORS_ONLN));
  g_autofree char *page_size = g_strdup_printf ("%ld", sysconf (_SC_PAGESIZE));
  g_autofree char *mounts = NULL;
  gsize mounts_size = 0;
  LuSyscapFile file = { .path = MOUNTS_PATH, .is_last = TRUE };
  struct utsname name;

  if (uname (&name) == 0)
    {
      const Item items[] = { { "uname.sysname", name.sysname },
                             { "uname.release", name.release },
                             { "uname.version", name.version },
                             { "uname.machine", name.machine },
                             { "hostname", redact ? NULL : name.nodename } };

      if (!write_items (writer, items, G_N_ELEMENTS (items), error))
        return FALSE;
    }
  if (!lu_syscap_write_metadata (writer, "n-cpu", n_cpu, error)
      || !lu_syscap_write_metadata (writer, "page-size", page_size, error)
      || !write_memory (writer, error))
    return FALSE;

  if (redact)
    return TRUE;
  mounts = lu_fd_read_file (MOUNTS_PATH, MAX_MOUNTS_SIZE, &mounts_size);
  file.bytes = (const guint8 *) mounts;
  file.size = mounts_size;
  return mounts == NULL || lu_syscap_write_file (writer, &file, error);
}

gboolean
lu_syscap_write_recording (LuSyscapWriter *writer, const LuRecording *recording, GError **error)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *events =
      lu_syscap_events_describe (recording->events, recording->n_events, recording->frequency);
  g_autofree char *stack_size = g_strdup_printf ("%u", recording->stack_size);
  const Item items[] = {
    { "live-unwinder.version", LU_VERSION },
    { LU_SYSCAP_KEY_REDACTED, recording->redact ? "yes" : NULL },
    { LU_SYSCAP_KEY_NATIVE, recording->native_frames ? "yes" : NULL },
    { "live-unwinder.command", recording->redact ? NULL : recording->command },
    { "live-unwinder.engine", recording->engine },
    { LU_SYSCAP_KEY_EVENT, recording->n_events > 0 ? recording->events[0].name : NULL },
    { LU_SYSCAP_KEY_EVENTS, events },
    { LU_SYSCAP_KEY_FREQUENCY, recording->frequency > 0
                                   ? g_ascii_dtostr (number, sizeof number, recording->frequency)
                                   : NULL },
    { "live-unwinder.stack-size", recording->stack_size > 0 ? stack_size : NULL },
    { LU_SYSCAP_KEY_CHAINS, recording->has_chains_only ? "as found" : NULL },
    { LU_SYSCAP_KEY_ADDRESS, LU_SYSCAP_ADDRESS_MINUS_1 },
  };

  return write_items (writer, items, G_N_ELEMENTS (items), error);
}

gboolean
lu_syscap_write_system (LuSyscapWriter *writer, const LuRecording *recording, GError **error)
{
  g_autoptr (GDateTime) date =
      g_date_time_new_from_unix_utc (recording->wall_clock / G_USEC_PER_SEC);
  g_autofree char *capture_time = date != NULL ? g_date_time_format_iso8601 (date) : NULL;
  const Item items[] = {
    { "org.gnome.sysprof.app-id", "live-unwinder" },
    { "capture-time", capture_time },
  };

  if (!write_items (writer, items, G_N_ELEMENTS (items), error)
      || !lu_syscap_write_recording (writer, recording, error))
    return FALSE;
  if (!recording->redact && !write_spawned (writer, recording->spawned, error))
    return FALSE;
  return !recording->live || write_machine (writer, recording->redact, error);
}
