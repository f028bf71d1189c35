/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-table.h - all followed processes, as of any moment for which the rings may still hold
 * samples.
 *
 * Drain thread only (main thread before the drain thread runs). Side-band events change it; a
 * sample is looked up by pid and time. Exec ends one incarnation of a pid and begins the next, fork
 * copies the parent's address space from here, and exit keeps everything until every ring has been
 * read past it. */

#pragma once

#include "module/module-cache.h"
#include "process/copied-text.h"
#include "process/process.h"

typedef struct _LuProcessTable LuProcessTable;

/* Why the address space of a process has changed. */
typedef enum
{
  LU_ADDRESS_SPACE_DISCOVERED, /* the process is new to us, or was read from /proc again */
  LU_ADDRESS_SPACE_FORKED,     /* a child begins with its parent's address space, or an empty one */
  LU_ADDRESS_SPACE_EXECED,     /* it is empty now */
  LU_ADDRESS_SPACE_MAPPED,     /* more is mapped */
  LU_ADDRESS_SPACE_ENDED,      /* the process has ended */
} LuAddressSpaceChange;

/* Callbacks; all but the first may be NULL. */
typedef struct
{
  /* A new module appeared, which is not open yet; `process` maps it at [start, end). */
  void (*module_added) (LuModule *module, LuProcess *process, guint64 start, guint64 end,
                        gpointer user_data);
  /* A process was discovered, forked, or executed a program (is_exec: its command line can be read
   * now). */
  void (*process_added) (LuProcess *process, gboolean is_exec, gpointer user_data);
  /* A followed process (child_pid != pid) or a thread of it began; a followed process ended. */
  void (*forked) (guint64 time, gint32 pid, gint32 child_pid, gpointer user_data);
  void (*exited) (guint64 time, gint32 pid, gpointer user_data);
  /* A followed process has another address space; NULL: none. parent_pid: for FORKED, otherwise 0.
   */
  void (*address_space_changed) (LuProcess *process, LuAddressSpace *space,
                                 LuAddressSpaceChange change, gint32 parent_pid,
                                 gpointer user_data);
} LuProcessTableFuncs;

/* follow_all: follow every process; otherwise only those passed to lu_process_table_follow() and
 * their descendants. */
LuProcessTable *lu_process_table_new (gboolean follow_all, const LuProcessTableFuncs *funcs,
                                      gpointer user_data);
void lu_process_table_free (LuProcessTable *self);

/* Follows a pid from now on. */
void lu_process_table_follow (LuProcessTable *self, gint32 pid);

/* Returns whether the pid is followed, or was until this round. */
gboolean lu_process_table_follows (LuProcessTable *self, gint32 pid);

/* Applies a side-band event. */
void lu_process_table_apply (LuProcessTable *self, const LuEvent *event);

/* Finds the incarnation of the pid at that time and its address space then; both are borrowed until
 * the end of the round. Returns FALSE if the pid is not followed. If all are followed, an unknown
 * pid is added without mappings. */
gboolean lu_process_table_lookup (LuProcessTable *self, gint32 pid, guint64 time,
                                  LuProcess **process, LuAddressSpace **space);

/* Returns whether this incarnation is the current one of its pid, as far as side-band says, so that
 * /proc/PID describes it. */
gboolean lu_process_table_is_current (LuProcessTable *self, const LuProcess *process);

/* Ends a round: every sample committed before the last call has been handled, so older versions and
 * dead processes may go. */
void lu_process_table_end_round (LuProcessTable *self);

/* Reads processes from /proc that were sampled but never announced (side-band was lost), and
 * forgets processes whose last thread exited unseen. Reads files; call it between rounds. */
void lu_process_table_repair (LuProcessTable *self, guint64 time);
/* Reads the mappings of one process again that may have moved code of a file since they were read
 * last. Returns FALSE if there is none. Reads files; call it between rounds. */
gboolean lu_process_table_read_moved_text (LuProcessTable *self, guint64 time);
/* Takes the next copied code that is to be compared (copied-text.h); FALSE: there is none. */
gboolean lu_process_table_next_copy (LuProcessTable *self, LuCopiedText *question);
/* Maps copied code that was compared as a part of its file, if it is still there. */
void lu_process_table_settle_copy (LuProcessTable *self, const LuCopiedText *answer, guint64 time);
/* After side-band was lost: ends, at `time`, all processes that are not in /proc any more. */
void lu_process_table_bury_dead (LuProcessTable *self, guint64 time);

/* Returns whether at least one followed process is alive. */
gboolean lu_process_table_has_live (LuProcessTable *self);
guint lu_process_table_size (LuProcessTable *self);

/* Adds one process from /proc; mappings that are known already stay as they are. Reads files.
 * Returns FALSE if there is no such process. `time` is the time of new mappings, or 0 for "has
 * always been there": few of the processes that run when a recording begins are ever sampled, so
 * their modules are not announced before lu_process_table_announce(). */
gboolean lu_process_table_discover (LuProcessTable *self, gint32 pid, guint64 time);
/* Announces the modules of the process that were not announced yet. */
void lu_process_table_announce (LuProcessTable *self, LuProcess *process);
/* Calls lu_process_table_discover() for all processes (follow_all) or for those that are followed
 * and alive. Reads files. */
void lu_process_table_discover_all (LuProcessTable *self, guint64 time);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProcessTable, lu_process_table_free)
