/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* worker.c - opens modules, asks for the names and mounts of processes, unwinds what the drain
 * could not; see worker.h. */

#include "worker.h"

#include "base/clock.h"
#include "base/copy-file.h"
#include "base/speed.h"
#include "bpf-unwound.h"
#include "callchain.h"
#include "module/opener.h"
#include "process-reader.h"
#include "waiting-files.h"

#include <malloc.h>
#include <pthread.h>

/* Bytes of images that no module uses any more. */
#define IMAGE_BUDGET (4u << 20)
/* Unwinding may take one ns in so many; further samples end as "over budget". Hostile programs can
 * make samples that only libdwfl unwinds, slowly, and files have to be opened as well. It is
 * counted for a second, or on a slow machine for several: a program that starts makes as many
 * samples at once there. */
#define BUDGET_SECOND_NS G_GUINT64_CONSTANT (1000000000)
#define UNWIND_SHARE     2
/* The writer is woken for this many bytes of answers, or when there is nothing more to do. */
#define ANSWER_BATCH_BYTES (256u << 10)
/* How often free memory is given back; a burst of processes leaves holes in the heap. */
#define TRIM_NS (30 * BUDGET_SECOND_NS)
/* How often waiting files are tried again. */
#define RETRY_MS 50
/* lu_worker_join() checks this often whether the worker still makes progress. */
#define JOIN_INTERVAL_NS (20 * 1000 * 1000)
/* A request that is this much too late at the end hangs. */
#define JOIN_GRACE_US (50 * 1000)

