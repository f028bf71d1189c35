/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dispatch.c - from the drain to the worker and the writer; see dispatch.h. */

#include "dispatch.h"

#include "base/counter.h"
#include "lu/bpf.h"
#include "messages.h"
#include "stack/merge.h"
#include "unwind/walker.h"
#include "walked-queue.h"
#include "walked.h"

#include <stdatomic.h>
#include <string.h>

/* Samples are taken only while this share of the queues is free, so that side-band always finds
 * room. */
#define SIDEBAND_SHARE 4
/* Longest wait for room for side-band: the worker may be reading a large file. */
#define SIDEBAND_PATIENCE_US (200 * 1000)
#define RETRY_US             500
/* The writer is woken this often, or when it has this much to do: each time costs more than writing
 * a stack does. A client gets what each round has, as these do not come that often. */
#define WRITER_INTERVAL_US (45 * 1000)
#define WRITER_BATCH_BYTES (512u << 10)
/* The worker is woken at the end of a round, or when it has this much to do. */
#define WORKER_BATCH_BYTES (128u << 10)

#define STACK_MESSAGE_MAX                                                                          \
  (sizeof (LuStackMessage) + (LU_MERGE_MAX_KERNEL_FRAMES + LU_STACK_MAX_FRAMES) * sizeof (LuFrame))

struct _LuDispatch
{
  LuQueue *to_worker, *to_writer; /* borrowed */
  LuWalker *walker;               /* owned; NULL: only the worker unwinds */
  gboolean live;
  LuStack stack;
  gboolean worker_is_stuck, writer_is_stuck; /* there was no room in time, and is none since */
  LuWalkedSender sender;
  LuDispatchWindow window;
  guint64 n_absent;
  gint64 last_wake;

  GHashTable *pairs; /* CPU -> Walked: the next sample there is the same one; NULL: none are */

  atomic_ullong in_kernel, stale, strange;
  atomic_ullong walked, handed_on, over_worker, over_budget;
};

/* A walked stack until the sample comes that it was walked for. */
typedef struct
{
  gint32 tid;
  guint64 time;
  guint32 n_kernel;
  LuFrame kernel[LU_BPF_MAX_KERNEL];
  LuStack stack;
} Walked;

/* A walk takes less; the next sample of the CPU comes later, at up to 5 kHz. */
#define PAIR_NS (G_GUINT64_CONSTANT (100) * 1000)

LuDispatch *
lu_dispatch_new (LuQueue *to_worker, LuQueue *to_writer, gboolean walks, gboolean live)
{
  LuDispatch *self = g_new0 (LuDispatch, 1);

  self->to_worker = to_worker;
  self->to_writer = to_writer;
  self->live = live;
  self->walker = walks ? lu_walker_new (TRUE) : NULL;
  return self;
}

void
lu_dispatch_free (LuDispatch *self)
{
  if (self == NULL)
    return;
  lu_walker_free (self->walker);
  g_clear_pointer (&self->pairs, g_hash_table_unref);
  g_free (self);
}

/* Room for a message that follows from side-band, which must not be dropped. The others make room
 * unless they hang; then the message is given up and counted, and so are those behind it, without
 * waiting. */
static gpointer
reserve_sideband (LuDispatch *self, LuQueue *queue, gsize size)
{
  gboolean *is_stuck = queue == self->to_worker ? &self->worker_is_stuck : &self->writer_is_stuck;
  gint64 deadline = 0;
  gpointer message;

  while ((message = lu_queue_reserve (queue, size)) == NULL)
    {
      gint64 now = g_get_monotonic_time ();

      lu_queue_wake (self->to_writer);
      lu_queue_wake (self->to_worker);
      if (deadline == 0)
        deadline = now + SIDEBAND_PATIENCE_US;
      if (self->live && (*is_stuck || now >= deadline))
        {
          *is_stuck = TRUE;
          lu_counter_bump (&self->over_budget);
          return NULL;
        }
      g_usleep (RETRY_US);
    }
  *is_stuck = FALSE;
  return message;
}

static void
keep_place (LuDispatch *self, LuMessage *place)
{
  place->kind = LU_MESSAGE_DEFERRED;
  lu_queue_commit_quietly (self->to_writer, sizeof *place);
}

/* Room for a message to the worker, and for the place of its answer; NULL as reserve_sideband(). */
static gpointer
reserve_request (LuDispatch *self, gsize size, LuMessage **place)
{
  *place = reserve_sideband (self, self->to_writer, sizeof **place);
  return *place != NULL ? reserve_sideband (self, self->to_worker, size) : NULL;
}

static void
send_request (LuDispatch *self, gsize size, LuMessage *place)
{
  keep_place (self, place);
  lu_queue_commit_quietly (self->to_worker, size);
}

