/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* discover.c - reads processes from /proc: those that ran before the recording, and those to repair
 * after side-band was lost; see process-table.h.
 *
 * Side-band is enabled before this runs, so later changes arrive as events and are applied
 * afterwards. */

#include "base/fd.h"
#include "process/moved-text.h"
#include "process/proc-maps.h"
#include "process/process-table-private.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* Text of /proc/PID/maps is cut off here (65,530 mappings of 100 bytes). */
#define MAX_MAPS_BYTES (8u << 20)
/* Bytes of /proc/PID/stat, which has 52 numbers. */
#define MAX_STAT_BYTES 2048
/* Fields of /proc/PID/stat, counted from 1 as in its manual page. */
#define STAT_FLAGS   9
#define STAT_THREADS 20
#define STAT_FIELDS  20
#define PF_KTHREAD   0x00200000 /* include/linux/sched.h */

typedef struct
{
  char comm[64]; /* longer than LU_COMM_SIZE for kernel threads */
  gboolean is_kernel_thread;
  guint n_threads;
} Stat;

typedef struct
{
  LuProcessTable *table;
  guint64 time;
  LuAddressSpace *space; /* owned; what was built so far */
  gboolean has_moved;    /* code of a file was moved to other memory */
} Scan;

static gboolean
add_map (const LuMmapEvent *map, gpointer user_data)
{
  Scan *scan = user_data;
  LuMapping mapping = { .start = map->start,
                        .end = map->start + map->length,
                        .file_offset = map->file_offset,
                        .time = scan->time,
                        .is_fixed = !(map->prot & PROT_WRITE) };

  if (!(map->prot & PROT_EXEC))
    return TRUE;
  mapping.module = lu_process_table_module (scan->table, map);
  scan->space = lu_address_space_take_with_mapping (scan->space, &mapping);
  return TRUE;
}

static void
read_maps (gint32 pid, Scan *scan)
{
  g_autofree char *text = NULL;
  char path[32];
  gsize size;

  g_snprintf (path, sizeof path, "/proc/%d/maps", pid);
  text = lu_fd_read_file (path, MAX_MAPS_BYTES, &size);
  if (text != NULL)
    lu_proc_maps_parse (text, size, add_map, scan);
  scan->has_moved =
      lu_moved_text_adopt (&scan->space, lu_module_cache_find_copied (scan->table->modules));
}

/* Reads PID (COMM) STATE and numbers, see proc_pid_stat(5). COMM may contain anything, even
 * parentheses. */
static gboolean
read_stat (gint32 pid, Stat *stat)
{
  char path[32];
  g_autofree char *text = NULL;
  guint64 fields[STAT_FIELDS + 1] = { 0 };
  const char *begin, *end, *at;

  g_snprintf (path, sizeof path, "/proc/%d/stat", pid);
  text = lu_fd_read_file (path, MAX_STAT_BYTES, NULL);
  begin = text != NULL ? strchr (text, '(') : NULL;
  end = text != NULL ? strrchr (text, ')') : NULL;
  at = end;
  if (begin == NULL || end < begin || end[1] != ' ' || end[2] == 0)
    return FALSE;
  g_strlcpy (stat->comm, begin + 1, MIN (sizeof stat->comm, (gsize) (end - begin)));
  at += 3;
  for (guint i = 4; i <= STAT_FIELDS && *at == ' '; i++)
    fields[i] = g_ascii_strtoull (at + 1, (char **) &at, 10);
  stat->is_kernel_thread = (fields[STAT_FLAGS] & PF_KTHREAD) != 0;
  stat->n_threads = (guint) MIN (fields[STAT_THREADS], G_MAXINT);
  return TRUE;
}

/* Recognizes kernel threads by having neither memory nor a session. A system has hundreds that are
 * hardly ever sampled, and this is ten times cheaper than reading them in /proc. A thread group
 * leader that has exited has no memory either, but it has a session. Where the call is forbidden,
 * as in a sandbox, this returns FALSE. Nothing is mapped at the address, so the call neither reads
 * nor blocks. */
static gboolean
is_kernel_thread (gint32 pid)
{
  char byte;
  struct iovec here = { .iov_base = &byte, .iov_len = 1 };
  struct iovec there = { .iov_base = (void *) G_MAXSIZE, .iov_len = 1 };

  return process_vm_readv (pid, &here, 1, &there, 1, 0) < 0 && errno == ESRCH && getsid (pid) == 0;
}

