/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jit-names.h - names of generated code of one process: its perf map and its jitdump.
 *
 * A perf map is text, a line per function: hexadecimal start and size, and the name; of two that
 * overlap the later line wins. A jitdump is binary and has times (CLOCK_MONOTONIC), so that code
 * that takes the place of other code is told apart. Both may be hostile. Names are read from the
 * file when they are asked for. One thread. */

#pragma once

#include <glib.h>

typedef struct _LuJitNames LuJitNames;

typedef struct
{
  guint64 start, end; /* run-time addresses of the function, end exclusive */
  char *name;         /* owned by the caller */
} LuJitName;

LuJitNames *lu_jit_names_new (void);
/* With all that is found: the process's perf map, and the jitdump at this path in its root or else
 * in ours. jitdump: absolute, or NULL. */
LuJitNames *lu_jit_names_new_of_process (gint32 pid, const char *jitdump);
void lu_jit_names_free (LuJitNames *self);

/* Both take the descriptor. FALSE if there is nothing usable in the file. */
gboolean lu_jit_names_add_perf_map (LuJitNames *self, int fd);
gboolean lu_jit_names_add_jitdump (LuJitNames *self, int fd);

/* Opens the perf map of a process, live or dead, if it is a regular file that belongs to the
 * process's user (of a dead one: to root, to us, or to who called sudo). -1 if there is none. */
int lu_jit_names_open_perf_map (gint32 pid);

guint lu_jit_names_size (const LuJitNames *self);
/* The function at the address at that time: the newest one of then, else the oldest one. FALSE if
 * there is none. */
gboolean lu_jit_names_find (LuJitNames *self, guint64 address, guint64 time, LuJitName *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuJitNames, lu_jit_names_free)
