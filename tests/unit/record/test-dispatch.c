/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-dispatch.c - src/record/dispatch.c: which queue gets what, in which order, and what happens
 * when queues are full. */

#include "record/dispatch.h"

#include "lu/bpf.h"
#include "record/messages.h"
#include "process/process-private.h"

#define PID         5
#define STACK_BYTES 16384
#define QUEUE_BYTES (1u << 20)

typedef struct
{
  LuQueue *to_worker, *to_writer;
  LuDispatch *dispatch;
  LuProcess *process;
  LuAddressSpace *space;
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
      lu_dispatch_new (self->to_worker, self->to_writer, NULL, TRUE, GPOINTER_TO_INT (is_live));
  self->space = lu_address_space_new ();
  self->process = lu_process_new (PID, 0, "x", self->space);
}

static void
tear_down (Fixture *self, gconstpointer is_live)
{
  lu_dispatch_free (self->dispatch);
  lu_process_unref (self->process);
  lu_address_space_unref (self->space);
  lu_queue_free (self->to_worker);
  lu_queue_free (self->to_writer);
}

/* A sample of kernel mode without user context needs no walk. */
static LuEvent
settled_sample (void)
{
  return (LuEvent){ .kind = LU_EVENT_SAMPLE, .pid = PID, .tid = PID, .sample.ip = 0x1000 };
}

/* A sample in an address space without mappings: a walker finds nothing there. */
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
  const LuLocatedEvent located = { event, self->process, self->space };

  return lu_dispatch_sample (self->dispatch, &located, self->can_wait);
}

static void
drop_header (const LuSampleHeader *header)
{
  lu_process_unref (header->process);
  lu_address_space_unref (header->space);
}

