/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-table-private.h - what keeps processes (process-table.c) and what applies side-band to
 * them (process-events.c) share. */

#pragma once

#include "process/process-private.h"

typedef struct _LuPast LuPast;
typedef struct _LuPid LuPid;

struct _LuPast
{
  LuProcess *process; /* owned */
  guint64 round;      /* in which it ended */
  LuPast *older;
};

struct _LuPid
{
  gint32 number;
  LuProcess *current; /* owned */
  LuPast *past;       /* owned, newest first */
  gint n_threads;     /* alive; a lower bound if some were never announced */
  guint32 n_execs;
  gboolean leader_exited;
  gboolean dead;
  guint64 dead_round;
  gboolean is_unsettled; /* it is in the list of these */
};

struct _LuProcessTable
{
  GHashTable *pids; /* pid -> LuPid */
  LuPid *last;      /* the one asked for last, in there; NULL: none */
  LuModuleCache *modules;
  gboolean follow_all;
  const LuProcessTableFuncs *funcs;
  gpointer user_data;
  guint64 round;
  guint64 newest_time;      /* of any side-band event */
  guint64 cut_times[2];     /* newest_time at the end of the last two rounds */
  GPtrArray *unsettled;     /* of LuPid: with history, past incarnations or death to clean up */
  GHashTable *undiscovered; /* set of pids that need lu_process_table_repair() */
  guint n_live;
};

/* NULL: it is not followed. */
LuPid *lu_process_table_find (LuProcessTable *self, gint32 pid);
/* Puts a new incarnation in place; takes it. */
LuPid *lu_process_table_put (LuProcessTable *self, LuProcess *process);
void lu_process_table_mark_unsettled (LuProcessTable *self, LuPid *pid);
/* It has ended, with all threads. */
void lu_process_table_mark_dead (LuProcessTable *self, LuPid *pid, guint64 time);
/* parent_pid: of a fork. */
void lu_process_table_tell_space (LuProcessTable *self, LuProcess *process, LuSpaceChange change,
                                  gint32 parent_pid);
void lu_process_table_tell_added (LuProcessTable *self, LuProcess *process, gboolean is_exec);
/* Tells of the module, once. */
void lu_process_table_announce_module (LuProcessTable *self, const LuMapping *mapping,
                                       LuProcess *process);
