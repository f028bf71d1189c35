/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* blocks.h - the executable mappings of spaces, as the BPF program reads them.
 *
 * One block for each version of a space that is published; processes that share the version (fork)
 * share the block. Immutable once made: another version is another block, and so is the same one
 * when a file that it names has been opened. Belongs to the drain thread; allocates nothing after
 * it is made. */

#pragma once

#include "bpf/arena.h"
#include "bpf/index.h"
#include "bpf/slots.h"
#include "unwind/dwfl-space.h"
#include "process/space.h"

typedef struct
{
  LuSpace *space;  /* reference: as long as walks may go by it, no other version takes its place */
  guint64 serial;  /* of the space */
  guint32 address; /* word address of the mappings */
  guint32 n_mappings;
  guint32 n_users;
  guint n_pending;     /* mappings whose module was not opened yet */
  gboolean is_current; /* found by its serial number */
} LuBpfBlock;

typedef struct
{
  LuBpfArena arena;
  LuBpfIndex by_serial; /* values: numbers of blocks */
  LuBpfIndex pool;      /* of blocks, by their numbers */
  LuBpfBlock *blocks;   /* owned */
  guint64 last_key;
  gsize bytes; /* in use */
} LuBpfBlocks;

void lu_bpf_blocks_init (LuBpfBlocks *self, guint max_blocks, guint max_entries);
void lu_bpf_blocks_clear (LuBpfBlocks *self);

/* What the program may do with it. */
enum lu_bpf_mapping_kind lu_bpf_mapping_kind_of (const LuDwflMapping *mapping);
/* The block of that version (with a user more), if there is one that is as good as a new one. */
guint32 lu_bpf_blocks_find (LuBpfBlocks *self, LuSpace *space);
/* A module has been opened since the block of that space was made. */
gboolean lu_bpf_blocks_is_outdated (const LuBpfBlocks *self, guint32 block, LuSpace *space);
/* A new block with one user; NO_ITEM: there is no room. At most LU_BPF_MAX_MAPPINGS, at least one.
 * is_wanted: of which modules the tables are surely needed; borrowed, may be NULL. */
guint32 lu_bpf_blocks_add (LuBpfBlocks *self, LuBpfSlots *slots, LuSpace *space,
                           gboolean (*is_wanted) (LuModule *module, gpointer user_data),
                           gpointer user_data);
void lu_bpf_blocks_give_back (LuBpfBlocks *self, LuBpfSlots *slots, guint32 block);
