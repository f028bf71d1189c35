/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory-backing.c - the maps in ordinary memory; see memory-backing.h. */

#include "memory-backing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

typedef struct
{
  LuBpfBacking base;
  _Atomic (guint32 *) entries[LU_BPF_MAX_ENTRIES];
  atomic_uint n_entries, n_graces;
  gboolean has_grace;
  pthread_rwlock_t walks;
  pthread_mutex_t mutex;        /* protects processes */
  GHashTable *processes;        /* tgid -> struct lu_bpf_process */
  struct lu_bpf_shared *shared; /* mapped */
} Memory;

static gpointer
map (gsize size)
{
  gpointer memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  g_assert_true (memory != MAP_FAILED);
  return memory;
}

static guint
add_entries (LuBpfBacking *base, const guint32 *entries, guint n, guint32 **words)
{
  Memory *self = (Memory *) base;

  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpuint (entries[i], <, base->max_entries);
      g_assert_null (self->entries[entries[i]]);
      words[i] = map (LU_BPF_ENTRY_BYTES);
      atomic_store (&self->entries[entries[i]], words[i]);
      atomic_fetch_add (&self->n_entries, 1);
    }
  return n;
}

static void
remove_entry (LuBpfBacking *base, guint entry)
{
  Memory *self = (Memory *) base;

  munmap (atomic_exchange (&self->entries[entry], NULL), LU_BPF_ENTRY_BYTES);
  atomic_fetch_sub (&self->n_entries, 1);
}

static gboolean
wait_for_walks (LuBpfBacking *base)
{
  Memory *self = (Memory *) base;

  if (!self->has_grace)
    return FALSE;
  atomic_fetch_add (&self->n_graces, 1);
  pthread_rwlock_wrlock (&self->walks);
  pthread_rwlock_unlock (&self->walks);
  return TRUE;
}

static gboolean
put_process (LuBpfBacking *base, guint32 tgid, const struct lu_bpf_process *process)
{
  Memory *self = (Memory *) base;

  pthread_mutex_lock (&self->mutex);
  g_hash_table_replace (self->processes, GUINT_TO_POINTER (tgid),
                        g_memdup2 (process, sizeof *process));
  pthread_mutex_unlock (&self->mutex);
  return TRUE;
}

static void
remove_process (LuBpfBacking *base, guint32 tgid)
{
  Memory *self = (Memory *) base;

  pthread_mutex_lock (&self->mutex);
  g_hash_table_remove (self->processes, GUINT_TO_POINTER (tgid));
  pthread_mutex_unlock (&self->mutex);
}

static guint64
memory_bytes (LuBpfBacking *base)
{
  return atomic_load (&((Memory *) base)->n_entries) * (guint64) LU_BPF_ENTRY_BYTES;
}

static void
memory_free (LuBpfBacking *base)
{
  Memory *self = (Memory *) base;

  for (guint i = 0; i < LU_BPF_MAX_ENTRIES; i++)
    if (self->entries[i] != NULL)
      munmap (self->entries[i], LU_BPF_ENTRY_BYTES);
  munmap (self->shared, sizeof *self->shared);
  g_hash_table_unref (self->processes);
  pthread_mutex_destroy (&self->mutex);
  pthread_rwlock_destroy (&self->walks);
  g_free (self);
}

LuBpfBacking *
memory_backing_new (guint max_entries, guint max_processes, gboolean has_grace)
{
  static const LuBpfBackingOps ops = {
    add_entries,    remove_entry, wait_for_walks, put_process,
    remove_process, memory_bytes, memory_free,
  };
  Memory *self = g_new0 (Memory, 1);
  LuBpfBacking *base = &self->base;

  base->ops = &ops;
  base->max_entries = max_entries;
  base->max_processes = max_processes;
  self->shared = map (sizeof *self->shared);
  base->shared = self->shared;
  base->dictionary = &self->shared->dictionary;
  base->modules = self->shared->modules;
  base->use = self->shared->use;
  base->identities = self->shared->identities;
  base->n_identities = LU_BPF_MAX_IDENTITIES;
  base->known = self->shared->known;
  self->has_grace = has_grace;
  self->processes = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  pthread_mutex_init (&self->mutex, NULL);
  pthread_rwlock_init (&self->walks, NULL);
  return base;
}

guint
memory_backing_n_entries (LuBpfBacking *base)
{
  return atomic_load (&((Memory *) base)->n_entries);
}

