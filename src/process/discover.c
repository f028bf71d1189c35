/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* discover.c - processes as /proc shows them: those that ran before the recording, and what has to
 * be re-read after side-band was lost; see process-table.h.
 *
 * Side-band is on before this runs, so what changes meanwhile arrives as events and is applied
 * after. */

#include "base/fd.h"
#include "process/proc-maps.h"
#include "process/process-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* A process with more text than this in its maps is cut there (65,530 mappings of 100 bytes). */
#define MAX_MAPS_BYTES (8u << 20)
/* Of /proc/PID/stat: 52 numbers. */
#define MAX_STAT_BYTES 2048
/* Fields of it, counted from 1 as its manual does. */
#define STAT_FLAGS   9
#define STAT_THREADS 20
#define STAT_FIELDS  20
#define PF_KTHREAD   0x00200000 /* include/linux/sched.h */

typedef struct
{
  char comm[64]; /* of a kernel thread more than LU_COMM_SIZE */
  gboolean is_kernel_thread;
  guint n_threads;
} Stat;

typedef struct
{
  LuProcessTable *table;
  guint64 time;
  LuSpace *space; /* owned: what was built so far */
} Scan;

static gboolean
add_map (const LuProcMap *map, gpointer user_data)
{
  Scan *scan = user_data;
  LuMmapEvent event = { .start = map->start,
                        .length = map->end - map->start,
                        .file_offset = map->file_offset,
                        .major = map->major,
                        .minor = map->minor,
                        .inode = map->inode,
                        .has_inode = map->inode != 0,
                        .prot = map->prot,
                        .path = map->path };
  LuMapping mapping = {
    .start = map->start, .end = map->end, .file_offset = map->file_offset, .time = scan->time
  };

  if (!(map->prot & PROT_EXEC))
    return TRUE;
  mapping.module = lu_process_table_module (scan->table, &event);
  scan->space = lu_space_take_with_mapping (scan->space, &mapping);
  return TRUE;
}

static void
read_maps (gint32 pid, Scan *scan)
{
  g_autofree char *text = NULL;
  lu_autofd fd = -1;
  char path[32];
  gsize size;

  g_snprintf (path, sizeof path, "/proc/%d/maps", pid);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || lu_proc_maps_query (fd, add_map, scan))
    return;
  text = lu_fd_read_all (fd, MAX_MAPS_BYTES, &size);
  if (text != NULL)
    lu_proc_maps_parse (text, size, add_map, scan);
}

/* PID (COMM) STATE and numbers: man 5 proc_pid_stat. COMM may hold anything, parentheses too. */
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

/* A system has hundreds, and hardly any is ever sampled; to read of one in /proc costs ten times as
 * much as to ask so: it has no memory, and no session. A leader that has exited has no memory
 * either, but a session. Where we may not ask, as in a sandbox, it is taken for a process. No
 * process has anything at the address, so there is nothing to be read or waited for. */
static gboolean
is_kernel_thread (gint32 pid)
{
  char byte;
  struct iovec here = { .iov_base = &byte, .iov_len = 1 };
  struct iovec there = { .iov_base = (void *) G_MAXSIZE, .iov_len = 1 };

  return process_vm_readv (pid, &here, 1, &there, 1, 0) < 0 && errno == ESRCH && getsid (pid) == 0;
}

gboolean
lu_process_table_discover (LuProcessTable *self, gint32 pid, guint64 time)
{
  Stat stat;
  Scan scan;
  LuProcess *process;
  LuSpace *current;

  if (!read_stat (pid, &stat))
    return FALSE;
  scan = (Scan){ .table = self, .time = time, .space = lu_space_new () };
  if (!stat.is_kernel_thread)
    read_maps (pid, &scan);
  lu_process_table_put_discovered (self, pid, stat.comm, MAX (stat.n_threads, 1), scan.space, time);
  if (time != 0 && lu_process_table_lookup (self, pid, G_MAXUINT64, &process, &current))
    lu_process_table_announce (self, process);
  lu_space_unref (scan.space);
  return TRUE;
}

void
lu_process_table_discover_all (LuProcessTable *self, guint64 time)
{
  DIR *dir;

  if (!lu_process_table_follows_all (self))
    {
      lu_process_table_discover_followed (self, time);
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
