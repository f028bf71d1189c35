/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* worker.c - opens modules, asks for the names and mounts of processes, unwinds what the drain
 * could not; see worker.h. */

#include "worker.h"

#include "base/clock.h"
#include "base/copy-file.h"
#include "base/speed.h"
#include "base/time-budget.h"
#include "bpf-unwound.h"
#include "callchain.h"
#include "held-answers.h"
#include "module/opener.h"
#include "process-reader.h"
#include "waiting-files.h"

#include <malloc.h>
#include <pthread.h>

/* Bytes of images that no module uses any more. */
#define IMAGE_BUDGET (4u << 20)
#define SECOND_NS    G_GUINT64_CONSTANT (1000000000)
/* The writer is woken for this many bytes of answers, or when there is nothing more to do. */
#define ANSWER_BATCH_BYTES (256u << 10)
/* How often free memory is given back; a burst of processes leaves holes in the heap. */
#define TRIM_NS (30 * SECOND_NS)
/* How often waiting files are tried again. */
#define RETRY_MS 50
/* How long a sample waits for rows of its code, how often it is looked whether they are there, and
 * how much time that may take before other requests have their turn. */
#define HELD_NS (2 * SECOND_NS)
#define HELD_MS 3
#define TURN_NS (SECOND_NS / 200)
/* Samples wait until so long before the end, which leaves time to unwind them. */
#define HELD_END_US (250 * 1000)
/* lu_worker_join() checks this often whether the worker still makes progress. */
#define JOIN_INTERVAL_NS (20 * 1000 * 1000)
/* A request that is this much too late at the end hangs. */
#define JOIN_GRACE_US (50 * 1000)

/* How much time unwinding may take; further samples end as "over budget". Hostile programs can make
 * samples that only libdwfl unwinds, slowly, or whose CFI takes long to read, and files have to be
 * opened as well. Most recordings are of one process, which may use more than its files. */
static const LuTimeShares unwind_shares = { .process = 4, .user = 3, .total = 2 };

struct _LuWorker
{
  LuUnwinder *unwinder; /* owned */
  LuQueue *input, *output, *places;
  LuOpener *opener;
  LuProcessReader *reader;
  LuMemoryReader *prefault; /* borrowed; NULL if not live */
  LuLentStacks *lent;       /* borrowed; NULL: no stack was lent */
  LuCopySize *copy_size;    /* borrowed; NULL: nobody asks */
  gboolean live;
  GThread *thread;
  pthread_mutex_t mutex; /* protects the next seven, and both queues while an answer is given */
  pthread_cond_t end;
  gboolean has_ended;
  gboolean is_left_behind; /* another thread gives the answers */
  gboolean is_busy;    /* with work that may take long: not idle, and not waiting for the writer */
  LuHeldAnswers *held; /* only the thread changes it, until it is left behind */
  LuHeldAnswers *held_by_thread; /* that it may still use then; NULL: it is not left behind */
  const LuMessage *current;      /* the message that it works on; NULL: none */
  atomic_llong deadline;         /* us, monotonic: end without unwinding and opening; 0: none */
  LuStack *stack;
  LuStack *bpf_unwound; /* for comparing engines; NULL until the first is compared */
  LuFrame kernel[LU_CALLCHAIN_MAX_KERNEL_FRAMES];
  guint32 n_kernel;
  LuTimeBudget *budget; /* for unwinding */
  guint64 last_trim;
  LuWaitingFiles *waiting;
  guint64 last_try, last_look;
  gboolean may_wait;     /* the sample that is unwound */
  LuAwaitedRows awaited; /* that it needs */
  LuHeldAnswer *settled; /* its place, if it has waited */
};

static gpointer
reserve_patiently (LuWorker *self, gsize size)
{
  gpointer message;

  while ((message = lu_queue_reserve (self->output, size)) == NULL)
    {
      lu_queue_wake (self->output);
      g_usleep (500);
    }
  return message;
}

