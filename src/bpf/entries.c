/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* entries.c - pieces of memory for the BPF program; see entries.h. */

#include "bpf/entries.h"

#include "base/fd.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static int
new_entry (guint32 **words)
{
  LIBBPF_OPTS (bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  int fd = bpf_map_create (BPF_MAP_TYPE_ARRAY, "memory_entry", sizeof (guint32), LU_BPF_ENTRY_BYTES,
                           1, &options);
  gpointer memory = fd >= 0
                        ? mmap (NULL, LU_BPF_ENTRY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                        : MAP_FAILED;

  if (memory == MAP_FAILED)
    lu_fd_clear (&fd);
  else
    *words = memory;
  return fd;
}

/* Returns how many, the first ones. Where each is put in by itself the kernel waits for each. */
static guint
put_in (int map_fd, const guint32 *places, const int *fds, guint n)
{
  guint32 n_in = n;

  if (n > 1 && bpf_map_update_batch (map_fd, places, fds, &n_in, NULL) == 0)
    return n;
  n_in = 0;
  while (n_in < n && bpf_map_update_elem (map_fd, &places[n_in], &fds[n_in], BPF_ANY) == 0)
    n_in++;
  return n_in;
}

/* The descriptor of the first one, if it is not -1, is taken, and its words are there. */
static guint
add_new (int map_fd, int first_fd, const guint32 *places, guint n, guint32 **words, guint64 *bytes)
{
  int fds[LU_BPF_ENTRIES_AT_ONCE], why;
  guint n_new = 0, n_in;

  while (n_new < MIN (n, LU_BPF_ENTRIES_AT_ONCE))
    {
      fds[n_new] = n_new == 0 && first_fd >= 0 ? first_fd : new_entry (&words[n_new]);
      if (fds[n_new] < 0)
        break;
      bytes[n_new] = lu_bpf_map_memory (fds[n_new]);
      n_new++;
    }
  why = errno;
  n_in = put_in (map_fd, places, fds, n_new);
  if (n_in < n_new)
    why = errno;
  for (guint i = 0; i < n_new; i++)
    {
      close (fds[i]);
      if (i >= n_in)
        munmap (words[i], LU_BPF_ENTRY_BYTES);
    }
  errno = why;
  return n_in;
}

static gpointer
put_first_in (gpointer data)
{
  LuBpfEntries *self = data;
  guint32 places[LU_BPF_FIRST_ENTRIES], *words[LU_BPF_FIRST_ENTRIES] = { self->first[0] };
  guint n;

  for (guint i = 0; i < LU_BPF_FIRST_ENTRIES; i++)
    places[i] = i;
  n = add_new (self->map_fd, self->first_fd, places, LU_BPF_FIRST_ENTRIES, words,
               self->first_bytes);
  for (guint i = 0; i < LU_BPF_FIRST_ENTRIES; i++)
    self->first[i] = i < n ? words[i] : NULL;
  return NULL;
}

gboolean
lu_bpf_entries_begin (LuBpfEntries *self, guint max_entries)
{
  LIBBPF_OPTS (bpf_map_create_opts, options);
  sigset_t all, before;

  self->first_fd = new_entry (&self->first[0]);
  if (self->first_fd < 0)
    return FALSE;
  options.inner_map_fd = (guint32) self->first_fd; /* what all of them are like */
  self->map_fd = bpf_map_create (BPF_MAP_TYPE_ARRAY_OF_MAPS, "memory", sizeof (guint32),
                                 sizeof (guint32), max_entries, &options);
  if (self->map_fd < 0)
    {
      lu_fd_clear (&self->first_fd);
      return FALSE;
    }
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  self->has_thread = pthread_create (&self->thread, NULL, put_first_in, self) == 0;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (!self->has_thread)
    put_first_in (self);
  return TRUE;
}

static void
wait_for_first (LuBpfEntries *self)
{
  if (self->has_thread)
    pthread_join (self->thread, NULL);
  self->has_thread = FALSE;
  lu_fd_clear (&self->map_fd);
}

guint
lu_bpf_entries_add (LuBpfEntries *self, int map_fd, const guint32 *places, guint n, guint32 **words,
                    guint64 *bytes)
{
  guint n_first = 0;

  wait_for_first (self);
  while (n_first < n && places[n_first] < LU_BPF_FIRST_ENTRIES
         && self->first[places[n_first]] != NULL)
    {
      words[n_first] = g_steal_pointer (&self->first[places[n_first]]);
      bytes[n_first] = self->first_bytes[places[n_first]];
      n_first++;
    }
  if (n_first == n)
    return n;
  return n_first
         + add_new (map_fd, -1, places + n_first, n - n_first, words + n_first, bytes + n_first);
}

void
lu_bpf_entries_end (LuBpfEntries *self)
{
  wait_for_first (self);
  for (guint i = 0; i < LU_BPF_FIRST_ENTRIES; i++)
    if (self->first[i] != NULL)
      munmap (self->first[i], LU_BPF_ENTRY_BYTES);
}
