/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* blocks.h - the executable mappings of address spaces, as the BPF program reads them.
 *
 * Each published version of an address space has one block; processes that share the version (fork)
 * share the block. A block is immutable: a new version gets a new block, and so does the same
 * version when a file of it has been opened. Belongs to the drain thread; allocates nothing after
 * it is made. */

#pragma once

#include "bpf/arena.h"
#include "bpf/slots.h"
#include "unwind/dwfl-address-space.h"

typedef struct
{
  LuAddressSpace *space; /* reference; keeps its version from being reused */
  guint64 serial;        /* of the address space */
  guint32 address;       /* word address of the mappings */
  guint32 n_mappings;
  guint32 n_users;
  guint n_pending; /* mappings whose module was not opened */
} LuBpfBlock;

typedef struct
{
  LuBpfArena arena;
  LuBpfIndex by_serial; /* its items are the numbers of blocks */
  LuBpfBlock *blocks;   /* owned */
  gsize bytes;          /* in use */
} LuBpfBlocks;

void lu_bpf_blocks_init (LuBpfBlocks *self, guint max_blocks, guint max_entries);
void lu_bpf_blocks_clear (LuBpfBlocks *self);

/* Returns what the program may do with the mapping. */
enum lu_bpf_mapping_kind lu_bpf_mapping_kind_of (const LuDwflMapping *mapping);
/* Returns the block of that version, with one more user, or LU_BPF_NO_ITEM if there is none or it
 * is outdated. */
guint32 lu_bpf_blocks_find (LuBpfBlocks *self, LuAddressSpace *space);
/* Returns whether a module has been opened since the block was made. */
gboolean lu_bpf_blocks_is_outdated (const LuBpfBlocks *self, guint32 block, LuAddressSpace *space);
/* Makes a block with one user, of 1 to LU_BPF_MAX_MAPPINGS mappings. Returns LU_BPF_NO_ITEM if
 * there is no room. */
guint32 lu_bpf_blocks_add (LuBpfBlocks *self, LuBpfSlots *slots, LuAddressSpace *space,
                           LuBpfIsWantedFunc is_wanted, gboolean is_likely);
void lu_bpf_blocks_give_back (LuBpfBlocks *self, LuBpfSlots *slots, guint32 block);
