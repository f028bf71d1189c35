/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-worker.c - samples that wait for rows of their code: the worker goes on with others, answers
 * come in order, and nothing waits for ever. No process uses up the time of others. The engine only
 * pretends. */

#include "record/worker.h"

#include "base/clock.h"
#include "base/speed.h"
#include "record/messages.h"

#include <fcntl.h>
#include <unistd.h>

#define QUEUE_BYTES (1u << 20)
#define BUDGET      (8u << 20)
#define COPY_BYTES  8
#define WAITING_TID 1
#define OTHER_TID   2
#define SLOW_TID    3
#define MS          G_GUINT64_CONSTANT (1000000)
#define LONG_MS     10000

typedef struct
{
  LuUnwinder parent;
  LuTableSlot *slot;     /* whose rows the waiting thread needs */
  gint are_there;        /* atomic: those rows */
  gint hangs;            /* atomic: at the second attempt */
  gint n_tries, n_other; /* atomic: walks of the waiting thread, of others */
} Engine;

static void
work (guint64 cpu_ns)
{
  guint64 end = lu_thread_cpu_ns () + cpu_ns;

  while (lu_thread_cpu_ns () < end)
    ;
}

static void
pretend (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  Engine *self = (Engine *) unwinder;

  stack->status = LU_STATUS_COMPLETE;
  if (request->tid == SLOW_TID)
    work (lu_machine_slowness () * 550 * MS);
  if (request->tid != WAITING_TID)
    {
      g_atomic_int_inc (&self->n_other);
      return;
    }
  if (g_atomic_int_add (&self->n_tries, 1) > 0)
    while (g_atomic_int_get (&self->hangs))
      g_usleep (1000);
  if (g_atomic_int_get (&self->are_there))
    return;
  stack->status = LU_STATUS_NO_UNWIND_INFO;
  if (request->awaited != NULL)
    *request->awaited = (LuAwaitedRows){ .slot = self->slot, .address = 1 };
}

static void
pretend_to_verify (LuUnwinder *unwinder, const LuVerifyRequest *request, LuVerified *verified)
{
  Engine *self = (Engine *) unwinder;

  g_atomic_int_inc (&self->n_tries);
  if (g_atomic_int_get (&self->are_there))
    return;
  *verified = (LuVerified){ .status = LU_STATUS_OVER_BUDGET };
  if (request->awaited != NULL)
    *request->awaited = (LuAwaitedRows){ .slot = self->slot, .address = 1 };
}

static void
keep (LuUnwinder *unwinder)
{
}

static const LuUnwinderOps ops = { .name = "pretended",
                                   .walks_in_drain = TRUE,
                                   .unwind = pretend,
                                   .verify = pretend_to_verify,
                                   .free = keep };

typedef struct
{
  Engine engine;
  LuTables *tables;
  LuQueue *input, *output, *places;
  LuSource source;
  LuCopySize *copy_size;
  LuWorker *worker;
  guint32 stack_asked; /* of samples that are sent */
  guint64 words[2];
} Fixture;

static gboolean
set_stack_size (LuSource *source, guint32 bytes, GError **error)
{
  return TRUE;
}

static const LuSourceOps source_ops = { .set_stack_size = set_stack_size };

static void
set_up (Fixture *self, gconstpointer data)
{
  int fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  LuImage *image = lu_image_open (fd, NULL);

  self->tables = lu_tables_new (NULL, BUDGET);
  self->engine.parent.ops = &ops;
  self->engine.slot = lu_tables_add (self->tables, image);
  self->input = lu_queue_new (QUEUE_BYTES);
  self->output = lu_queue_new (QUEUE_BYTES);
  self->places = lu_queue_new (QUEUE_BYTES);
  self->source.ops = &source_ops;
  self->copy_size = lu_copy_size_new (&self->source, COPY_BYTES, TRUE);
  self->worker =
      lu_worker_new (&self->engine.parent, &(LuWorkerOptions){ .input = self->input,
                                                               .output = self->output,
                                                               .places = self->places,
                                                               .tables = self->tables,
                                                               .copy_size = self->copy_size,
                                                               .live = TRUE });
  lu_worker_start (self->worker);
  lu_image_unref (image);
  close (fd);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_queue_close (self->input);
  lu_worker_free (self->worker);
  lu_copy_size_free (self->copy_size);
  lu_table_slot_unref (self->engine.slot);
  lu_tables_free (self->tables);
  lu_queue_free (self->input);
  lu_queue_free (self->output);
  lu_queue_free (self->places);
}

