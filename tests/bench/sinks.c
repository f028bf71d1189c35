/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sinks.c [--samples N] [--new PERCENT] FILE.syscap FORMAT... - measures the memory of summing
 * outputs in a long recording.
 *
 * Feeds the frames of a capture over and over, each time as different processes (with other ids and
 * addresses, as after a day of building), until there were N samples (86.4 million: a day at 1
 * kHz). PERCENT of them hit a new instruction, so the number of distinct stacks keeps growing.
 * Prints one JSON line: the peak memory while recording, and while the files were written. */

#include "export/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY (G_GUINT64_CONSTANT (86400) * 1000)
/* The end of user space. */
#define USER_END     (G_GUINT64_CONSTANT (1) << 47)
#define MAX_PID      4000000
#define MAX_EXPORTS  8
#define PIDS_A_ROUND 1000

typedef struct
{
  LuExport *exports[MAX_EXPORTS];
  guint n_exports;
  guint64 n_samples, wanted;
  double new_share;
  guint round, n_processes;
  guint64 state; /* state of the pseudo-random numbers, the same sequence each time */
  gint64 time;   /* added to all */
  gint64 last;
  GArray *pids; /* of this round */
  guint64 addresses[65536];
} Bench;

static guint32
next_random (Bench *self)
{
  self->state = self->state * G_GUINT64_CONSTANT (6364136223846793005) + 1442695040888963407;
  return (guint32) (self->state >> 33);
}

static guint64
moved (const Bench *self, guint64 address)
{
  return address < USER_END ? address + ((guint64) (self->round % 4096) << 24) : address;
}

static gint32
pid_of (const Bench *self, gint32 pid)
{
  return pid <= 0 ? pid
                  : (gint32) (((guint64) pid + (guint64) self->round * PIDS_A_ROUND) % MAX_PID);
}

static void
change_sample (Bench *self, LuSyscapRecord *record)
{
  gboolean is_new = next_random (self) % 10000 < self->new_share * 100;
  guint n = record->sample.n_addresses;

  for (guint i = 0; i < n; i++)
    self->addresses[i] = moved (self, record->sample.addresses[i]);
  for (guint i = 0; is_new && i < n; i++)
    if (self->addresses[i] < USER_END)
      {
        self->addresses[i] = (self->addresses[i] & ~(guint64) 0xfff) + next_random (self) % 4096;
        break;
      }
  record->sample.addresses = self->addresses;
  record->sample.tid = pid_of (self, record->sample.tid);
  self->n_samples++;
}

static void
take (Bench *self, LuSyscapRecord *record)
{
  record->pid = pid_of (self, record->pid);
  self->last = MAX (self->last, record->time);
  record->time += self->time;
  if (record->type == LU_SYSCAP_SAMPLE)
    change_sample (self, record);
  else if (record->type == LU_SYSCAP_MAP)
    {
      record->map.end = moved (self, record->map.end - 1) + 1;
      record->map.start = moved (self, record->map.start);
    }
  else if (record->type == LU_SYSCAP_PROCESS)
    g_array_append_val (self->pids, record->pid);
  else if (record->type == LU_SYSCAP_FORK)
    record->fork.child_pid = pid_of (self, record->fork.child_pid);
  else if (record->type == LU_SYSCAP_FILE_CHUNK && self->round > 0)
    return; /* comes once */
  for (guint i = 0; i < self->n_exports; i++)
    lu_export_take (self->exports[i], record);
}

static void
begin (Bench *self, const char *bytes, gsize size)
{
  g_autoptr (LuSyscapReader) reader = lu_syscap_reader_new_from_bytes (bytes, size, NULL);

  g_assert_nonnull (reader);
  self->last = lu_syscap_reader_header (reader)->time;
  for (guint i = 0; i < self->n_exports; i++)
    lu_export_begin (self->exports[i], lu_syscap_reader_header (reader));
}

