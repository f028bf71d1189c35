/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jit-names.c - finds functions of generated code by address; see jit-names.h.
 *
 * Entries are sorted by start. An array beside them says how far the entries up to each one reach,
 * so that a search for overlapping ones knows when to stop. The jitdump format is described in
 * tools/perf/Documentation/jitdump-specification.txt of Linux. */

#include "symbolize/jit-names.h"

#include "base/caller.h"
#include "base/cursor.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/open-file.h"

#include <stdio.h>
#include <time.h>

#define MAX_ENTRIES   (1u << 20)
#define MAX_PERF_MAP  (512u << 20)
#define MAX_LINE      4096
#define MAX_NAME      1024
#define CHUNK         (256u << 10)
#define MAX_OVERLAPS  4096
#define JITDUMP_MAGIC 0x4A695444u
#define JITDUMP_HEAD  40
#define RECORD_HEAD   16
#define LOAD_HEAD     40
#define MOVE_SIZE     48
#define NS_PER_SEC    G_GINT64_CONSTANT (1000000000)

enum
{
  JITDUMP_LOAD = 0,
  JITDUMP_MOVE = 1,
};

typedef struct
{
  guint64 start, end;
  guint64 time;        /* when it was loaded; 0: not known */
  guint64 name_offset; /* in the file */
  guint32 order;       /* larger is newer */
  guint16 name_size;
  guint8 file;
} Entry;

struct _LuJitNames
{
  GArray *entries; /* of Entry */
  guint64
      *reaches; /* by entry: the largest end of this entry and all before it; NULL: not sorted */
  GArray *fds;  /* of int, owned */
  const GArray *wanted;
  LuBudget *budget;
};

LuJitNames *
lu_jit_names_new (const GArray *wanted, LuBudget *budget)
{
  LuJitNames *self = g_new0 (LuJitNames, 1);

  self->wanted = wanted;
  self->budget = budget;
  self->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  self->fds = g_array_new (FALSE, FALSE, sizeof (int));
  return self;
}

void
lu_jit_names_free (LuJitNames *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->fds->len; i++)
    close (g_array_index (self->fds, int, i));
  g_array_unref (self->fds);
  g_array_unref (self->entries);
  g_free (self->reaches);
  g_free (self);
}

static void
add_entry (LuJitNames *self, const Entry *entry)
{
  Entry copy = *entry;

  if (entry->end <= entry->start || self->entries->len >= MAX_ENTRIES)
    return;
  copy.order = self->entries->len;
  copy.file = (guint8) self->fds->len;
  g_array_append_val (self->entries, copy);
}

/* Takes the descriptor, from which names are read later. */
static gboolean
keep_file (LuJitNames *self, int *fd, guint n_before)
{
  int kept;

  g_clear_pointer (&self->reaches, g_free);
  /* A part of a file could name functions that it replaces further on. */
  if (self->entries->len == n_before || self->fds->len >= G_MAXUINT8
      || (self->budget != NULL && self->budget->state != LU_BUDGET_WITHIN))
    {
      g_array_set_size (self->entries, n_before);
      return FALSE;
    }
  kept = lu_fd_steal (fd);
  g_array_append_val (self->fds, kept);
  return TRUE;
}

/* The perf map */

static gboolean
take_hex (const char **at, const char *end, guint64 *value)
{
  const char *begin = *at;

  if (end - begin > 2 && begin[0] == '0' && (begin[1] | 0x20) == 'x')
    begin = *at += 2;
  *at += lu_hex_read_number (*at, end, value);
  return *at > begin;
}

static gboolean
is_wanted (const LuJitNames *self, const Entry *entry)
{
  guint low = 0, high = self->wanted != NULL ? self->wanted->len : 0;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->wanted, guint64, middle) < entry->start)
        low = middle + 1;
      else
        high = middle;
    }
  return self->wanted == NULL
         || (low < self->wanted->len && g_array_index (self->wanted, guint64, low) < entry->end);
}

