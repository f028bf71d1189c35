/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* helper.h - the descriptors of a helper: a Sysprof client hands over the events and the output,
 * says when to stop, and may be gone at any moment. Main thread. */

#pragma once

#include "options.h"
#include "capture/sink.h"

typedef struct
{
  int stop_fd;   /* eventfd: written when the recording ends, for the writer */
  int event_fd;  /* borrowed; readable when the client wants the end; -1: never */
  int reader_fd; /* a duplicate of the output, to notice that its reader is gone */
} LuHelper;

#define LU_HELPER_INIT                                                                             \
  {                                                                                                \
    .stop_fd = -1, .event_fd = -1, .reader_fd = -1                                                 \
  }

/* Maps the rings of the events, so it is the first step. Takes the descriptors. */
LuSource *lu_helper_open_source (const LuOptions *options, GError **error);
/* Checks and takes the other descriptors; *output_fd is that of the capture, owned by the caller. A
 * regular file is emptied. */
gboolean lu_helper_open (LuHelper *self, const LuHelperOptions *options, int *output_fd,
                         GError **error);
void lu_helper_clear (LuHelper *self);

/* Returns the sink for the capture; takes output_fd. */
LuSink *lu_helper_sink (LuHelper *self, const LuHelperOptions *options, int output_fd);

/* Tells the writer that the client has stopped the recording and soon reads nothing more. The
 * process now ends with success within half a minute, even if a thread hangs. */
void lu_helper_stop (LuHelper *self);
