/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* drain-private.h - the drain, as its two files share it; for them only.
 *
 * drain.c has the thread: rounds, waiting, start and stop. drain-events.c handles the events of a
 * round. */

#pragma once

#include "drain.h"
#include "poll-scheduler.h"
#include "process-info.h"

struct _LuDrain
{
  LuSource *source;     /* owned */
  LuDispatch *dispatch; /* owned */
  LuWriter *writer;     /* borrowed: for its counts */
  LuDrainOptions options;
  LuProcessTable *table;
  LuBpfMaps *maps;             /* borrowed; NULL: nothing is unwound in the kernel */
  gboolean is_flushed;         /* maps have the side-band of this round */
  LuProcessInfo *process_info; /* owned */
  LuMemoryReader *reader;      /* borrowed; NULL: copied code is not compared */
  LuCopiedText copy;           /* to be compared next; pid 0: none */
  GHashTable *tids;            /* set; NULL: all */
  GThread *thread;
  int wake_fd, ended_fd;
  pid_t own_pid;
  gboolean live;             /* the processes exist now */
  guint64 command_exec_time; /* ns, when COMMAND replaced us in the child; G_MAXUINT64: not yet */
  guint64 handled_lost_sideband, logged_cpu_changes, logged_lost;
  gint64 last_tick, last_log, stopped; /* us, monotonic; 0: not yet */
  gint64 moved_text_us;                /* spent on moved code since the last tick */
  guint rounds_after_end;
  gboolean has_processes; /* running processes have been looked for */
  LuPollScheduler scheduler;
  LuPollFacts met;    /* in this round so far */
  gboolean has_slack; /* the rings have room, so samples can wait in them */

  LuCounters counters;
  atomic_bool quit, ended;
};

/* Callbacks of the process table; user_data is the drain. */
extern const LuProcessTableFuncs lu_drain_table_funcs;
/* A LuEventFunc for the source. */
LuVerdict lu_drain_handle_event (const LuEvent *event, gpointer user_data);
/* Publishes what is known by now to the BPF program. */
void lu_drain_flush_maps (LuDrain *self);