/* Adds the function of a line (without its newline) at that offset of the file. */
static void
add_line (LuJitNames *self, const char *line, const char *end, guint64 offset)
{
  const char *at = line;
  guint64 size;
  Entry entry = { 0 };

  if (!take_hex (&at, end, &entry.start) || at == end || *at++ != ' ' || !take_hex (&at, end, &size)
      || at == end || *at++ != ' ' || size > G_MAXUINT64 - entry.start)
    return;
  while (at < end && g_ascii_isspace (*at))
    at++;
  while (end > at && g_ascii_isspace (end[-1]))
    end--;
  if (at == end)
    return;
  entry.end = entry.start + size;
  entry.name_offset = offset + (guint64) (at - line);
  entry.name_size = (guint16) MIN (end - at, MAX_NAME);
  if (is_wanted (self, &entry))
    add_entry (self, &entry);
}

gboolean
lu_jit_names_add_perf_map (LuJitNames *self, int fd_taken)
{
  lu_autofd fd = fd_taken;
  g_autofree char *buffer = g_malloc (CHUNK);
  guint n_before = self->entries->len;
  guint64 offset = 0;

  while (offset < MAX_PERF_MAP)
    {
      gssize n = lu_fd_pread_all (fd, buffer, CHUNK, (gint64) offset);
      const char *at = buffer, *end = buffer + MAX (n, 0);

      if (n <= 0 || !lu_budget_read (self->budget, (guint64) n))
        break;
      while (at < end)
        {
          const char *newline = memchr (at, '\n', (gsize) (end - at));

          /* A last line without a newline is still being written. */
          if (newline == NULL)
            break;
          if (newline - at <= MAX_LINE)
            add_line (self, at, newline, offset + (guint64) (at - buffer));
          at = newline + 1;
        }
      if (at == buffer) /* skip a line that fills the whole buffer */
        at = end;
      if (n < CHUNK)
        break;
      offset += (guint64) (at - buffer);
    }
  return keep_file (self, &fd, n_before);
}

/* The jitdump */

static void
add_load (LuJitNames *self, int fd, guint64 at, guint64 size, guint64 time)
{
  guint8 bytes[LOAD_HEAD + MAX_NAME];
  gsize wanted = (gsize) MIN (size - RECORD_HEAD, sizeof bytes);
  const guint8 *nul;
  LuCursor cursor;
  Entry entry = { .time = time };
  guint64 code_size;

  if (lu_fd_pread_all (fd, bytes, wanted, (gint64) (at + RECORD_HEAD)) != (gssize) wanted
      || wanted <= LOAD_HEAD)
    return;
  lu_cursor_init (&cursor, bytes, wanted);
  lu_cursor_take (&cursor, 16); /* pid, tid, vma */
  entry.start = lu_cursor_u64 (&cursor);
  code_size = lu_cursor_u64 (&cursor);
  nul = memchr (bytes + LOAD_HEAD, 0, wanted - LOAD_HEAD);
  if (code_size > G_MAXUINT64 - entry.start)
    return;
  entry.end = entry.start + code_size;
  entry.name_offset = at + RECORD_HEAD + LOAD_HEAD;
  entry.name_size = (guint16) (nul != NULL ? nul - bytes - LOAD_HEAD : wanted - LOAD_HEAD);
  add_entry (self, &entry);
}

/* Adds code under its new address; it was loaded under another one before. */
static void
add_move (LuJitNames *self, int fd, guint64 at, guint64 time, guint first)
{
  guint8 bytes[MOVE_SIZE];
  LuCursor cursor;
  guint64 old, new, size;

  if (lu_fd_pread_all (fd, bytes, sizeof bytes, (gint64) (at + RECORD_HEAD)) != sizeof bytes)
    return;
  lu_cursor_init (&cursor, bytes, sizeof bytes);
  lu_cursor_take (&cursor, 16); /* pid, tid, vma */
  old = lu_cursor_u64 (&cursor);
  new = lu_cursor_u64 (&cursor);
  size = lu_cursor_u64 (&cursor);
  /* Code that moves was usually loaded recently. The limit keeps a file of moves from taking
   * quadratic time. */
  for (guint i = self->entries->len, n = 0; i > first && n < MAX_OVERLAPS; i--, n++)
    {
      Entry entry = g_array_index (self->entries, Entry, i - 1);

      if (entry.start != old || size > G_MAXUINT64 - new)
        continue;
      entry.start = new;
      entry.end = new + size;
      entry.time = time;
      add_entry (self, &entry);
      return;
    }
}