/* Returns room for an answer: in the queue, or behind others that are held back. */
static gpointer
begin_answer (LuWorker *self, gsize size)
{
  if (self->settled != NULL)
    return lu_held_answers_settle (self->held, self->settled, size);
  return lu_held_answers_is_empty (self->held) ? reserve_patiently (self, size)
                                               : lu_held_answers_append (self->held, size);
}

static void
end_answer (LuWorker *self, gsize size)
{
  if (lu_held_answers_is_empty (self->held))
    lu_queue_commit_quietly (self->output, size);
}

static void
answer_done (LuWorker *self)
{
  LuMessage *message = begin_answer (self, sizeof *message);

  message->kind = LU_MESSAGE_DONE;
  end_answer (self, sizeof *message);
}

static gboolean
open_module (gpointer data, const LuOpenMessage *message)
{
  LuWorker *self = data;

  return lu_opener_open (self->opener, message->module, message->pid, message->start, message->end);
}

static void
open_or_wait (LuWorker *self, const LuOpenMessage *message)
{
  if (open_module (self, message))
    return;
  lu_count (&self->unwinder->counters, LU_COUNTER_FILES_WAITED);
  lu_waiting_files_add (self->waiting, message);
}

/* A sample that ended as "over budget" may need a file that waits. */
static void
note_end (LuWorker *self, LuAddressSpace *space)
{
  const LuMapping *mapping = NULL;

  if (!lu_waiting_files_is_empty (self->waiting))
    mapping = lu_address_space_find (space, self->stack->end_pc);
  if (mapping != NULL)
    lu_waiting_files_note_sample (self->waiting, mapping->module);
}

static void
read_process (LuWorker *self, LuProcessMessage *message)
{
  if (self->live && (message->needs & LU_PROCESS_NAME) != 0)
    lu_process_reader_read_name (self->reader, message->process);
  if (self->live && (message->needs & LU_PROCESS_THREADS) != 0)
    lu_process_read_thread_names (message->process);
  if (self->live && (message->needs & LU_PROCESS_MOUNTS) != 0)
    lu_process_reader_read_mounts (self->reader, message->process, message->space);
}

/* Points the sample into the payload of its message. */
static void
attach_payload (LuSampleMessage *message)
{
  LuSample *sample = &message->sample;

  sample->callchain = message->payload;
  sample->regs.words = message->payload + sample->n_callchain;
  sample->stack = (const guint8 *) (message->payload + sample->n_callchain + sample->regs.n_words);
}

/* Verifies the steps by rows from code of a stack that BPF unwound. */
static void
verify_frames (LuWorker *self, const LuSampleHeader *header, const LuFrame *frames,
               LuVerified *verified)
{
  const LuVerifyRequest request = { .pid = header->pid,
                                    .space = header->space,
                                    .frames = frames,
                                    .is_replay = !self->live,
                                    .awaited = self->may_wait ? &self->awaited : NULL };

  if (self->unwinder->ops->verify != NULL)
    self->unwinder->ops->verify (self->unwinder, &request, verified);
}

/* Compares the stack with the one that BPF unwound for the same sample. */
static void
compare (LuWorker *self, const LuSampleMessage *message, guint32 n_kernel)
{
  const LuBpfPart *bpf = &message->bpf;
  const guint8 *words = message->sample.stack + lu_round_up_8 (message->sample.stack_size);
  LuFrame kernel[LU_BPF_MAX_KERNEL];
  guint32 n_bpf_kernel =
      lu_bpf_unwound_kernel_frames (words, bpf->n_kernel, bpf->kernel_ip, kernel);
  LuComparison comparison = { .stack = self->stack,
                              .kernel = self->kernel,
                              .bpf_kernel = kernel,
                              .n_kernel = n_kernel,
                              .n_bpf_kernel = n_bpf_kernel };
  LuVerified verified = { .status = bpf->status, .n = bpf->n_user };

  if (self->bpf_unwound == NULL)
    self->bpf_unwound = g_new (LuStack, 1);
  lu_stack_reset (self->bpf_unwound);
  lu_bpf_unwound_user_frames (words + bpf->n_kernel * sizeof (guint64), bpf->n_user,
                              self->bpf_unwound->frames);
  verify_frames (self, &message->header, self->bpf_unwound->frames, &verified);
  self->bpf_unwound->status = verified.status;
  self->bpf_unwound->n_frames = verified.n;
  comparison.bpf_unwound = self->bpf_unwound;
  self->unwinder->ops->compare (self->unwinder, &message->sample, message->header.space,
                                &comparison);
}

