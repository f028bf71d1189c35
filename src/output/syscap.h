/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap.h - the Sysprof capture: our writer and a reader for our own report.
 *
 * Layout: docs/syscap.md. The file is append-only: after a kill at any moment what is there opens. */

#pragma once

#include "output/sink.h"

/* A sink that writes a Sysprof capture to `fd` (taken): a regular file, a pipe or a socket. */
LuSink *lu_syscap_sink_new (int fd);
extern const LuSinkOps lu_syscap_sink_ops;