void
lu_dispatch_open (LuDispatch *self, LuModule *module, gint32 pid, guint64 start, guint64 end)
{
  LuMessage *place;
  gboolean is_first = lu_queue_used (self->to_worker) == 0;
  LuOpenMessage *message = reserve_request (self, sizeof *message, &place);

  if (message == NULL)
    return;
  *message = (LuOpenMessage){ .kind = LU_MESSAGE_OPEN,
                              .pid = pid,
                              .start = start,
                              .end = end,
                              .module = lu_module_ref (module) };
  send_request (self, sizeof *message, place);
  /* Its process may end soon; but of many at once, as a large process has, the first one is enough.
   */
  if (is_first)
    lu_queue_wake (self->to_worker);
}

void
lu_dispatch_process (LuDispatch *self, LuProcess *process, LuProcessNeeds needs)
{
  LuMessage *place;
  LuProcessMessage *message = reserve_request (self, sizeof *message, &place);

  if (message == NULL)
    return;
  *message = (LuProcessMessage){ .kind = LU_MESSAGE_PROCESS,
                                 .needs = needs,
                                 .process = lu_process_ref (process),
                                 .space = lu_space_ref (lu_process_space (process)) };
  send_request (self, sizeof *message, place);
}

static void
send_task (LuDispatch *self, gboolean is_exit, guint64 time, gint32 pid, gint32 child_pid)
{
  LuTaskMessage *message = reserve_sideband (self, self->to_writer, sizeof *message);

  if (message == NULL)
    return;
  *message = (LuTaskMessage){
    .kind = LU_MESSAGE_TASK, .is_exit = is_exit, .time = time, .pid = pid, .child_pid = child_pid
  };
  lu_queue_commit_quietly (self->to_writer, sizeof *message);
}

void
lu_dispatch_fork (LuDispatch *self, guint64 time, gint32 pid, gint32 child_pid)
{
  send_task (self, FALSE, time, pid, child_pid);
}

void
lu_dispatch_exit (LuDispatch *self, guint64 time, gint32 pid)
{
  send_task (self, TRUE, time, pid, 0);
}

void
lu_dispatch_log (LuDispatch *self, guint64 time, const char *text)
{
  gsize size = sizeof (LuLogMessage) + strlen (text) + 1;
  LuLogMessage *message = lu_queue_reserve (self->to_writer, size);

  if (message == NULL)
    return;
  message->kind = LU_MESSAGE_LOG;
  message->time = time;
  memcpy (message->text, text, strlen (text) + 1);
  lu_queue_commit_quietly (self->to_writer, size);
}

/* Samples */

static gboolean
has_room_for_samples (LuQueue *queue)
{
  gsize limit = lu_queue_max_message (queue) * 2 / SIDEBAND_SHARE * (SIDEBAND_SHARE - 1);

  return lu_queue_used (queue) <= limit;
}

static LuStatus
settled_status (const LuSample *sample, LuSpace *space)
{
  guint n_mappings;

  if (sample->regs.abi != LU_ABI_NONE && !sample->is_chain)
    return sample->stack_size > 0 ? LU_STATUS_COMPLETE : LU_STATUS_NO_USER_STACK;
  lu_space_mappings (space, &n_mappings);
  return n_mappings == 0 ? LU_STATUS_KERNEL_ONLY : LU_STATUS_NO_USER_CONTEXT;
}

static LuSampleHeader
header_of (const LuEvent *event, LuProcess *process, LuSpace *space)
{
  return (LuSampleHeader){ .time = event->time,
                           .period = event->sample.period,
                           .cpu = event->cpu,
                           .pid = event->pid,
                           .tid = event->tid,
                           .process = lu_process_ref (process),
                           .space = lu_space_ref (space) };
}

/* Copies bytes (none: from nowhere) and returns the place behind them. */
static guint64 *
put (guint64 *to, gconstpointer from, gsize size)
{
  if (size > 0)
    memcpy (to, from, size);
  return to + size / sizeof *to;
}

static guint64
distance (guint64 a, guint64 b)
{
  return a > b ? a - b : b - a;
}

/* What the kernel's walk made of this sample; NULL if there is nothing. */
static const Walked *
find_pair (LuDispatch *self, const LuEvent *event)
{
  const Walked *walked =
      self->pairs != NULL ? g_hash_table_lookup (self->pairs, GINT_TO_POINTER (event->cpu)) : NULL;

  return walked != NULL && walked->tid == event->tid
                 && distance (walked->time, event->time) < PAIR_NS
             ? walked
             : NULL;
}

/* The sample that a walk was made for is the CPU's next one, whatever became of it: later ones are
 * not its. */
