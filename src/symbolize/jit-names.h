/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jit-names.h - finds names of generated code of one process, in its perf map and its jitdump.
 *
 * A perf map is text with one function per line: hexadecimal start and size, and the name. If two
 * functions overlap, the later line wins. A jitdump is binary and has times (CLOCK_MONOTONIC), so
 * code that replaces other code at the same address is told apart. Both may be hostile. Names stay
 * in the files until they are looked up. One thread. */

#pragma once

#include "symbolize/budget.h"

typedef struct _LuJitNames LuJitNames;

typedef struct
{
  guint64 start, end; /* run-time addresses of the function, end exclusive */
  char *name;         /* owned by the caller */
} LuJitName;

/* wanted: the addresses that will be looked up (guint64, sorted, borrowed); lines of perf maps that
 * contain none of them are not kept. NULL: all lines. budget: borrowed; NULL: no limits. */
LuJitNames *lu_jit_names_new (const GArray *wanted, LuBudget *budget);
/* Reads the perf map of the process, live or dead, and the jitdump with this path in its root, or
 * else in ours. A perf map has to be a regular file that belongs to the user of the process or to
 * root; of a dead process to root, to us, or to the user who called sudo. Nothing is read if the
 * pid belongs to a process that started after `time` (CLOCK_MONOTONIC, ns), and no perf map from
 * before the process started. jitdump: an absolute path, or NULL. */
void lu_jit_names_add_process (LuJitNames *self, gint32 pid, guint64 time, const char *jitdump);
void lu_jit_names_free (LuJitNames *self);

/* Tells whether a mapped file is a jitdump, by its name. Programs map theirs to announce it. */
gboolean lu_jit_names_is_jitdump (const char *path);

/* Both take the descriptor. FALSE if the file contains nothing usable. */
gboolean lu_jit_names_add_perf_map (LuJitNames *self, int fd);
gboolean lu_jit_names_add_jitdump (LuJitNames *self, int fd);

/* Finds the function at the address at that time (CLOCK_MONOTONIC, ns): the newest one at that
 * time, or else the oldest one. FALSE if there is none. */
gboolean lu_jit_names_find (LuJitNames *self, guint64 address, guint64 time, LuJitName *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuJitNames, lu_jit_names_free)
