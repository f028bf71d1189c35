/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* blocks.c - mappings of spaces for the BPF program; see blocks.h. */

#include "bpf/blocks.h"

#include "bpf/known.h"
#include "unwind/arch.h"

#define WORDS_PER_MAPPING (sizeof (struct lu_bpf_mapping) / sizeof (guint32))
/* What is remembered of rules has 40 bits of ELF address. */
#define MAX_ELF_ADDRESS (G_GUINT64_CONSTANT (1) << LU_BPF_KEY_SHIFT)

void
lu_bpf_blocks_init (LuBpfBlocks *self, guint max_blocks, guint max_entries)
{
  *self = (LuBpfBlocks){ 0 };
  lu_bpf_arena_init (&self->arena, max_entries);
  lu_bpf_index_init (&self->by_serial, max_blocks);
  lu_bpf_index_init (&self->pool, max_blocks);
  self->blocks = g_new0 (LuBpfBlock, max_blocks);
}

void
lu_bpf_blocks_clear (LuBpfBlocks *self)
{
  lu_bpf_arena_clear (&self->arena);
  lu_bpf_index_clear (&self->by_serial);
  for (guint i = 0; i < self->pool.n_ever; i++)
    lu_space_unref (self->blocks[i].space);
  lu_bpf_index_clear (&self->pool);
  g_free (self->blocks);
}

enum lu_bpf_mapping_kind
lu_bpf_mapping_kind_of (const LuDwflMapping *mapping)
{
  LuModuleKind kind = lu_module_key (mapping->module)->kind;

  switch (mapping->status)
    {
    case LU_STATUS_COMPLETE:
      return mapping->end - mapping->bias <= MAX_ELF_ADDRESS
                     && mapping->start - mapping->bias < mapping->end - mapping->bias
                 ? LU_BPF_MAPPING_TABLE
                 : LU_BPF_MAPPING_OPAQUE;
    case LU_STATUS_JIT:
      return LU_BPF_MAPPING_JIT;
    case LU_STATUS_NO_UNWIND_INFO:
      return kind == LU_MODULE_FILE || kind == LU_MODULE_VDSO ? LU_BPF_MAPPING_NO_CFI
                                                              : LU_BPF_MAPPING_OPAQUE;
    default:
      return LU_BPF_MAPPING_OPAQUE;
    }
}

gboolean
lu_bpf_blocks_is_outdated (const LuBpfBlocks *self, guint32 block, LuSpace *space)
{
  guint n, n_pending = 0;
  const LuMapping *mappings = lu_space_mappings (space, &n);

  if (block == LU_BPF_NO_ITEM || self->blocks[block].n_pending == 0)
    return FALSE;
  for (guint i = 0; i < n; i++)
    n_pending += lu_module_is_pending (mappings[i].module);
  return n_pending != self->blocks[block].n_pending;
}

guint32
lu_bpf_blocks_find (LuBpfBlocks *self, LuSpace *space)
{
  guint32 item = lu_bpf_index_find (&self->by_serial, lu_space_serial (space));

  if (item == LU_BPF_NO_ITEM
      || lu_bpf_blocks_is_outdated (self, self->by_serial.values[item], space))
    return LU_BPF_NO_ITEM;
  self->blocks[self->by_serial.values[item]].n_users++;
  return self->by_serial.values[item];
}

/* Another one stands for this version from now on. */
static void
forget_serial (LuBpfBlocks *self, guint32 number)
{
  LuBpfBlock *block = &self->blocks[number];

  if (block->is_current)
    lu_bpf_index_remove (&self->by_serial, lu_bpf_index_find (&self->by_serial, block->serial));
  block->is_current = FALSE;
}

static void
make_current (LuBpfBlocks *self, guint32 number)
{
  LuBpfBlock *block = &self->blocks[number];
  guint32 item = lu_bpf_index_find (&self->by_serial, block->serial);

  if (item != LU_BPF_NO_ITEM)
    forget_serial (self, self->by_serial.values[item]);
  item = lu_bpf_index_add (&self->by_serial, block->serial);
  block->is_current = item != LU_BPF_NO_ITEM;
  if (block->is_current)
    self->by_serial.values[item] = number;
}

guint32
lu_bpf_blocks_add (LuBpfBlocks *self, LuBpfSlots *slots, LuSpace *space,
                   gboolean (*is_wanted) (LuModule *module, gpointer user_data), gpointer user_data)
{
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);
  LuBpfBlock block = { .serial = lu_space_serial (space), .n_users = 1 };
  guint n;
  const LuMapping *mappings = lu_space_mappings (space, &n);
  struct lu_bpf_mapping *out;
  guint32 number;

  block.n_mappings = n;
  block.address = lu_bpf_arena_take (&self->arena, n * WORDS_PER_MAPPING);
  if (block.address == 0)
    return LU_BPF_NO_ITEM;
  number = lu_bpf_index_add (&self->pool, ++self->last_key);
  if (number == LU_BPF_NO_ITEM)
    {
      lu_bpf_arena_trim (&self->arena, block.address, n * WORDS_PER_MAPPING, 0);
      return LU_BPF_NO_ITEM;
    }
  out = (struct lu_bpf_mapping *) lu_bpf_arena_words (&self->arena, block.address);
  for (guint i = 0; i < n; i++)
    {
      LuModule *module = mappings[i].module;
      /* Before the rest: another thread may open it any time. */
      gboolean is_pending = lu_module_is_pending (module);
      LuDwflMapping described = lu_dwfl_mapping_describe (&mappings[i], arch);
      struct lu_bpf_mapping mapping = { .start = described.start,
                                        .end = described.end,
                                        .kind = is_pending ? LU_BPF_MAPPING_OPAQUE
                                                           : lu_bpf_mapping_kind_of (&described) };

      if (mapping.kind == LU_BPF_MAPPING_TABLE)
        {
          mapping.bias = described.bias;
          mapping.module =
              lu_bpf_slots_take (slots, module, is_wanted != NULL && is_wanted (module, user_data));
          if (mapping.module == 0)
            mapping.kind = LU_BPF_MAPPING_OPAQUE;
          else
            lu_bpf_known_add (slots, mapping.module, &described);
        }
      block.n_pending += is_pending;
      out[i] = mapping;
    }
  self->bytes += n * sizeof *out;
  block.space = lu_space_ref (space);
  self->blocks[number] = block;
  make_current (self, number);
  return number;
}

void
lu_bpf_blocks_give_back (LuBpfBlocks *self, LuBpfSlots *slots, guint32 number)
{
  LuBpfBlock *block = &self->blocks[number];
  const struct lu_bpf_mapping *mappings;

  if (--block->n_users > 0)
    return;
  forget_serial (self, number);
  mappings = (const struct lu_bpf_mapping *) lu_bpf_arena_words (&self->arena, block->address);
  for (guint i = 0; i < block->n_mappings; i++)
    if (mappings[i].module != 0)
      lu_bpf_slots_give_back (slots, mappings[i].module);
  self->bytes -= block->n_mappings * sizeof *mappings;
  lu_bpf_arena_give_back (&self->arena, block->address, block->n_mappings * WORDS_PER_MAPPING);
  lu_space_unref (g_steal_pointer (&block->space));
  lu_bpf_index_remove (&self->pool, number);
}
