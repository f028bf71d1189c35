/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-dispatch.c - src/dispatch.c: what goes where, in which order, and what full queues do. */

#include "dispatch.h"

#include "lu/bpf.h"
#include "messages.h"
#include "process/process-private.h"

#define PID         5
#define STACK_BYTES 16384
#define QUEUE_BYTES (1u << 20)

typedef struct
{
  LuQueue *to_worker, *to_writer;
  LuDispatch *dispatch;
  LuProcess *process;
  LuSpace *space;
  guint64 words[20];
  guint8 stack[STACK_BYTES];
  gboolean can_wait;
} Fixture;

static void
set_up (Fixture *self, gconstpointer is_live)
{
  self->to_worker = lu_queue_new (QUEUE_BYTES);
  self->to_writer = lu_queue_new (QUEUE_BYTES);
  self->dispatch =
      lu_dispatch_new (self->to_worker, self->to_writer, TRUE, GPOINTER_TO_INT (is_live));
  self->space = lu_space_new ();
  self->process = lu_process_new (PID, 0, 0, "x", self->space);
}

static void
tear_down (Fixture *self, gconstpointer is_live)
{
  lu_dispatch_free (self->dispatch);
  lu_process_unref (self->process);
  lu_space_unref (self->space);
  lu_queue_free (self->to_worker);
  lu_queue_free (self->to_writer);
}

/* A sample of kernel mode without user context: it needs no walk. */
static LuEvent
settled_sample (void)
{
  return (LuEvent){ .kind = LU_EVENT_SAMPLE, .pid = PID, .tid = PID, .sample.ip = 0x1000 };
}

/* A sample in a space without mappings: a walker finds nothing there. */
static LuEvent
strange_sample (Fixture *self)
{
  LuEvent event = settled_sample ();

  event.sample.regs =
      (LuRegs){ .abi = LU_ABI_64, .n_words = 20, .mask = 0xff0fff, .words = self->words };
  event.sample.stack = self->stack;
  event.sample.stack_size = event.sample.stack_asked = STACK_BYTES;
  return event;
}

static LuDispatchResult
offer (Fixture *self, const LuEvent *event)
{
  return lu_dispatch_sample (self->dispatch, event, self->process, self->space, self->can_wait);
}

static void
drop_header (const LuSampleHeader *header)
{
  lu_process_unref (header->process);
  lu_space_unref (header->space);
}

/* Takes the next message of a queue; its kind, or -1 if there is none. */
static int
take (LuQueue *queue, LuStatus *status)
{
  const LuMessage *message = lu_queue_peek (queue, NULL);
  int kind = message != NULL ? (int) message->kind : -1;

  if (kind == LU_MESSAGE_STACK)
    {
      drop_header (&((const LuStackMessage *) message)->header);
      if (status != NULL)
        *status = ((const LuStackMessage *) message)->status;
    }
  if (kind == LU_MESSAGE_WALKED)
    {
      lu_process_unref (((const LuWalkedMessage *) message)->process);
      lu_space_unref (((const LuWalkedMessage *) message)->space);
    }
  if (kind == LU_MESSAGE_SAMPLE)
    drop_header (&((const LuSampleMessage *) message)->header);
  if (kind == LU_MESSAGE_PROCESS)
    {
      lu_process_unref (((const LuProcessMessage *) message)->process);
      lu_space_unref (((const LuProcessMessage *) message)->space);
    }
  if (message != NULL)
    lu_queue_release (queue);
  return kind;
}

static void
take_all (LuQueue *queue)
{
  while (take (queue, NULL) >= 0)
    ;
}

static void
test_places_are_kept_in_order (Fixture *self, gconstpointer is_live)
{
  LuEvent settled = settled_sample (), strange = strange_sample (self);
  LuStatus status;

  lu_dispatch_process (self->dispatch, self->process, LU_PROCESS_NAME);
  g_assert_cmpint (offer (self, &settled), ==, LU_DISPATCH_DONE);
  g_assert_cmpint (offer (self, &strange), ==, LU_DISPATCH_DONE);
  lu_dispatch_exit (self->dispatch, 7, PID);
  lu_dispatch_log (self->dispatch, 8, "text");

  g_assert_cmpint (take (self->to_writer, NULL), ==, LU_MESSAGE_DEFERRED);
  g_assert_cmpint (take (self->to_writer, &status), ==, LU_MESSAGE_STACK);
  g_assert_cmpint (status, ==, LU_STATUS_KERNEL_ONLY);
  g_assert_cmpint (take (self->to_writer, NULL), ==, LU_MESSAGE_DEFERRED);
  g_assert_cmpint (take (self->to_writer, NULL), ==, LU_MESSAGE_TASK);
  g_assert_cmpint (take (self->to_writer, NULL), ==, LU_MESSAGE_LOG);
  g_assert_cmpint (take (self->to_writer, NULL), ==, -1);

  g_assert_cmpint (take (self->to_worker, NULL), ==, LU_MESSAGE_PROCESS);
  g_assert_cmpint (take (self->to_worker, NULL), ==, LU_MESSAGE_SAMPLE);
  g_assert_cmpint (take (self->to_worker, NULL), ==, -1);
}