/* Later samples of the thread will be whole; this one stays as it is. */
static void
prefault_missing_pages (LuWorker *self, const LuSampleMessage *message)
{
  const LuSample *sample = &message->sample;

  if (self->prefault != NULL)
    lu_memory_reader_wish (self->prefault, message->header.pid,
                           self->stack->sampled_sp + sample->stack_size,
                           self->stack->sampled_sp + sample->stack_asked);
}

static gboolean
is_too_late (LuWorker *self)
{
  gint64 deadline = atomic_load_explicit (&self->deadline, memory_order_relaxed);

  return deadline != 0 && g_get_monotonic_time () >= deadline;
}

/* Returns whether there is time to unwind a sample of the process. Replays may take as long as they
 * need, and so may an engine that was chosen to unwind everything here. */
static gboolean
is_in_budget (LuWorker *self, gint32 pid)
{
  return !is_too_late (self)
         && (!self->live || !self->unwinder->ops->walks_in_drain
             || lu_time_budget_has (self->budget, pid));
}

/* begin: CPU time of the thread, in ns, when it began to unwind. */
static void
charge (LuWorker *self, gint32 pid, guint64 begin)
{
  if (self->live)
    lu_time_budget_charge (self->budget, pid, lu_thread_cpu_ns () - begin);
}

/* Returns whether the words of the copy may be those of another process. */
static gboolean
is_lent (LuWorker *self, const LuSampleMessage *message)
{
  const LuSampleHeader *header = &message->header;
  LuLentResult result;

  if (self->lent == NULL || header->process == NULL)
    return FALSE;
  result = lu_lent_stacks_ask (self->lent, header->process, header->tid, &message->sample);
  if (result != LU_LENT_UNKNOWN)
    return result == LU_LENT_YES;
  lu_lent_stacks_find (self->lent);
  return lu_lent_stacks_ask (self->lent, header->process, header->tid, &message->sample)
         == LU_LENT_YES;
}

static void
unwind (LuWorker *self, LuSampleMessage *message)
{
  guint64 begin = lu_thread_cpu_ns (); /* not wall time: a busy machine is no reason to give up */

  lu_stack_reset (self->stack);
  if (is_lent (self, message))
    {
      lu_lent_stack_end (&message->sample, self->stack);
      return;
    }
  if (!is_in_budget (self, message->header.pid))
    {
      self->stack->status = LU_STATUS_OVER_BUDGET;
      return;
    }
  self->unwinder->ops->unwind (
      self->unwinder,
      &(LuUnwindRequest){ .pid = message->header.pid,
                          .tid = message->header.tid,
                          .sample = &message->sample,
                          .space = message->header.space,
                          .is_replay = !self->live,
                          .awaited = self->may_wait ? &self->awaited : NULL },
      self->stack);
  lu_opener_settle (self->opener);
  if (self->stack->status == LU_STATUS_OVER_BUDGET)
    note_end (self, message->header.space);
  charge (self, message->header.pid, begin);
  if (self->awaited.slot == NULL && lu_stack_ends_at_absent_page (self->stack, &message->sample))
    prefault_missing_pages (self, message);
}

