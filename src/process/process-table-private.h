/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-table-private.h - the table's data, shared by process-table.c, process-events.c and
 * discover.c. The last two use the first, never the other way round. */

#pragma once

#include "process/process-private.h"
#include "process/process-table.h"

typedef struct _LuPast LuPast;
typedef struct _LuPid LuPid;

struct _LuPast
{
  LuProcess *process; /* owned */
  guint64 round;      /* round in which it ended */
  LuPast *older;
};

struct _LuPid
{
  gint32 number;
  LuProcess *current; /* owned */
  LuPast *past;       /* owned, newest first */
  gint n_threads;     /* alive threads; a lower bound if some were never announced */
  gboolean leader_exited;
  gboolean dead;
  guint64 dead_round;
  guint n_copies;          /* times that copied code was compared since its mappings were read */
  guint n_moved_texts;     /* times that the program's mappings were read again for moved code */
  gboolean has_moved_text; /* code of a file was seen in other memory, since its last exec */
  gboolean is_unsettled;   /* is in the list `unsettled` */
};

struct _LuProcessTable
{
  GHashTable *pids; /* pid -> LuPid */
  LuPid *last;      /* result of the last find; NULL: none */
  LuModuleCache *modules;
  gboolean follow_all;
  const LuProcessTableFuncs *funcs;
  gpointer user_data;
  guint64 round;
  guint64 newest_time;  /* newest time of any side-band event */
  guint64 cut_times[2]; /* newest_time at the end of the last two rounds */
  GPtrArray *unsettled; /* array of LuPid: those with old versions, past incarnations or an end to
                           clean up */
  GHashTable *undiscovered; /* set of pids that need lu_process_table_repair() */
  GHashTable *moved;        /* set of pids that may have moved code of a file */
  GArray *copies;           /* of LuCopiedText: copied code that is to be compared */
  guint n_live;
};

/* Returns NULL if the pid is not followed. */
LuPid *lu_process_table_find (LuProcessTable *self, gint32 pid);
/* Makes `process` the current incarnation of its pid; takes it. */
LuPid *lu_process_table_put (LuProcessTable *self, LuProcess *process);
/* Returns the module of a mapping. Borrowed. */
LuModule *lu_process_table_module (LuProcessTable *self, const LuMmapEvent *mmap);
/* Notes that the copied code at an address of the process is to be compared. */
void lu_process_table_note_copy (LuProcessTable *self, LuPid *pid, guint64 address);
void lu_process_table_mark_unsettled (LuProcessTable *self, LuPid *pid);
/* Notes that the process has ended with all its threads. */
void lu_process_table_mark_dead (LuProcessTable *self, LuPid *pid, guint64 time);
/* Calls address_space_changed(). parent_pid: for a fork, otherwise 0. */
void lu_process_table_tell_address_space (LuProcessTable *self, LuProcess *process,
                                          LuAddressSpaceChange change, gint32 parent_pid);
void lu_process_table_tell_added (LuProcessTable *self, LuProcess *process, gboolean is_exec);
/* Calls module_added() once for each module. */
void lu_process_table_announce_module (LuProcessTable *self, const LuMapping *mapping,
                                       LuProcess *process);
