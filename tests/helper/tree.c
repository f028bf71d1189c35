/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tree.c - follows forks and exits of the whole system with a dummy event on each CPU.
 *
 * The rings are per CPU, and a child's fork may be read after its own child's, so records are kept
 * and sorted by time at the end. A pid that is used again opens a new entry. */

#include "tree.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DATA_SIZE (1U << 20)

typedef struct
{
  int fd;
  guint8 *base;
} Ring;

/* PERF_RECORD_FORK and _EXIT (perf_event.h). */
typedef struct
{
  struct perf_event_header header;
  guint32 pid, ppid, tid, ptid;
  guint64 time;
} TaskRecord;

typedef struct
{
  guint64 time;
  pid_t pid, parent;
  gboolean is_exit;
} Change;

typedef struct
{
  pid_t pid;
  guint64 born, died;
} Member;

struct _PlayTree
{
  GArray *rings;   /* Ring */
  GArray *changes; /* Change */
  guint64 lost;
};

static gboolean
open_ring (PlayTree *self, int cpu)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);
  struct perf_event_attr attr = {
    .size = sizeof attr,
    .type = PERF_TYPE_SOFTWARE,
    .config = PERF_COUNT_SW_DUMMY,
    .task = 1,
    .exclude_kernel = 1,
    .use_clockid = 1,
    .clockid = CLOCK_MONOTONIC,
  };
  Ring ring = { .fd =
                    (int) syscall (SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC) };

  if (ring.fd < 0)
    return FALSE;
  ring.base = mmap (NULL, page + DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
  if (ring.base == MAP_FAILED)
    {
      close (ring.fd);
      return FALSE;
    }
  g_array_append_val (self->rings, ring);
  return TRUE;
}

PlayTree *
play_tree_new (void)
{
  PlayTree *self = g_new0 (PlayTree, 1);
  long n_cpus = sysconf (_SC_NPROCESSORS_ONLN);

  self->rings = g_array_new (FALSE, FALSE, sizeof (Ring));
  self->changes = g_array_new (FALSE, FALSE, sizeof (Change));
  for (int cpu = 0; cpu < n_cpus; cpu++)
    if (!open_ring (self, cpu))
      {
        play_tree_free (self);
        return NULL;
      }
  return self;
}

void
play_tree_free (PlayTree *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->rings->len; i++)
    {
      Ring *ring = &g_array_index (self->rings, Ring, i);

      munmap (ring->base, (gsize) sysconf (_SC_PAGESIZE) + DATA_SIZE);
      close (ring->fd);
    }
  g_array_unref (self->rings);
  g_array_unref (self->changes);
  g_free (self);
}

static void
copy_out (const guint8 *data, guint64 at, void *target, gsize size)
{
  gsize offset = at % DATA_SIZE, first = MIN (size, DATA_SIZE - offset);

  memcpy (target, data + offset, first);
  memcpy ((guint8 *) target + first, data, size - first);
}

static void
take_record (PlayTree *self, const guint8 *data, guint64 at, const struct perf_event_header *header)
{
  TaskRecord record;
  Change change;

  if (header->type == PERF_RECORD_LOST)
    {
      guint64 words[3]; /* header, id, lost */

      copy_out (data, at, words, sizeof words);
      self->lost += words[2];
    }
  if (header->type != PERF_RECORD_FORK && header->type != PERF_RECORD_EXIT)
    return;
  copy_out (data, at, &record, sizeof record);
  /* A new thread has the pid of its creator; of threads that exit only the leader counts. */
  if (header->type == PERF_RECORD_FORK ? record.pid == record.ppid : record.pid != record.tid)
    return;
  change = (Change){ record.time, (pid_t) record.pid, (pid_t) record.ppid,
                     header->type == PERF_RECORD_EXIT };
  g_array_append_val (self->changes, change);
}

static void
read_ring (PlayTree *self, const Ring *ring)
{
  struct perf_event_mmap_page *page = (void *) ring->base;
  const guint8 *data = ring->base + sysconf (_SC_PAGESIZE);
  guint64 head = __atomic_load_n (&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;

  while (tail < head)
    {
      struct perf_event_header header;

      copy_out (data, tail, &header, sizeof header);
      if (header.size < sizeof header)
        break;
      take_record (self, data, tail, &header);
      tail += header.size;
    }
  __atomic_store_n (&page->data_tail, head, __ATOMIC_RELEASE);
}

void
play_tree_read (PlayTree *self)
{
  for (guint i = 0; i < self->rings->len; i++)
    read_ring (self, &g_array_index (self->rings, Ring, i));
}

guint64
play_tree_get_lost (const PlayTree *self)
{
  return self->lost;
}

static int
compare_changes (gconstpointer a, gconstpointer b)
{
  const Change *one = a, *two = b;

  return (one->time > two->time) - (one->time < two->time);
}

static Member *
find_living (GHashTable *living, GArray *members, pid_t pid)
{
  gpointer index;

  if (!g_hash_table_lookup_extended (living, GINT_TO_POINTER (pid), NULL, &index))
    return NULL;
  return &g_array_index (members, Member, GPOINTER_TO_UINT (index));
}

static void
add_member (GHashTable *living, GArray *members, pid_t pid, guint64 born)
{
  Member member = { pid, born, 0 };

  g_hash_table_insert (living, GINT_TO_POINTER (pid), GUINT_TO_POINTER (members->len));
  g_array_append_val (members, member);
}

void
play_tree_append (PlayTree *self, pid_t root, GString *json)
{
  g_autoptr (GHashTable) living = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) members = g_array_new (FALSE, FALSE, sizeof (Member));

  g_array_sort (self->changes, compare_changes);
  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = &g_array_index (self->changes, Change, i);
      Member *known = find_living (living, members, change->pid);

      if (change->is_exit && known != NULL)
        known->died = change->time;
      else if (!change->is_exit)
        {
          /* An exit was lost: the pid has another owner now. */
          if (known != NULL)
            g_hash_table_remove (living, GINT_TO_POINTER (change->pid));
          if (change->pid == root ? members->len == 0
                                  : find_living (living, members, change->parent) != NULL)
            add_member (living, members, change->pid, change->time);
        }
    }
  for (guint i = 0; i < members->len; i++)
    {
      const Member *member = &g_array_index (members, Member, i);

      g_string_append_printf (json, "%s[%d,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT "]",
                              i > 0 ? "," : "", (int) member->pid, member->born, member->died);
    }
}