/* Takes the next message of a queue; its kind, or -1 if there is none. */
static int
take (LuQueue *queue, LuStatus *status)
{
  gsize size;
  const LuMessage *message = lu_queue_peek (queue, &size);
  int kind = message != NULL ? (int) message->kind : -1;

  if (kind == LU_MESSAGE_STACK || kind == LU_MESSAGE_VERIFY)
    {
      drop_header (&((const LuStackMessage *) message)->header);
      if (status != NULL)
        *status = ((const LuStackMessage *) message)->status;
    }
  if (kind == LU_MESSAGE_SAMPLE)
    {
      lu_process_take_queued (((const LuSampleMessage *) message)->header.process, size);
      drop_header (&((const LuSampleMessage *) message)->header);
    }
  if (kind == LU_MESSAGE_PROCESS)
    {
      lu_process_unref (((const LuProcessMessage *) message)->process);
      lu_address_space_unref (((const LuProcessMessage *) message)->space);
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
  lu_dispatch_task (self->dispatch, TRUE, 7, PID, 0);
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

/* Nobody waits for a worker that is behind. */
static void
test_a_full_worker (Fixture *self, gconstpointer is_live)
{
  LuEvent settled = settled_sample (), strange = strange_sample (self);
  const LuCounters *counters = lu_dispatch_counters (self->dispatch);
  LuStatus status = LU_STATUS_COMPLETE;
  guint n = 0;

  do
    {
      g_assert_cmpint (offer (self, &strange), ==, LU_DISPATCH_DONE);
    }
  while (lu_counters_get (counters, LU_COUNTER_REFUSED_BY_WORKER) == 0 && ++n < 1000);
  g_assert_cmpuint (lu_counters_get (counters, LU_COUNTER_SENT_TO_WORKER), ==, n);
  g_assert_cmpuint (n, >, QUEUE_BYTES / STACK_BYTES / 3);
  /* A sample stays in its ring while that has room. */
  self->can_wait = TRUE;
  g_assert_cmpint (offer (self, &strange), ==, LU_DISPATCH_NO_ROOM);
  /* Side-band and samples that need no worker still pass. */
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

/* A process whose samples nobody takes does not use up the room that others need. */
static void
test_processes_share_a_worker (Fixture *self, gconstpointer is_live)
{
  LuEvent strange = strange_sample (self);
  const LuCounters *counters = lu_dispatch_counters (self->dispatch);
  LuProcess *processes[] = { self->process, lu_process_new (PID, 1, "y", self->space),
                             lu_process_new (PID, 2, "z", self->space) };
  guint n_last = G_MAXUINT;

  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    {
      guint64 n_refused = lu_counters_get (counters, LU_COUNTER_REFUSED_BY_WORKER);
      guint n = 0;

      self->process = processes[i];
      while (offer (self, &strange) == LU_DISPATCH_DONE && n < 1000
             && lu_counters_get (counters, LU_COUNTER_REFUSED_BY_WORKER) == n_refused)
        n++;
      g_assert_cmpuint (n, >=, 4);
      g_assert_cmpuint (n, <, n_last);
      n_last = n;
    }
  take_all (self->to_worker);
  take_all (self->to_writer);
  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    g_assert_cmpuint (lu_process_queued (processes[i]), ==, 0);
  lu_process_unref (processes[1]);
  lu_process_unref (processes[2]);
  self->process = processes[0];
}

/* A request to open a file can wait. */
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

/* When the output blocks, samples stay where they are, and side-band has its reserved share. */
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
  lu_dispatch_task (self->dispatch, TRUE, 7, PID, 0);
  g_assert_cmpuint (lu_queue_used (self->to_writer), >, used);
  take_all (self->to_writer);
  g_assert_cmpint (offer (self, &settled), ==, LU_DISPATCH_DONE);
  take_all (self->to_writer);
}

#define add(name, is_live, function)                                                               \
  g_test_add ("/dispatch/" name, Fixture, GINT_TO_POINTER (is_live), set_up, function, tear_down)

/* A BPF-unwound stack in an address space without mappings: no frame of it is confirmed. */
static LuEvent
bpf_unwound_event (const guint64 *pcs, guint32 n_kernel, guint32 n_user)
{
  return (LuEvent){ .kind = LU_EVENT_BPF_UNWOUND,
                    .cpu = 1,
                    .pid = PID,
                    .tid = PID,
                    .time = 1000,
                    .bpf_unwound = { .status = LU_STATUS_COMPLETE,
                                     .sp = 0x7000,
                                     .ip = pcs[0],
                                     .flags = LU_BPF_RECORD_KERNEL,
                                     .n_kernel = n_kernel,
                                     .n_user = n_user,
                                     .pcs = (const guint8 *) pcs } };
}

static void
test_bpf_unwound_stacks_go_to_the_writer (Fixture *self, gconstpointer is_live)
{
  const guint64 pcs[] = { 0xffffffff81000010, 0x401000 };
  LuEvent event = bpf_unwound_event (pcs, 1, 1);
  const LuLocatedEvent located = { &event, self->process, self->space };
  const LuStackMessage *message;
  const LuCounters *counters = lu_dispatch_counters (self->dispatch);

  g_assert_cmpint (lu_dispatch_bpf_unwound (self->dispatch, &located), ==, LU_DISPATCH_DONE);
  message = lu_queue_peek (self->to_writer, NULL);
  g_assert_cmpint (message->kind, ==, LU_MESSAGE_STACK);
  g_assert_true (message->is_bpf_unwound);
  g_assert_cmpint (message->status, ==, LU_STATUS_NO_MAPPING);
  g_assert_cmpuint (message->n_kernel, ==, 1);
  g_assert_cmphex (message->frames[0].pc, ==, pcs[0]);
  g_assert_cmpuint (message->n_user, ==, 0);
  g_assert_cmpuint (message->header.time, ==, 1000);
  take_all (self->to_writer);
  g_assert_cmpuint (lu_counters_get (counters, LU_COUNTER_BPF_UNWOUND), ==, 1);
  g_assert_cmpuint (lu_counters_get (counters, LU_COUNTER_UNMAPPED), ==, 1);
  g_assert_cmpuint (lu_counters_get (counters, LU_COUNTER_STALE), ==, 0);
}

/* Steps by rows from code are verified by the worker if the drain does not know the code. A stack
 * that the worker has no room for keeps what comes before. */
static void
test_bpf_unwound_steps_are_verified (Fixture *self, gconstpointer is_live)
{
  const guint64 pcs[] = { 0x401000, 0x402000 | LU_BPF_PC_RETURN,
                          0x403000 | LU_BPF_PC_RETURN | LU_BPF_PC_DERIVED };
  LuMapping mapping = { .start = 0x400000, .end = 0x410000 };
  const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/bin/program" };
  LuEvent event = bpf_unwound_event (pcs, 0, 3);
  LuLocatedEvent located = { .event = &event, .process = self->process };
  const LuStackMessage *message;

  mapping.module = lu_module_new (&key);
  g_assert_true (lu_process_add_mapping (self->process, 1, &mapping));
  located.space = lu_process_address_space (self->process);
  event.bpf_unwound.flags = 0;
  event.bpf_unwound.serial = lu_address_space_serial (located.space);
  g_assert_cmpint (lu_dispatch_bpf_unwound (self->dispatch, &located), ==, LU_DISPATCH_DONE);
  g_assert_cmpint (take (self->to_writer, NULL), ==, LU_MESSAGE_DEFERRED);
  message = lu_queue_peek (self->to_worker, NULL);
  g_assert_cmpint (message->kind, ==, LU_MESSAGE_VERIFY);
  g_assert_cmpuint (message->n_user, ==, 3);
  g_assert_false (message->has_no_fp_steps);
  g_assert_cmpuint (message->frames[2].flags, ==, LU_FRAME_RETURN_ADDRESS | LU_FRAME_DERIVED);
  take_all (self->to_worker);
  while (lu_dispatch_bpf_unwound (self->dispatch, &located) == LU_DISPATCH_DONE
         && take (self->to_writer, NULL) == LU_MESSAGE_DEFERRED)
    ;
  g_assert_cmpint (lu_dispatch_bpf_unwound (self->dispatch, &located), ==, LU_DISPATCH_DONE);
  message = lu_queue_peek (self->to_writer, NULL);
  g_assert_cmpint (message->kind, ==, LU_MESSAGE_STACK);
  g_assert_cmpint (message->status, ==, LU_STATUS_OVER_BUDGET);
  g_assert_cmpuint (message->n_user, ==, 2);
  g_assert_cmphex (message->end_pc, ==, 0x402000);
  take_all (self->to_writer);
  take_all (self->to_worker);
  lu_module_unref (mapping.module);
}

/* A stack to be compared waits for the sample that BPF unwound it for, and for no other one. */
static void
test_bpf_unwound_stacks_wait_for_their_samples (Fixture *self, gconstpointer is_live)
{
  static const struct
  {
    gint32 cpu, tid;
    guint64 time;
    gboolean is_bpf_unwound, is_pair; /* the stack before this sample belongs to it */
  } samples[] = {
    { 1, PID, 900, TRUE, TRUE },
    { 1, PID, 1400, TRUE, TRUE },
    { 1, PID, 1500, FALSE, FALSE }, /* the stack already had its sample */
    { 0, PID, 1000, TRUE, FALSE },
    { 1, PID + 1, 1000, TRUE, FALSE },
    { 1, PID, 1000, FALSE, FALSE }, /* another sample came in between */
    { 1, PID, 1000 * 1000 * 1000, TRUE, FALSE },
  };
  const guint64 pcs[] = { 0xffffffff81000010, 0xffffffff81000020, 0x401000 };
  LuMapping mapping = { .start = 0x400000, .end = 0x410000 };
  const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/bin/program" };
  LuEvent event = bpf_unwound_event (pcs, 2, 1);
  LuLocatedEvent located = { .event = &event, .process = self->process };

  mapping.module = lu_module_new (&key);
  g_assert_true (lu_process_add_mapping (self->process, 1, &mapping));
  located.space = lu_process_address_space (self->process);
  event.bpf_unwound.serial = lu_address_space_serial (located.space);
  event.bpf_unwound.sp = self->words[lu_arch_of_abi (LU_ABI_64)->perf_sp];
  lu_dispatch_compare_engines (self->dispatch);
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    {
      LuEvent sample = strange_sample (self);
      const LuSampleMessage *message;
      const guint64 *words;

      if (samples[i].is_bpf_unwound)
        g_assert_cmpint (lu_dispatch_bpf_unwound (self->dispatch, &located), ==, LU_DISPATCH_DONE);
      g_assert_cmpint (take (self->to_writer, NULL), ==, -1);
      sample.cpu = samples[i].cpu;
      sample.tid = samples[i].tid;
      sample.time = samples[i].time;
      offer (self, &sample);
      message = lu_queue_peek (self->to_worker, NULL);
      g_assert_cmpuint (message->bpf.n_user, ==, samples[i].is_pair ? 1 : 0);
      words = message->payload + 20 + STACK_BYTES / 8;
      if (samples[i].is_pair)
        {
          g_assert_cmpuint (message->bpf.n_kernel, ==, 2);
          for (guint j = 0; j < G_N_ELEMENTS (pcs); j++)
            g_assert_cmphex (words[j], ==, pcs[j]);
        }
      take_all (self->to_worker);
      take_all (self->to_writer);
    }
  lu_module_unref (mapping.module);
}

/* Giving up costs the samples their waiting time, so only the first one waits. */
static void
test_a_stuck_worker_costs_one_wait (Fixture *self, gconstpointer is_live)
{
  const LuCounters *counters = lu_dispatch_counters (self->dispatch);
  gint64 begin;

  while (lu_queue_reserve (self->to_worker, 4096) != NULL)
    lu_queue_commit_quietly (self->to_worker, 4096);
  while (lu_queue_reserve (self->to_worker, 8) != NULL)
    lu_queue_commit_quietly (self->to_worker, 8);
  begin = g_get_monotonic_time ();
  for (guint i = 0; i < 20; i++)
    lu_dispatch_process (self->dispatch, self->process, LU_PROCESS_NAME);
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 2 * G_USEC_PER_SEC);
  g_assert_cmpuint (lu_counters_get (counters, LU_COUNTER_DROPPED_SIDEBAND), ==, 20);
}

static const struct lu_interp_frame functions[] = { { 0x1000, 7, 20 }, { 0x2000, 8, 40 } };

/* Gives the dispatch a chain of CPU 0. */
static void
keep_chain (Fixture *self, guint64 time)
{
  LuEvent event = { .kind = LU_EVENT_INTERP_CHAIN,
                    .pid = PID,
                    .tid = PID,
                    .interp_chain = { .language = LU_INTERP_PYTHON,
                                      .n_frames = G_N_ELEMENTS (functions),
                                      .time = time,
                                      .frames = (const guint8 *) functions } };

  lu_dispatch_keep_chain (self->dispatch, &event);
}

/* Returns the number of functions in the stack of a sample. */
static guint
functions_with (Fixture *self, gint32 cpu, gint32 tid, guint64 time)
{
  LuEvent settled = settled_sample ();
  const LuStackMessage *message;
  guint n;

  settled.cpu = cpu;
  settled.tid = tid;
  settled.time = time;
  g_assert_cmpint (offer (self, &settled), ==, LU_DISPATCH_DONE);
  message = lu_queue_peek (self->to_writer, NULL);
  n = message->interp.n_frames;
  if (n > 0)
    g_assert_cmpmem (lu_stack_message_functions (message), n * sizeof *functions, functions,
                     sizeof functions);
  take_all (self->to_writer);
  return n;
}

static void
test_chains_go_with_their_samples (Fixture *self, gconstpointer is_live)
{
  const guint64 time = 5000000;
  LuEvent strange = strange_sample (self);
  const LuSampleMessage *message;

  g_assert_cmpuint (functions_with (self, 0, PID, time), ==, 0);
  keep_chain (self, time);
  g_assert_cmpuint (functions_with (self, 0, PID, time + 1000), ==, 2);
  g_assert_cmpuint (functions_with (self, 0, PID, time - 1000), ==, 2);
  g_assert_cmpuint (functions_with (self, 0, PID, 2 * time), ==, 0);
  g_assert_cmpuint (functions_with (self, 0, PID + 1, time), ==, 0);
  g_assert_cmpuint (functions_with (self, 1, PID, time), ==, 0);
  g_assert_cmpuint (functions_with (self, -1, PID, time), ==, 0);
  strange.time = time;
  g_assert_cmpint (offer (self, &strange), ==, LU_DISPATCH_DONE);
  message = lu_queue_peek (self->to_worker, NULL);
  g_assert_cmpuint (message->interp.n_frames, ==, 2);
  g_assert_cmpmem ((const guint8 *) (message->payload + 20) + STACK_BYTES, sizeof functions,
                   functions, sizeof functions);
  take_all (self->to_worker);
  take_all (self->to_writer);
}

static void
test_functions_go_to_the_writer (Fixture *self, gconstpointer is_live)
{
  const LuEvent event = { .kind = LU_EVENT_INTERP_FUNCTION,
                          .interp_function = { .language = LU_INTERP_PYTHON,
                                               .code = 0x1000,
                                               .name = { .size = 4 },
                                               .path = { .size = 5 },
                                               .lines = { .size = 2 },
                                               .name_text = (const guint8 *) "leaf",
                                               .path_text = (const guint8 *) "/a.py",
                                               .lines_bytes = (const guint8 *) "\2\1" } };
  const LuLocatedEvent located = { &event, self->process, self->space };
  const LuInterpFunctionMessage *message;

  g_assert_cmpint (lu_dispatch_function (self->dispatch, &located), ==, LU_DISPATCH_DONE);
  message = lu_queue_peek (self->to_writer, NULL);
  g_assert_cmpint (message->kind, ==, LU_MESSAGE_INTERP_FUNCTION);
  g_assert_cmphex (message->function.code, ==, 0x1000);
  g_assert_cmpmem (message->text, 11, "leaf/a.py\2\1", 11);
  lu_process_unref (message->process);
  lu_queue_release (self->to_writer);
  while (lu_dispatch_function (self->dispatch, &located) == LU_DISPATCH_DONE)
    ;
  while ((message = lu_queue_peek (self->to_writer, NULL)) != NULL)
    {
      lu_process_unref (message->process);
      lu_queue_release (self->to_writer);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("order", TRUE, test_places_are_kept_in_order);
  add ("copy", TRUE, test_a_copy_is_the_sample);
  add ("full-worker", TRUE, test_a_full_worker);
  add ("shared-worker", TRUE, test_processes_share_a_worker);
  add ("full-worker-of-a-file", FALSE, test_a_full_worker_of_a_file);
  add ("stuck-worker", TRUE, test_a_stuck_worker_costs_one_wait);
  add ("chains", TRUE, test_chains_go_with_their_samples);
  add ("functions", TRUE, test_functions_go_to_the_writer);
  add ("full-writer", TRUE, test_a_full_writer);
  add ("walked", TRUE, test_bpf_unwound_stacks_go_to_the_writer);
  add ("walked-verified", TRUE, test_bpf_unwound_steps_are_verified);
  add ("walked-pairs", TRUE, test_bpf_unwound_stacks_wait_for_their_samples);
  return g_test_run ();
}