guint
memory_backing_n_graces (LuBpfBacking *base)
{
  return atomic_load (&((Memory *) base)->n_graces);
}

/* Readers */

void
memory_backing_begin_walk (LuBpfBacking *base)
{
  pthread_rwlock_rdlock (&((Memory *) base)->walks);
}

void
memory_backing_end_walk (LuBpfBacking *base)
{
  pthread_rwlock_unlock (&((Memory *) base)->walks);
}

static const guint32 *
words_at (LuBpfBacking *base, guint32 address)
{
  const guint32 *words = atomic_load (&((Memory *) base)->entries[LU_BPF_ENTRY_OF (address)]);

  return words != NULL ? words + LU_BPF_AT_OF (address) : NULL;
}

gboolean
memory_backing_find_process (LuBpfBacking *base, guint32 tgid, struct lu_bpf_process *process)
{
  Memory *self = (Memory *) base;
  const struct lu_bpf_process *found;

  pthread_mutex_lock (&self->mutex);
  found = g_hash_table_lookup (self->processes, GUINT_TO_POINTER (tgid));
  if (found != NULL)
    *process = *found;
  pthread_mutex_unlock (&self->mutex);
  return found != NULL && process->check == lu_bpf_process_check (process, tgid);
}

gboolean
memory_backing_find_mapping (LuBpfBacking *base, const struct lu_bpf_process *process,
                             guint64 address, struct lu_bpf_mapping *mapping)
{
  const struct lu_bpf_mapping *all =
      (const struct lu_bpf_mapping *) words_at (base, process->mappings);
  gboolean is_found = FALSE;

  if (all == NULL)
    return FALSE;
  g_assert_cmpuint (process->mappings % 8, ==, 0);
  g_assert_cmpuint (process->n_mappings, >, 0);
  for (guint i = 0; i < process->n_mappings; i++)
    {
      g_assert_true (all[i].end > all[i].start || process->serial == 0);
      g_assert_true (i == 0 || all[i].start >= all[i - 1].end);
      if (address < all[i].start || address >= all[i].end)
        continue;
      *mapping = all[i];
      is_found = TRUE;
    }
  return is_found;
}

static guint32
find_row (const guint32 *rows, guint n, guint32 key)
{
  guint32 rule = rows[0] >> 16;

  for (guint i = 1; i < n && (rows[i] & 0xffff) <= key; i++)
    {
      /* The last row may be repeated. */
      if (rows[i] != rows[i - 1])
        g_assert_cmpuint (rows[i] & 0xffff, >, rows[i - 1] & 0xffff);
      rule = rows[i] >> 16;
    }
  return rule;
}

gint
memory_backing_find_rule (LuBpfBacking *base, guint32 slot, guint64 address)
{
  const struct lu_bpf_module *module = &base->modules[slot];
  guint64 table = __atomic_load_n (&module->table, __ATOMIC_ACQUIRE);
  guint64 start = __atomic_load_n (&module->base, __ATOMIC_RELAXED);
  guint64 page = (address - start) >> LU_PAGE_SHIFT;
  const struct lu_bpf_page *index;
  const guint32 *rows;
  guint32 run;
  guint64 first, n;
  gint rule;

  if (table == 0)
    return -1;
  if (address < start || page >= table >> 32)
    return LU_RULE_NONE;
  index = (const struct lu_bpf_page *) words_at (base, (guint32) table);
  g_assert_cmpuint (LU_BPF_AT_OF (table) + 2 * page, <, LU_BPF_ENTRY_WORDS);
  index += page;
  first = lu_bpf_page_rows (*index, LU_PAGE_BYTES - 1, &n);
  run = lu_bpf_page_run (*index);
  g_assert_cmpuint (run, !=, 0);
  g_assert_cmpuint (first + n, >, 0);
  g_assert_cmpuint (first + n, <=, LU_BPF_MAX_RUN);
  g_assert_cmpuint (LU_BPF_AT_OF (run) + first + n, <=, LU_BPF_ENTRY_WORDS);
  rows = words_at (base, run);
  rule = (gint) find_row (rows, (guint) (first + n), (guint32) address & 0xffff);
  /* The quarter's rows suffice. */
  first = lu_bpf_page_rows (*index, address, &n);
  g_assert_cmpint (find_row (rows + first, (guint) n, (guint32) address & 0xffff), ==, rule);
  return rule;
}
