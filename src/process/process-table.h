/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-table.h - all processes we follow, as of any moment the rings can still hold samples of.
 *
 * Drain thread only (main thread while it discovers, before the drain thread runs). Side-band
 * events change it; a sample is looked up by (pid, time). Exec ends one incarnation of a pid and
 * begins the next, fork copies the parent's space from here, exit keeps everything until every ring
 * has been read past it. */

#pragma once

#include "lu/event.h"
#include "module/module-cache.h"
#include "process/process.h"

typedef struct _LuProcessTable LuProcessTable;

/* Why the current space of a process is another one. */
typedef enum
{
  LU_SPACE_DISCOVERED, /* the process itself is new to us, or was read from /proc anew */
  LU_SPACE_FORKED,     /* a child begins; it has its parent's, or an empty one */
  LU_SPACE_EXECED,     /* empty */
  LU_SPACE_MAPPED,     /* more is mapped */
  LU_SPACE_ENDED,      /* the process has ended: no space */
} LuSpaceChange;

/* All but the first may be NULL. */
typedef struct
{
  /* A module nobody has opened yet appeared; `process` maps it at [start, end). */
  void (*module_added) (LuModule *module, LuProcess *process, guint64 start, guint64 end,
                        gpointer user_data);
  /* A process was discovered, forked or executed a program (is_exec: it has a command line of its
   * own, which can be read now). */
  void (*process_added) (LuProcess *process, gboolean is_exec, gpointer user_data);
  /* A followed process (child_pid != pid) or thread began, a followed process ended. */
  void (*forked) (guint64 time, gint32 pid, gint32 child_pid, gpointer user_data);
  void (*exited) (guint64 time, gint32 pid, gpointer user_data);
  /* The current space of a followed process is another one; NULL: none. parent_pid: of
   * FORKED, else 0. */
  void (*space_changed) (LuProcess *process, LuSpace *space, LuSpaceChange change,
                         gint32 parent_pid, gpointer user_data);
} LuProcessTableFuncs;

/* follow_all: every process is followed, else those added by lu_process_table_follow() and their
 * descendants from then on. */
LuProcessTable *lu_process_table_new (gboolean follow_all, const LuProcessTableFuncs *funcs,
                                      gpointer user_data);
void lu_process_table_free (LuProcessTable *self);

/* Follows a pid from now on. */
void lu_process_table_follow (LuProcessTable *self, gint32 pid);

/* Whether the pid is followed, or was until this round. */
gboolean lu_process_table_follows (LuProcessTable *self, gint32 pid);

/* Applies a side-band event. */
void lu_process_table_apply (LuProcessTable *self, const LuEvent *event);

/* The incarnation of the pid at that time and the version of its space then; both borrowed until
 * the end of the round. FALSE if the pid is not followed (or, when all are, has not been seen: it
 * is then made, without mappings). */
gboolean lu_process_table_lookup (LuProcessTable *self, gint32 pid, guint64 time,
                                  LuProcess **process, LuSpace **space);

/* Whether this incarnation is what its pid is now, as far as side-band says: /proc is about it. */
gboolean lu_process_table_is_current (LuProcessTable *self, const LuProcess *process);

/* Every sample committed before the last call has been handled: older versions and dead processes
 * may go. */
void lu_process_table_end_round (LuProcessTable *self);

/* Follows what was sampled without ever having been announced (side-band was lost). Reads files;
 * call it between rounds. Also forgets processes whose last thread ended unseen. */
void lu_process_table_repair (LuProcessTable *self, guint64 time);
/* After side-band was lost: ends, at `time`, those of which /proc knows nothing any more. */
void lu_process_table_bury_dead (LuProcessTable *self, guint64 time);

/* TRUE if one pid at least is followed and alive. */
gboolean lu_process_table_has_live (LuProcessTable *self);
guint lu_process_table_size (LuProcessTable *self);

/* Adds what /proc says of one process now (a mapping that is already known is not touched). Reads
 * files. FALSE if there is no such process. `time` is what new mappings are stamped with; 0 for
 * "always was": few of the processes that run when a recording begins are ever sampled, so their
 * modules are not announced before lu_process_table_announce(). */
gboolean lu_process_table_discover (LuProcessTable *self, gint32 pid, guint64 time);
/* Tells of the modules that the process maps and nobody was told of. */
void lu_process_table_announce (LuProcessTable *self, LuProcess *process);
/* The same as lu_process_table_discover() for all processes (follow_all) or those followed and
 * alive. Reads files. */
void lu_process_table_discover_all (LuProcessTable *self, guint64 time);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProcessTable, lu_process_table_free)
