/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-writer.c - src/record/writer.c, src/record/worker.c: the order of the output, also when a
 * request to the worker never ends. */

#include "record/messages.h"
#include "record/worker.h"
#include "record/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define QUEUE_BYTES (1u << 20)
#define PATIENCE_MS 50
#define N_SLOW      12

/* The sink records pids in the order in which they arrive. */

typedef struct
{
  LuSink base;
  gint n;
  gint32 pids[16];
} ListSink;

static gboolean
take_down (ListSink *self, gint32 pid)
{
  gint n = g_atomic_int_get (&self->n);

  g_assert_cmpint (n, <, G_N_ELEMENTS (self->pids));
  self->pids[n] = pid;
  g_atomic_int_set (&self->n, n + 1);
  return TRUE;
}

static gboolean
list_sample (LuSink *sink, const LuSinkSample *sample, GError **error)
{
  return take_down ((ListSink *) sink, sample->pid);
}

static gboolean
list_exit (LuSink *sink, guint64 time, gint32 pid, GError **error)
{
  return take_down ((ListSink *) sink, pid);
}

static gboolean
list_log (LuSink *sink, guint64 time, const char *message, GError **error)
{
  return take_down ((ListSink *) sink, (gint32) g_ascii_strtoll (message, NULL, 10));
}

static gboolean
list_begin (LuSink *sink, const LuRecording *recording, GError **error)
{
  return TRUE;
}

static gboolean
list_flush (LuSink *sink, GError **error)
{
  return TRUE;
}

static void
list_free (LuSink *sink)
{
}

static const LuSinkOps list_sink_ops = { .name = "list",
                                         .begin = list_begin,
                                         .sample = list_sample,
                                         .exit = list_exit,
                                         .log = list_log,
                                         .flush = list_flush,
                                         .free = list_free };

typedef struct
{
  ListSink sink;
  LuQueue *from_drain, *from_worker;
  LuWriter *writer;
  int failed_fd;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  const LuRecording recording = { .engine = "none" };

  self->sink = (ListSink){ .base.ops = &list_sink_ops };
  self->from_drain = lu_queue_new (QUEUE_BYTES);
  self->from_worker = lu_queue_new (QUEUE_BYTES);
  self->failed_fd = eventfd (0, EFD_CLOEXEC);
  self->writer = lu_writer_new (self->from_drain, self->from_worker, NULL, FALSE, self->failed_fd);
  g_assert_true (lu_writer_begin (self->writer, &self->sink.base, NULL, &recording, NULL));
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_writer_free (self->writer);
  lu_queue_free (self->from_drain);
  lu_queue_free (self->from_worker);
  close (self->failed_fd);
}

static void
send_exit (Fixture *self, gint32 pid)
{
  LuTaskMessage *message = lu_queue_reserve (self->from_drain, sizeof *message);

  *message = (LuTaskMessage){ .kind = LU_MESSAGE_TASK, .is_exit = TRUE, .pid = pid };
  lu_queue_commit (self->from_drain, sizeof *message);
}

static void
send_place (Fixture *self)
{
  LuMessage *message = lu_queue_reserve (self->from_drain, sizeof *message);

  message->kind = LU_MESSAGE_DEFERRED;
  lu_queue_commit (self->from_drain, sizeof *message);
}

static void
send_answer (Fixture *self, gint32 pid)
{
  LuStackMessage *message = lu_queue_reserve (self->from_worker, sizeof *message);

  memset (message, 0, sizeof *message);
  message->kind = LU_MESSAGE_STACK;
  message->status = LU_STATUS_KERNEL_ONLY;
  message->header.pid = pid;
  lu_queue_commit (self->from_worker, sizeof *message);
}

static void
wait_for (Fixture *self, gint n)
{
  for (guint i = 0; i < 5000 && g_atomic_int_get (&self->sink.n) < n; i++)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (&self->sink.n), ==, n);
}

static void
end (Fixture *self)
{
  lu_queue_close (self->from_drain);
  lu_queue_close (self->from_worker);
  lu_writer_join (self->writer);
}