static void
handle_sample (LuWorker *self, LuSampleMessage *message)
{
  attach_payload (message);
  unwind (self, message);
  if (self->awaited.slot != NULL)
    {
      if (message->sample.stack_size < message->sample.stack_asked)
        prefault_missing_pages (self, message); /* the stack may go on there */
      return;
    }
  self->n_kernel = lu_callchain_kernel_frames (&message->sample, self->kernel);
  if (message->bpf.n_user > 0 && self->unwinder->ops->compare != NULL)
    compare (self, message, self->n_kernel);
}

/* Verifies a stack that BPF unwound, which may have to read code. */
static void
handle_verify (LuWorker *self, LuStackMessage *message)
{
  LuVerified verified = { .status = message->status,
                          .n = message->n_user,
                          .end_pc = message->end_pc };
  guint64 begin = lu_thread_cpu_ns ();

  if (is_in_budget (self, message->header.pid))
    verify_frames (self, &message->header, message->frames + message->n_kernel, &verified);
  else
    verified = (LuVerified){ .status = LU_STATUS_OVER_BUDGET };
  lu_opener_settle (self->opener);
  charge (self, message->header.pid, begin);
  if (self->awaited.slot == NULL)
    lu_stack_message_end (message, &verified);
}

/* Does what takes long. */
static void
handle (LuWorker *self, LuMessage *message)
{
  switch (message->kind)
    {
    case LU_MESSAGE_OPEN:
      if (!is_too_late (self))
        open_or_wait (self, (LuOpenMessage *) message);
      break;
    case LU_MESSAGE_PROCESS:
      if (!is_too_late (self))
        read_process (self, (LuProcessMessage *) message);
      break;
    case LU_MESSAGE_SAMPLE:
      handle_sample (self, (LuSampleMessage *) message);
      break;
    case LU_MESSAGE_VERIFY:
      handle_verify (self, (LuStackMessage *) message);
      break;
    default:
      g_assert_not_reached ();
    }
}

/* Returns where the functions of an interpreter are in the message. */
static gconstpointer
functions_of (const LuSampleMessage *message)
{
  const LuSample *sample = &message->sample;

  return (const guint8 *) (message->payload + sample->n_callchain + sample->regs.n_words
                           + message->bpf.n_kernel + message->bpf.n_user)
         + lu_round_up_8 (sample->stack_size);
}

/* Passes the message's references on, or drops them. */
static void
answer_sample (LuWorker *self, const LuSampleMessage *message, const LuStack *stack,
               const LuFrame *kernel, guint32 n_kernel)
{
  LuStackMessage *out =
      begin_answer (self, sizeof *out + (n_kernel + stack->n_frames) * sizeof (LuFrame)
                              + message->interp.n_frames * sizeof (struct lu_interp_frame));

  memcpy (out->frames, kernel, n_kernel * sizeof (LuFrame));
  lu_stack_message_fill (out, message->header, stack, message->sample.stack_asked, n_kernel);
  lu_stack_message_add_functions (out, message->interp, functions_of (message));
  end_answer (self, lu_stack_message_size (out));
}

/* Passes the message's references on. */
static void
answer_verify (LuWorker *self, const LuStackMessage *message)
{
  gsize size = lu_stack_message_size (message);
  LuStackMessage *out = begin_answer (self, size);

  memcpy (out, message, size);
  out->kind = LU_MESSAGE_STACK;
  end_answer (self, size);
}

static void
answer (LuWorker *self, LuMessage *message)
{
  if (message->kind == LU_MESSAGE_SAMPLE)
    {
      answer_sample (self, (LuSampleMessage *) message, self->stack, self->kernel, self->n_kernel);
      return;
    }
  if (message->kind == LU_MESSAGE_VERIFY)
    {
      answer_verify (self, (const LuStackMessage *) message);
      return;
    }
  if (message->kind == LU_MESSAGE_OPEN)
    lu_module_unref (((LuOpenMessage *) message)->module);
  else
    {
      lu_process_unref (((LuProcessMessage *) message)->process);
      lu_address_space_unref (((LuProcessMessage *) message)->space);
    }
  answer_done (self);
}

