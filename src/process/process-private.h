/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-private.h - what the files of this folder share of a process. */

#pragma once

#include "process/process-table.h"

#define LU_COMM_SIZE 16 /* TASK_COMM_LEN, linux/sched.h */

/* A version of the space and when it began to hold. */
typedef struct
{
  guint64 time;
  LuSpace *space; /* owned */
} LuSpaceVersion;

LuProcess *lu_process_new (gint32 pid, guint32 generation, guint64 start_time, const char *comm,
                           LuSpace *space);
/* Replaces the current space from `time` on; takes it. The old one stays for lu_process_space_at().
 */
void lu_process_take_space (LuProcess *self, guint64 time, LuSpace *space);
/* Puts a mapping on top of the current space, from `time` on; FALSE if nothing changes. When very
 * much has changed since samples were last looked at, the newest version is changed instead of
 * adding one. */
gboolean lu_process_add_mapping (LuProcess *self, guint64 time, const LuMapping *mapping);
LuSpace *lu_process_space_at (LuProcess *self, guint64 time); /* borrowed */
/* Drops versions that ended before `time`. */
void lu_process_trim (LuProcess *self, guint64 time);
gboolean lu_process_has_history (const LuProcess *self);

/* Puts an incarnation that /proc shows in place (or its space, if the pid is known already). */
void lu_process_table_put_discovered (LuProcessTable *self, gint32 pid, const char *comm,
                                      guint n_threads, LuSpace *space, guint64 time);
/* Looks up the module of a mapping. Borrowed. */
LuModule *lu_process_table_module (LuProcessTable *self, const LuMmapEvent *mmap);
/* All versions of the space. */
typedef void (*LuSpaceFunc) (LuSpace *space, gpointer user_data);
void lu_process_foreach_space (LuProcess *self, LuSpaceFunc func, gpointer user_data);
gboolean lu_process_table_follows_all (LuProcessTable *self);
void lu_process_table_discover_followed (LuProcessTable *self, guint64 time);
