/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* blocks.c - mappings of address spaces for the BPF program; see blocks.h. */

#include "bpf/blocks.h"

#include "bpf/known.h"

#define WORDS_PER_MAPPING (sizeof (struct lu_bpf_mapping) / sizeof (guint32))
/* The key of a remembered rule has 40 bits of ELF address. */
#define MAX_ELF_ADDRESS (G_GUINT64_CONSTANT (1) << LU_BPF_KEY_SHIFT)

void
lu_bpf_blocks_init (LuBpfBlocks *self, guint max_blocks, guint max_entries)
{
  *self = (LuBpfBlocks){ 0 };
  lu_bpf_arena_init (&self->arena, max_entries);
  lu_bpf_index_init (&self->by_serial, max_blocks);
  self->blocks = g_new0 (LuBpfBlock, max_blocks);
}

void
lu_bpf_blocks_clear (LuBpfBlocks *self)
{
  lu_bpf_arena_clear (&self->arena);
  for (guint i = 0; i < self->by_serial.n_ever; i++)
    lu_address_space_unref (self->blocks[i].space);
  lu_bpf_index_clear (&self->by_serial);
  g_free (self->blocks);
}

enum lu_bpf_mapping_kind
lu_bpf_mapping_kind_of (const LuDwflMapping *mapping)
{
  switch (mapping->status)
    {
    case LU_STATUS_COMPLETE:
      return mapping->end - mapping->bias <= MAX_ELF_ADDRESS
                     && mapping->start - mapping->bias < mapping->end - mapping->bias
                 ? LU_BPF_MAPPING_TABLE
                 : LU_BPF_MAPPING_OPAQUE;
    case LU_STATUS_JIT:
      /* The walk in the kernel reads code in memory, so that it sees as much as of a file's. */
      return lu_module_key (mapping->module)->kind == LU_MODULE_COPIED ? LU_BPF_MAPPING_NO_CFI
                                                                       : LU_BPF_MAPPING_JIT;
    case LU_STATUS_NO_UNWIND_INFO:
      return lu_module_key_is_kernel_page (lu_module_key (mapping->module)) ? LU_BPF_MAPPING_OPAQUE
                                                                            : LU_BPF_MAPPING_NO_CFI;
    default:
      return LU_BPF_MAPPING_OPAQUE;
    }
}

gboolean
lu_bpf_blocks_is_outdated (const LuBpfBlocks *self, guint32 block, LuAddressSpace *space)
{
  guint n, n_pending = 0;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  if (block == LU_BPF_NO_ITEM || self->blocks[block].n_pending == 0)
    return FALSE;
  for (guint i = 0; i < n; i++)
    n_pending += lu_module_is_pending (mappings[i].module);
  return n_pending != self->blocks[block].n_pending;
}

guint32
lu_bpf_blocks_find (LuBpfBlocks *self, LuAddressSpace *space)
{
  guint32 number = lu_bpf_index_find (&self->by_serial, lu_address_space_serial (space));

  if (number == LU_BPF_NO_ITEM || lu_bpf_blocks_is_outdated (self, number, space))
    return LU_BPF_NO_ITEM;
  self->blocks[number].n_users++;
  return number;
}

/* Refers to the module's slot. Without one (0), walks fall back at the mapping. */
static void
set_slot (struct lu_bpf_mapping *mapping, const LuDwflMapping *described, LuBpfSlots *slots,
          guint32 slot)
{
  mapping->bias = described->bias;
  mapping->module = slot;
  if (slot == 0)
    mapping->kind = LU_BPF_MAPPING_OPAQUE;
  else
    lu_bpf_known_add (slots, slot, described);
}

guint32
lu_bpf_blocks_add (LuBpfBlocks *self, LuBpfSlots *slots, LuAddressSpace *space,
                   LuBpfIsWantedFunc is_wanted, gboolean is_likely)
{
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);
  LuBpfBlock block = { .serial = lu_address_space_serial (space), .n_users = 1 };
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);
  struct lu_bpf_mapping *out;
  guint32 number;

  block.n_mappings = n;
  block.address = lu_bpf_arena_take (&self->arena, n * WORDS_PER_MAPPING);
  if (block.address == 0)
    return LU_BPF_NO_ITEM;
  number = lu_bpf_index_add (&self->by_serial, block.serial);
  if (number == LU_BPF_NO_ITEM)
    {
      lu_bpf_arena_trim (&self->arena, block.address, n * WORDS_PER_MAPPING, 0);
      return LU_BPF_NO_ITEM;
    }
  out = (struct lu_bpf_mapping *) lu_bpf_arena_words (&self->arena, block.address);
  for (guint i = 0; i < n; i++)
    {
      LuModule *module = mappings[i].module;
      /* Read this first: another thread may open the module at any time. */
      gboolean is_pending = lu_module_is_pending (module);
      LuDwflMapping described = lu_dwfl_mapping_describe (&mappings[i], arch);
      struct lu_bpf_mapping mapping = { .start = described.start,
                                        .end = described.end,
                                        .kind = is_pending ? LU_BPF_MAPPING_OPAQUE
                                                           : lu_bpf_mapping_kind_of (&described) };

      if (mapping.kind == LU_BPF_MAPPING_TABLE)
        set_slot (&mapping, &described, slots,
                  lu_bpf_slots_take (slots, module, is_wanted (module, is_likely)));
      block.n_pending += is_pending;
      out[i] = mapping;
    }
  self->bytes += n * sizeof *out;
  block.space = lu_address_space_ref (space);
  self->blocks[number] = block;
  return number;
}

void
lu_bpf_blocks_give_back (LuBpfBlocks *self, LuBpfSlots *slots, guint32 number)
{
  LuBpfBlock *block = &self->blocks[number];
  const struct lu_bpf_mapping *mappings;

  if (--block->n_users > 0)
    return;
  mappings = (const struct lu_bpf_mapping *) lu_bpf_arena_words (&self->arena, block->address);
  for (guint i = 0; i < block->n_mappings; i++)
    if (mappings[i].module != 0)
      lu_bpf_slots_give_back (slots, mappings[i].module);
  self->bytes -= block->n_mappings * sizeof *mappings;
  lu_bpf_arena_give_back (&self->arena, block->address, block->n_mappings * WORDS_PER_MAPPING);
  lu_address_space_unref (g_steal_pointer (&block->space));
  lu_bpf_index_remove (&self->by_serial, number);
}