struct _LuWorker
{
  LuUnwinder *unwinder; /* owned */
  LuQueue *input, *output;
  LuOpener *opener;
  LuProcessReader *reader;
  LuMemoryReader *prefault; /* borrowed; NULL if not live */
  gboolean live;
  GThread *thread;
  pthread_mutex_t mutex; /* protects the next four, and both queues while an answer is given */
  pthread_cond_t end;
  gboolean has_ended;
  gboolean is_left_behind; /* another thread gives the answers */
  gboolean is_busy; /* with work that may take long: not idle, and not waiting for the writer */
  atomic_llong deadline; /* us, monotonic: end without unwinding and opening; 0: none */
  LuStack *stack;
  LuStack *bpf_unwound; /* for comparing engines; NULL until the first is compared */
  LuFrame kernel[LU_CALLCHAIN_MAX_KERNEL_FRAMES];
  guint32 n_kernel;
  guint64 budget_period;           /* ns, for which the budget is counted */
  guint64 budget_start, unwind_ns; /* ns: unwinding took this much since then */
  guint64 last_trim;
  LuWaitingFiles *waiting;
  guint64 last_try;
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

static void
answer_done (LuWorker *self)
{
  LuMessage *message = reserve_patiently (self, sizeof *message);

  message->kind = LU_MESSAGE_DONE;
  lu_queue_commit_quietly (self->output, sizeof *message);
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
                                    .queue = self->input };

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

/* Returns whether there is time to unwind a sample. Replays may take as long as they need, and so
 * may an engine that was chosen to unwind everything here. */
static gboolean
is_in_budget (LuWorker *self)
{
  guint64 now = lu_monotonic_ns ();

  if (is_too_late (self))
    return FALSE;
  if (now - self->budget_start >= self->budget_period)
    {
      self->budget_start = now;
      self->unwind_ns = 0;
    }
  return !self->live || !self->unwinder->ops->walks_in_drain
         || self->unwind_ns < self->budget_period / UNWIND_SHARE;
}

static void
unwind (LuWorker *self, LuSampleMessage *message)
{
  guint64 begin = lu_thread_cpu_ns (); /* not wall time: a busy machine is no reason to give up */

  lu_stack_reset (self->stack);
  if (!is_in_budget (self))
    {
      self->stack->status = LU_STATUS_OVER_BUDGET;
      return;
    }
  self->unwinder->ops->unwind (self->unwinder,
                               &(LuUnwindRequest){ .pid = message->header.pid,
                                                   .tid = message->header.tid,
                                                   .sample = &message->sample,
                                                   .space = message->header.space,
                                                   .is_replay = !self->live,
                                                   .queue = self->input },
                               self->stack);
  lu_opener_settle (self->opener);
  if (self->stack->status == LU_STATUS_OVER_BUDGET)
    note_end (self, message->header.space);
  self->unwind_ns += lu_thread_cpu_ns () - begin;
  if (self->prefault != NULL && lu_stack_ends_at_absent_page (self->stack, &message->sample))
    prefault_missing_pages (self, message);
}

static void
handle_sample (LuWorker *self, LuSampleMessage *message)
{
  attach_payload (message);
  unwind (self, message);
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

  if (is_in_budget (self))
    verify_frames (self, &message->header, message->frames + message->n_kernel, &verified);
  else
    verified = (LuVerified){ .status = LU_STATUS_OVER_BUDGET };
  lu_opener_settle (self->opener);
  self->unwind_ns += lu_thread_cpu_ns () - begin;
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
      reserve_patiently (self, sizeof *out + (n_kernel + stack->n_frames) * sizeof (LuFrame)
                                   + message->interp.n_frames * sizeof (struct lu_interp_frame));

  memcpy (out->frames, kernel, n_kernel * sizeof (LuFrame));
  lu_stack_message_fill (out, message->header, stack, message->sample.stack_asked, n_kernel);
  lu_stack_message_add_functions (out, message->interp, functions_of (message));
  lu_queue_commit_quietly (self->output, lu_stack_message_size (out));
}

/* Passes the message's references on. */
static void
answer_verify (LuWorker *self, const LuStackMessage *message)
{
  gsize size = lu_stack_message_size (message);
  LuStackMessage *out = reserve_patiently (self, size);

  memcpy (out, message, size);
  out->kind = LU_MESSAGE_STACK;
  lu_queue_commit_quietly (self->output, size);
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

static void
set_busy (LuWorker *self, gboolean is_busy)
{
  pthread_mutex_lock (&self->mutex);
  self->is_busy = is_busy;
  pthread_mutex_unlock (&self->mutex);
}

/* FALSE: the thread was left behind meanwhile, and must not touch the queues. */
static gboolean
handle_and_answer (LuWorker *self, LuMessage *message)
{
  gboolean is_left_behind;

  set_busy (self, TRUE);
  lu_queue_note_progress (self->input);
  handle (self, message);
  pthread_mutex_lock (&self->mutex);
  is_left_behind = self->is_left_behind;
  self->is_busy = FALSE;
  if (!is_left_behind)
    {
      answer (self, message);
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
  set_busy (self, TRUE);
  lu_waiting_files_try (self->waiting, open_module, self);
  pthread_mutex_lock (&self->mutex);
  is_left_behind = self->is_left_behind;
  self->is_busy = FALSE;
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

static gpointer
worker_main (gpointer data)
{
  LuWorker *self = data;
  gpointer message;

  if (self->live)
    lu_copy_hurry ();
  while (!lu_queue_is_finished (self->input))
    {
      while ((message = lu_queue_peek (self->input, NULL)) != NULL)
        {
          if (!handle_and_answer (self, message) || !open_waiting (self))
            return end_thread (self);
          if (lu_queue_used (self->output) >= ANSWER_BATCH_BYTES)
            lu_queue_wake (self->output);
        }
      lu_queue_wake (self->output);
      if (!open_waiting (self))
        return end_thread (self);
      trim_now_and_then (self);
      lu_queue_wait (self->input, lu_waiting_files_is_empty (self->waiting) ? -1 : RETRY_MS);
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
  self->live = options->live;
  self->budget_period = lu_machine_slowness () * BUDGET_SECOND_NS;
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
  self->stack = g_new (LuStack, 1);
  return self;
}

void
lu_worker_start (LuWorker *self)
{
  self->thread = g_thread_new ("worker", worker_main, self);
}

/* Answers without the frames that are not verified. The thread may be cutting those of the first
 * message off. */
static void
answer_unverified (LuWorker *self, const LuStackMessage *message, gboolean is_first)
{
  gsize size = sizeof *message + message->n_kernel * sizeof (LuFrame);
  LuStackMessage *out = reserve_patiently (self, size);

  memcpy (out, message, size);
  out->kind = LU_MESSAGE_STACK;
  out->status = LU_STATUS_OVER_BUDGET;
  out->end_pc = 0;
  out->n_user = 0;
  out->interp = (LuInterpPart){ 0 };
  if (is_first && message->header.process != NULL)
    {
      lu_process_ref (message->header.process);
      lu_address_space_ref (message->header.space);
    }
  lu_queue_commit_quietly (self->output, size);
}

/* Gives the answers that the thread owes, in its place. It may still use what the first of its
 * messages refers to, so those references are not dropped. */
static void
answer_the_rest (LuWorker *self)
{
  g_autofree LuStack *stack = g_new (LuStack, 1);
  g_autofree LuFrame *kernel = g_new (LuFrame, LU_CALLCHAIN_MAX_KERNEL_FRAMES);
  gboolean is_first = TRUE;
  LuMessage *message;

  lu_stack_reset (stack);
  stack->status = LU_STATUS_OVER_BUDGET;
  for (; (message = lu_queue_peek (self->input, NULL)) != NULL; is_first = FALSE)
    {
      LuSampleMessage *sample = (LuSampleMessage *) message;

      if (message->kind == LU_MESSAGE_SAMPLE)
        {
          /* The thread may be writing the sample's own pointers (attach_payload()). */
          const LuSample view = { .cpumode = sample->sample.cpumode,
                                  .ip = sample->sample.ip,
                                  .n_callchain = sample->sample.n_callchain,
                                  .callchain = sample->payload };

          if (is_first && sample->header.process != NULL)
            {
              lu_process_ref (sample->header.process);
              lu_address_space_ref (sample->header.space);
            }
          answer_sample (self, sample, stack, kernel, lu_callchain_kernel_frames (&view, kernel));
        }
      else if (message->kind == LU_MESSAGE_VERIFY)
        answer_unverified (self, (const LuStackMessage *) message, is_first);
      else if (is_first)
        answer_done (self);
      else
        answer (self, message);
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
      struct timespec time = { .tv_sec = (time_t) (until / BUDGET_SECOND_NS),
                               .tv_nsec = (long) (until % BUDGET_SECOND_NS) };

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
  lu_waiting_files_free (self->waiting);
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