/* Publishes what /proc shows: a new incarnation, or only its address space if the pid is known. */
static void
put_discovered (LuProcessTable *self, gint32 number, const Stat *stat, LuAddressSpace *space,
                guint64 time)
{
  LuPid *pid = lu_process_table_find (self, number);
  gint n_threads = (gint) MAX (stat->n_threads, 1);
  guint64 start;

  if (pid != NULL && !pid->dead && lu_process_comm (pid->current)[0] != 0)
    {
      lu_process_take_address_space (pid->current, time, lu_address_space_ref (space));
      pid->n_threads = n_threads;
      lu_process_table_mark_unsettled (self, pid);
      lu_process_table_tell_address_space (self, pid->current, LU_ADDRESS_SPACE_DISCOVERED, 0);
      return;
    }
  /* A process that was never announced has existed since before its samples. */
  start = pid != NULL && pid->dead ? time : 0;
  pid = lu_process_table_put (self, lu_process_new (number, start, stat->comm, space));
  pid->n_threads = n_threads;
  lu_process_table_tell_address_space (self, pid->current, LU_ADDRESS_SPACE_DISCOVERED, 0);
  lu_process_table_tell_added (self, pid->current, TRUE);
}

/* Notes whether the process has moved code, and has what it has copied compared again. */
static void
note_moved_text (LuProcessTable *self, LuPid *pid, const Scan *scan)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (scan->space, &n);

  pid->has_moved_text = scan->has_moved;
  pid->n_copies = 0;
  for (guint i = 0; scan->has_moved && i < n; i++)
    if (lu_module_key (mappings[i].module)->kind == LU_MODULE_COPIED)
      lu_process_table_note_copy (self, pid, mappings[i].start);
}

gboolean
lu_process_table_discover (LuProcessTable *self, gint32 pid, guint64 time)
{
  Stat stat;
  Scan scan;
  LuProcess *process;
  LuAddressSpace *current;

  if (!read_stat (pid, &stat))
    return FALSE;
  scan = (Scan){ .table = self, .time = time, .space = lu_address_space_new () };
  if (!stat.is_kernel_thread)
    read_maps (pid, &scan);
  put_discovered (self, pid, &stat, scan.space, time);
  note_moved_text (self, lu_process_table_find (self, pid), &scan);
  if (time != 0 && lu_process_table_lookup (self, pid, G_MAXUINT64, &process, &current))
    lu_process_table_announce (self, process);
  lu_address_space_unref (scan.space);
  return TRUE;
}

static void
discover_followed (LuProcessTable *self, guint64 time)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gint32));
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, self->pids);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (!((const LuPid *) value)->dead)
      {
        gint32 number = GPOINTER_TO_INT (key);

        g_array_append_val (numbers, number);
      }
  for (guint i = 0; i < numbers->len; i++)
    lu_process_table_discover (self, g_array_index (numbers, gint32, i), time);
}

void
lu_process_table_discover_all (LuProcessTable *self, guint64 time)
{
  DIR *dir;

  if (!self->follow_all)
    {
      discover_followed (self, time);
      return;
    }
  dir = opendir ("/proc");
  if (dir == NULL)
    return;
  for (struct dirent *entry = readdir (dir); entry != NULL; entry = readdir (dir))
    {
      char *end;
      long pid = strtol (entry->d_name, &end, 10);

      if (*end == 0 && pid > 0 && pid <= G_MAXINT32 && !is_kernel_thread ((pid_t) pid))
        lu_process_table_discover (self, (gint32) pid, time);
    }
  closedir (dir);
}

/* A helper may not call kill(), and access() would ignore our capabilities. */
static gboolean
exists (const LuPid *pid)
{
  struct stat info;
  char path[32];

  g_snprintf (path, sizeof path, "/proc/%d", pid->number);
  return lstat (path, &info) == 0;
}

static void
bury_dead (LuProcessTable *self, guint64 time, gboolean any)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->pids);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      LuPid *pid = value;

      if ((any || pid->leader_exited) && !pid->dead && !exists (pid))
        lu_process_table_mark_dead (self, pid, time);
    }
}

void
lu_process_table_bury_dead (LuProcessTable *self, guint64 time)
{
  bury_dead (self, time, TRUE);
}

gboolean
lu_process_table_read_moved_text (LuProcessTable *self, guint64 time)
{
  GHashTableIter iter;
  gpointer key;
  LuPid *pid;

  g_hash_table_iter_init (&iter, self->moved);
  if (!g_hash_table_iter_next (&iter, &key, NULL))
    return FALSE;
  g_hash_table_iter_remove (&iter);
  pid = lu_process_table_find (self, GPOINTER_TO_INT (key));
  if (pid != NULL && !pid->dead)
    lu_process_table_discover (self, pid->number, time);
  return TRUE;
}

void
lu_process_table_repair (LuProcessTable *self, guint64 time)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->undiscovered);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      gint32 number = GPOINTER_TO_INT (key);
      LuPid *pid = lu_process_table_find (self, number);

      if (pid != NULL && !pid->dead && !lu_process_table_discover (self, number, time))
        lu_process_table_mark_dead (self, pid, time);
      g_hash_table_iter_remove (&iter);
    }
  /* The last thread may have exited without an EXIT record, because it was never announced. */
  bury_dead (self, time, FALSE);
}
