/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reader.h - the client's end of the capture pipe, read at a given speed by its own thread.
 *
 * Used only by play.c. The data goes to a file, and its frames are counted on the way. */

#pragma once

#include <glib.h>

#define PLAY_FRAME_TYPES 18

typedef struct
{
  guint64 bytes;
  guint64 frames[PLAY_FRAME_TYPES]; /* by type */
  guint64 unknown_frames;           /* of types that Sysprof 48 does not know */
  guint64 reads;
  const char *fault;  /* what the client's muxer could not process; NULL if nothing */
  gint64 fault_at;    /* offset of that frame */
  char last_log[512]; /* text of the last LOG frame, truncated to fit */
} PlayReaderCounts;

typedef struct _PlayReader PlayReader;

/* Takes `fd`; reads nothing before play_reader_resume(). `bytes_per_second`: 0 is as fast as
 * possible. */
PlayReader *play_reader_new (int fd, int output_fd, guint64 bytes_per_second);

void play_reader_resume (PlayReader *self);
void play_reader_pause (PlayReader *self);

/* Closes the reading end, like a client that exits or is killed. */
void play_reader_close (PlayReader *self);

/* Ends the thread; with `drain` only after the other side has closed. */
void play_reader_finish (PlayReader *self, gboolean drain);

/* To be called after finish. */
const PlayReaderCounts *play_reader_get_counts (const PlayReader *self);
void play_reader_free (PlayReader *self);
