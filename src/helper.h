/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* helper.h - what is different when a Sysprof client runs us as its helper: the events and the
 * output are handed over, the client says when to stop, and may be gone at any moment. Main thread.
 */

#pragma once

#include "input/source.h"
#include "options.h"
#include "output/sink.h"

typedef struct
{
  int stop_fd;   /* eventfd: written when the recording ends, for the writer */
  int event_fd;  /* borrowed; readable when the client wants the end; -1: never */
  int reader_fd; /* a duplicate of the output, which the sink opens anew: is it still read? */
} LuHelper;

#define LU_HELPER_INIT                                                                             \
  {                                                                                                \
    .stop_fd = -1, .event_fd = -1, .reader_fd = -1                                                 \
  }

/* Maps the rings of the events, first of all. The descriptors are taken. */
LuSource *lu_helper_open_source (const LuOptions *options, GError **error);
/* Checks and takes over the other descriptors; *output_fd: of the capture, owned by the caller. A
 * regular file is emptied. */
gboolean lu_helper_open (LuHelper *self, const LuHelperOptions *options, int *output_fd,
                         GError **error);
void lu_helper_clear (LuHelper *self);

/* The sink for the capture; takes output_fd. */
LuSink *lu_helper_sink (LuHelper *self, const LuHelperOptions *options, int output_fd);

/* From now on the client hardly waits: the writer is told, and the process ends with success in
 * some seconds, whatever hangs. */
void lu_helper_stop (LuHelper *self);
