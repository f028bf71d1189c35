/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* interp.h - recognizes files with an interpreter: where it keeps the functions that it runs, and
 * which of its code runs them.
 *
 * The worker asks when it opens a file; what it gets is immutable and belongs to the module. The
 * file is hostile: it can only spoil what is shown of processes that map it. */

#pragma once

#include "lu/interp.h"

#include <glib.h>

typedef struct
{
  guint64 start, end; /* ELF addresses, end exclusive */
} LuInterpRange;

/* The function itself, parts of it that the compiler moved away, and copies of it. */
#define LU_INTERP_MAX_RANGES 4

typedef struct
{
  struct lu_interp_file file; /* for the BPF program */
  /* The function that runs the interpreted functions; its beginning is the first range. */
  LuInterpRange ranges[LU_INTERP_MAX_RANGES];
  guint n_ranges;
  /* It calls handlers of instructions, which go on to each other without a call: what it calls in
   * its own file belongs to it. */
  gboolean has_handlers;
  /* Within this many bytes from its beginning, it may have noted its function only in part; 0: it
   * does so in one step. */
  guint two_steps;
} LuInterp;

/* Recognizes an interpreter in the file open as `fd` (borrowed), which is mapped as `path`. Returns
 * it, owned by the caller, or NULL if there is none that is known. */
LuInterp *lu_interp_recognize (const char *path, int fd);
/* Does so with bytes in memory. */
LuInterp *lu_interp_recognize_bytes (const char *path, gconstpointer bytes, gsize size);

/* Returns whether a command (NULL-terminated) seems to run an interpreter: by its name, that in its
 * first line, or, of a program that starts another one (sh, env), by its arguments. Only a guess,
 * because it may run anything. */
gboolean lu_interp_runs_command (const char *const *command);

/* Returns whether the code at an ELF address is of the function that runs functions. */
gboolean lu_interp_runs_at (const LuInterp *self, guint64 elf_address);
/* Returns whether the function may not have noted yet at that address which function it runs. */
gboolean lu_interp_begins_at (const LuInterp *self, guint64 elf_address);

/* Returns the versions of interpreters that were met and are not known, as "Python 3.17", in the
 * order of their numbers; NULL if there are none. Owned by the caller. Any thread. */
char *lu_interp_unknown_versions (void);