/* current: the message to work on, if there is one. */
static void
set_busy (LuWorker *self, const LuMessage *current)
{
  pthread_mutex_lock (&self->mutex);
  self->is_busy = TRUE;
  self->current = current;
  pthread_mutex_unlock (&self->mutex);
}

/* Locks the mutex at the end of such work. Returns whether the thread was left behind meanwhile,
 * and must not touch the queues. */
static gboolean
end_busy (LuWorker *self)
{
  pthread_mutex_lock (&self->mutex);
  self->is_busy = FALSE;
  self->current = NULL;
  return self->is_left_behind;
}

/* Samples wait for rows */

/* Returns whether any sample may wait: the end is not near, and the writer, which may wait with it,
 * has room for what follows. */
static gboolean
may_hold (LuWorker *self)
{
  gint64 deadline = atomic_load_explicit (&self->deadline, memory_order_relaxed);

  return self->live && (self->places == NULL || !lu_queue_is_behind (self->places))
         && (deadline == 0 || g_get_monotonic_time () < deadline - HELD_END_US);
}

/* The mutex is locked, as for the next. */
static void
give (LuWorker *self, const LuHeldAnswer *held)
{
  memcpy (reserve_patiently (self, held->answer_size), held->answer, held->answer_size);
  lu_queue_commit_quietly (self->output, held->answer_size);
}

/* Gives the answers that need not be held back any more. */
static void
give_held (LuWorker *self)
{
  LuHeldAnswer *held;

  while ((held = lu_held_answers_take (self->held)) != NULL)
    {
      give (self, held);
      lu_held_answer_free (held);
    }
}

/* Does what a request wants once more, if its rows are there or it waits no longer. FALSE: as
 * handle_and_answer(). */
static gboolean
try_again (LuWorker *self, LuHeldAnswer *held, gboolean may_wait)
{
  gboolean is_left_behind;

  self->may_wait = may_wait && lu_monotonic_ns () < held->until;
  if (self->may_wait && !lu_table_slot_wait_filled (held->rows.slot, held->rows.address, 0))
    return TRUE;
  self->awaited = (LuAwaitedRows){ 0 };
  set_busy (self, held->request);
  handle (self, held->request);
  is_left_behind = end_busy (self);
  if (!is_left_behind && self->awaited.slot != NULL)
    held->rows = self->awaited;
  else if (!is_left_behind)
    {
      self->settled = held;
      answer (self, held->request);
      self->settled = NULL;
      lu_held_answers_drop_request (self->held, held);
    }
  pthread_mutex_unlock (&self->mutex);
  return !is_left_behind;
}

/* Goes on with samples that wait for rows, now and then. FALSE: as handle_and_answer(). */
static gboolean
look_at_held (LuWorker *self)
{
  guint64 now;
  gboolean may_wait;

  if (lu_held_answers_is_empty (self->held))
    return TRUE;
  now = lu_monotonic_ns ();
  if (now - self->last_look < HELD_MS * G_GUINT64_CONSTANT (1000000))
    return TRUE;
  self->last_look = now;
  may_wait = may_hold (self);
  for (GList *link = lu_held_answers_list (self->held);
       link != NULL && lu_monotonic_ns () - now < TURN_NS; link = link->next)
    if (((LuHeldAnswer *) link->data)->answer == NULL && !try_again (self, link->data, may_wait))
      return FALSE;
  pthread_mutex_lock (&self->mutex);
  if (!self->is_left_behind)
    give_held (self);
  pthread_mutex_unlock (&self->mutex);
  if (lu_held_answers_is_empty (self->held))
    self->last_trim = 0; /* that was much memory */
  return TRUE;
}