gboolean
lu_jit_names_add_jitdump (LuJitNames *self, int fd_taken)
{
  lu_autofd fd = fd_taken;
  guint n_before = self->entries->len;
  guint8 head[JITDUMP_HEAD];
  LuCursor cursor;
  guint64 at;

  if (lu_fd_pread_all (fd, head, sizeof head, 0) != sizeof head)
    return FALSE;
  lu_cursor_init (&cursor, head, sizeof head);
  if (lu_cursor_u32 (&cursor) != JITDUMP_MAGIC)
    return FALSE;
  lu_cursor_u32 (&cursor); /* version; 1 and 2 have the same records */
  at = lu_cursor_u32 (&cursor);
  if (at < JITDUMP_HEAD)
    return FALSE;
  for (guint n = 0; n < MAX_ENTRIES; n++)
    {
      guint8 prefix[RECORD_HEAD];
      guint32 id, size;
      guint64 time;

      if (!lu_budget_read (self->budget, LOAD_HEAD + MAX_NAME)
          || lu_fd_pread_all (fd, prefix, sizeof prefix, (gint64) at) != sizeof prefix)
        break;
      lu_cursor_init (&cursor, prefix, sizeof prefix);
      id = lu_cursor_u32 (&cursor);
      size = lu_cursor_u32 (&cursor);
      time = lu_cursor_u64 (&cursor);
      if (size < RECORD_HEAD)
        break;
      if (id == JITDUMP_LOAD)
        add_load (self, fd, at, size, time);
      else if (id == JITDUMP_MOVE)
        add_move (self, fd, at, time, n_before);
      at += size;
    }
  return keep_file (self, &fd, n_before);
}

/* Files */

/* Reads the pid of the process in its own pid namespace, and its effective user; FALSE if the
 * process is gone. */
static gboolean
read_status (gint32 pid, gint64 *inner_pid, gint64 *uid)
{
  char path[40];
  g_autofree char *text = NULL;
  const char *line, *end;

  g_snprintf (path, sizeof path, "/proc/%d/status", pid);
  text = lu_fd_read_file (path, 16384, NULL);
  line = text != NULL ? strstr (text, "\nUid:") : NULL;
  /* The line has the real user first, then the effective one. */
  if (line == NULL || sscanf (line, "\nUid: %*d %" G_GINT64_FORMAT, uid) != 1)
    return FALSE;
  *inner_pid = pid;
  line = strstr (text, "\nNSpid:");
  end = line != NULL ? strchr (line + 1, '\n') : NULL;
  while (end != NULL && end > line && g_ascii_isspace (end[-1]))
    end--;
  while (end != NULL && end > line && g_ascii_isdigit (end[-1]))
    end--;
  if (end != NULL && g_ascii_isdigit (*end))
    *inner_pid = g_ascii_strtoll (end, NULL, 10);
  return TRUE;
}

static int
keep_if_owned (int fd_taken, gint64 uid, const struct stat *info)
{
  lu_autofd fd = fd_taken;

  if (fd < 0
      || !(uid >= 0 ? (gint64) info->st_uid == uid || info->st_uid == 0
                    : info->st_uid == 0 || lu_caller_owns (info->st_uid)))
    return -1;
  return lu_fd_steal (&fd);
}

static int
open_perf_map (gint32 pid, struct stat *info)
{
  gint64 inner_pid = pid, uid = -1;
  char path[48];

  if (pid <= 0)
    return -1;
  if (read_status (pid, &inner_pid, &uid))
    {
      int fd;

      g_snprintf (path, sizeof path, "/tmp/perf-%" G_GINT64_FORMAT ".map", inner_pid);
      fd = keep_if_owned (lu_open_in_root (pid, path, LU_OPEN_NOFOLLOW, info), uid, info);
      if (fd >= 0)
        return fd;
    }
  g_snprintf (path, sizeof path, "/tmp/perf-%d.map", pid);
  return keep_if_owned (lu_open_in_root (getpid (), path, LU_OPEN_NOFOLLOW, info), uid, info);
}

gboolean
lu_jit_names_is_jitdump (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL && g_str_has_prefix (slash, "/jit-") && g_str_has_suffix (path, ".dump");
}

/* Returns when the process with that pid started, in ns of CLOCK_MONOTONIC, which may be before 0;
 * G_MININT64 if there is none. */
