/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arena.c - allocates memory in entries of the map "memory"; see arena.h. */

#include "bpf/arena.h"

#define GRAINS_PER_ENTRY (LU_BPF_ENTRY_WORDS / LU_BPF_GRAIN)
#define GRAIN_BYTES      (LU_BPF_GRAIN * sizeof (guint32))

void
lu_bpf_arena_init (LuBpfArena *self, guint max_entries)
{
  *self = (LuBpfArena){ .max_entries = max_entries };
  self->entries = g_new0 (LuBpfArenaEntry, max_entries);
  self->index_of = g_new0 (guint16, LU_BPF_MAX_ENTRIES);
}

void
lu_bpf_arena_clear (LuBpfArena *self)
{
  for (guint i = 0; i < self->n_entries; i++)
    lu_bpf_reclaim_clear (&self->entries[i].grains);
  g_free (self->entries);
  g_free (self->index_of);
  *self = (LuBpfArena){ 0 };
}

void
lu_bpf_arena_add (LuBpfArena *self, guint number, guint32 *words, guint from, guint to)
{
  LuBpfArenaEntry *entry = &self->entries[self->n_entries];
  guint first = from / LU_BPF_GRAIN, n = to / LU_BPF_GRAIN - first;

  g_assert (self->n_entries < self->max_entries && number < LU_BPF_MAX_ENTRIES);
  *entry = (LuBpfArenaEntry){ .number = number, .words = words };
  lu_bpf_reclaim_init (&entry->grains, GRAINS_PER_ENTRY);
  lu_bpf_reclaim_take (&entry->grains, GRAINS_PER_ENTRY);
  lu_bpf_reclaim_put_back (&entry->grains, first, n);
  if (number == 0 && from == 0)
    {
      /* Word address 0 means none; the words there stay zero. */
      entry->grains.taken[0] |= 1;
      entry->grains.n_free--;
    }
  self->index_of[number] = (guint16) ++self->n_entries;
}

gint
lu_bpf_arena_remove_unused (LuBpfArena *self)
{
  for (guint i = 0; i < self->n_entries; i++)
    {
      LuBpfArenaEntry *entry = &self->entries[i];
      guint number = entry->number;

      if (number == 0 || entry->grains.n_free < entry->grains.n)
        continue;
      lu_bpf_reclaim_clear (&entry->grains);
      *entry = self->entries[--self->n_entries];
      if (i < self->n_entries)
        self->index_of[entry->number] = (guint16) (i + 1);
      self->index_of[number] = 0;
      self->last = 0;
      return (gint) number;
    }
  return -1;
}

static guint
grains_for (guint n_words)
{
  return (n_words + LU_BPF_GRAIN - 1) / LU_BPF_GRAIN;
}

static guint32
address_of (const LuBpfArenaEntry *entry, gint64 grain)
{
  return LU_BPF_WORD (entry->number, (guint) grain * LU_BPF_GRAIN);
}

guint32
lu_bpf_arena_take (LuBpfArena *self, guint n_words)
{
  for (guint i = 0; i < self->n_entries; i++)
    {
      guint at = (self->last + i) % self->n_entries;
      gint64 grain = lu_bpf_reclaim_take (&self->entries[at].grains, grains_for (n_words));

      if (grain < 0)
        continue;
      self->last = at;
      return address_of (&self->entries[at], grain);
    }
  return 0;
}

guint32
lu_bpf_arena_take_some (LuBpfArena *self, guint least, guint most, guint *n_words)
{
  /* Prefer one piece for everything. */
  guint32 address = most <= LU_BPF_ENTRY_WORDS / 2 ? lu_bpf_arena_take (self, most) : 0;

  *n_words = most;
  for (guint i = 0; address == 0 && i < self->n_entries; i++)
    {
      LuBpfArenaEntry *entry = &self->entries[i];
      guint count;
      gint64 grain =
          lu_bpf_reclaim_take_some (&entry->grains, grains_for (least), grains_for (most), &count);

      if (grain < 0)
        continue;
      *n_words = MIN (most, count * LU_BPF_GRAIN);
      address = address_of (entry, grain);
    }
  return address;
}

static LuBpfArenaEntry *
entry_of (const LuBpfArena *self, guint32 address)
{
  guint index = self->index_of[LU_BPF_ENTRY_OF (address)];

  g_assert (index > 0);
  return &self->entries[index - 1];
}

void
lu_bpf_arena_trim (LuBpfArena *self, guint32 address, guint n_words, guint kept)
{
  guint n_kept = grains_for (kept), first = LU_BPF_AT_OF (address) / LU_BPF_GRAIN + n_kept;

  if (grains_for (n_words) > n_kept)
    lu_bpf_reclaim_put_back (&entry_of (self, address)->grains, first,
                             grains_for (n_words) - n_kept);
}

void
lu_bpf_arena_give_back (LuBpfArena *self, guint32 address, guint n_words)
{
  lu_bpf_reclaim_give_back (&entry_of (self, address)->grains,
                            LU_BPF_AT_OF (address) / LU_BPF_GRAIN, grains_for (n_words));
}

guint32 *
lu_bpf_arena_words (const LuBpfArena *self, guint32 address)
{
  return entry_of (self, address)->words + LU_BPF_AT_OF (address);
}

void
lu_bpf_arena_release (LuBpfArena *self)
{
  for (guint i = 0; i < self->n_entries; i++)
    lu_bpf_reclaim_release (&self->entries[i].grains);
}

void
lu_bpf_arena_pass (LuBpfArena *self, guint64 now, guint64 rest)
{
  for (guint i = 0; i < self->n_entries; i++)
    lu_bpf_reclaim_pass (&self->entries[i].grains, now, rest);
}

gsize
lu_bpf_arena_free_bytes (const LuBpfArena *self)
{
  gsize n = 0;

  for (guint i = 0; i < self->n_entries; i++)
    n += self->entries[i].grains.n_free;
  return n * GRAIN_BYTES;
}

gsize
lu_bpf_arena_resting_bytes (const LuBpfArena *self)
{
  gsize n = 0;

  for (guint i = 0; i < self->n_entries; i++)
    n += self->entries[i].grains.n_gathered + self->entries[i].grains.n_sealed;
  return n * GRAIN_BYTES;
}
