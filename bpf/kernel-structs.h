/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-structs.h - the fields of the kernel's structures that the program reads; libbpf finds
 * their places by BTF when it loads the program. */

#pragma once

#include <stdint.h>

#include "walk-arch.h"

struct ns_common
{
  unsigned int inum;
} __attribute__ ((preserve_access_index));

struct pid_namespace
{
  struct ns_common ns;
} __attribute__ ((preserve_access_index));

struct upid
{
  int nr;
  struct pid_namespace *ns;
} __attribute__ ((preserve_access_index));

struct pid
{
  unsigned int level;
  struct upid numbers[1]; /* level + 1 of them, from the initial namespace to the task's own */
} __attribute__ ((preserve_access_index));

struct super_block
{
  uint32_t s_dev;
} __attribute__ ((preserve_access_index));

struct inode
{
  uint64_t i_ino;
  uint32_t i_generation;
  struct super_block *i_sb;
} __attribute__ ((preserve_access_index));

struct file
{
  struct inode *f_inode;
} __attribute__ ((preserve_access_index));

struct vm_area_struct
{
  uint64_t vm_start, vm_end;
  struct mm_struct *vm_mm;
  uint64_t vm_flags;
  uint64_t vm_pgoff; /* in pages */
  struct file *vm_file;
} __attribute__ ((preserve_access_index));

struct maple_tree
{
  void *ma_root;
} __attribute__ ((preserve_access_index));

/* The nodes of the tree are read as words (kernel-vmas.h); these only serve to check that. */
enum maple_type
{
  maple_dense,
  maple_leaf_64,
  maple_range_64,
  maple_arange_64,
};

struct maple_node
{
  void *parent;
} __attribute__ ((preserve_access_index));

struct maple_metadata
{
  unsigned char end;
} __attribute__ ((preserve_access_index));

struct maple_range_64
{
  void *parent;
  unsigned long pivot[15];
  void *slot[16];
  struct maple_metadata meta;
} __attribute__ ((preserve_access_index));

struct maple_arange_64
{
  void *parent;
  unsigned long pivot[9];
  void *slot[10];
  struct maple_metadata meta;
} __attribute__ ((preserve_access_index));

struct xol_area
{
  unsigned long vaddr;
} __attribute__ ((preserve_access_index));

struct uprobes_state
{
  struct xol_area *xol_area; /* NULL: no probe has needed it */
} __attribute__ ((preserve_access_index));

struct return_instance
{
  unsigned long stack; /* where the return address is, or would be */
  unsigned long orig_ret_vaddr;
  struct return_instance *next; /* of a caller */
} __attribute__ ((preserve_access_index));

struct uprobe_task
{
  struct return_instance *return_instances;
  void *active_uprobe;     /* whose instruction runs in the page */
  unsigned long vaddr;     /* of the instruction in the program */
  unsigned long xol_vaddr; /* of its copy */
} __attribute__ ((preserve_access_index));

struct mm_struct
{
  struct maple_tree mm_mt;
  uint64_t arg_start, arg_end;
  struct uprobes_state uprobes_state;
} __attribute__ ((preserve_access_index));

struct task_struct
{
  unsigned int __state;        /* TASK_* (linux/sched.h) */
  unsigned int flags;          /* PF_* (linux/sched.h) */
  unsigned int on_cpu;         /* it runs, or is being switched; one byte in 7.3 */
  unsigned long nvcsw, nivcsw; /* how often it was switched out */
  char comm[16];
  int tgid;
  struct mm_struct *mm;
  struct pid *thread_pid; /* NULL: the task has ended */
  uint64_t start_boottime;
  uint64_t self_exec_id;
  struct task_struct *group_leader;
  struct task_struct *real_parent;
  struct completion *vfork_done; /* NULL: no parent waits for the task to leave its memory */
  struct uprobe_task *utask;     /* NULL: no probe was hit */
  struct thread_struct thread;
} __attribute__ ((preserve_access_index));
