/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-vmas.h - finds the mapping of an address in the kernel's own tree of mappings, for walks
 * in processes that user space has not published yet.
 *
 * Nothing is locked: an interrupt may not wait, bpf_find_vma() takes the lock only once in an
 * interrupt, and the kernel's iterator of mappings refuses to run in one. Since Linux 6.1 the tree
 * is made for readers without a lock. Reads of kernel memory that is gone fail or give other bytes,
 * so a mapping counts only if two reads agree that it belongs to this process, is executable and
 * holds the address. The reader of the record compares the marks of these mappings with side-band.
 */

#pragma once

#include "kernel-structs.h"
#include "walk.h"

/* Nodes of the tree (lib/maple_tree.c, include/linux/maple_tree.h) have 256 bytes and are aligned
 * to that; bits 3 to 6 of a pointer to one are its kind. A node has pivots, which are the upper
 * ends of its ranges, and one slot more than pivots. Words of a node:
 *
 *   0       1 ...        slots          last used slot             kind
 *   parent  15 pivots    from word 16   word 31 if pivot 14 is 0   LEAF, RANGE
 *   parent  9 pivots     from word 10   word 30                    GAPS
 *
 * expect_layout() refuses to load where that is not so. */
#define NODE_BYTES      256
#define NODE_WORDS      (NODE_BYTES / 8)
#define NODE_KIND(node) ((node) >> 3 & 15)
#define NODE_LEAF       1
#define NODE_RANGE      2
#define NODE_GAPS       3
#define N_PIVOTS        15 /* of LEAF and RANGE */
#define SLOTS           16
#define SLOTS_META      31
#define N_GAPS_PIVOTS   9
#define GAPS_SLOTS      10
#define GAPS_META       30
#define MAX_LEVELS_VMA  6 /* enough for more mappings than a process can have */
#define VM_EXEC         4 /* linux/mm.h */
#define PAGE_BITS       12
/* A bit that no pointer in the tree has. */
#define TREE_END 1

/* No helper has this number: the verifier refuses a program that may call it. */
static long (*const refuse_layout) (void) = (void *) 0xbad1a70;

#define WORD_OF(type, field)  (bpf_core_field_offset (struct type, field) / 8)
#define WORDS_OF(type, field) (bpf_core_field_size (struct type, field) / 8)

/* Loads only where nodes are laid out as above. All numbers are the loader's, so the verifier knows
 * the outcome. */
static inline void
expect_layout (void)
{
  uint64_t wrong = bpf_core_type_size (struct maple_node) ^ NODE_BYTES;

  wrong |= bpf_core_enum_value (enum maple_type, maple_leaf_64) ^ NODE_LEAF;
  wrong |= bpf_core_enum_value (enum maple_type, maple_range_64) ^ NODE_RANGE;
  wrong |= bpf_core_enum_value (enum maple_type, maple_arange_64) ^ NODE_GAPS;
  wrong |= WORD_OF (maple_range_64, parent) | WORD_OF (maple_arange_64, parent);
  wrong |= WORD_OF (maple_range_64, pivot) ^ 1;
  wrong |= WORDS_OF (maple_range_64, pivot) ^ N_PIVOTS;
  wrong |= WORD_OF (maple_range_64, slot) ^ SLOTS;
  wrong |= WORD_OF (maple_range_64, meta) ^ SLOTS_META;
  wrong |= WORD_OF (maple_arange_64, pivot) ^ 1;
  wrong |= WORDS_OF (maple_arange_64, pivot) ^ N_GAPS_PIVOTS;
  wrong |= WORD_OF (maple_arange_64, slot) ^ GAPS_SLOTS;
  wrong |= WORD_OF (maple_arange_64, meta) ^ GAPS_META;
  if (wrong != 0)
    refuse_layout ();
}

/* Returns the slot of the node in walk->node that holds the address: the one of the first pivot
 * that is not below it. The search has no branch, since the verifier would follow both ways at
 * each. */
HOST_SUBPROGRAM uint64_t
read_slot (walk_ref ref, uint64_t kind, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  uint64_t has_gaps = is_negative (NODE_RANGE - kind), at = 0, last, n;

  if (walk == NULL)
    return 0;
  last = walk->node[N_PIVOTS];
  n = (walk->node[GAPS_META] & has_gaps)
      | ((walk->node[SLOTS_META] | is_negative (last | -last)) & ~has_gaps);
  n &= 15;
  for (uint64_t half = 8; half > 0; half >>= 1)
    {
      uint64_t end = at + half - 1;

      at += half
            * (negative_bit ((walk->node[1 + end] >> 1) - (address >> 1)) & negative_bit (end - n));
    }
  at += SLOTS - (SLOTS - GAPS_SLOTS) * negative_bit (has_gaps);
  HOST_BOUND (at, NODE_WORDS - 1);
  return walk->node[at];
}

/* Goes one level down: returns the next node, or the end of the search with TREE_END set, which it
 * then stays at. A function of its own, so that the verifier looks at it once and not at each
 * level. */
