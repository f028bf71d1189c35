/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-private.h - one recording, as the parts of the session share it; for them only.
 *
 * session.c sets it up, runs it and frees it. It calls the other parts: session-store.c opens the
 * store of unwind tables, session-outputs.c makes the sink and its files, session-wait.c reads
 * signals and shows the status line, session-end.c reports. The struct lies on the stack of the
 * main thread, which calls everything here unless a function says otherwise; a thread of its own
 * ends the recording, because that may wait for others while the main thread listens. */

#pragma once

#include "export/outputs.h"
#include "helper.h"
#include "mode.h"
#include "record/pipeline.h"
#include "target.h"
#include "viewer.h"

typedef struct
{
  const LuOptions *options;
  const LuSessionMode *mode;
  LuTarget target;
  LuCommand command;
  LuHelper helper; /* nothing in it without a client */
  LuSignals signals;
  LuPipeline *pipeline;
  LuStore *store;                   /* until the pipeline takes it; NULL: none */
  gboolean command_was_reaped;      /* when the recording ended */
  guint64 command_cpu_ns;           /* CPU time of COMMAND until then; 0: there is none */
  LuOutputs outputs;                /* until the sinks take them */
  LuOutputDirectories *directories; /* with --rotate; NULL: none */
  LuKeeper *keeper;                 /* makes their files and those of the store; NULL: not needed */
  LuKallsymsFile *kallsyms;         /* of this machine; reference; NULL: none yet */
  LuDebuginfod *debuginfod;         /* NULL: nothing is fetched */
  LuRuntimes runtimes;              /* that lack names, once these are found */
  LuViewer viewer;                  /* of the outputs */
  int viewer_fd;                    /* see viewer.h; -1: nothing is shown */
  gboolean interrupted;             /* by a signal */
  gboolean is_last_signal;          /* it left out names; a second later the program ends */
  int signal_number;                /* the last one; 0: none came */
  gint64 signal_us; /* when it came; 0: none did, or the user knows what it waits for */

  /* the end of the recording, which has a thread of its own */
  int exec_errno;                         /* why COMMAND could not be started */
  int end_fd;                             /* eventfd, written when everything is reported */
  int code;                               /* the exit code then */
  gint is_ending, is_naming, skips_names; /* atomic */
  gint64 naming_us, fetching_us;          /* when that began; 0: it has not */
  gint status_shown;                      /* atomic */

  /* with --rotate */
  LuRotation *rotation;     /* the pipeline's sink; NULL: there is none */
  LuCounters last_counters; /* of the drain, when the last file was ended */
  guint64 last_cpu_ns;
} LuSession;

/* session-outputs.c */

/* Opens the outputs of the options into `outputs`, with --rotate those of the first period. */
gboolean lu_session_open_outputs (LuSession *self, GError **error);
/* Makes the sink: a capture of our own, many of them (which sets `rotation`), or one for a client.
 * Takes what is open of the outputs. Owned. */
LuSink *lu_session_new_sink (LuSession *self);

/* session-wait.c */

/* Waits for a signal, COMMAND's end, the duration, the end of the source or an error. */
void lu_session_wait_for_the_end (LuSession *self);
/* Waits for the thread that ends the recording and reports. Meanwhile the first signal leaves out
 * the names that are still looked for, and the second one ends the program. */
void lu_session_wait_for_the_report (LuSession *self);
/* Waits for COMMAND, which may outlive the recording; a second signal ends us. Returns COMMAND's
 * exit code, or our_code if that is 0. */
int lu_session_wait_for_command (LuSession *self, int our_code);
/* Takes the status line away, if there is one. */
void lu_session_erase_status (LuSession *self);
/* The next two are called while somebody takes long when a recording, or one file of it, is over;
 * user_data is the session. FALSE: leave out the rest.
 *
 * A LuNamerProgress, while names are looked for; any thread. */
gboolean lu_session_go_on_naming (guint done, guint total, gpointer user_data);
/* A LuDebuginfodProgress, while files are fetched; on the thread that looks for names. */
gboolean lu_session_go_on_fetching (const char *name, guint64 done, guint64 total,
                                    gpointer user_data);

/* session-end.c */

/* The describe of LuRotationFuncs: stacks of one period exactly, and what else was counted between
 * its end and the end of the one before. Writer thread, or main thread after stop. JSON; owned by
 * the caller. */
char *lu_session_describe_period (const LuPart *part, gpointer user_data);
/* After stop: writes the end of the capture, with the summary in it, and tells the user. Returns
 * the exit code. */
int lu_session_report (LuSession *self);
/* Reports the error, unless it does not matter to a client. Returns the exit code. */
int lu_session_failed (const LuSession *self, const GError *error);
