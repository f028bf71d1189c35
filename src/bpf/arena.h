/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arena.h - room for tables or mappings in entries of the map "memory" (include/lu/bpf.h).
 *
 * An arena is given entries, each in whatever place of the map; what it hands out lies in one entry
 * and begins at a multiple of LU_BPF_GRAIN words. What is freed rests (aging.h). Word address 0 is
 * never handed out: an entry 0 begins with zeros, and stays. Belongs to one thread; the entries'
 * memory belongs to the backing. */

#pragma once

#include "bpf/aging.h"
#include "lu/bpf.h"

/* Words: a table wastes 128 bytes on average for each piece, an entry has 4,096 grains. */
#define LU_BPF_GRAIN 64

typedef struct
{
  guint number;   /* of the entry in "memory" */
  guint32 *words; /* borrowed */
  LuBpfAging grains;
} LuBpfArenaEntry;

typedef struct
{
  guint n_entries, max_entries;
  LuBpfArenaEntry *entries; /* owned; room for max_entries */
  guint16 *index_of;        /* owned; by entry number: 1 + its place in `entries`, 0: not ours */
  guint last;               /* where the last one was found */
  guint n_others;           /* grains that are not for this arena */
} LuBpfArena;

void lu_bpf_arena_init (LuBpfArena *self, guint max_entries);
void lu_bpf_arena_clear (LuBpfArena *self);

/* Room in an entry, of whose words those from `from` to before `to` are for this arena; both
 * multiples of LU_BPF_GRAIN. `words`: of all of it. Allocates; at most max_entries. */
void lu_bpf_arena_add (LuBpfArena *self, guint number, guint32 *words, guint from, guint to);
/* Takes out an entry that is all for this arena and holds nothing, and in which nothing rests; -1:
 * there is none. */
gint lu_bpf_arena_remove_unused (LuBpfArena *self);

/* Room for n_words (1 to LU_BPF_ENTRY_WORDS - LU_BPF_GRAIN); its word address, 0: there is none. */
guint32 lu_bpf_arena_take (LuBpfArena *self, guint n_words);
/* Room for at least `least` and at most `most` words (*n_words), as much as there is in one piece
 * somewhere; 0: there is none. */
guint32 lu_bpf_arena_take_some (LuBpfArena *self, guint least, guint most, guint *n_words);
/* Nothing has ever pointed to what is behind the first `kept` words of it: that is free at once.
 * Returns how many words are still taken. */
guint lu_bpf_arena_trim (LuBpfArena *self, guint32 address, guint n_words, guint kept);
/* Nothing points to it any more; it rests from now on. */
void lu_bpf_arena_give_back (LuBpfArena *self, guint32 address, guint n_words);
guint32 *lu_bpf_arena_words (const LuBpfArena *self, guint32 address);

/* As of aging.h, for all entries. */
gboolean lu_bpf_arena_seal (LuBpfArena *self, guint64 now);
void lu_bpf_arena_release (LuBpfArena *self);
void lu_bpf_arena_pass (LuBpfArena *self, guint64 now, guint64 rest);

/* Bytes that can be handed out now, those that rest, and all. */
gsize lu_bpf_arena_free_bytes (const LuBpfArena *self);
gsize lu_bpf_arena_resting_bytes (const LuBpfArena *self);
gsize lu_bpf_arena_used_bytes (const LuBpfArena *self);
