/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tasks.bpf.c - the task iterator: hands over registers and stacks of threads that do not run.
 *
 * User space reads four bytes from the iterator for each thread, and then finds the thread in
 * `record` (lu/task.h). The program runs in the context of the reader and may sleep (Linux 5.18).
 * Nothing stops the threads. One that runs on no CPU is in the kernel, which keeps its user
 * registers at the top of the kernel stack. It has run on no CPU in between if it is on none before
 * and after the copy and was not switched out meanwhile. */

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel-structs.h"
#include "lu/task.h"

char program_license[] SEC ("license") = "Dual BSD/GPL";

struct bpf_iter_meta
{
  struct seq_file *seq;
} __attribute__ ((preserve_access_index));

struct bpf_iter__task
{
  struct bpf_iter_meta *meta;
  struct task_struct *task;
} __attribute__ ((preserve_access_index));

struct lu_task record;

/* Processes to be read; 0: all. Programs that sleep have to know all memory of a map beforehand. */
struct
{
  __uint (type, BPF_MAP_TYPE_HASH);
  __uint (max_entries, 4096);
  __type (key, uint32_t);
  __type (value, uint32_t);
} wanted SEC (".maps");

/* Returns the number of a task in the pid namespace of the reader, which sees only tasks that have
 * one. */
static uint32_t
number_of (struct task_struct *task)
{
  struct task_struct *reader = bpf_get_current_task_btf ();
  uint32_t level = BPF_CORE_READ (reader, thread_pid, level);
  uint64_t pid = (uint64_t) BPF_CORE_READ (task, thread_pid);
  struct upid *upid = (struct upid *) (pid + bpf_core_field_offset (struct pid, numbers)
                                       + level * bpf_core_type_size (struct upid));

  return pid != 0 ? (uint32_t) BPF_CORE_READ (upid, nr) : 0;
}

static int
is_wanted (uint32_t pid)
{
  uint32_t all = 0;

  return bpf_map_lookup_elem (&wanted, &pid) != NULL || bpf_map_lookup_elem (&wanted, &all) != NULL;
}

static long
note_end (struct task_struct *task, struct vm_area_struct *vma, uint64_t *end)
{
  *end = vma->vm_end;
  return 0;
}

/* Copies what lies between the stack pointer and the end of its mapping. */
static void
copy_stack (struct task_struct *task, uint64_t sp)
{
  uint64_t end = sp, size;

  record.stack_size = 0;
  bpf_find_vma (task, sp, note_end, &end, 0);
  size = end - sp;
  if (size > LU_TASK_MAX_STACK)
    size = LU_TASK_MAX_STACK;
  if (size != 0 && bpf_copy_from_user_task (record.stack, size, (void *) sp, task, 0) == 0)
    record.stack_size = size;
}

static void
copy (struct task_struct *task)
{
  void *regs = (void *) bpf_task_pt_regs (task);
  long size = bpf_get_task_stack (task, record.kernel, sizeof record.kernel, 0);

  record.n_kernel = size > 0 ? size / sizeof (uint64_t) : 0;
  bpf_probe_read_kernel (record.regs, N_REGS * sizeof record.regs[0], regs);
  copy_stack (task, record.regs[REG_SP]);
}

/* Returns how often the task has been switched out. */
static uint64_t
switches_of (struct task_struct *task)
{
  return *(volatile uint64_t *) &task->nvcsw + *(volatile uint64_t *) &task->nivcsw;
}

SEC ("iter.s/task")
int
take_task (struct bpf_iter__task *context)
{
  struct task_struct *task = context->task;
  uint64_t switches;

  /* Kernel threads, and threads that have ended, have no memory. */
  if (task == NULL || task->mm == NULL)
    return 0;
  record.pid = number_of (task->group_leader);
  record.tid = number_of (task);
  if (!is_wanted (record.pid))
    return 0;
  record.time = bpf_ktime_get_ns ();
  record.state = task->__state;
  bpf_probe_read_kernel (record.comm, sizeof record.comm, task->comm);
  switches = switches_of (task);
  record.is_still = !*(volatile unsigned int *) &task->on_cpu;
  if (record.is_still)
    copy (task);
  record.is_still = record.is_still && !*(volatile unsigned int *) &task->on_cpu
                    && switches_of (task) == switches;
  bpf_seq_write (context->meta->seq, &record.tid, sizeof record.tid);
  return 0;
}
