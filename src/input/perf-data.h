/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-data.h - reads the perf.data format: header, events, features, and the records one by one in
 * the order of the file.
 *
 * Used by the replay source. Reads files (with pread; nothing is mapped) and pipes (`perf record -o
 * -`, whose header is a stream of records). Inflates the output of `perf record -z` if built with
 * zstd. The Linux source describes the format in
 * tools/perf/Documentation/perf.data-file-format.txt. Nothing in a file is trusted: offsets and
 * counts are checked against the file and against our own limits. */

#pragma once

#include "input/inflate.h"
#include "input/perf-events.h"
#include "input/perf-features.h"
#include "input/record-stream.h"

typedef enum
{
  LU_PERF_RECORD,
  LU_PERF_AGAIN, /* the pipe has nothing to read now */
  LU_PERF_END,   /* no more records; `trouble` says whether some are missing */
} LuPerfResult;

/* A file that is being read. Only perf-data.c and perf-data-open.c change it. */
typedef struct
{
  int fd;
  char *name;        /* for messages */
  gboolean is_pipe;  /* records arrive as they are written, so that reading may have to wait */
  guint64 file_size; /* files: bytes */
  guint64 read_offset, data_end; /* files: where the next bytes and the last ones are */
  /* A pipe announces its events and features in records, so none may be known before the first
   * LU_PERF_RECORD. Pointers to events are stable. */
  LuPerfEvents events;
  LuPerfFeatures features;
  LuRecordStream records;
  LuInflate *inflate;      /* NULL until the first compressed record */
  LuRecordStream inflated; /* records of `inflate` */
  gboolean inflating;      /* the inflated stream may have more records */
  gboolean has_ended;
  char *trouble; /* why reading ended early (truncated file, damaged record), for people, or NULL */
} LuPerfData;

/* Opens a descriptor, which is taken in any case; `name` is for messages. Returns NULL with an
 * error if it cannot be read as perf.data; the message says why and what would help. */
LuPerfData *lu_perf_data_new_for_fd (int fd, const char *name, GError **error);

void lu_perf_data_free (LuPerfData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuPerfData, lu_perf_data_free)

/* Returns the next kernel record or FINISHED_ROUND in the order of the file. perf's other records
 * are handled here or skipped with the data that follows them. `*readable`: lu_perf_data_read_at()
 * can read the record again at record->offset. */
LuPerfResult lu_perf_data_next (LuPerfData *self, LuRawRecord *record, gboolean *readable);

/* Reads `size` bytes of the file. Returns FALSE if they are not there (any more). */
gboolean lu_perf_data_read_at (LuPerfData *self, guint64 offset, gpointer bytes, gsize size);

/* Waits until a pipe has something, `wake_fd` is readable or the time is over. Returns at once for
 * files. */
void lu_perf_data_wait (LuPerfData *self, int wake_fd, int timeout_ms);

/* Waits until a pipe has something, however long it takes. Signals have their default effect
 * meanwhile, even blocked ones: nothing has been recorded yet, and the user may want to give up. */
void lu_perf_data_wait_at_start (LuPerfData *self);

/* Implement LuFillFunc; `data` is the LuPerfData. */
gssize lu_perf_data_fill_from_file (gpointer data, guint8 *bytes, gsize room);
gssize lu_perf_data_fill_from_pipe (gpointer data, guint8 *bytes, gsize room);

/* PERF_RECORD_FINISHED_ROUND (tools/perf, enum perf_user_event_type). */
#define LU_PERF_FINISHED_ROUND 68