static void
forget_pair (LuDispatch *self, const LuEvent *event)
{
  Walked *walked =
      self->pairs != NULL ? g_hash_table_lookup (self->pairs, GINT_TO_POINTER (event->cpu)) : NULL;

  if (walked != NULL)
    walked->tid = -1;
}

/* The kernel's frames, then the user's. */
static void
put_walked (LuSampleMessage *message, guint64 *to, const Walked *walked)
{
  message->walked_status = walked->stack.status;
  message->n_walked_kernel = walked->n_kernel;
  message->n_walked = walked->stack.n_frames;
  to = put (to, walked->kernel, walked->n_kernel * sizeof (LuFrame));
  put (to, walked->stack.frames, walked->stack.n_frames * sizeof (LuFrame));
}

/* A copy of the sample goes to the worker; FALSE if there is no room for it. */
static gboolean
send_sample (LuDispatch *self, const LuEvent *event, LuProcess *process, LuSpace *space)
{
  const LuSample *sample = &event->sample;
  const Walked *walked = find_pair (self, event);
  gsize walked_size =
      walked != NULL ? (walked->n_kernel + walked->stack.n_frames) * sizeof (LuFrame) : 0;
  gsize size = sizeof (LuSampleMessage)
               + (sample->n_callchain + sample->regs.n_words) * sizeof (guint64)
               + lu_round_up_8 (sample->stack_size) + walked_size;
  LuSampleMessage *message =
      has_room_for_samples (self->to_worker) ? lu_queue_reserve (self->to_worker, size) : NULL;
  guint64 *payload;

  if (message == NULL)
    return FALSE;
  message->kind = LU_MESSAGE_SAMPLE;
  message->header = header_of (event, process, space);
  message->sample = *sample;
  message->n_walked = 0;
  payload = put (message->payload, sample->callchain, sample->n_callchain * sizeof *payload);
  payload = put (payload, sample->regs.words, sample->regs.n_words * sizeof *payload);
  put (payload, sample->stack, sample->stack_size);
  if (walked != NULL)
    put_walked (message, payload + lu_round_up_8 (sample->stack_size) / sizeof *payload, walked);
  lu_queue_commit_quietly (self->to_worker, size);
  if (lu_queue_used (self->to_worker) >= WORKER_BATCH_BYTES)
    lu_queue_wake (self->to_worker);
  lu_counter_bump (&self->handed_on);
  return TRUE;
}

/* Whether the sample's stack is finished, in self->stack. A copy that ends at a page of a live
 * process that is not present is the worker's: it may see to it that the next one does not. */
static gboolean
walk (LuDispatch *self, const LuEvent *event, LuSpace *space)
{
  const LuSample *sample = &event->sample;
  gboolean is_absent;

  lu_stack_reset (&self->stack);
  self->stack.status = settled_status (sample, space);
  if (sample->is_chain)
    lu_merge_user_chain (sample, &self->stack);
  if (self->stack.status != LU_STATUS_COMPLETE)
    return TRUE;
  if (self->walker == NULL)
    return FALSE;
  if (event->next != NULL)
    lu_walker_expect (self->walker, event->next->tid, &event->next->sample);
  if (!lu_walker_walk (self->walker, event->tid, sample, space, &self->stack))
    return FALSE;
  is_absent = self->live && lu_stack_ends_at_absent_page (&self->stack, sample);
  self->n_absent += is_absent;
  return !is_absent;
}

static void
send_stack (LuDispatch *self, LuStackMessage *message, const LuEvent *event, LuProcess *process,
            LuSpace *space)
{
  guint32 n_kernel = lu_merge_kernel_frames (&event->sample, message->frames);

  lu_stack_message_fill (message, header_of (event, process, space), &self->stack,
                         event->sample.stack_asked, n_kernel);
  lu_queue_commit_quietly (self->to_writer, lu_stack_message_size (message));
}

static void
count_in_window (LuDispatch *self, const LuSample *sample)
{
  if (lu_status_is_excluded (self->stack.status)
      || !lu_stack_copy_is_of_size (sample->stack_asked, self->window.stack_size))
    return;
  self->window.stacks++;
  self->window.truncated += self->stack.status == LU_STATUS_TRUNCATED_COPY;
}

guint64
lu_dispatch_n_absent (const LuDispatch *self)
{
  return self->n_absent;
}

void
lu_dispatch_reset_window (LuDispatch *self, guint32 stack_size)
{
  self->window = (LuDispatchWindow){ .stack_size = stack_size };
}

const LuDispatchWindow *
lu_dispatch_window (const LuDispatch *self)
{
  return &self->window;
}

/* In the writer's queue, though it may hold little: it has just begun anew (queue.c). */
static LuDispatchResult
no_room (LuDispatch *self)
{
  lu_queue_wake (self->to_writer);
  return LU_DISPATCH_NO_ROOM;
}

