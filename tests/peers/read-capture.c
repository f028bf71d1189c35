/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors
 *
 * read-capture.c - reads a capture with Sysprof's own reader and says what it saw, as JSON.
 * Run by test-read-capture.py, which compares the numbers with those of tests/judge/syscap.py, our
 * independent reader. Shares nothing with the program but the file. What upstream's viewer is known
 * to drop or to crash on is refused here: exit status 1, with one line per rule broken. */

#include <sysprof-capture.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
  N_TYPES = 16,     /* Sysprof 3.46 stops reading at an unknown type */
  MAX_FRAMES = 1024 /* the viewer ignores deeper samples */
};

#define JITMAP_MARK 0xE0000000u /* upper half of every address that a JITMAP may name */

struct summary
{
  uint64_t n[N_TYPES];
  uint64_t n_addresses;
  uint64_t n_build_ids;
  uint64_t n_named;
  uint64_t address_xor;
  int64_t start;
  int64_t last;
  int64_t end;
  uint64_t consumed; /* bytes of the file read so far */
  unsigned n_broken;
};

static void __attribute__ ((format (printf, 2, 3)))
broken (struct summary *self, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fputc ('\n', stderr);
  self->n_broken++;
}

static bool
see_sample (struct summary *self, SysprofCaptureReader *reader)
{
  const SysprofCaptureSample *sample = sysprof_capture_reader_read_sample (reader);

  if (sample == NULL)
    return false;
  if (sample->n_addrs == 0 || sample->n_addrs > MAX_FRAMES)
    broken (self, "a sample of %u addresses", (unsigned) sample->n_addrs);
  for (unsigned i = 0; i < sample->n_addrs; i++)
    self->address_xor ^= sample->addrs[i];
  self->n_addresses += sample->n_addrs;
  return true;
}

/* Since version 45 a map may end in "@build-id" after the file name; the inode must be 0 then. */
static bool
see_map (struct summary *self, SysprofCaptureReader *reader)
{
  const SysprofCaptureMap *map = sysprof_capture_reader_read_map (reader);
  size_t room, used;

  if (map == NULL)
    return false;
  if (map->start >= map->end)
    broken (self, "a map that ends before it starts: %" PRIx64, (uint64_t) map->start);
  room = map->frame.len - sizeof *map;
  used = strnlen (map->filename, room) + 1;
  if (used > room)
    broken (self, "a map whose file name does not end");
  else if (used < room && map->filename[used] == '@')
    {
      self->n_build_ids++;
      if (map->inode != 0)
        broken (self, "a map with build-id and inode: %s", map->filename);
    }
  return true;
}

static bool
see_jitmap (struct summary *self, SysprofCaptureReader *reader)
{
  const SysprofCaptureJitmap *jitmap = sysprof_capture_reader_read_jitmap (reader);
  SysprofCaptureJitmapIter iter;
  SysprofCaptureAddress address;
  const char *name;

  if (jitmap == NULL)
    return false;
  sysprof_capture_jitmap_iter_init (&iter, jitmap);
  while (sysprof_capture_jitmap_iter_next (&iter, &address, &name))
    {
      self->n_named++;
      if ((uint32_t) (address >> 32) != JITMAP_MARK)
        broken (self, "a JIT map names %" PRIx64, (uint64_t) address);
    }
  return true;
}

static bool
see_file_chunk (struct summary *self, SysprofCaptureReader *reader)
{
  const SysprofCaptureFileChunk *chunk = sysprof_capture_reader_read_file (reader);

  if (chunk == NULL)
    return false;
  if (chunk->path[0] == '\0')
    broken (self, "a file without a path");
  return true;
}

/* The typed read functions advance; everything else is skipped by its length. */
static bool
see_frame (struct summary *self, SysprofCaptureReader *reader, SysprofCaptureFrameType type)
{
  switch (type)
    {
    case SYSPROF_CAPTURE_FRAME_SAMPLE:
      return see_sample (self, reader);
    case SYSPROF_CAPTURE_FRAME_MAP:
      return see_map (self, reader);
    case SYSPROF_CAPTURE_FRAME_JITMAP:
      return see_jitmap (self, reader);
    case SYSPROF_CAPTURE_FRAME_FILE_CHUNK:
      return see_file_chunk (self, reader);
    case SYSPROF_CAPTURE_FRAME_PROCESS:
      return sysprof_capture_reader_read_process (reader) != NULL;
    case SYSPROF_CAPTURE_FRAME_FORK:
      return sysprof_capture_reader_read_fork (reader) != NULL;
    case SYSPROF_CAPTURE_FRAME_EXIT:
      return sysprof_capture_reader_read_exit (reader) != NULL;
    case SYSPROF_CAPTURE_FRAME_METADATA:
      return sysprof_capture_reader_read_metadata (reader) != NULL;
    case SYSPROF_CAPTURE_FRAME_LOG:
      return sysprof_capture_reader_read_log (reader) != NULL;
    case SYSPROF_CAPTURE_FRAME_CTRDEF:
      return sysprof_capture_reader_read_counter_define (reader) != NULL;
    case SYSPROF_CAPTURE_FRAME_CTRSET:
      return sysprof_capture_reader_read_counter_set (reader) != NULL;
    default:
      return sysprof_capture_reader_skip (reader);
    }
}