/* Counts a sample that waits for rows. They will show only then how much of its stack is needed,
 * and all samples until then wait, too: where the stack is larger than the copy, the copy is taken
 * to be too small. */
static void
count_copy (LuWorker *self, const LuMessage *message)
{
  const LuSample *sample = &((const LuSampleMessage *) message)->sample;

  if (message->kind == LU_MESSAGE_SAMPLE && sample->stack_size >= sample->stack_asked)
    lu_copy_size_count (self->copy_size, LU_STATUS_TRUNCATED_COPY, sample->stack_asked,
                        (guint64) sample->stack_asked + 1);
}

/* Answers a request, or holds its answer back. The mutex is locked. */
static void
answer_or_hold (LuWorker *self, LuMessage *message, gsize size)
{
  if (self->awaited.slot != NULL)
    {
      count_copy (self, message);
      lu_held_answers_hold (self->held, message, size, &self->awaited,
                            lu_monotonic_ns () + HELD_NS);
    }
  else
    answer (self, message);
}

/* The process may have another sample queued in place of this one. */
static void
note_taken (const LuMessage *message, gsize size)
{
  LuProcess *process = NULL;

  if (message->kind == LU_MESSAGE_SAMPLE)
    process = ((const LuSampleMessage *) message)->header.process;
  else if (message->kind == LU_MESSAGE_VERIFY)
    process = ((const LuStackMessage *) message)->header.process;
  if (process != NULL)
    lu_process_take_queued (process, size);
}

/* FALSE: the thread was left behind meanwhile, and must not touch the queues. */
static gboolean
handle_and_answer (LuWorker *self, LuMessage *message, gsize size)
{
  gboolean is_left_behind;

  self->awaited = (LuAwaitedRows){ 0 };
  self->may_wait = may_hold (self) && lu_held_answers_have_room (self->held, message, size);
  note_taken (message, size);
  set_busy (self, message);
  handle (self, message);
  is_left_behind = end_busy (self);
  if (!is_left_behind)
    {
      answer_or_hold (self, message, size);
      lu_queue_release (self->input);
    }
  pthread_mutex_unlock (&self->mutex);
  return !is_left_behind;
}

/* Opens files that wait, now and then. FALSE: as handle_and_answer(). */
static gboolean
open_waiting (LuWorker *self)
{
  guint64 now = lu_monotonic_ns ();
  gboolean is_left_behind;

  if (lu_waiting_files_is_empty (self->waiting)
      || now - self->last_try < RETRY_MS * G_GUINT64_CONSTANT (1000000))
    return TRUE;
  self->last_try = now;
  set_busy (self, NULL);
  lu_waiting_files_try (self->waiting, open_module, self);
  is_left_behind = end_busy (self);
  pthread_mutex_unlock (&self->mutex);
  return !is_left_behind;
}

static void
trim_now_and_then (LuWorker *self)
{
  guint64 now = lu_monotonic_ns ();

  if (now - self->last_trim < TRIM_NS)
    return;
  self->last_trim = now;
  lu_copy_expire (FALSE);
#ifdef __GLIBC__
  malloc_trim (0);
#endif
}

static gpointer
end_thread (LuWorker *self)
{
  lu_copy_expire (TRUE);
  pthread_mutex_lock (&self->mutex);
  self->has_ended = TRUE;
  pthread_cond_signal (&self->end);
  pthread_mutex_unlock (&self->mutex);
  return NULL;
}

/* Does what is not asked for by a message. FALSE: as handle_and_answer(). */
static gboolean
do_later_work (LuWorker *self)
{
  return open_waiting (self) && look_at_held (self);
}

static void
wait_for_work (LuWorker *self)
{
  if (lu_held_answers_is_empty (self->held))
    lu_queue_wait (self->input, lu_waiting_files_is_empty (self->waiting) ? -1 : RETRY_MS);
  else if (!lu_queue_is_finished (self->input))
    lu_queue_wait (self->input, HELD_MS);
  else
    g_usleep (HELD_MS * 1000);
}