LuDispatchResult
lu_dispatch_sample (LuDispatch *self, const LuEvent *event, LuProcess *process, LuSpace *space,
                    gboolean can_wait)
{
  gpointer message = has_room_for_samples (self->to_writer)
                         ? lu_queue_reserve (self->to_writer, STACK_MESSAGE_MAX)
                         : NULL;

  if (message == NULL)
    return no_room (self);
  if (walk (self, event, space))
    {
      lu_counter_bump (&self->walked);
      count_in_window (self, &event->sample);
    }
  else if (send_sample (self, event, process, space))
    {
      forget_pair (self, event);
      keep_place (self, message);
      return LU_DISPATCH_DONE;
    }
  else if (can_wait || !self->live)
    return LU_DISPATCH_NO_ROOM;
  else
    {
      /* As far as the walk came; what it found out stands. */
      if (self->stack.status == LU_STATUS_COMPLETE)
        self->stack.status = LU_STATUS_OVER_BUDGET;
      lu_counter_bump (&self->over_worker);
    }
  forget_pair (self, event);
  send_stack (self, message, event, process, space);
  return LU_DISPATCH_DONE;
}

void
lu_dispatch_pair (LuDispatch *self)
{
  if (self->pairs == NULL)
    self->pairs = g_hash_table_new_full (NULL, NULL, NULL, g_free);
}

gboolean
lu_dispatch_is_pairing (const LuDispatch *self)
{
  return self->pairs != NULL;
}

static LuDispatchResult
keep_for_sample (LuDispatch *self, const LuEvent *event, LuProcess *process, LuSpace *space)
{
  Walked *walked = g_hash_table_lookup (self->pairs, GINT_TO_POINTER (event->cpu));

  if (walked == NULL)
    {
      walked = g_new (Walked, 1);
      g_hash_table_insert (self->pairs, GINT_TO_POINTER (event->cpu), walked);
    }
  walked->tid = event->tid;
  walked->time = event->time;
  lu_stack_reset (&walked->stack);
  lu_walked_take (&event->walked, process, space, &walked->stack);
  walked->n_kernel = lu_walked_kernel_frames (&event->walked, walked->kernel);
  lu_counter_bump (&self->in_kernel);
  return LU_DISPATCH_DONE;
}

LuDispatchResult
lu_dispatch_walked (LuDispatch *self, const LuEvent *event, LuProcess *process, LuSpace *space)
{
  LuStatus status;

  if (self->pairs != NULL)
    return keep_for_sample (self, event, process, space);
  if (!has_room_for_samples (self->to_writer)
      || !lu_walked_send (&self->sender, self->to_writer, event, process, space, &status))
    return no_room (self);
  self->window.stacks++;
  lu_counter_bump (&self->in_kernel);
  if (status == LU_STATUS_STALE_MAPPING)
    lu_counter_bump (&self->stale);
  if (status == LU_STATUS_NO_MAPPING)
    lu_counter_bump (&self->strange);
  return LU_DISPATCH_DONE;
}

gboolean
lu_dispatch_end_round (LuDispatch *self)
{
  gsize used = lu_queue_used (self->to_writer);
  gint64 now;

  if (lu_queue_used (self->to_worker) > 0)
    lu_queue_wake (self->to_worker);
  if (used == 0)
    return FALSE;
  now = g_get_monotonic_time ();
  if (used < WRITER_BATCH_BYTES && now - self->last_wake < WRITER_INTERVAL_US)
    return TRUE;
  self->last_wake = now;
  lu_queue_wake (self->to_writer);
  return FALSE;
}

gboolean
lu_dispatch_has_requests (const LuDispatch *self)
{
  return lu_queue_used (self->to_worker) > 0;
}

void
lu_dispatch_trim (LuDispatch *self)
{
  lu_queue_trim (self->to_worker);
  lu_queue_trim (self->to_writer);
}

void
lu_dispatch_close (LuDispatch *self)
{
  lu_queue_close (self->to_worker);
  lu_queue_close (self->to_writer);
}

void
lu_dispatch_get_progress (LuDispatch *self, LuDispatchProgress *progress)
{
  *progress = (LuDispatchProgress){
    .walked = atomic_load_explicit (&self->walked, memory_order_relaxed),
    .in_kernel = atomic_load_explicit (&self->in_kernel, memory_order_relaxed),
    .stale = atomic_load_explicit (&self->stale, memory_order_relaxed),
    .strange = atomic_load_explicit (&self->strange, memory_order_relaxed),
    .handed_on = atomic_load_explicit (&self->handed_on, memory_order_relaxed),
    .over_worker = atomic_load_explicit (&self->over_worker, memory_order_relaxed),
    .over_budget = atomic_load_explicit (&self->over_budget, memory_order_relaxed),
  };
}
