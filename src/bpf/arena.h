/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arena.h - room for tables or mappings in entries of the map "memory" (include/lu/bpf.h).
 *
 * An arena is given entries, which may have any place in the map. Each piece that it hands out lies
 * in one entry and begins at a multiple of LU_BPF_GRAIN words. Freed pieces rest
 * (deferred-reclamation.h). Word address 0 is never handed out: entry 0 begins with zeros and is
 * never removed. Belongs to one thread; the entries' memory belongs to the backing. */

#pragma once

#include "deferred-reclamation.h"
#include "lu/bpf.h"

/* Words of a grain. Each piece of a table wastes 128 bytes on average; an entry has 4,096 grains.
 */
#define LU_BPF_GRAIN 64

typedef struct
{
  guint number;   /* of the entry in "memory" */
  guint32 *words; /* borrowed */
  LuBpfReclaim grains;
} LuBpfArenaEntry;

typedef struct
{
  guint n_entries, max_entries;
  LuBpfArenaEntry *entries; /* owned; room for max_entries */
  guint16 *index_of;        /* owned; by entry number: 1 + its place in `entries`, 0: not ours */
  guint last;               /* entry that the last piece came from */
} LuBpfArena;

void lu_bpf_arena_init (LuBpfArena *self, guint max_entries);
void lu_bpf_arena_clear (LuBpfArena *self);

/* Adds an entry; its words in [from, to) are for this arena; both are multiples of
 * LU_BPF_GRAIN. `words` are those of the whole entry. Allocates. Called at most max_entries times.
 */
void lu_bpf_arena_add (LuBpfArena *self, guint number, guint32 *words, guint from, guint to);
/* Removes an entry that belongs to this arena alone and in which nothing is in use or resting.
 * Returns its number, or -1 if there is none. */
gint lu_bpf_arena_remove_unused (LuBpfArena *self);

/* Takes n_words (1 to LU_BPF_ENTRY_WORDS - LU_BPF_GRAIN). Returns their word address, or 0 if there
 * is no room. */
guint32 lu_bpf_arena_take (LuBpfArena *self, guint n_words);
/* Takes the largest available piece of `least` to `most` words, and sets *n_words. Returns its word
 * address, or 0 if there is none. */
guint32 lu_bpf_arena_take_some (LuBpfArena *self, guint least, guint most, guint *n_words);
/* Frees the words of a piece after the first `kept` ones at once, because nothing has ever pointed
 * to them. */
void lu_bpf_arena_trim (LuBpfArena *self, guint32 address, guint n_words, guint kept);
/* Lets a piece rest. Nothing points to it any more. */
void lu_bpf_arena_give_back (LuBpfArena *self, guint32 address, guint n_words);
guint32 *lu_bpf_arena_words (const LuBpfArena *self, guint32 address);

/* Apply the functions of deferred-reclamation.h to all entries. */
void lu_bpf_arena_release (LuBpfArena *self);
void lu_bpf_arena_pass (LuBpfArena *self, guint64 now, guint64 rest);

/* Return the bytes that can be handed out now, and that rest. */
gsize lu_bpf_arena_free_bytes (const LuBpfArena *self);
gsize lu_bpf_arena_resting_bytes (const LuBpfArena *self);