static gpointer
worker_main (gpointer data)
{
  LuWorker *self = data;
  gpointer message;
  gsize size;

  if (self->live)
    lu_copy_hurry ();
  while (!lu_queue_is_finished (self->input) || !lu_held_answers_is_empty (self->held))
    {
      while ((message = lu_queue_peek (self->input, &size)) != NULL)
        {
          if (!handle_and_answer (self, message, size) || !do_later_work (self))
            return end_thread (self);
          if (lu_queue_used (self->output) >= ANSWER_BATCH_BYTES)
            lu_queue_wake (self->output);
        }
      if (!do_later_work (self))
        return end_thread (self);
      lu_queue_wake (self->output);
      trim_now_and_then (self);
      wait_for_work (self);
    }
  lu_queue_close (self->output);
  return end_thread (self);
}

static void
init_end (LuWorker *self)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&self->end, &attributes);
  pthread_condattr_destroy (&attributes);
  pthread_mutex_init (&self->mutex, NULL);
}

LuWorker *
lu_worker_new (LuUnwinder *unwinder, const LuWorkerOptions *options)
{
  LuWorker *self = g_new0 (LuWorker, 1);

  self->unwinder = unwinder;
  self->input = options->input;
  self->output = options->output;
  self->places = options->places;
  self->live = options->live;
  self->budget = lu_time_budget_new (&unwind_shares, lu_machine_slowness ());
  self->held = lu_held_answers_new ();
  init_end (self);
  self->last_trim = lu_monotonic_ns ();
  self->opener = lu_opener_new (options->live, IMAGE_BUDGET);
  self->waiting = lu_waiting_files_new ();
  if (options->tables != NULL)
    lu_opener_set_tables (self->opener, options->tables);
  if (options->drops_cfi)
    lu_opener_allow_cfi_drop (self->opener);
  self->reader = lu_process_reader_new (options->own_mounts_are_known);
  self->prefault = options->prefault;
  self->lent = options->lent;
  self->copy_size = options->copy_size;
  self->stack = g_new (LuStack, 1);
  return self;
}

void
lu_worker_start (LuWorker *self)
{
  self->thread = g_thread_new ("worker", worker_main, self);
}

/* The thread may still use what the message refers to that it works on. */
static void
keep_references (const LuWorker *self, const LuMessage *message, const LuSampleHeader *header)
{
  if (message != self->current || header->process == NULL)
    return;
  lu_process_ref (header->process);
  lu_address_space_ref (header->space);
}

/* Answers without the frames that are not verified. The thread may be cutting those of its message
 * off. */
static void
answer_unverified (LuWorker *self, const LuStackMessage *message)
{
  gsize size = sizeof *message + message->n_kernel * sizeof (LuFrame);
  LuStackMessage *out = reserve_patiently (self, size);

  memcpy (out, message, size);
  out->kind = LU_MESSAGE_STACK;
  out->status = LU_STATUS_OVER_BUDGET;
  out->end_pc = 0;
  out->n_user = 0;
  out->interp = (LuInterpPart){ 0 };
  keep_references (self, (const LuMessage *) message, &message->header);
  lu_queue_commit_quietly (self->output, size);
}

static void
answer_not_unwound (LuWorker *self, const LuSampleMessage *message)
{
  /* The thread may be writing the sample's own pointers (attach_payload()), and uses its stack. */
  const LuSample view = { .cpumode = message->sample.cpumode,
                          .ip = message->sample.ip,
                          .n_callchain = message->sample.n_callchain,
                          .callchain = message->payload };
  g_autofree LuFrame *kernel = g_new (LuFrame, LU_CALLCHAIN_MAX_KERNEL_FRAMES);
  g_autofree LuStack *stack = g_new (LuStack, 1);

  lu_stack_reset (stack);
  stack->status = LU_STATUS_OVER_BUDGET;
  keep_references (self, (const LuMessage *) message, &message->header);
  answer_sample (self, message, stack, kernel, lu_callchain_kernel_frames (&view, kernel));
}

