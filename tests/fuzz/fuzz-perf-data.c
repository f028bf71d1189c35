/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-perf-data.c - the replay source over a file of arbitrary bytes: it ends, in bounded memory,
 * and its events are in order of time unless it reports late ones. */

#include "fuzz.h"
#include "input/source-perf-data.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum
{
  FILE_MAX = 1 << 20,
};

typedef struct
{
  guint64 last_time;
  guint64 sum; /* of all bytes that were delivered: they must be readable */
  gboolean in_order;
  guint n;
} Replay;

static void
sum_bytes (Replay *replay, gconstpointer bytes, gsize size)
{
  for (gsize i = 0; i < size; i++)
    replay->sum += ((const guint8 *) bytes)[i];
}

static LuVerdict
receive (const LuEvent *event, gpointer user_data)
{
  Replay *replay = user_data;

  if (event->kind == LU_EVENT_SAMPLE && ++replay->n % 5 == 0)
    return LU_VERDICT_LATER;
  if (event->time != 0 && event->time < replay->last_time)
    replay->in_order = FALSE;
  if (event->time != 0)
    replay->last_time = event->time;
  if (event->kind == LU_EVENT_SAMPLE)
    {
      sum_bytes (replay, event->sample.callchain, event->sample.n_callchain * 8ull);
      sum_bytes (replay, event->sample.regs.words, event->sample.regs.n_words * 8ull);
      sum_bytes (replay, event->sample.stack, event->sample.stack_asked);
    }
  else if (event->kind == LU_EVENT_MMAP)
    sum_bytes (replay, event->mmap.path, strlen (event->mmap.path));
  else if (event->kind == LU_EVENT_COMM)
    sum_bytes (replay, event->comm.name, strlen (event->comm.name));
  return LU_VERDICT_DONE;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (LuSource) source = NULL;
  g_autoptr (GError) error = NULL;
  Replay replay = { .in_order = TRUE };
  LuSourceInfo info;
  int fd;

  if (size > FILE_MAX)
    return 0;
  fd = memfd_create ("perf.data", MFD_CLOEXEC);
  if (fd < 0 || write (fd, data, size) != (gssize) size)
    g_error ("no memory file");
  source = lu_source_perf_data_new_for_fd (fd, "fuzz", &error);
  if (source == NULL)
    {
      g_assert_nonnull (error);
      return 0;
    }
  g_assert_no_error (error);
  while (source->ops->drain (source, receive, &replay) != LU_ROUND_END)
    ;
  source->ops->get_info (source, &info);
  g_assert_true (replay.in_order || info.trouble != NULL);
  return 0;
}
