/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-vmas.h - the mapping of an address as the kernel itself has it, for walks in processes
 * that user space has not published yet.
 *
 * Nothing is locked: an interrupt may not wait, and the helper that tries to (bpf_find_vma()) can
 * do so once in an interrupt; the kernel's iterator refuses to run in one. The tree of mappings is
 * made for readers without a lock (6.1), reads of kernel memory that is gone fail or bring other
 * bytes, and what is found has to say that it is a mapping of this process and holds the address,
 * twice. Who reads the record compares the marks of these mappings with those of side-band. */

#pragma once

#include "kernel-structs.h"
#include "walk.h"

/* Nodes of the tree (lib/maple_tree.c, include/linux/maple_tree.h): 256 bytes, aligned so; the bits
 * below are the kind. A node has upper ends, and one more slot than these, where the rest is:
 *
 *   word      0       1 ...           16 ...       31                     kind
 *             parent  15 upper ends   16 slots, or 15 and how many          1, 2
 *             parent  9 upper ends    10 slots (from 10)   how many (30)    3
 */
#define NODE_BYTES      256
#define NODE_KIND(node) ((node) >> 3 & 15)
#define NODE_LEAF       1
#define NODE_RANGE      2
#define NODE_GAPS       3
#define MAX_LEVELS_VMA  6 /* more than the mappings of a process ever need */
#define VM_EXEC         4
#define PAGE_BITS       12
/* A bit that no pointer of the tree has. */
#define TREE_END 1

/* What stands in the slot of the node that holds the address: the first one whose upper end is not
 * below it. No branch: the verifier would follow both at each. */
HOST_TURN uint64_t
read_slot (walk_ref ref, uint64_t kind, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  uint64_t has_gaps = is_negative (NODE_RANGE - kind), at = 0, last, n;

  if (walk == NULL)
    return 0;
  last = walk->node[15];
  n = (walk->node[30] & has_gaps) | ((walk->node[31] | is_negative (last | -last)) & ~has_gaps);
  n &= 15;
  for (uint64_t half = 8; half > 0; half >>= 1)
    {
      uint64_t end = at + half - 1;

      at += half
            * (negative_bit ((walk->node[1 + end] >> 1) - (address >> 1)) & negative_bit (end - n));
    }
  at += 16 - 6 * negative_bit (has_gaps);
  HOST_BOUND (at, 31);
  return walk->node[at];
}

/* What the node has at the address: another node, or with TREE_END what the tree has there, which
 * it stays at. A function of its own, which the verifier does not follow at each level. */
HOST_TURN uint64_t
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
  parent = walk->node[0] & ~(uint64_t) (NODE_BYTES - 1); /* itself: dead */
  if ((negative_bit (kind - NODE_LEAF) | negative_bit (NODE_GAPS - kind) | negative_bit (failed))
          != 0
      || parent == node)
    return TREE_END;
  tree = read_slot (ref, kind, address);
  if (kind != NODE_LEAF)
    return tree & ~(uint64_t) TREE_END;
  return (tree & 7) == 0 ? tree | TREE_END : TREE_END;
}

/* What the tree has at the address; 0: nothing, or it is being changed. */
static inline uint64_t
find_in_tree (walk_ref ref, uint64_t tree, uint64_t address)
{
  for (int i = 0; i < MAX_LEVELS_VMA; i++)
    tree = descend (ref, tree, address);
  return (tree & TREE_END) != 0 ? tree - TREE_END : 0;
}

/* FALSE: it is being written. */
static inline int64_t
take_known (struct place *place, const struct lu_bpf_known *known, uint64_t offset)
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

/* The place itself if what is known there is known of that, else the next one. */
HOST_TURN uint64_t
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

/* Sets slot and place of ELF addresses of walk->found, if they are known; else nobody can say
 * anything of it. */
HOST_TURN int64_t
find_known (walk_ref ref, uint64_t number, uint64_t device, uint64_t offset, uint64_t generation)
{
  struct walk *walk = host_walk (ref);
  uint64_t at = lu_bpf_known_group (lu_bpf_known_hash (number, (uint32_t) device, offset));
  const struct lu_bpf_known *known;
  struct place *place;
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

/* Sets walk->found to the executable mapping that holds the address; FALSE: there is none, or it
 * cannot be told. */
HOST_TURN int64_t
host_find_vma (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  struct task_struct *task = (struct task_struct *) bpf_get_current_task ();
  struct mm_struct *mm;
  struct place *place;
  struct vm_area_struct *vma;
  struct file *file;
  struct inode *inode;
  struct super_block *super;
  uint64_t end, offset, number;
  uint32_t device;

  if ((HOST_FLAGS & LU_BPF_VMAS) == 0 || walk == NULL)
    return 0;
  place = &walk->found;
  mm = (struct mm_struct *) READ (task, mm);
  vma = (struct vm_area_struct *) find_in_tree (ref, READ (mm, mm_mt.ma_root), address);
  if (vma == NULL)
    return 0;
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