static void
send_sample_of (Fixture *self, gint32 pid, gint32 tid)
{
  LuSampleMessage *message = lu_queue_reserve (self->input, sizeof *message + sizeof self->words);

  *message = (LuSampleMessage){ .kind = LU_MESSAGE_SAMPLE,
                                .header = { .pid = pid, .tid = tid },
                                .sample.regs.n_words = 1,
                                .sample.stack_size = COPY_BYTES,
                                .sample.stack_asked = self->stack_asked };
  memcpy (message->payload, self->words, sizeof self->words);
  lu_queue_commit (self->input, sizeof *message + sizeof self->words);
}

static void
send_sample (Fixture *self, gint32 tid)
{
  send_sample_of (self, 1, tid);
}

static void
send_stack (Fixture *self, gint32 tid)
{
  LuStackMessage *message = lu_queue_reserve (self->input, sizeof *message + sizeof (LuFrame));

  *message = (LuStackMessage){ .kind = LU_MESSAGE_VERIFY,
                               .status = LU_STATUS_COMPLETE,
                               .header = { .pid = 1, .tid = tid },
                               .n_user = 1 };
  message->frames[0] = (LuFrame){ .pc = 7 };
  lu_queue_commit (self->input, sizeof *message + sizeof (LuFrame));
}

/* Waits for an answer; returns its status, or -1 if none comes. */
static int
take (Fixture *self, gint32 *tid, guint max_ms)
{
  guint64 end = lu_monotonic_ns () + max_ms * MS;
  const LuStackMessage *message;
  int status = -1;

  while ((message = lu_queue_peek (self->output, NULL)) == NULL && lu_monotonic_ns () < end)
    g_usleep (1000);
  if (message == NULL)
    return -1;
  g_assert_cmpint (message->kind, ==, LU_MESSAGE_STACK);
  *tid = message->header.tid;
  status = (int) message->status;
  lu_queue_release (self->output);
  return status;
}

static void
wait_for (gint *count, gint least)
{
  guint64 end = lu_monotonic_ns () + LONG_MS * MS;

  while (g_atomic_int_get (count) < least && lu_monotonic_ns () < end)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (count), >=, least);
}

/* The worker unwinds other samples while one waits; the writer gets them in order. */
static void
test_wait (Fixture *self, gconstpointer data)
{
  gint32 tid;

  send_sample (self, WAITING_TID);
  send_sample (self, OTHER_TID);
  wait_for (&self->engine.n_other, 1);
  wait_for (&self->engine.n_tries, 3);
  g_assert_null (lu_queue_peek (self->output, NULL));
  g_atomic_int_set (&self->engine.are_there, TRUE);
  g_assert_cmpint (take (self, &tid, LONG_MS), ==, LU_STATUS_COMPLETE);
  g_assert_cmpint (tid, ==, WAITING_TID);
  g_assert_cmpint (take (self, &tid, LONG_MS), ==, LU_STATUS_COMPLETE);
  g_assert_cmpint (tid, ==, OTHER_TID);
  send_sample (self, WAITING_TID);
  g_assert_cmpint (take (self, &tid, LONG_MS), ==, LU_STATUS_COMPLETE);
}

/* The copy of a stack that is larger is taken to be too small while the sample waits, once. */
static void
test_wait_with_full_copies (Fixture *self, gconstpointer data)
{
  gint32 tid;

  self->stack_asked = COPY_BYTES + 8;
  send_sample (self, WAITING_TID);
  wait_for (&self->engine.n_tries, 3);
  g_assert_false (lu_copy_size_is_short (self->copy_size));
  self->stack_asked = COPY_BYTES;
  for (guint i = 0; i < 2; i++)
    send_sample (self, WAITING_TID);
  wait_for (&self->engine.n_tries, 20);
  g_assert_true (lu_copy_size_is_short (self->copy_size));
  g_assert_true (lu_copy_size_tick (self->copy_size, 0, NULL));
  g_assert_cmpuint (lu_copy_size_get (self->copy_size), ==, COPY_BYTES);
  send_sample (self, WAITING_TID);
  send_sample (self, OTHER_TID);
  wait_for (&self->engine.n_other, 1);
  g_assert_true (lu_copy_size_tick (self->copy_size, 0, NULL));
  g_assert_cmpuint (lu_copy_size_get (self->copy_size), ==, 2 * COPY_BYTES);
  g_atomic_int_set (&self->engine.are_there, TRUE);
  for (guint i = 0; i < 5; i++)
    g_assert_cmpint (take (self, &tid, LONG_MS), ==, LU_STATUS_COMPLETE);
}

/* So does a stack that BPF unwound and whose steps cannot be verified yet; it keeps its frames. */
static void
test_wait_to_verify (Fixture *self, gconstpointer data)
{
  gint32 tid;

  send_stack (self, WAITING_TID);
  wait_for (&self->engine.n_tries, 3);
  g_assert_null (lu_queue_peek (self->output, NULL));
  g_atomic_int_set (&self->engine.are_there, TRUE);
  g_assert_cmpint (take (self, &tid, LONG_MS), ==, LU_STATUS_COMPLETE);
}

