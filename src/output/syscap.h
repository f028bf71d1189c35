/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap.h - the sink that writes a Sysprof capture.
 *
 * Layout: docs/syscap.md. The file is append-only: after a kill at any moment what is there opens.
 */

#pragma once

#include "output/sink.h"

/* A sink that writes a Sysprof capture to `fd` (taken): a regular file, a pipe or a socket. SIGPIPE
 * has to be ignored in the process. Owned by the writer thread. */
LuSink *lu_syscap_sink_new (int fd);

/* The same with another file in the place of /proc/kallsyms (tests); read at begin() even if the
 * recording is not live. NULL: no kernel names. */
LuSink *lu_syscap_sink_new_with_kallsyms (int fd, const char *path);

extern const LuSinkOps lu_syscap_sink_ops;