static void
test_a_copy_is_the_sample (Fixture *self, gconstpointer is_live)
{
  LuEvent strange = strange_sample (self);
  const LuSampleMessage *message;

  self->words[3] = 33;
  self->stack[STACK_BYTES - 1] = 44;
  offer (self, &strange);
  message = lu_queue_peek (self->to_worker, NULL);
  g_assert_cmpuint (message->payload[3], ==, 33);
  g_assert_cmpuint (((const guint8 *) (message->payload + 20))[STACK_BYTES - 1], ==, 44);
  take_all (self->to_worker);
  take_all (self->to_writer);
}

/* The worker is behind: nobody waits for it. */
static void
test_a_full_worker (Fixture *self, gconstpointer is_live)
{
  LuEvent settled = settled_sample (), strange = strange_sample (self);
  LuDispatchProgress progress;
  LuStatus status = LU_STATUS_COMPLETE;
  guint n = 0;

  do
    {
      g_assert_cmpint (offer (self, &strange), ==, LU_DISPATCH_DONE);
      lu_dispatch_get_progress (self->dispatch, &progress);
    }
  while (progress.over_worker == 0 && ++n < 1000);
  g_assert_cmpuint (progress.handed_on, ==, n);
  g_assert_cmpuint (n, >, QUEUE_BYTES / STACK_BYTES / 2);
  /* While its ring has room, a sample stays there. */
  self->can_wait = TRUE;
  g_assert_cmpint (offer (self, &strange), ==, LU_DISPATCH_NO_ROOM);
  /* Side-band and what needs no worker still go through. */
  lu_dispatch_process (self->dispatch, self->process, LU_PROCESS_NAME);
  g_assert_cmpint (offer (self, &settled), ==, LU_DISPATCH_DONE);

  for (guint i = 0; i < n; i++)
    g_assert_cmpint (take (self->to_writer, NULL), ==, LU_MESSAGE_DEFERRED);
  g_assert_cmpint (take (self->to_writer, &status), ==, LU_MESSAGE_STACK);
  g_assert_cmpint (status, ==, LU_STATUS_OVER_BUDGET);
  g_assert_cmpint (take (self->to_writer, NULL), ==, LU_MESSAGE_DEFERRED);
  take_all (self->to_worker);
  take_all (self->to_writer);
}

/* A file can wait. */
static void
test_a_full_worker_of_a_file (Fixture *self, gconstpointer is_live)
{
  LuEvent strange = strange_sample (self);
  guint n = 0;

  while (offer (self, &strange) == LU_DISPATCH_DONE && n < 1000)
    n++;
  g_assert_cmpuint (n, <, 1000);
  g_assert_cmpint (take (self->to_worker, NULL), ==, LU_MESSAGE_SAMPLE);
  g_assert_cmpint (offer (self, &strange), ==, LU_DISPATCH_DONE);
  take_all (self->to_worker);
  take_all (self->to_writer);
}

/* The output blocks: samples stay where they are, side-band has its share. */
static void
test_a_full_writer (Fixture *self, gconstpointer is_live)
{
  LuEvent settled = settled_sample ();
  gsize used;
  guint n = 0;

  while (offer (self, &settled) == LU_DISPATCH_DONE && n < 100000)
    n++;
  g_assert_cmpuint (n, <, 100000);
  used = lu_queue_used (self->to_writer);
  lu_dispatch_exit (self->dispatch, 7, PID);
  g_assert_cmpuint (lu_queue_used (self->to_writer), >, used);
  take_all (self->to_writer);
  g_assert_cmpint (offer (self, &settled), ==, LU_DISPATCH_DONE);
  take_all (self->to_writer);
}

#define add(name, is_live, function)                                                               \
  g_test_add ("/dispatch/" name, Fixture, GINT_TO_POINTER (is_live), set_up, function, tear_down)

/* A stack of the kernel's walk, in a space without mappings: no frame of it is borne out. */
static LuEvent
walked_event (const guint64 *pcs, guint32 n_kernel, guint32 n_user)
{
  return (LuEvent){ .kind = LU_EVENT_WALKED,
                    .cpu = 1,
                    .pid = PID,
                    .tid = PID,
                    .time = 1000,
                    .walked = { .status = LU_STATUS_COMPLETE,
                                .sp = 0x7000,
                                .flags = LU_BPF_RECORD_KERNEL,
                                .n_kernel = n_kernel,
                                .n_user = n_user,
                                .pcs = (const guint8 *) pcs } };
}

