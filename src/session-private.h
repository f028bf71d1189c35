/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-private.h - one recording, as the parts of the session share it; for them only.
 *
 * session.c sets it up, runs it and frees it, session-outputs.c makes the sink and its files,
 * session-wait.c has signals and the status line, session-end.c says what the recording came to. It
 * lies on the stack of the main thread, which calls everything here where nothing else is said. */

#pragma once

#include "command.h"
#include "drain.h"
#include "helper.h"
#include "kernel-walks.h"
#include "module/tables.h"
#include "options.h"
#include "output/outputs.h"
#include "rotation.h"
#include "symbolize/debuginfod.h"
#include "symbolize/kallsyms-file.h"
#include "target.h"
#include "worker.h"
#include "writer.h"

typedef struct
{
  const LuOptions *options;
  LuTarget target;
  LuCommand command;
  LuHelper helper; /* nothing in it unless we are one */
  LuQueue *to_worker, *from_worker, *to_writer;
  LuWorker *worker;
  gboolean worker_is_stuck;    /* at the end: it runs on, with what it uses */
  LuStore *store;              /* until `tables` has it; NULL: none */
  GThread *inbox_thread;       /* fills the store; NULL: there is nothing to do */
  LuTables *tables;            /* NULL: none */
  LuKernelWalks *kernel_walks; /* NULL: nothing is sampled */
  LuWriter *writer;
  LuDrain *drain;
  int signal_fd, ended_fd, failed_fd;
  gint64 start_us, stop_us;
  double cpu_seconds_at_start, cpu_seconds_at_stop;
  guint64 busy_ns_at_start;
  gint64 naming_us;         /* since when names are looked for; 0: they are not */
  LuDebuginfod *debuginfod; /* NULL: nothing is fetched */
  gint64 fetching_us;       /* since when */
  LuOutputs outputs;        /* until the sinks have them */
  LuKallsymsFile *kallsyms; /* of this machine; reference; NULL: none yet */
  GThread *main_thread;
  gint skips_names; /* atomic */
  gboolean interrupted, status_shown;

  /* with --rotate */
  LuRotation *rotation; /* the writer's sink; NULL: there is none */
  LuSourceInfo source_info;
  LuDrainProgress last_progress; /* when a file was ended for the last time */
  double last_cpu_seconds;
} LuSession;

/* session-outputs.c */

/* Opens the outputs of the options, with --rotate those of the first period; nothing if they are
 * open already. They are kept in `outputs`. */
gboolean lu_session_open_outputs (LuSession *self, GError **error);
/* Whether new files can only be made with rights over folders of others, or given to who called
 * sudo. */
gboolean lu_session_needs_rights_for_outputs (const LuSession *self);
/* A capture of our own, many of them (which sets `rotation`), or one for a client; takes what is
 * open of the outputs. live: times are those of lu_monotonic_ns(). Owned. */
LuSink *lu_session_new_sink (LuSession *self, gboolean live);

/* session-wait.c */

/* From here on signals are read from signal_fd, and only there; opens the descriptors by which the
 * threads report. SIGPIPE and SIGXFSZ are ignored. */
gboolean lu_session_block_signals (LuSession *self, GError **error);
/* Until a signal, COMMAND's end, the duration, the end of the source or trouble. */
void lu_session_wait_for_the_end (LuSession *self);
/* The recording is over, COMMAND need not be; as ever, the second signal ends the waiting and us.
 * Returns COMMAND's exit code, or our_code if that is 0. */
int lu_session_wait_for_command (LuSession *self, int our_code);
/* Takes the status line away, if there is one. */
void lu_session_erase_status (LuSession *self);
/* Three for those who take long when a recording is over, or a file of it; user_data is the
 * session. FALSE: leave out the rest.
 *
 * A LuSyscapHitsFunc: while names are looked for. Any thread. */
gboolean lu_session_go_on_naming (guint done, guint total, gpointer user_data);
/* A LuDebuginfodProgress: while files are fetched. The thread that looks for names. */
gboolean lu_session_go_on_fetching (const char *name, guint64 done, guint64 total,
                                    gpointer user_data);
/* While a thread of its own finishes the last files (LuRotationFuncs). */
void lu_session_wait_for_files (gpointer user_data);

/* session-end.c */

/* ns that all CPUs together have spent on something since the system started, from /proc/stat; 0 if
 * it cannot be read. */
guint64 lu_session_busy_ns (void);
/* User and system time of all our threads so far. */
double lu_session_cpu_seconds (void);
/* What is known of one file while the recording goes on: its stacks exactly, and what else was
 * counted between its end and that of the one before (LuRotationFuncs). The writer's thread, or,
 * when all threads have ended, the main thread. JSON; owned by the caller. */
char *lu_session_describe_period (const LuPart *part, gpointer user_data);
/* When all threads have ended: writes the end of the capture, with the summary in it, and tells the
 * user. Returns the exit code. */
int lu_session_report (LuSession *self);
/* The same for a replay, which tells only what was fetched. */
gboolean lu_session_end_replay (LuSession *self, GError **error);
/* Reports the error, unless it is one that does not matter to a client. Returns the exit code. */
int lu_session_failed (const LuSession *self, const GError *error);
