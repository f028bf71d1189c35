/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap.h - the sink that writes a Sysprof capture.
 *
 * Layout: docs/syscap.md. The file is append-only: after a kill at any moment what is there opens.
 */

#pragma once

#include "output/sink.h"
#include "output/syscap-hits.h"
#include "output/tee.h"
#include "symbolize/kallsyms-file.h"

/* A sink that writes a Sysprof capture to `fd` (taken): a regular file, a pipe or a socket. SIGPIPE
 * has to be ignored in the process. Owned by the writer thread. */
LuSink *lu_syscap_sink_new (int fd);

/* The same with another file in the place of /proc/kallsyms (tests); read at begin() even if the
 * recording is not live. NULL: no kernel names. */
LuSink *lu_syscap_sink_new_with_kallsyms (int fd, const char *path);

/* The same for a Sysprof client that copies our frames into a capture of its own (helper mode):
 * what it cannot digest (JITMAP) or has already (the machine, kernel names unless `kallsyms` names
 * a file with them, mount tables of our namespace) is left out, end states are named by MAP frames.
 * stop_fd: see lu_syscap_writer_set_stop(). */
LuSink *lu_syscap_sink_new_for_client (int fd, const char *kallsyms, int stop_fd);

/* Puts names of all functions that were hit into the capture when it ends (__symbols__). go_on is
 * asked now and then, and may be NULL. Not for a client, before begin(). */
void lu_syscap_sink_add_symbols (LuSink *self, LuSyscapHitsFunc go_on, gpointer user_data);

/* The same, with debug files from servers where there are none here. Borrowed. */
void lu_syscap_sink_set_debuginfod (LuSink *self, LuDebuginfod *debuginfod);

/* Gives all frames to other formats, too; takes the tee. Not for a client, before begin(). The
 * descriptor of the sink may then be -1. */
void lu_syscap_sink_take_tee (LuSink *self, LuTee *tee);

/* Takes a reference to the file with names of the kernel's functions, which begin() opens if nobody
 * has given one. Before begin(). */
void lu_syscap_sink_share_kallsyms (LuSink *self, LuKallsymsFile *file);

extern const LuSinkOps lu_syscap_sink_ops;
