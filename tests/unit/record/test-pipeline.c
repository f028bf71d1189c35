/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-pipeline.c - a worker that hangs is left behind with everything it uses, and nothing of that
 * is lost if it ends after all. A sanitizer that finds leaks sees the latter. Source, engine and
 * sink only pretend. */

#include "record/pipeline.h"

#include <poll.h>
#include <unistd.h>

#define PATIENCE_US (10 * G_USEC_PER_SEC)

/* Atomic. */
static gint is_hanging, may_go_on;

static void
hang (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  g_atomic_int_set (&is_hanging, TRUE);
  while (!g_atomic_int_get (&may_go_on))
    g_usleep (1000);
  stack->status = LU_STATUS_COMPLETE;
}

static void
free_engine (LuUnwinder *unwinder)
{
  g_free (unwinder);
}

static LuUnwinder *new_engine (GError **error);

static const LuUnwinderOps engine_ops = {
  .name = "pretended", .new = new_engine, .unwind = hang, .free = free_engine
};

static LuUnwinder *
new_engine (GError **error)
{
  LuUnwinder *self = g_new0 (LuUnwinder, 1);

  self->ops = &engine_ops;
  return self;
}

typedef struct
{
  LuSource base;
  gboolean is_started, is_empty;
} OneSample;

static gboolean
start (LuSource *source, GError **error)
{
  ((OneSample *) source)->is_started = TRUE;
  return TRUE;
}

static LuRound
drain (LuSource *source, LuEventFunc func, gpointer user_data)
{
  OneSample *self = (OneSample *) source;
  static guint64 words[20], stack[64];
  const LuEvent event = {
    .kind = LU_EVENT_SAMPLE,
    .pid = getpid (),
    .tid = getpid (),
    .time = 1,
    .sample = { .regs = { .abi = LU_ABI_64, .n_words = 20, .mask = 0xff0fff, .words = words },
                .stack = (const guint8 *) stack,
                .stack_asked = sizeof stack,
                .stack_size = sizeof stack },
  };

  if (self->is_empty || !self->is_started)
    return LU_ROUND_EMPTY;
  self->is_empty = func (&event, user_data) == LU_VERDICT_DONE;
  return LU_ROUND_CLOSED;
}

static void
wait_for_wake (LuSource *source, int wake_fd, int timeout_ms)
{
  struct pollfd wake = { .fd = wake_fd, .events = POLLIN };

  poll (&wake, 1, timeout_ms);
}

static void
stop (LuSource *source)
{
}

static void
get_info (LuSource *source, LuSourceInfo *info)
{
  static const LuEventInfo event = { .name = "pretended", .unit = LU_UNIT_TIME };

  *info = (LuSourceInfo){ .events = &event, .n_events = 1, .live = TRUE };
}

static void
free_source (LuSource *source)
{
  g_free (source);
}

static const LuSourceOps source_ops = { .name = "one sample",
                                        .start = start,
                                        .drain = drain,
                                        .wait = wait_for_wake,
                                        .stop = stop,
                                        .get_info = get_info,
                                        .free = free_source };

static gboolean
begin (LuSink *sink, const LuRecording *recording, GError **error)
{
  return TRUE;
}

static gboolean
take_sample (LuSink *sink, const LuSinkSample *sample, GError **error)
{
  return TRUE;
}

static gboolean
flush (LuSink *sink, GError **error)
{
  return TRUE;
}

static void
keep (LuSink *sink)
{
}

static const LuSinkOps sink_ops = {
  .name = "nothing", .begin = begin, .sample = take_sample, .flush = flush, .free = keep
};

static LuPipeline *
start_pipeline (void)
{
  static LuSink sink = { .ops = &sink_ops };
  OneSample *source = g_new0 (OneSample, 1);
  const LuPipelineOptions options = { .engine = &engine_ops,
                                      .drain.follow_all = TRUE,
                                      .drain.include_self = TRUE };
  const LuRecording recording = { .engine = "pretended" };
  LuPipeline *self;

  source->base.ops = &source_ops;
  self = lu_pipeline_new (&source->base, &options, NULL);
  g_assert_nonnull (self);
  g_assert_true (lu_pipeline_begin (self, &sink, NULL, &recording, NULL));
  g_assert_true (lu_pipeline_start (self, NULL, NULL));
  return self;
}

static void
test_left_behind (void)
{
  LuPipeline *self = start_pipeline ();
  gint64 deadline = g_get_monotonic_time () + PATIENCE_US;

  while (!g_atomic_int_get (&is_hanging) && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  g_assert_true (g_atomic_int_get (&is_hanging));
  lu_pipeline_stop (self);
  g_assert_true (lu_pipeline_is_stuck (self));
  lu_pipeline_free (self);
  g_atomic_int_set (&may_go_on, TRUE);
  g_usleep (G_USEC_PER_SEC / 5); /* for the thread to end */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pipeline/left-behind", test_left_behind);
  return g_test_run ();
}