/* Processes whose end the capture does not contain. */
static void
end_processes (Bench *self)
{
  self->n_processes += self->pids->len;
  for (guint i = 0; i < self->pids->len; i++)
    {
      LuSyscapRecord record = { .type = LU_SYSCAP_EXIT,
                                .cpu = -1,
                                .pid = g_array_index (self->pids, gint32, i),
                                .time = self->last + self->time };

      for (guint k = 0; k < self->n_exports; k++)
        lu_export_take (self->exports[k], &record);
    }
  g_array_set_size (self->pids, 0);
}

static void
one_round (Bench *self, const char *bytes, gsize size)
{
  g_autoptr (LuSyscapReader) reader = lu_syscap_reader_new_from_bytes (bytes, size, NULL);
  gint64 first = lu_syscap_reader_header (reader)->time;
  LuSyscapRecord record;

  while (self->n_samples < self->wanted
         && lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    take (self, &record);
  end_processes (self);
  self->time += self->last - first;
  self->last = first;
  self->round++;
}

/* A line of /proc/self/status, in MB. */
static double
status_mb (const char *key)
{
  g_autofree char *text = NULL;
  const char *line;

  g_assert_true (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  line = strstr (text, key);
  return line != NULL ? (double) strtoull (line + strlen (key), NULL, 10) / 1024 : 0;
}

static double
now (void)
{
  struct timespec spec;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &spec);
  return (double) spec.tv_sec + (double) spec.tv_nsec / 1e9;
}

static void
run (Bench *self, const char *bytes, gsize size)
{
  double base = status_mb ("VmRSS:"), began = now (), recording, peak;

  begin (self, bytes, size);
  while (self->n_samples < self->wanted)
    one_round (self, bytes, size);
  recording = now () - began;
  peak = status_mb ("VmHWM:") - base;
  for (guint i = 0; i < self->n_exports; i++)
    g_assert_true (lu_export_end (self->exports[i], NULL));
  printf ("{\"bench\": \"sinks\", \"samples\": %" G_GUINT64_FORMAT ", \"processes\": %u, "
          "\"ns_per_sample\": %.0f, \"peak_mb\": %.1f, \"peak_with_end_mb\": %.1f, "
          "\"end_seconds\": %.1f}\n",
          self->n_samples, self->n_processes, recording * 1e9 / (double) self->n_samples, peak,
          status_mb ("VmHWM:") - base, now () - began - recording);
}

int
main (int argc, char **argv)
{
  Bench *self = g_new0 (Bench, 1);
  g_autofree char *bytes = NULL;
  gsize size = 0;
  int at = 1;

  self->wanted = DAY;
  self->new_share = 1;
  self->pids = g_array_new (FALSE, FALSE, sizeof (gint32));
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
    if (g_str_equal (argv[at], "--samples"))
      self->wanted = strtoull (argv[at + 1], NULL, 10);
    else if (g_str_equal (argv[at], "--new"))
      self->new_share = g_ascii_strtod (argv[at + 1], NULL);
  if (at + 1 >= argc || !g_file_get_contents (argv[at], &bytes, &size, NULL))
    {
      fprintf (stderr, "usage: bench-sinks [--samples N] [--new PERCENT] FILE.syscap FORMAT...\n");
      return 2;
    }
  for (at++; at < argc && self->n_exports < MAX_EXPORTS; at++)
    {
      const LuFormat *format = lu_format_find (argv[at]);

      g_assert_nonnull (format);
      self->exports[self->n_exports] =
          lu_export_new (format, open ("/dev/null", O_WRONLY | O_CLOEXEC));
      if (self->n_exports > 0)
        lu_export_share (self->exports[self->n_exports], self->exports[0]);
      self->n_exports++;
    }
  run (self, bytes, size);
  for (guint i = 0; i < self->n_exports; i++)
    lu_export_free (self->exports[i]);
  g_array_unref (self->pids);
  g_free (self);
  return 0;
}
