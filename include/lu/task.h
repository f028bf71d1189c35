/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* task.h - what the task iterator (bpf/tasks.bpf.c) tells user space about one thread. */

#pragma once

#include <stdint.h>

/* The most bytes of a stack that are copied: 4,096 frames (LU_STACK_MAX_FRAMES) of 64 bytes. */
#define LU_TASK_MAX_STACK (256u << 10)
/* PERF_MAX_STACK_DEPTH, the default of kernel.perf_event_max_stack */
#define LU_TASK_MAX_KERNEL 127
/* The most words of struct pt_regs (asm/ptrace.h) that an architecture needs */
#define LU_TASK_MAX_REGS 34
/* TASK_COMM_LEN (linux/sched.h) */
#define LU_TASK_COMM_SIZE 16

struct lu_task
{
  uint32_t pid, tid; /* in the pid namespace of the reader */
  uint32_t state;    /* TASK_* (linux/sched.h); 0: it runs or is ready to */
  uint32_t is_still; /* it ran on no CPU while it was read: what follows belongs together */
  uint64_t time;     /* ns, CLOCK_MONOTONIC: before it was read */
  char comm[LU_TASK_COMM_SIZE];
  uint32_t n_kernel;                   /* addresses in `kernel` */
  uint32_t stack_size;                 /* bytes in `stack` */
  uint64_t regs[LU_TASK_MAX_REGS];     /* of user mode, as struct pt_regs; all zero: it has none */
  uint64_t context;                    /* user space puts PERF_CONTEXT_KERNEL here: a callchain */
  uint64_t kernel[LU_TASK_MAX_KERNEL]; /* its kernel stack, leaf first */
  uint8_t stack[LU_TASK_MAX_STACK];    /* its user stack, from the stack pointer on */
};