static void
check_header (struct summary *self, const SysprofCaptureFrame *frame)
{
  bool needs_pid =
      frame->type == SYSPROF_CAPTURE_FRAME_MAP || frame->type == SYSPROF_CAPTURE_FRAME_SAMPLE
      || frame->type == SYSPROF_CAPTURE_FRAME_PROCESS || frame->type == SYSPROF_CAPTURE_FRAME_EXIT;

  if (needs_pid && frame->pid < 0)
    broken (self, "a frame of type %u with pid %d crashes the viewer", frame->type, frame->pid);
  if (needs_pid && frame->time < self->start)
    broken (self, "a frame of type %u before the start of the capture", frame->type);
  if (needs_pid && frame->time > self->last)
    self->last = frame->time;
}

static void
read_all (struct summary *self, SysprofCaptureReader *reader)
{
  SysprofCaptureFrame frame;

  self->start = sysprof_capture_reader_get_start_time (reader);
  self->consumed = sizeof (SysprofCaptureFileHeader);
  while (sysprof_capture_reader_peek_frame (reader, &frame))
    {
      if (frame.type >= N_TYPES)
        {
          broken (self, "a frame of type %u: Sysprof 3.46 stops there", frame.type);
          return;
        }
      if (!see_frame (self, reader, frame.type))
        break; /* check_end() distinguishes a truncated frame from a wrong one */
      check_header (self, &frame);
      self->n[frame.type]++;
      self->consumed += frame.len;
    }
  self->end = sysprof_capture_reader_get_end_time (reader);
  if (self->end < self->last)
    broken (self, "the capture ends before its last frame");
}

/* The reader ends in the same way at the end of the file, at a truncated frame (which is allowed:
 * the recorder was killed) and at a frame that it does not understand. Only a whole frame behind
 * the end is wrong. */
static void
check_end (struct summary *self, const char *path)
{
  FILE *file = fopen (path, "rb");
  uint16_t len;
  long size;

  if (file == NULL || fseek (file, 0, SEEK_END) != 0 || (size = ftell (file)) < 0
      || fseek (file, (long) self->consumed, SEEK_SET) != 0)
    broken (self, "%s: cannot be read again", path);
  else if (fread (&len, sizeof len, 1, file) == 1 && self->consumed + len <= (uint64_t) size)
    broken (self, "upstream's reader stops there: byte %" PRIu64 " of %ld", self->consumed, size);
  if (file != NULL)
    fclose (file);
}

static void
print_summary (const struct summary *self)
{
  printf ("{\"types\": [");
  for (unsigned i = 0; i < N_TYPES; i++)
    printf ("%s%" PRIu64, i > 0 ? ", " : "", self->n[i]);
  printf ("], \"addresses\": %" PRIu64 ", \"address_xor\": %" PRIu64, self->n_addresses,
          self->address_xor);
  printf (", \"build_ids\": %" PRIu64 ", \"named\": %" PRIu64, self->n_build_ids, self->n_named);
  printf (", \"start\": %" PRId64 ", \"last\": %" PRId64 ", \"end\": %" PRId64 "}\n", self->start,
          self->last, self->end);
}

int
main (int argc, char **argv)
{
  struct summary self = { 0 };
  SysprofCaptureReader *reader;

  if (argc != 2)
    {
      fprintf (stderr, "usage: read-capture CAPTURE\n");
      return 2;
    }
  reader = sysprof_capture_reader_new (argv[1]);
  if (reader == NULL)
    {
      fprintf (stderr, "%s: upstream's reader cannot open it\n", argv[1]);
      return EXIT_FAILURE;
    }
  read_all (&self, reader);
  sysprof_capture_reader_unref (reader);
  check_end (&self, argv[1]);
  print_summary (&self);
  return self.n_broken > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