/* Gives the answer to a message that the thread owes. */
static void
answer_for_thread (LuWorker *self, LuMessage *message)
{
  if (message->kind == LU_MESSAGE_SAMPLE)
    answer_not_unwound (self, (const LuSampleMessage *) message);
  else if (message->kind == LU_MESSAGE_VERIFY)
    answer_unverified (self, (const LuStackMessage *) message);
  else if (message == self->current)
    answer_done (self);
  else
    answer (self, message);
}

/* Gives the answers that the thread owes, in its place. */
static void
answer_the_rest (LuWorker *self)
{
  GList *held = lu_held_answers_list (self->held);
  LuMessage *message;

  self->held_by_thread = self->held;
  self->held = lu_held_answers_new ();
  for (; held != NULL; held = held->next)
    {
      const LuHeldAnswer *place = held->data;

      if (place->answer == NULL)
        answer_for_thread (self, place->request);
      else
        give (self, place);
    }
  while ((message = lu_queue_peek (self->input, NULL)) != NULL)
    {
      answer_for_thread (self, message);
      lu_queue_release (self->input);
    }
  lu_queue_close (self->output);
  lu_queue_wake (self->output);
}

/* Waits until the thread has ended, or hangs after its deadline. The mutex is locked. */
static void
wait_for_end (LuWorker *self)
{
  gint64 deadline = atomic_load (&self->deadline);

  while (!self->has_ended
         && (deadline == 0 || !self->is_busy || g_get_monotonic_time () < deadline + JOIN_GRACE_US))
    {
      guint64 until = lu_monotonic_ns () + JOIN_INTERVAL_NS;
      struct timespec time = { .tv_sec = (time_t) (until / SECOND_NS),
                               .tv_nsec = (long) (until % SECOND_NS) };

      pthread_cond_timedwait (&self->end, &self->mutex, &time);
      if (deadline != 0 && g_get_monotonic_time () > deadline)
        lu_images_cancel_reading ();
    }
}

gboolean
lu_worker_join (LuWorker *self, int patience_ms)
{
  gboolean has_ended;

  if (self->thread == NULL)
    return TRUE;
  if (patience_ms >= 0)
    atomic_store (&self->deadline,
                  g_get_monotonic_time () + patience_ms * G_GINT64_CONSTANT (1000));
  else
    atomic_store (&self->deadline, 0);
  pthread_mutex_lock (&self->mutex);
  wait_for_end (self);
  has_ended = self->has_ended;
  if (!has_ended && !self->is_left_behind)
    {
      self->is_left_behind = TRUE;
      answer_the_rest (self);
    }
  pthread_mutex_unlock (&self->mutex);
  if (has_ended)
    g_thread_join (g_steal_pointer (&self->thread));
  return has_ended;
}

void
lu_worker_abandon (LuWorker *self)
{
  g_thread_unref (g_steal_pointer (&self->thread));
}

void
lu_worker_free (LuWorker *self)
{
  if (self == NULL)
    return;
  lu_worker_join (self, -1);
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->end);
  lu_unwinder_free (self->unwinder);
  lu_opener_free (self->opener);
  lu_time_budget_free (self->budget);
  lu_waiting_files_free (self->waiting);
  lu_held_answers_free (self->held);
  lu_held_answers_free (self->held_by_thread);
  lu_process_reader_free (self->reader);
  g_free (self->stack);
  g_free (self->bpf_unwound);
  g_free (self);
}

const LuCounters *
lu_worker_counters (const LuWorker *self)
{
  return &self->unwinder->counters;
}
