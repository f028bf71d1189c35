/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lent-stacks.c - looks for functions of the kernel among callers; see lent-stacks.h. */

#include "lent-stacks.h"

#include "arch/arch.h"
#include "base/fd.h"
#include "symbolize/kallsyms.h"

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The parent may go on in the first two: exec_mmap() and exit_mm() are parts of them in most
 * kernels. Their time before that is mostly in the others, which never run in between. */
static const char *const functions[] = {
  "begin_new_exec",       "do_exit",      "security_bprm_creds_from_file",
  "perf_event_exit_task", "acct_collect",
};
#define N_LENDING 2

/* A callchain of a sample in them has at least these: the sampled place or function, a system
 * call's function and the kernel's entry. */
#define LEAST_CALLERS 3

struct _LuLentStacks
{
  int fd; /* -1: the ranges are known, or will never be */
  LuKernelRange ranges[G_N_ELEMENTS (functions)];
  atomic_bool is_read; /* the ranges no longer change */
};

LuLentStacks *
lu_lent_stacks_new (int kallsyms_fd_taken)
{
  LuLentStacks *self = g_new0 (LuLentStacks, 1);

  self->fd = kallsyms_fd_taken;
  atomic_init (&self->is_read, self->fd < 0);
  return self;
}

void
lu_lent_stacks_free (LuLentStacks *self)
{
  if (self == NULL)
    return;
  lu_fd_clear (&self->fd);
  g_free (self);
}

void
lu_lent_stacks_find (LuLentStacks *self)
{
  if (self->fd < 0)
    return;
  lu_kallsyms_find_ranges (self->fd, functions, G_N_ELEMENTS (functions), self->ranges);
  lu_fd_clear (&self->fd);
  atomic_store_explicit (&self->is_read, true, memory_order_release);
}

/* Returns the index of the function that has the address; their number: none of them. */
static guint
function_at (const LuLentStacks *self, guint64 address)
{
  guint i = 0;

  while (i < G_N_ELEMENTS (functions)
         && (address < self->ranges[i].start || address >= self->ranges[i].end))
    i++;
  return i;
}

/* Looks for the innermost of the functions. */
static LuLentResult
search_callers (const LuLentStacks *self, const LuSample *sample)
{
  gboolean in_kernel = TRUE;

  for (guint32 i = 0; i < sample->n_callchain; i++)
    {
      guint64 word = sample->callchain[i];

      guint function = G_N_ELEMENTS (functions);

      if (word >= PERF_CONTEXT_MAX)
        in_kernel = word == PERF_CONTEXT_KERNEL;
      else if (in_kernel)
        function = function_at (self, word);
      if (function < G_N_ELEMENTS (functions))
        return function < N_LENDING ? LU_LENT_YES : LU_LENT_NO;
    }
  return LU_LENT_NO;
}

/* A child of vfork() has one thread. Of processes that run already when a recording begins it is
 * not known whether they have executed a program, so they are asked about only once the addresses
 * are known: reading them would cost every recording. */
LuLentResult
lu_lent_stacks_ask (const LuLentStacks *self, const LuProcess *process, gint32 tid,
                    const LuSample *sample)
{
  if (G_LIKELY (sample->cpumode != PERF_RECORD_MISC_KERNEL) || sample->n_callchain < LEAST_CALLERS
      || tid != lu_process_pid (process) || lu_process_has_executed (process))
    return LU_LENT_NO;
  if (atomic_load_explicit (&self->is_read, memory_order_acquire))
    return search_callers (self, sample);
  return lu_process_start_time (process) != 0 ? LU_LENT_UNKNOWN : LU_LENT_NO;
}

void
lu_lent_stack_end (const LuSample *sample, LuStack *stack)
{
  const LuArch *arch = lu_arch_of_regs (&sample->regs);
  guint pc, sp;

  stack->status = LU_STATUS_OTHER_STACK;
  if (arch == NULL || !lu_arch_find_word (&sample->regs, arch->perf_pc, &pc)
      || !lu_arch_find_word (&sample->regs, arch->perf_sp, &sp))
    return;
  stack->sampled_sp = sample->regs.words[sp];
  stack->end_pc = sample->regs.words[pc];
  lu_stack_push (stack, stack->end_pc, 0);
}
