/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* statistics.h - counts of finished stacks: by end state, by module, and how much stack they
 * needed.
 *
 * Writer thread while recording, any one thread after that. */

#pragma once

#include "messages.h"

/* Copies are at most 65,528 bytes: 2^0 .. 2^16. */
#define LU_STATISTICS_LOG2_SIZES 17

typedef struct
{
  char *path; /* of the module in which stacks ended, owned */
  guint64 by_status[LU_N_STATUS];
  guint64 total;
} LuModuleStatistics;

/* Bytes of stack are counted from the sampled stack pointer. */
typedef struct
{
  LuCounters counters;
  guint64 by_status[LU_N_STATUS];
  guint64 truncated_log2[LU_STATISTICS_LOG2_SIZES]; /* truncated copies, [i]: of which at most 2^i
                                                       bytes were asked for */
  guint64
      used_log2[LU_STATISTICS_LOG2_SIZES]; /* complete stacks, [i]: that used at most 2^i bytes */
  GHashTable *modules;                     /* path -> LuModuleStatistics */
} LuStatistics;

void lu_statistics_init (LuStatistics *self);
void lu_statistics_clear (LuStatistics *self);

/* Counts one finished stack. */
void lu_statistics_add (LuStatistics *self, const LuStackMessage *stack);

/* Truncated copies of at least about this size. */
guint64 lu_statistics_truncated_at (const LuStatistics *self, guint32 stack_asked);
/* Samples that could be unwound: they had registers and stack bytes. */
guint64 lu_statistics_unwindable (const LuStatistics *self);
/* Percentage of complete stacks among these; NAN if there are none. */
double lu_statistics_complete_percent (const LuStatistics *self);
/* Returns the modules in which stacks ended incomplete, most first: array of borrowed
 * LuModuleStatistics, owned by the caller. */
GPtrArray *lu_statistics_modules (const LuStatistics *self);
/* Returns the smallest size of the copy, in bytes, that would have held `percent` of the complete
 * stacks, rounded up to a power of two; 0 if nothing is known. */
guint64 lu_statistics_stack_size_for (const LuStatistics *self, double percent);
