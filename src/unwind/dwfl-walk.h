/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-walk.h - one walk of the dwfl engine: libdwfl from a sample's registers, or from those of a
 * frame further out, to an end that has a state.
 *
 * Used by dwfl.c, which begins walks and knows what else may be tried with a leaf. Worker thread
 * only. */

#pragma once

#include "unwind/dwfl-facts.h"
#include "unwind/dwfl-space.h"
#include "unwind/guess.h"

#include "lu/stack.h"

typedef struct
{
  const LuArch *arch;
  const LuSample *sample;
  LuDwflSpace *space;
  LuDwflFactsCache *facts;
  LuCodeReader *reader;
  LuGuessPlaces *set_up;
  LuStack *stack;
  GPtrArray *held; /* images whose CFI stays until the walk is over */
  gint32 pid;
  guint64 serial; /* of the process' space */
  guint64 sampled_sp;
  guint64 deadline;     /* thread CPU time, ns */
  gboolean is_finished; /* the status of the stack is decided */

  /* libdwfl begins with the caller of a frame without unwind information. pc 0: with the sampled
   * registers. Of a leaf's caller on top of the stack all registers are known, of one that was
   * found by frame pointer (has_only_fp) no others than these. */
  LuGuessFrame caller;
  gboolean has_only_fp;
  gboolean is_to_begin; /* anew, with `caller` */
  gboolean has_begun;   /* and the frame to come is the first one */

  /* The last guess by frame pointer: the frame that it was made from, and its state. n_frames 0: no
   * guess yet. */
  guint guess_n_frames;
  LuStatus guess_status;
  guint64 last_fp;
  guint n_guess_rules;

  /* 1: the sampled pc is where a system call returns to, and what it belongs to ends there. */
  guint8 leaf_back;

  /* The last frame. */
  const LuDwflMapping *mapping;
  guint64 lookup; /* address that was looked up */
  guint64 sp;
  gboolean is_exact;    /* its pc is not a return address */
  gboolean is_off_copy; /* interrupted on a stack that we have no copy of */
  gboolean is_signal_frame;
  guint8 self_saved; /* see dwfl-facts.h */

  /* Reads since then. The return address is read last (its DWARF number is the highest). */
  guint n_reads;
  gboolean has_failed; /* the last one */
  guint64 last_value, failed_address;

  /* A read that failed at any time: some register may not be known any more. */
  gboolean has_lost;
  guint64 lost_address;
} LuDwflWalk;

/* The argument that libdwfl hands to them is the walk. */
extern const Dwfl_Thread_Callbacks lu_dwfl_thread_callbacks;

/* The time after which a walk that begins now ends as over budget. */
guint64 lu_dwfl_walk_deadline (void);
/* Walks from `caller` if is_to_begin, else from the sampled registers; the stack has a status then.
 */
void lu_dwfl_walk_run (LuDwflWalk *self);
void lu_dwfl_walk_finish (LuDwflWalk *self, LuStatus status, guint64 end_pc);

/* The word at a run-time address, if it is in the copy. */
gboolean lu_dwfl_walk_read (LuDwflWalk *self, guint64 address, guint64 *value);
/* Whether this is a return address into code that has unwind information and no frame pointer. */
gboolean lu_dwfl_walk_is_return (LuDwflWalk *self, guint64 pc);
/* The last frame has no unwind information, for the reason `status`. TRUE: the walk is to begin
 * anew with its caller. FALSE: there is none to be believed, and the walk may be finished. */
gboolean lu_dwfl_walk_guess (LuDwflWalk *self, LuStatus status, guint64 fp);
