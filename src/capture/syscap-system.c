/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-system.c - recording and machine as metadata; see syscap-system.h.
 *
 * Keys without our prefix are those that Sysprof writes and shows. Captures are passed on to other
 * people, so they contain nothing of the environment. */

#include "syscap-system.h"

#include "base/fd.h"
#include "config.h"
#include "syscap-events.h"
#include "syscap-frames.h"

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
      || !lu_syscap_write_metadata (writer, "page-size", page_size, error))
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
  return !recording->live || write_machine (writer, recording->redact, error);
}