/* Rows that do not come are not waited for longer than two seconds. */
static void
test_limit (Fixture *self, gconstpointer data)
{
  guint64 began = lu_monotonic_ns ();
  gint32 tid;

  send_sample (self, WAITING_TID);
  g_assert_cmpint (take (self, &tid, LONG_MS), ==, LU_STATUS_NO_UNWIND_INFO);
  g_assert_cmpuint (lu_monotonic_ns () - began, >=, 1900 * MS);
}

/* No sample waits when the writer has no room for those that come after it. */
static void
test_writer_is_behind (Fixture *self, gconstpointer data)
{
  gint32 tid;

  for (guint i = 0; i < 3; i++)
    {
      g_assert_nonnull (lu_queue_reserve (self->places, QUEUE_BYTES / 4));
      lu_queue_commit (self->places, QUEUE_BYTES / 4);
    }
  send_sample (self, WAITING_TID);
  g_assert_cmpint (take (self, &tid, LONG_MS), ==, LU_STATUS_NO_UNWIND_INFO);
  g_assert_cmpint (g_atomic_int_get (&self->engine.n_tries), ==, 1);
}

/* At the end samples wait for a moment, and are unwound without their rows. */
static void
test_end (Fixture *self, gconstpointer data)
{
  guint64 began;
  gint32 tid;

  send_sample (self, WAITING_TID);
  send_sample (self, OTHER_TID);
  wait_for (&self->engine.n_tries, 2);
  began = lu_monotonic_ns ();
  lu_queue_close (self->input);
  g_assert_true (lu_worker_join (self->worker, 500));
  g_assert_cmpuint (lu_monotonic_ns () - began, <, 1000 * MS);
  g_assert_cmpint (take (self, &tid, 0), ==, LU_STATUS_NO_UNWIND_INFO);
  g_assert_cmpint (tid, ==, WAITING_TID);
  g_assert_cmpint (take (self, &tid, 0), ==, LU_STATUS_COMPLETE);
}

/* If the worker hangs in a sample that has waited, all that it owes is answered, in order. */
static void
test_left_behind (void)
{
  static Fixture *self; /* the thread may use it for ever */
  gint32 tid;

  self = g_new0 (Fixture, 1);
  set_up (self, NULL);
  send_sample (self, WAITING_TID);
  send_sample (self, OTHER_TID);
  wait_for (&self->engine.n_other, 1);
  g_atomic_int_set (&self->engine.hangs, TRUE);
  wait_for (&self->engine.n_tries, g_atomic_int_get (&self->engine.n_tries) + 1);
  send_stack (self, OTHER_TID);
  lu_queue_close (self->input);
  g_assert_false (lu_worker_join (self->worker, 50));
  g_assert_cmpint (take (self, &tid, 0), ==, LU_STATUS_OVER_BUDGET);
  g_assert_cmpint (tid, ==, WAITING_TID);
  g_assert_cmpint (take (self, &tid, 0), ==, LU_STATUS_COMPLETE);
  g_assert_cmpint (take (self, &tid, 0), ==, LU_STATUS_OVER_BUDGET);
  g_assert_true (lu_queue_is_finished (self->output));
  g_atomic_int_set (&self->engine.hangs, FALSE);
  lu_worker_abandon (self->worker);
}

/* A process whose samples take long to unwind has used up its time, and nobody else's. */
static void
test_time (Fixture *self, gconstpointer data)
{
  guint patience = LONG_MS * lu_machine_slowness ();
  gint32 tid;

  send_sample_of (self, getpid (), SLOW_TID);
  send_sample_of (self, getpid (), OTHER_TID);
  send_sample_of (self, 1, OTHER_TID);
  g_assert_cmpint (take (self, &tid, patience), ==, LU_STATUS_COMPLETE);
  g_assert_cmpint (take (self, &tid, patience), ==, LU_STATUS_OVER_BUDGET);
  g_assert_cmpint (take (self, &tid, patience), ==, LU_STATUS_COMPLETE);
  g_assert_cmpint (g_atomic_int_get (&self->engine.n_other), ==, 2);
}

static void
add (const char *path, void (*test) (Fixture *, gconstpointer))
{
  g_test_add (path, Fixture, NULL, set_up, test, tear_down);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("/worker/wait", test_wait);
  add ("/worker/wait-with-full-copies", test_wait_with_full_copies);
  add ("/worker/wait-to-verify", test_wait_to_verify);
  add ("/worker/limit", test_limit);
  add ("/worker/writer-is-behind", test_writer_is_behind);
  add ("/worker/end", test_end);
  add ("/worker/time", test_time);
  g_test_add_func ("/worker/left-behind", test_left_behind);
  return g_test_run ();
}
