/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-data.h - reads the perf.data format: header, events, features, and the records one by one in
 * the order of the file.
 *
 * Used by the replay source. Reads files (with pread, nothing is mapped) and pipes (`perf record -o
 * -`, whose header is a stream of records); inflates what `perf record -z` compressed, if built
 * with zstd. The format is described in the Linux source,
 * tools/perf/Documentation/perf.data-file-format.txt. Nothing in a file is believed: offsets and
 * counts are checked against the file and against limits of our own. */

#pragma once

#include "input/record.h"
#include "input/record-stream.h"

#include "lu/event.h"

#include <linux/perf_event.h>

typedef struct _LuPerfData LuPerfData;

/* An event that was recorded. */
typedef struct
{
  struct perf_event_attr
      attr; /* fields newer than this build's header are cut off, older ones zero */
  LuRecordLayout layout;
  char *name; /* as perf calls it; NULL unknown */
} LuPerfEvent;

/* What the features of the file say about the machine and the run; NULL if they do not. Owned by
 * the file. */
typedef struct
{
  char *host_name;
  char *os_release;
  char *arch; /* uname -m */
  char *perf_version;
  char *command_line;                          /* of perf record, arguments joined with blanks */
  guint64 first_sample_time, last_sample_time; /* ns; 0 unknown */
  guint n_build_ids;
} LuPerfInfo;

typedef enum
{
  LU_PERF_RECORD,
  LU_PERF_AGAIN, /* a pipe has nothing to read just now */
  LU_PERF_END, /* no more records; lu_perf_data_get_trouble() tells if the file should have had some
                */
} LuPerfResult;

/* Opens a file, or standard input for "-". NULL with an error if it is not a perf.data file that
 * can be read: the message says why and what would help. */
LuPerfData *lu_perf_data_open (const char *path, GError **error);

/* The same for a descriptor, which is taken over in any case; `name` is for messages. */
LuPerfData *lu_perf_data_new_for_fd (int fd, const char *name, GError **error);

void lu_perf_data_free (LuPerfData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuPerfData, lu_perf_data_free)

/* The name it was opened with, for messages. */
const char *lu_perf_data_get_name (const LuPerfData *self);

/* Whether the records come as they are written: reading may have to wait for them. */
gboolean lu_perf_data_is_pipe (const LuPerfData *self);

/* A pipe's events arrive in records: none may be known before the first of LU_PERF_RECORD. */
guint lu_perf_data_get_n_events (const LuPerfData *self);
const LuPerfEvent *lu_perf_data_get_event (const LuPerfData *self, guint index);

/* The event with this id, NULL if there is none. Pointers to events are stable. */
const LuPerfEvent *lu_perf_data_find_event (const LuPerfData *self, guint64 id);

/* Complete for a file; filled while reading for a pipe. */
const LuPerfInfo *lu_perf_data_get_info (const LuPerfData *self);

/* The build-id that perf found in the file of this name, its size in *size. NULL if there is none,
 * or if there are several: then it cannot be told which of them a mapping had. */
const guint8 *lu_perf_data_find_build_id (const LuPerfData *self, const char *path, guint8 *size);

/* The next record in the order of the file that is a kernel record or FINISHED_ROUND; all other
 * records of perf's own are handled here or skipped with the data that follows them. `*readable`
 * tells whether lu_perf_data_read_at() can read it again at record->offset. */
LuPerfResult lu_perf_data_next (LuPerfData *self, LuRawRecord *record, gboolean *readable);

/* Reads `size` bytes of the file. FALSE if they are not there (any more). */
gboolean lu_perf_data_read_at (LuPerfData *self, guint64 offset, gpointer bytes, gsize size);

/* Waits until a pipe has something, `wake_fd` is readable or the time is over. Returns at once for
 * files. */
void lu_perf_data_wait (LuPerfData *self, int wake_fd, int timeout_ms);

/* Waits until a pipe has something, however long it takes. Signals act as by default meanwhile,
 * even blocked ones: nothing has been recorded yet, and whoever started us may want to give up. */
void lu_perf_data_wait_at_start (LuPerfData *self);

/* Why reading ended early (cut-off file, damaged record), in words for people; NULL if it did not.
 */
const char *lu_perf_data_get_trouble (const LuPerfData *self);

/* PERF_RECORD_FINISHED_ROUND (tools/perf, enum perf_user_event_type). */
#define LU_PERF_FINISHED_ROUND 68