static void
assert_pids (Fixture *self, const gint32 *pids, guint n)
{
  g_assert_cmpint (self->sink.n, ==, n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (self->sink.pids[i], ==, pids[i]);
}

static void
test_answers_have_their_places (Fixture *self, gconstpointer data)
{
  static const gint32 pids[] = { 1, 2, 3, 4 };

  lu_writer_start (self->writer);
  send_exit (self, 1);
  send_place (self);
  send_exit (self, 3);
  send_place (self);
  g_usleep (2 * PATIENCE_MS * 1000);
  send_answer (self, 2);
  send_answer (self, 4);
  end (self);
  assert_pids (self, pids, G_N_ELEMENTS (pids));
}

static void
test_a_late_answer_holds_up_nothing (Fixture *self, gconstpointer data)
{
  static const gint32 pids[] = { 1, 3, 5, 2, 4, 6, 7 };

  lu_writer_set_patience (self->writer, PATIENCE_MS);
  lu_writer_start (self->writer);
  send_exit (self, 1);
  send_place (self);
  send_exit (self, 3);
  send_place (self);
  send_exit (self, 5);
  wait_for (self, 3);
  send_answer (self, 2);
  send_answer (self, 4);
  send_answer (self, 6);
  send_place (self);
  send_exit (self, 7);
  end (self);
  assert_pids (self, pids, G_N_ELEMENTS (pids));
}

static void
test_late_answers_come_at_the_end (Fixture *self, gconstpointer data)
{
  static const gint32 pids[] = { 1, 2 };

  lu_writer_set_patience (self->writer, PATIENCE_MS);
  lu_writer_start (self->writer);
  send_place (self);
  send_exit (self, 1);
  wait_for (self, 1);
  lu_queue_close (self->from_drain);
  g_usleep (2 * PATIENCE_MS * 1000);
  send_answer (self, 2);
  end (self);
  assert_pids (self, pids, G_N_ELEMENTS (pids));
}

/* Each answer comes in time, but together they take long. */
static void
test_slow_answers_hold_up_little (Fixture *self, gconstpointer data)
{
  gint64 begin = g_get_monotonic_time ();

  lu_writer_set_patience (self->writer, PATIENCE_MS);
  lu_writer_start (self->writer);
  for (guint i = 0; i < N_SLOW; i++)
    send_place (self);
  send_exit (self, 1);
  for (guint i = 0; i < N_SLOW; i++)
    {
      g_usleep (PATIENCE_MS * 1000 / 2);
      send_answer (self, 2);
    }
  end (self);
  g_assert_cmpint (self->sink.n, ==, N_SLOW + 1);
  g_assert_cmpint (self->sink.pids[N_SLOW], ==, 2); /* not the last one */
  g_assert_cmpint (g_get_monotonic_time () - begin, >, N_SLOW * PATIENCE_MS * 500);
}

/* An engine that waits until it is told to continue. */

typedef struct
{
  LuUnwinder base;
  int go_fd;
  gint is_waiting;
} SlowUnwinder;

static void
slow_unwind (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  eventfd_t n;

  g_atomic_int_set (&((SlowUnwinder *) unwinder)->is_waiting, TRUE);
  while (eventfd_read (((SlowUnwinder *) unwinder)->go_fd, &n) != 0 && errno == EINTR)
    ;
}

static void
slow_verify (LuUnwinder *unwinder, const LuVerifyRequest *request, LuVerified *verified)
{
  slow_unwind (unwinder, NULL, NULL);
  verified->n = 1;
}

static void
slow_free (LuUnwinder *unwinder)
{
}

static const LuUnwinderOps slow_unwinder_ops = {
  .name = "slow", .unwind = slow_unwind, .verify = slow_verify, .free = slow_free
};

typedef struct
{
  SlowUnwinder unwinder;
  LuQueue *input, *output;
  LuWorker *worker;
} WorkerFixture;

static void
make_worker (WorkerFixture *self, const LuUnwinderOps *ops, gboolean live)
{
  *self = (WorkerFixture){ .unwinder = { .base.ops = ops, .go_fd = eventfd (0, EFD_CLOEXEC) },
                           .input = lu_queue_new (QUEUE_BYTES),
                           .output = lu_queue_new (QUEUE_BYTES) };
  self->worker = lu_worker_new (
      &self->unwinder.base,
      &(LuWorkerOptions){ .input = self->input, .output = self->output, .live = live });
}

static void
set_up_worker (WorkerFixture *self, const LuUnwinderOps *ops, guint n_samples, gboolean live)
{
  make_worker (self, ops, live);
  for (guint i = 0; i < n_samples; i++)
    {
      LuSampleMessage *message = lu_queue_reserve (self->input, sizeof *message);

      memset (message, 0, sizeof *message);
      message->kind = LU_MESSAGE_SAMPLE;
      message->header.pid = (gint32) i;
      lu_queue_commit (self->input, sizeof *message);
    }
  lu_queue_close (self->input);
  lu_worker_start (self->worker);
}

static void
tear_down_worker (WorkerFixture *self)
{
  lu_worker_free (self->worker);
  lu_queue_free (self->input);
  lu_queue_free (self->output);
  close (self->unwinder.go_fd);
}

/* Takes all answers, in order; returns how many of them say that there was no time. */
static guint
take_answers (WorkerFixture *self, guint n)
{
  const LuStackMessage *message;
  guint n_over = 0, i = 0;

  for (; (message = lu_queue_peek (self->output, NULL)) != NULL; i++)
    {
      g_assert_cmpint (message->kind, ==, LU_MESSAGE_STACK);
      g_assert_cmpint (message->header.pid, ==, (gint32) i);
      n_over += message->status == LU_STATUS_OVER_BUDGET;
      lu_queue_release (self->output);
    }
  g_assert_cmpuint (i, ==, n);
  g_assert_true (lu_queue_is_finished (self->output));
  return n_over;
}

/* A worker that has not begun does not begin any more. */
static void
wait_until_stuck (WorkerFixture *self)
{
  while (!g_atomic_int_get (&self->unwinder.is_waiting))
    g_usleep (1000);
}

static void
test_a_stuck_worker_is_not_waited_for (void)
{
  WorkerFixture self;

  set_up_worker (&self, &slow_unwinder_ops, 3, TRUE);
  wait_until_stuck (&self);
  g_assert_false (lu_worker_join (self.worker, PATIENCE_MS));
  g_assert_cmpuint (take_answers (&self, 3), ==, 3);
  /* When it awakes, it leaves the queues alone. */
  g_assert_cmpint (eventfd_write (self.unwinder.go_fd, 1), ==, 0);
  g_assert_true (lu_worker_join (self.worker, -1));
  g_assert_cmpuint (take_answers (&self, 0), ==, 0);
  tear_down_worker (&self);
}

/* Sends a stack with steps by rows from code that BPF has unwound: one frame of the kernel, two of
 * the user. */
static void
send_unverified (WorkerFixture *self, gint32 pid)
{
  gsize size = sizeof (LuStackMessage) + 3 * sizeof (LuFrame);
  LuStackMessage *message = lu_queue_reserve (self->input, size);

  memset (message, 0, size);
  message->kind = LU_MESSAGE_VERIFY;
  message->header.pid = pid;
  message->status = LU_STATUS_COMPLETE;
  message->end_pc = 0x2000;
  message->n_kernel = 1;
  message->n_user = 2;
  message->frames[0].pc = 0x1000;
  lu_queue_commit (self->input, size);
}

/* Nobody knows whether their user frames are right, so the answers are without them: for the stack
 * that is being verified, and for one that waits. */
static void
test_a_stuck_worker_verifies_nothing (void)
{
  WorkerFixture self;
  const LuStackMessage *message;
  gint32 n = 0;

  make_worker (&self, &slow_unwinder_ops, TRUE);
  send_unverified (&self, 0);
  send_unverified (&self, 1);
  lu_queue_close (self.input);
  lu_worker_start (self.worker);
  wait_until_stuck (&self);
  g_assert_false (lu_worker_join (self.worker, PATIENCE_MS));
  for (; (message = lu_queue_peek (self.output, NULL)) != NULL; n++)
    {
      g_assert_cmpint (message->kind, ==, LU_MESSAGE_STACK);
      g_assert_cmpint (message->header.pid, ==, n);
      g_assert_cmpint (message->status, ==, LU_STATUS_OVER_BUDGET);
      g_assert_cmphex (message->end_pc, ==, 0);
      g_assert_cmpuint (message->n_kernel, ==, 1);
      g_assert_cmpuint (message->n_user, ==, 0);
      g_assert_cmphex (message->frames[0].pc, ==, 0x1000);
      lu_queue_release (self.output);
    }
  g_assert_cmpint (n, ==, 2);
  g_assert_cmpint (eventfd_write (self.unwinder.go_fd, 1), ==, 0);
  g_assert_true (lu_worker_join (self.worker, -1));
  g_assert_cmpuint (take_answers (&self, 0), ==, 0);
  tear_down_worker (&self);
}

/* Its thread may end before the program does, but takes nothing with it that a sanitizer would
 * miss. */
static void
test_a_stuck_worker_is_abandoned (void)
{
  static WorkerFixture self; /* the thread may use it as long as the program runs */

  set_up_worker (&self, &slow_unwinder_ops, 1, TRUE);
  wait_until_stuck (&self);
  g_assert_false (lu_worker_join (self.worker, PATIENCE_MS));
  g_assert_cmpuint (take_answers (&self, 1), ==, 1);
  lu_worker_abandon (self.worker);
  g_assert_cmpint (eventfd_write (self.unwinder.go_fd, 1), ==, 0);
}

static void
tired_unwind (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  g_usleep (PATIENCE_MS * 1000 / 2);
}

static const LuUnwinderOps tired_unwinder_ops = { .name = "tired",
                                                  .unwind = tired_unwind,
                                                  .free = slow_free };

static void
test_many_slow_requests_are_not_waited_for (void)
{
  gint64 begin = g_get_monotonic_time ();
  WorkerFixture self;
  guint n_over;

  set_up_worker (&self, &tired_unwinder_ops, N_SLOW, TRUE);
  g_assert_true (lu_worker_join (self.worker, PATIENCE_MS));
  g_assert_cmpint (g_get_monotonic_time () - begin, <, N_SLOW * PATIENCE_MS * 250);
  n_over = take_answers (&self, N_SLOW);
  g_assert_cmpuint (n_over, <, N_SLOW);
  g_assert_cmpuint (n_over, >, N_SLOW / 2);
  tear_down_worker (&self);
}

static void
hasty_unwind (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  if (!request->is_replay)
    stack->status = LU_STATUS_OVER_BUDGET;
}

static const LuUnwinderOps hasty_unwinder_ops = { .name = "hasty",
                                                  .unwind = hasty_unwind,
                                                  .free = slow_free };

static void
test_replays_have_time (void)
{
  WorkerFixture self;

  for (guint live = FALSE; live <= TRUE; live++)
    {
      set_up_worker (&self, &hasty_unwinder_ops, 3, (gboolean) live);
      g_assert_true (lu_worker_join (self.worker, -1));
      g_assert_cmpuint (take_answers (&self, 3), ==, live ? 3 : 0);
      tear_down_worker (&self);
    }
}

static void
add (const char *name, void (*test) (Fixture *, gconstpointer))
{
  g_autofree char *path = g_strdup_printf ("/writer/%s", name);

  g_test_add (path, Fixture, NULL, set_up, test, tear_down);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("places", test_answers_have_their_places);
  add ("late", test_a_late_answer_holds_up_nothing);
  add ("late-at-end", test_late_answers_come_at_the_end);
  add ("slow", test_slow_answers_hold_up_little);
  g_test_add_func ("/worker/stuck", test_a_stuck_worker_is_not_waited_for);
  g_test_add_func ("/worker/unverified", test_a_stuck_worker_verifies_nothing);
  g_test_add_func ("/worker/abandoned", test_a_stuck_worker_is_abandoned);
  g_test_add_func ("/worker/replay", test_replays_have_time);
  g_test_add_func ("/worker/slow", test_many_slow_requests_are_not_waited_for);
  return g_test_run ();
}