static gint64
start_time (gint32 pid)
{
  char path[40];
  g_autofree char *text = NULL;
  const char *at;
  unsigned long long ticks;
  struct timespec boot;

  g_snprintf (path, sizeof path, "/proc/%d/stat", pid);
  text = lu_fd_read_file (path, 4096, NULL);
  at = text != NULL ? strrchr (text, ')') : NULL;
  if (at == NULL
      || sscanf (at,
                 ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                 "%*d %llu",
                 &ticks)
             != 1
      || clock_gettime (CLOCK_BOOTTIME, &boot) != 0)
    return G_MININT64;
  return (gint64) ticks * (NS_PER_SEC / sysconf (_SC_CLK_TCK))
         - ((gint64) boot.tv_sec * NS_PER_SEC + boot.tv_nsec) + g_get_monotonic_time () * 1000;
}

/* Tells whether the file was last changed before that time. */
static gboolean
is_older (const struct stat *info, gint64 time)
{
  gint64 now = g_get_monotonic_time () * 1000, wall = g_get_real_time () * 1000;

  return time != G_MININT64
         && (gint64) info->st_mtim.tv_sec * NS_PER_SEC + info->st_mtim.tv_nsec - wall + now
                < time - NS_PER_SEC;
}

void
lu_jit_names_add_process (LuJitNames *self, gint32 pid, guint64 time, const char *jitdump)
{
  gint64 started = start_time (pid);
  lu_autofd map = -1;
  struct stat info;
  int fd;

  /* Ticks are 10 ms, and clocks are read one after the other. */
  if (started != G_MININT64 && started - NS_PER_SEC / 10 > (gint64) MIN (time, G_MAXINT64))
    return;
  map = open_perf_map (pid, &info);
  if (map >= 0 && !is_older (&info, started))
    lu_jit_names_add_perf_map (self, lu_fd_steal (&map));
  if (jitdump == NULL || jitdump[0] != '/')
    return;
  fd = lu_open_in_root (pid, jitdump, LU_OPEN_NOFOLLOW, NULL);
  if (fd < 0)
    fd = lu_open_regular (jitdump, NULL);
  if (fd >= 0)
    lu_jit_names_add_jitdump (self, fd);
}

/* Look-up */

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static void
prepare (LuJitNames *self)
{
  guint64 reach = 0;

  g_array_sort (self->entries, compare_entries);
  self->reaches = g_new (guint64, self->entries->len + 1);
  for (guint i = 0; i < self->entries->len; i++)
    {
      reach = MAX (reach, g_array_index (self->entries, Entry, i).end);
      self->reaches[i] = reach;
    }
}

static gboolean
is_better (const Entry *entry, const Entry *best, guint64 time)
{
  gboolean is_early = entry->time <= time, best_is_early = best->time <= time;

  if (is_early != best_is_early)
    return is_early;
  return is_early ? entry->order > best->order : entry->order < best->order;
}

static const Entry *
find_entry (const LuJitNames *self, guint64 address, guint64 time)
{
  guint low = 0, high = self->entries->len;
  const Entry *best = NULL;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->entries, Entry, middle).start <= address)
        low = middle + 1;
      else
        high = middle;
    }
  for (guint i = low, n = 0; i > 0 && n < MAX_OVERLAPS && self->reaches[i - 1] > address; i--, n++)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i - 1);

      if (address < entry->end && (best == NULL || is_better (entry, best, time)))
        best = entry;
    }
  return best;
}

gboolean
lu_jit_names_find (LuJitNames *self, guint64 address, guint64 time, LuJitName *name)
{
  g_autofree char *text = NULL;
  const Entry *entry;
  gssize n;

  if (self->reaches == NULL)
    prepare (self);
  entry = find_entry (self, address, time);
  if (entry == NULL)
    return FALSE;
  text = g_malloc0 (entry->name_size + 1u);
  n = lu_fd_pread_all (g_array_index (self->fds, int, entry->file), text, entry->name_size,
                       (gint64) entry->name_offset);
  if (n != entry->name_size)
    return FALSE;
  name->start = entry->start;
  name->end = entry->end;
  name->name = g_utf8_make_valid (text, -1);
  return TRUE;
}
