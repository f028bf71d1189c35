/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracee.h - starts target.c's program under ptrace, runs it to its stop, and makes a sample of it.
 */

#pragma once

#include "lu/sample.h"
#include "process/address-space.h"
#include "unwind/unwinder.h"

#include <sys/types.h>

typedef struct
{
  pid_t pid;
  guint64 words[17]; /* in perf's order, mask 0xff01ff */
  guint8 *stack;
  LuSample sample;       /* the whole stack, up to `limit` bytes; borrows from here */
  LuAddressSpace *space; /* all modules opened */
  guint64 *returns;      /* recorded by the program, leaf first */
  guint n_returns;
} Tracee;

/* Runs target-BUILD of the directory. Returns NULL and skips the test with the reason if it could
 * not be built or cannot run here (no such ABI, ptrace not allowed). */
Tracee *tracee_start (const char *directory, const char *build, const char *const *args,
                      gsize limit);
void tracee_free (Tracee *self);

/* Unwinds as the engine does. With LU_TEST_LEAN in the environment no module has its CFI in memory
 * at first, as if all of them had whole tables. */
void tracee_unwind (LuUnwinder *unwinder, gint32 pid, const LuSample *sample, LuAddressSpace *space,
                    LuStack *stack);

/* Returns the engine to test: the one that LU_TEST_ENGINE names, or dwfl. */
const LuUnwinderOps *tracee_engine (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Tracee, tracee_free)
