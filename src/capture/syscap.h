/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap.h - the sink that writes a Sysprof capture.
 *
 * The layout is described in docs/syscap.md. The file is only appended to: whenever the recorder is
 * killed, the file can be opened. */

#pragma once

#include "sink.h"
#include "syscap-hits.h"
#include "syscap-writer.h"
#include "symbolize/kallsyms.h"

/* A tap receives every frame of the capture, as bytes, in the order of the file. */
typedef struct
{
  LuSyscapWriterTap feed;
  /* Called when the capture is complete. */
  gboolean (*end) (gpointer user_data, GError **error);
  /* Returns how many bytes the tap itself has written. */
  guint64 (*get_written) (gpointer user_data);
  void (*free) (gpointer user_data);
} LuSyscapTapOps;

/* Makes a sink that writes a capture to `fd` (taken): a regular file, a pipe or a socket. The
 * process has to ignore SIGPIPE. The sink belongs to the writer thread. */
LuSink *lu_syscap_sink_new (int fd);

/* Makes a sink that reads another file instead of /proc/kallsyms, for tests. begin() reads it even
 * if the recording is not live. NULL: no kernel names. */
LuSink *lu_syscap_sink_new_with_kallsyms (int fd, const char *path);

/* Makes a sink for a Sysprof client that copies our frames into a capture of its own (helper mode).
 * Leaves out what the client cannot use (JITMAP) or already has: the machine, mount tables of our
 * namespace, and kernel names, unless the file `kallsyms` has them. MAP frames name the end states.
 * stop_fd: see lu_syscap_writer_set_stop(). */
LuSink *lu_syscap_sink_new_for_client (int fd, const char *kallsyms, int stop_fd);

/* Adds the names of all functions that were hit when the capture ends (__symbols__). go_on (NULL:
 * none) is called from time to time and may stop the search. Before begin(); not for a client. */
void lu_syscap_sink_add_symbols (LuSink *self, LuNamerProgress go_on, gpointer user_data);

/* Fills in the runtimes that lack names when the capture ends, if it has names. Borrowed. */
void lu_syscap_sink_ask_runtimes (LuSink *self, LuRuntimes *runtimes);

/* Also uses debug files from servers. Borrowed. */
void lu_syscap_sink_set_debuginfod (LuSink *self, LuDebuginfod *debuginfod);

/* Installs a tap and takes its user_data. The descriptor of the sink may then be -1. Before
 * begin(); not for a client. */
void lu_syscap_sink_take_tap (LuSink *self, const LuSyscapTapOps *ops, gpointer user_data);

/* Takes a reference to the file with the kernel's names; otherwise begin() opens it. Before
 * begin(). */
void lu_syscap_sink_share_kallsyms (LuSink *self, LuKallsymsFile *file);
