/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* thread-names.h - the names that threads of one process gave themselves, or were given.
 *
 * Names are bytes of the kernel, at most 15, and may be any but NUL. One thread at a time. */

#pragma once

#include <glib.h>

#define LU_COMM_SIZE 16 /* TASK_COMM_LEN, linux/sched.h */

typedef struct _LuThreadNames LuThreadNames;

LuThreadNames *lu_thread_names_new (void);
/* Reads the names of at most LU_THREAD_NAMES_MAX threads of a running process from /proc. */
LuThreadNames *lu_thread_names_read (gint32 pid);
void lu_thread_names_free (LuThreadNames *self);

/* Enough for all threads of a large server; each takes some 100 bytes. Beyond them, the name that
 * was set first is forgotten. */
#define LU_THREAD_NAMES_MAX 8192
void lu_thread_names_set (LuThreadNames *self, gint32 tid, const char *name);
/* Returns NULL if nothing was set. Borrowed until the next change. `self` may be NULL. */
const char *lu_thread_names_find (const LuThreadNames *self, gint32 tid);
