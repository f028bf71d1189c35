/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-walk.h - one walk of the dwfl engine: libdwfl from the sample's registers, or from those of
 * a frame further out, to an end that has a status.
 *
 * dwfl.c starts walks and handles leaves without unwind information. Worker thread only. */

#pragma once

#include "module/code-reader.h"
#include "unwind/dwfl-facts.h"
#include "unwind/frame-provider.h"

#include "lu/stack.h"

/* BX, which libdw loses (lu_dwfl_facts_keeps_bx()), in the last frame that has it. */
typedef struct
{
  guint64 value;
  guint n_frames;    /* up to that frame; 0: none has it */
  gboolean is_again; /* libdwfl starts again with a frame that it has visited, and BX */
} LuDwflBx;

typedef struct
{
  const LuArch *arch;
  const LuSample *sample;
  LuDwflAddressSpace *space;
  LuDwflFactsCache *facts;
  LuCodeReader *reader;
  LuSetUpCode *set_up;
  LuStack *stack;
  GPtrArray *held; /* images whose CFI is held until the walk is over */
  gint32 pid;
  gboolean has_hotspot; /* lu_address_space_has_hotspot() */
  guint64 sampled_sp;
  guint64 deadline;     /* thread CPU time, ns */
  gboolean is_finished; /* the status of the stack is decided */

  /* The caller of a frame without unwind information, from which libdwfl starts. pc 0: it starts
   * from the sampled registers. has_only_fp: a frame provider has found it, so only these registers
   * are known; otherwise it was on top of the stack, and all are. */
  LuFrameRegs caller;
  gboolean has_lost_sp; /* caller.sp is not that of the frame, whose rule therefore does not hold */
  gboolean has_only_fp;
  gboolean is_to_begin; /* libdwfl must start again with `caller` */
  gboolean has_begun;   /* it has, and the next frame is the first one */
  gboolean is_derived;  /* the caller was found by a row that is not from CFI */

  /* The registers of a frame that was interrupted, by their perf bits, from which libdwfl starts
   * again instead: has_saved. */
  gboolean has_saved;
  guint64 saved_bits; /* those that are known */
  guint64 saved[LU_ARCH_MAX_PERF_REGISTERS];

  /* The last step by a frame provider: the number of frames before it, and the status that the
   * stack gets if it was wrong. n_frames 0: none yet. */
  guint inferred_n_frames;
  LuStatus inferred_status;
  LuProviderState provider_state;

  /* 1: the sampled pc is where a system call returns to, and its function ends there. */
  guint8 leaf_back;

  /* The last frame. */
  const LuDwflMapping *mapping;
  guint64 lookup; /* the address that was looked up */
  guint64 sp;
  gboolean is_exact;          /* its pc is not a return address */
  gboolean is_off_copy;       /* the interrupted stack is not in the copy */
  gboolean is_at_absent_page; /* the walk ended where the copy ended early */
  gboolean is_signal_frame;
  gboolean is_preempting; /* Go's runtime.asyncPreempt */
  gboolean is_landing;    /* see dwfl-facts.h */
  guint8 self_saved;      /* see dwfl-facts.h */
  LuDwflBx bx;

  /* Reads since then. The return address is read last, because its DWARF number is the highest. */
  guint n_reads;
  gboolean has_failed; /* the last one */
  guint64 last_value, failed_address;

  /* A failed read at any time: some register may not be known any more. */
  gboolean has_lost;
  guint64 lost_address;
} LuDwflWalk;

/* libdwfl passes the walk to them. */
extern const Dwfl_Thread_Callbacks lu_dwfl_thread_callbacks;

/* Returns the time at which a walk that starts now is over budget. */
guint64 lu_dwfl_walk_deadline (void);
/* Walks from `caller` if is_to_begin, otherwise from the sampled registers, and sets the status of
 * the stack. */
void lu_dwfl_walk_run (LuDwflWalk *self);
void lu_dwfl_walk_finish (LuDwflWalk *self, LuStatus status, guint64 end_pc);

/* Reads the word at a run-time address; FALSE if it is not in the copy. */
gboolean lu_dwfl_walk_read (LuDwflWalk *self, guint64 address, guint64 *value);
/* Judges the word at this offset from the stack pointer of the leaf; see lu_leaf_caller_check(). */
LuProviderResult lu_dwfl_walk_check_top (LuDwflWalk *self, guint64 offset, guint64 value);
/* Asks the frame providers about the last frame, which has no unwind information for the reason
 * `status`. TRUE: the walk must start again with its caller. FALSE: there is none, and the walk may
 * be finished. */
gboolean lu_dwfl_walk_ask_providers (LuDwflWalk *self, LuStatus status, guint64 fp);