HOST_SUBPROGRAM uint64_t
descend (walk_ref ref, uint64_t tree, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  uint64_t node = tree & ~(uint64_t) (NODE_BYTES - 1), kind = NODE_KIND (tree);
  uint64_t failed, parent;

  if (walk == NULL)
    return TREE_END;
  if ((tree & TREE_END) != 0)
    return tree;
  failed = (uint64_t) bpf_probe_read_kernel (walk->node, NODE_BYTES, (void *) node);
  parent = walk->node[0] & ~(uint64_t) (NODE_BYTES - 1); /* the node itself if it is dead */
  if ((negative_bit (kind - NODE_LEAF) | negative_bit (NODE_GAPS - kind) | negative_bit (failed))
          != 0
      || parent == node)
    return TREE_END;
  tree = read_slot (ref, kind, address);
  if (kind != NODE_LEAF)
    return tree & ~(uint64_t) TREE_END;
  return (tree & 7) == 0 ? tree | TREE_END : TREE_END;
}

/* Returns what the tree has at the address; 0 if that is nothing, or if the tree is being changed.
 */
static inline uint64_t
find_in_tree (walk_ref ref, uint64_t tree, uint64_t address)
{
  for (int i = 0; i < MAX_LEVELS_VMA; i++)
    tree = descend (ref, tree, address);
  return (tree & TREE_END) != 0 ? tree - TREE_END : 0;
}

/* FALSE: `known` is being written. */
static inline int64_t
take_known (struct visited_mapping *place, const struct lu_bpf_known *known, uint64_t offset)
{
  struct lu_bpf_known found = *known;

  place->bias = place->start - offset - found.to_ea;
  if (found.check != lu_bpf_known_check (&found) || found.offset != offset
      || place->start + place->size - place->bias > 1ull << LU_BPF_KEY_SHIFT)
    return 0;
  place->kind = LU_BPF_MAPPING_TABLE;
  place->module = found.slot;
  return 1;
}

/* Returns the place if it describes this part of this file, otherwise the next place. */
HOST_SUBPROGRAM uint64_t
pass_known (uint64_t place, uint64_t number, uint64_t device, uint64_t offset, uint64_t generation)
{
  const struct lu_bpf_known *known;
  uint64_t at = place, differences;

  HOST_BOUND (at, LU_BPF_MAX_KNOWN - 1);
  known = &host_shared->known[at];
  HOST_NEAR (known);
  differences = (known->inode ^ number) | (known->offset ^ offset) | (known->device ^ device)
                | ((known->generation ^ generation) & -(uint64_t) known->generation);
  return place + negative_bit (differences | -differences);
}

/* Sets the slot and bias of walk->found if that part of the file was published before; otherwise
 * the mapping is opaque. */
HOST_SUBPROGRAM int64_t
find_known (walk_ref ref, uint64_t number, uint64_t device, uint64_t offset, uint64_t generation)
{
  struct walk *walk = host_walk (ref);
  uint64_t at = lu_bpf_known_group (lu_bpf_known_hash (number, (uint32_t) device, offset));
  const struct lu_bpf_known *known;
  struct visited_mapping *place;
  uint64_t end;

  if (walk == NULL)
    return 0;
  place = &walk->found;
  place->kind = LU_BPF_MAPPING_OPAQUE;
  place->module = 0;
  place->bias = 0;
  end = at + LU_BPF_KNOWN_PLACES;
  for (uint64_t i = 0; i < LU_BPF_KNOWN_PLACES; i++)
    at = pass_known (at, number, device, offset, generation);
  if (at == end)
    return 0;
  HOST_BOUND (at, LU_BPF_MAX_KNOWN - 1);
  known = &host_shared->known[at];
  HOST_NEAR (known);
  return take_known (place, known, offset);
}

/* Sets walk->found to the executable mapping that holds the address. FALSE: there is none, or it
 * cannot be read. */
HOST_SUBPROGRAM int64_t
host_find_vma (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  struct task_struct *task = (struct task_struct *) bpf_get_current_task ();
  struct mm_struct *mm;
  struct visited_mapping *place;
  struct vm_area_struct *vma;
  struct file *file;
  struct inode *inode;
  struct super_block *super;
  uint64_t end, offset, number;
  uint32_t device;

  if ((host_config.flags & LU_BPF_VMAS) == 0 || walk == NULL)
    return 0;
  place = &walk->found;
  mm = (struct mm_struct *) READ (task, mm);
  vma = (struct vm_area_struct *) find_in_tree (ref, READ (mm, mm_mt.ma_root), address);
  if (vma == NULL)
    {
      expect_layout (); /* here, because the verifier passes this in any case, and walks hardly ever
                           do */
      return 0;
    }
  file = (struct file *) READ (vma, vm_file);
  place->start = READ (vma, vm_start);
  end = READ (vma, vm_end);
  offset = READ (vma, vm_pgoff) << PAGE_BITS;
  inode = (struct inode *) READ (file, f_inode);
  number = READ (inode, i_ino);
  super = (struct super_block *) READ (inode, i_sb);
  device = (uint32_t) READ (super, s_dev);
  place->size = end - place->start;
  find_known (ref, number, device, offset, (uint32_t) READ (inode, i_generation));
  if (file == NULL || address - place->start >= place->size || (READ (vma, vm_flags) & VM_EXEC) == 0
      || READ (vma, vm_mm) != (uint64_t) mm || READ (vma, vm_file) != (uint64_t) file
      || READ (vma, vm_start) != place->start || READ (vma, vm_end) != end)
    return 0;
  walk->vma_marks |= lu_bpf_vma_mark (number, device, place->start - offset);
  return 1;
}