static void
test_walked_stacks_go_to_the_writer (Fixture *self, gconstpointer is_live)
{
  const guint64 pcs[] = { 0xffffffff81000010, 0x401000 };
  LuEvent event = walked_event (pcs, 1, 1);
  const LuWalkedMessage *message;
  LuDispatchProgress progress;

  g_assert_cmpint (lu_dispatch_walked (self->dispatch, &event, self->process, self->space), ==,
                   LU_DISPATCH_DONE);
  message = lu_queue_peek (self->to_writer, NULL);
  g_assert_cmpint (message->kind, ==, LU_MESSAGE_WALKED);
  g_assert_cmpint (message->status, ==, LU_STATUS_NO_MAPPING);
  g_assert_cmpuint (message->n_kernel, ==, 1);
  g_assert_cmphex (message->words[0], ==, pcs[0]);
  g_assert_cmpuint (message->n_user, ==, 0);
  g_assert_cmpuint (message->time, ==, 1000);
  take_all (self->to_writer);
  lu_dispatch_get_progress (self->dispatch, &progress);
  g_assert_cmpuint (progress.in_kernel, ==, 1);
  g_assert_cmpuint (progress.strange, ==, 1);
  g_assert_cmpuint (progress.stale, ==, 0);
}

/* To be compared, it waits for the sample that it was walked for, and for no other one. */
static void
test_walked_stacks_wait_for_their_samples (Fixture *self, gconstpointer is_live)
{
  static const struct
  {
    gint32 cpu, tid;
    guint64 time;
    gboolean is_walked, is_pair; /* there is a walk before it; it is that sample's */
  } samples[] = {
    { 1, PID, 900, TRUE, TRUE },
    { 1, PID, 1400, TRUE, TRUE },
    { 1, PID, 1500, FALSE, FALSE }, /* it has had its sample */
    { 0, PID, 1000, TRUE, FALSE },
    { 1, PID + 1, 1000, TRUE, FALSE },
    { 1, PID, 1000, FALSE, FALSE }, /* there was another one */
    { 1, PID, 1000 * 1000 * 1000, TRUE, FALSE },
  };
  const guint64 pcs[] = { 0xffffffff81000010, 0xffffffff81000020, 0x401000 };
  LuMapping mapping = { .start = 0x400000, .end = 0x410000 };
  const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/bin/program" };
  LuEvent event = walked_event (pcs, 2, 1);

  mapping.module = lu_module_new (&key);
  g_assert_true (lu_process_add_mapping (self->process, 1, &mapping));
  event.walked.serial = lu_space_serial (lu_process_space (self->process));
  lu_dispatch_pair (self->dispatch);
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    {
      LuEvent sample = strange_sample (self);
      const LuSampleMessage *message;
      const LuFrame *frames;

      if (samples[i].is_walked)
        g_assert_cmpint (lu_dispatch_walked (self->dispatch, &event, self->process,
                                             lu_process_space (self->process)),
                         ==, LU_DISPATCH_DONE);
      g_assert_cmpint (take (self->to_writer, NULL), ==, -1);
      sample.cpu = samples[i].cpu;
      sample.tid = samples[i].tid;
      sample.time = samples[i].time;
      offer (self, &sample);
      message = lu_queue_peek (self->to_worker, NULL);
      g_assert_cmpuint (message->n_walked, ==, samples[i].is_pair ? 1 : 0);
      frames = (const LuFrame *) (message->payload + 20 + STACK_BYTES / 8);
      if (samples[i].is_pair)
        {
          g_assert_cmpuint (message->n_walked_kernel, ==, 2);
          for (guint j = 0; j < G_N_ELEMENTS (pcs); j++)
            g_assert_cmphex (frames[j].pc, ==, pcs[j]);
        }
      take_all (self->to_worker);
      take_all (self->to_writer);
    }
  lu_module_unref (mapping.module);
}

/* Each that is given up costs its samples the time that it waited; so only the first one waits. */
static void
test_a_stuck_worker_costs_one_wait (Fixture *self, gconstpointer is_live)
{
  LuDispatchProgress progress;
  gint64 begin;

  while (lu_queue_reserve (self->to_worker, 4096) != NULL)
    lu_queue_commit_quietly (self->to_worker, 4096);
  while (lu_queue_reserve (self->to_worker, 8) != NULL)
    lu_queue_commit_quietly (self->to_worker, 8);
  begin = g_get_monotonic_time ();
  for (guint i = 0; i < 20; i++)
    lu_dispatch_process (self->dispatch, self->process, LU_PROCESS_NAME);
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 2 * G_USEC_PER_SEC);
  lu_dispatch_get_progress (self->dispatch, &progress);
  g_assert_cmpuint (progress.over_budget, ==, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("order", TRUE, test_places_are_kept_in_order);
  add ("copy", TRUE, test_a_copy_is_the_sample);
  add ("full-worker", TRUE, test_a_full_worker);
  add ("full-worker-of-a-file", FALSE, test_a_full_worker_of_a_file);
  add ("stuck-worker", TRUE, test_a_stuck_worker_costs_one_wait);
  add ("full-writer", TRUE, test_a_full_writer);
  add ("walked", TRUE, test_walked_stacks_go_to_the_writer);
  add ("walked-pairs", TRUE, test_walked_stacks_wait_for_their_samples);
  return g_test_run ();
}
