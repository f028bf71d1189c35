/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracee.h - starts target.c's program under ptrace, lets it run to its stop, and makes a sample of
 * it. */

#pragma once

#include "lu/sample.h"
#include "process/space.h"
#include "unwind/unwinder.h"

#include <sys/types.h>

typedef struct
{
  pid_t pid;
  guint64 words[17]; /* in perf's order, mask 0xff01ff */
  guint8 *stack;
  LuSample sample;  /* the whole stack, up to `limit` bytes; borrows from here */
  LuSpace *space;   /* all modules opened */
  guint64 *returns; /* what the program wrote down, leaf first */
  guint n_returns;
} Tracee;

/* Runs target-BUILD of the folder. NULL, and the test is skipped with the reason, when it could not
 * be made or cannot be run here (no such ABI, ptrace not allowed). */
Tracee *tracee_start (const char *folder, const char *build, const char *const *args, gsize limit);
void tracee_free (Tracee *self);

/* As the engine does it. With LU_TEST_LEAN in the environment no module has its CFI in memory when
 * it begins, as if there were whole tables of all of them. */
void tracee_unwind (LuUnwinder *unwinder, gint32 pid, const LuSample *sample, LuSpace *space,
                    LuStack *stack);

/* The engine to test: the one that LU_TEST_ENGINE names, else dwfl. */
const LuUnwinderOps *tracee_engine (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Tracee, tracee_free)
