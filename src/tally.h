/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tally.h - counts of finished samples: by end state, by module, and how much stack they needed.
 *
 * Belongs to the writer thread while recording, to the main thread after. */

#pragma once

#include "lu/stack.h"
#include "module/module.h"

#include <glib.h>

/* Copies are at most 65,528 bytes: 2^0 .. 2^16. */
#define LU_TALLY_LOG2_SIZES 17

/* How much of the stack a walk wanted, in bytes above the sampled stack pointer. */
typedef struct
{
  guint64 needed; /* LuStack.stack_needed */
  guint64 used;   /* LuStack.stack_used */
  guint32 asked;  /* size of the copy; 0: there was none */
} LuStackUse;

typedef struct
{
  char *path; /* of the module in which stacks ended, owned */
  guint64 by_status[LU_N_STATUS];
  guint64 total;
} LuModuleTally;

typedef struct
{
  guint64 samples;
  guint64 by_status[LU_N_STATUS];
  guint64 live_reads;
  guint64 joined;  /* complete only with outer frames of other samples (join.h) */
  guint64 guessed; /* complete only with frames that were found by frame pointer */
  guint64 guessed_frames;
  guint64 kernel_frames, user_frames;
  guint64 stack_needed_max; /* bytes: the furthest read that a truncated copy could not serve */
  guint64 stack_used_max;   /* bytes: the furthest read of any stack that was served */
  guint64
      truncated_log2[LU_TALLY_LOG2_SIZES]; /* truncated copies by the size asked for, likewise */
  guint64 used_log2[LU_TALLY_LOG2_SIZES];  /* complete stacks by bytes of stack they needed: [i]: at
                                              most 2^i bytes */
  GHashTable *modules;                     /* path -> LuModuleTally */
} LuTally;

void lu_tally_init (LuTally *self);
void lu_tally_clear (LuTally *self);

/* Counts one finished sample. end_path: the file in which an incomplete stack ended, NULL if none.
 */
void lu_tally_add (LuTally *self, LuStatus status, guint32 n_kernel, guint32 n_user,
                   const LuStackUse *use, const char *end_path);
/* Counts the guesses among the user frames of that sample; not those of other samples (join.h). */
void lu_tally_add_guesses (LuTally *self, LuStatus status, const LuFrame *user, guint32 n_user);
/* Truncated copies of at least about this size. */
guint64 lu_tally_truncated_at (const LuTally *self, guint32 stack_asked);

/* Samples that had registers and stack bytes, and how many of them are complete. */
guint64 lu_tally_walked (const LuTally *self);
/* complete over walked, in percent; 100 if nothing was walked. */
double lu_tally_complete_percent (const LuTally *self);
/* Modules in which stacks ended incomplete, most first: array of borrowed LuModuleTally. Owned. */
GPtrArray *lu_tally_modules (const LuTally *self);
/* The smallest size of the copy, in bytes, that would have held `percent` of the stacks that were
 * whole, rounded up to a power of two; 0 if nothing is known. */
guint64 lu_tally_stack_size_for (const LuTally *self, double percent);
