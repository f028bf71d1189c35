/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dispatch.c - from the drain to the worker and the writer; see dispatch.h. */

#include "dispatch.h"

#include "bpf-unwound.h"
#include "callchain.h"
#include "input/per-cpu-events.h"
#include "unwind/walker.h"

/* Samples may fill all but one of this many parts of a queue, so that side-band always finds room.
 */
#define SIDEBAND_SHARE 4
/* Longest wait for room for side-band: the worker may be reading a large file. */
#define SIDEBAND_PATIENCE_US (200 * 1000)
#define RETRY_US             500
/* The writer is woken this often, or when it has this much to do: waking it costs more than writing
 * a stack. A client reads what each round wrote, as rounds do not come that often. */
#define WRITER_INTERVAL_US (45 * 1000)
#define WRITER_BATCH_BYTES (512u << 10)
/* The worker is woken at the end of a round, or when it has this much to do. */
#define WORKER_BATCH_BYTES (128u << 10)

#define STACK_MESSAGE_MAX                                                                          \
  (sizeof (LuStackMessage)                                                                         \
   + (LU_CALLCHAIN_MAX_KERNEL_FRAMES + LU_STACK_MAX_FRAMES) * sizeof (LuFrame)                     \
   + LU_INTERP_MAX_FRAMES * sizeof (struct lu_interp_frame))

/* A copy that belongs to a chain is made this soon after the chain was read. */
#define CHAIN_NS (G_GUINT64_CONSTANT (1000) * 1000)

/* The last chain of functions that came from a CPU. */
typedef struct
{
  gint32 pid, tid;
  guint64 time; /* as LuInterpChain */
  LuInterpPart part;
  struct lu_interp_frame frames[LU_INTERP_MAX_FRAMES];
} Chain;

struct _LuDispatch
{
  LuQueue *to_worker, *to_writer; /* borrowed */
  LuWalker *walker;               /* owned; NULL: only the worker unwinds */
  GHashTable *pairs;              /* owned (bpf-unwound.h); NULL: engines are not compared */
  gboolean live;
  Chain *chains; /* owned, by CPU */
  guint n_chains;
  LuStack stack;
  gboolean worker_is_stuck, writer_is_stuck; /* no room in time; cleared once there is room */
  LuCopySize *copy_size;                     /* borrowed; NULL: nobody asks */
  LuMemoryReader *memory_reader;             /* borrowed; NULL: pages stay absent */
  const LuLentStacks *lent;                  /* borrowed; NULL: no stack was lent */
  guint64 n_absent;
  gint64 last_wake;

  LuCounters counters;
};

LuDispatch *
lu_dispatch_new (LuQueue *to_worker, LuQueue *to_writer, LuCopySize *copy_size, gboolean unwinds,
                 gboolean live)
{
  LuDispatch *self = g_new0 (LuDispatch, 1);

  self->to_worker = to_worker;
  self->to_writer = to_writer;
  self->copy_size = copy_size;
  self->live = live;
  self->walker = unwinds ? lu_walker_new (TRUE) : NULL;
  self->n_chains = lu_n_possible_cpus ();
  self->chains = g_new0 (Chain, self->n_chains); /* in memory only where they are used */
  return self;
}

void
lu_dispatch_use_memory_reader (LuDispatch *self, LuMemoryReader *reader)
{
  self->memory_reader = reader;
}

void
lu_dispatch_use_lent_stacks (LuDispatch *self, const LuLentStacks *lent)
{
  self->lent = lent;
}

void
lu_dispatch_free (LuDispatch *self)
{
  if (self == NULL)
    return;
  lu_walker_free (self->walker);
  g_clear_pointer (&self->pairs, g_hash_table_unref);
  g_free (self->chains);
  g_free (self);
}

/* Returns room for a message that follows from side-band, which must not be dropped. The receivers
 * make room unless they hang; then this message is dropped and counted. Later ones are dropped
 * without waiting, and counted, too.
 */
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
          lu_count (&self->counters, LU_COUNTER_DROPPED_SIDEBAND);
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

/* Returns room for a message to the worker, and for the place of its answer; NULL as
 * reserve_sideband(). */
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
  /* The process may end soon. A large process maps many files at once; the first one is enough to
   * wake the worker. */
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
  *message =
      (LuProcessMessage){ .kind = LU_MESSAGE_PROCESS,
                          .needs = needs,
                          .process = lu_process_ref (process),
                          .space = lu_address_space_ref (lu_process_address_space (process)) };
  send_request (self, sizeof *message, place);
}

void
lu_dispatch_task (LuDispatch *self, gboolean is_exit, guint64 time, gint32 pid, gint32 child_pid)
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

/* Returns how many bytes of the queue samples may still use. */
static gsize
room_for_samples (LuQueue *queue)
{
  gsize limit = lu_queue_max_message (queue) * 2 / SIDEBAND_SHARE * (SIDEBAND_SHARE - 1);
  gsize used = lu_queue_used (queue);

  return limit - MIN (used, limit);
}

static gboolean
has_room_for_samples (LuQueue *queue)
{
  return room_for_samples (queue) > 0;
}

/* Returns room for a sample, or for what is made of it; NULL if there is none. */
static gpointer
reserve_for_sample (LuQueue *queue, gsize size)
{
  return has_room_for_samples (queue) ? lu_queue_reserve (queue, size) : NULL;
}

/* Returns room for a sample in the worker's queue. A process has as much of it as it leaves to
 * others: its samples must not be why those of others are given up while a file is read for it. */
static gpointer
reserve_for_worker (LuDispatch *self, const LuProcess *process, gsize size)
{
  if (self->live && process != NULL
      && lu_process_queued (process) + size > room_for_samples (self->to_worker))
    return NULL;
  return reserve_for_sample (self->to_worker, size);
}

/* Sends the worker what was written to such room. */
static void
send_to_worker (LuDispatch *self, LuProcess *process, gsize size)
{
  if (process != NULL)
    lu_process_add_queued (process, size);
  lu_queue_commit_quietly (self->to_worker, size);
  if (lu_queue_used (self->to_worker) >= WORKER_BATCH_BYTES)
    lu_queue_wake (self->to_worker);
  lu_count (&self->counters, LU_COUNTER_SENT_TO_WORKER);
}

/* Counts a sample that the worker has no room for. */
static void
note_refused (LuDispatch *self)
{
  lu_count (&self->counters, LU_COUNTER_REFUSED_BY_WORKER);
}

/* Returns the state of a sample with nothing to unwind; COMPLETE: there is something. */
static LuStatus
settled_status (const LuSample *sample, LuAddressSpace *space)
{
  guint n_mappings;

  if (sample->regs.abi != LU_ABI_NONE && !sample->is_chain)
    return sample->stack_size > 0 ? LU_STATUS_COMPLETE : LU_STATUS_NO_USER_STACK;
  lu_address_space_mappings (space, &n_mappings);
  return n_mappings == 0 ? LU_STATUS_KERNEL_ONLY : LU_STATUS_NO_USER_CONTEXT;
}

static LuSampleHeader
header_of (const LuLocatedEvent *located)
{
  const LuEvent *event = located->event;
  gboolean has_weight = event->kind == LU_EVENT_SAMPLE;
  LuSampleHeader header = { .time = event->time,
                            .weight = has_weight ? event->sample.weight : 0,
                            .event = has_weight ? event->sample.event : 0,
                            .cpu = event->cpu,
                            .pid = event->pid,
                            .tid = event->tid,
                            .process = lu_process_ref (located->process),
                            .space = lu_address_space_ref (located->space) };

  g_strlcpy (header.thread_name, lu_process_new_thread_name (located->process, event->tid),
             sizeof header.thread_name);
  return header;
}

/* Functions of interpreters */

/* Returns the chain of the event's CPU; NULL: it is of no known CPU. */
static Chain *
chain_at (LuDispatch *self, const LuEvent *event)
{
  return event->cpu >= 0 && (guint) event->cpu < self->n_chains ? &self->chains[event->cpu] : NULL;
}

void
lu_dispatch_keep_chain (LuDispatch *self, const LuEvent *event)
{
  const LuInterpChain *chain = &event->interp_chain;
  Chain *kept = chain_at (self, event);

  if (kept == NULL)
    return;
  kept->pid = event->pid;
  kept->tid = event->tid;
  kept->time = chain->time;
  kept->part = (LuInterpPart){ .language = chain->language,
                               .flags = chain->flags,
                               .n_frames = chain->n_frames };
  memcpy (kept->frames, chain->frames, chain->n_frames * sizeof *kept->frames);
}

/* Returns the chain that belongs to a stack or sample, or one without functions. The next chain of
 * the CPU replaces it. */
static const Chain *
chain_of (LuDispatch *self, const LuEvent *event)
{
  static const Chain none;
  const Chain *chain = chain_at (self, event);

  if (chain == NULL || chain->part.language == LU_INTERP_NONE || chain->tid != event->tid
      || chain->pid != event->pid)
    return &none;
  if (event->kind == LU_EVENT_BPF_UNWOUND)
    return chain->time == event->bpf_unwound.time ? chain : &none;
  return event->time - chain->time + CHAIN_NS < 2 * CHAIN_NS ? chain : &none;
}

LuDispatchResult
lu_dispatch_function (LuDispatch *self, const LuLocatedEvent *located)
{
  const LuInterpFunction *function = &located->event->interp_function;
  gsize n_names = (gsize) function->name.size + function->path.size;
  gsize size = sizeof (LuInterpFunctionMessage) + n_names + function->lines.size;
  LuInterpFunctionMessage *message = lu_queue_reserve (self->to_writer, size);

  if (message == NULL)
    {
      lu_queue_wake (self->to_writer);
      return LU_DISPATCH_NO_ROOM;
    }
  message->kind = LU_MESSAGE_INTERP_FUNCTION;
  message->process = lu_process_ref (located->process);
  message->time = located->event->time;
  message->function = *function;
  message->function.name_text = message->function.path_text = message->function.lines_bytes = NULL;
  memcpy (message->text, function->name_text, function->name.size);
  memcpy (message->text + function->name.size, function->path_text, function->path.size);
  memcpy (message->text + n_names, function->lines_bytes, function->lines.size);
  lu_queue_commit_quietly (self->to_writer, size);
  return LU_DISPATCH_DONE;
}

/* Sends the worker a stack whose steps by rows from code it has to verify. Returns FALSE if there
 * is no room. */
static gboolean
send_to_verify (LuDispatch *self, const LuStackMessage *stack)
{
  gsize size = lu_stack_message_size (stack);
  LuStackMessage *message = reserve_for_worker (self, stack->header.process, size);

  if (message == NULL)
    return FALSE;
  memcpy (message, stack, size);
  message->kind = LU_MESSAGE_VERIFY;
  send_to_worker (self, stack->header.process, size);
  return TRUE;
}

/* Verifies the steps by rows from code of a stack that BPF unwound. Returns FALSE if the worker has
 * to do it, and will. A stack that it has no room for keeps the part that is verified. */
static gboolean
verify (LuDispatch *self, LuStackMessage *stack)
{
  LuVerified verified = { .status = stack->status, .n = stack->n_user, .end_pc = stack->end_pc };
  gboolean is_known = FALSE;

  if (self->walker != NULL)
    is_known = lu_walker_verify (self->walker, stack->header.space, stack->frames + stack->n_kernel,
                                 &verified);
  else
    verified = (LuVerified){ .status = LU_STATUS_OVER_BUDGET };
  if (!is_known && send_to_verify (self, stack))
    return FALSE;
  if (!is_known)
    note_refused (self);
  lu_stack_message_end (stack, &verified);
  return TRUE;
}

/* Checks a stack that BPF unwound and sends what can be trusted of it. Returns FALSE if there is no
 * room. */
static gboolean
send_bpf_unwound (LuDispatch *self, const LuLocatedEvent *located, LuStatus *status)
{
  const LuBpfUnwoundStack *stack = &located->event->bpf_unwound;
  LuBpfUnwoundResult result = lu_bpf_unwound_check (located);
  const Chain *chain = chain_of (self, located->event);
  gsize n_frames = (gsize) MAX (stack->n_kernel, 1) + result.n_user;
  LuStackMessage *message = lu_queue_reserve (
      self->to_writer, sizeof *message + n_frames * sizeof (LuFrame)
                           + chain->part.n_frames * sizeof (struct lu_interp_frame));
  guint32 flags;

  if (message == NULL)
    return FALSE;
  *message = (LuStackMessage){ .kind = LU_MESSAGE_STACK,
                               .status = result.status,
                               .header = header_of (located),
                               .end_pc = result.end_pc,
                               .is_bpf_unwound = TRUE,
                               .has_no_fp_steps = (stack->flags & LU_BPF_RECORD_INFERRED) == 0,
                               .n_user = result.n_user };
  message->n_kernel = lu_bpf_unwound_kernel_frames (
      stack->pcs, stack->n_kernel, lu_bpf_unwound_kernel_ip (stack), message->frames);
  flags = lu_bpf_unwound_user_frames (stack->pcs + (gsize) stack->n_kernel * sizeof (guint64),
                                      result.n_user, message->frames + message->n_kernel);
  lu_stack_message_add_functions (message, chain->part, chain->frames);
  *status = result.status;
  /* Few steps by frame pointer have to be verified, and only the walker can tell which. */
  if (G_UNLIKELY ((flags & LU_FRAME_DERIVED) != 0
                  || ((flags & LU_FRAME_INFERRED) != 0 && self->walker != NULL)))
    {
      message->has_no_fp_steps = FALSE;
      if (!verify (self, message))
        {
          keep_place (self, (LuMessage *) message);
          return TRUE;
        }
    }
  lu_queue_commit_quietly (self->to_writer, lu_stack_message_size (message));
  return TRUE;
}

/* Copies bytes, if there are any, and returns the place after them. */
static guint64 *
put (guint64 *to, gconstpointer from, gsize size)
{
  if (size > 0)
    memcpy (to, from, size);
  return to + size / sizeof *to;
}

/* Copies the sample, what BPF made of it, if that is known, and the functions. */
static void
fill_sample (LuSampleMessage *message, const LuLocatedEvent *located, const LuBpfPair *pair,
             const Chain *chain)
{
  const LuSample *sample = &located->event->sample;
  guint64 *payload = message->payload;

  message->kind = LU_MESSAGE_SAMPLE;
  message->header = header_of (located);
  message->sample = *sample;
  payload = put (payload, sample->callchain, sample->n_callchain * sizeof *payload);
  payload = put (payload, sample->regs.words, sample->regs.n_words * sizeof *payload);
  put (payload, sample->stack, sample->stack_size);
  payload += lu_round_up_8 (sample->stack_size) / sizeof *payload;
  message->bpf = pair != NULL ? pair->part : (LuBpfPart){ 0 };
  if (pair != NULL)
    payload = put (payload, pair->words,
                   ((gsize) pair->part.n_kernel + pair->part.n_user) * sizeof *payload);
  message->interp = chain->part;
  put (payload, chain->frames, chain->part.n_frames * sizeof *chain->frames);
}

/* Sends the worker a copy of the sample; FALSE if there is no room for it. */
static gboolean
send_sample (LuDispatch *self, const LuLocatedEvent *located)
{
  const LuSample *sample = &located->event->sample;
  const LuBpfPair *pair =
      self->pairs != NULL ? lu_bpf_pairs_find (self->pairs, located->event) : NULL;
  gsize n_words = (gsize) sample->n_callchain + sample->regs.n_words
                  + (pair != NULL ? (gsize) pair->part.n_kernel + pair->part.n_user : 0);
  const Chain *chain = chain_of (self, located->event);
  gsize size = sizeof (LuSampleMessage) + n_words * sizeof (guint64)
               + lu_round_up_8 (sample->stack_size)
               + chain->part.n_frames * sizeof (struct lu_interp_frame);
  LuSampleMessage *message = reserve_for_worker (self, located->process, size);

  if (message == NULL)
    return FALSE;
  fill_sample (message, located, pair, chain);
  send_to_worker (self, located->process, size);
  return TRUE;
}

/* Counts a copy that ended at a missing page, and makes that present for the thread's next samples.
 */
static void
note_absent_page (LuDispatch *self, const LuEvent *event)
{
  const LuSample *sample = &event->sample;

  if (!self->live || !lu_stack_ends_at_absent_page (&self->stack, sample))
    return;
  self->n_absent++;
  if (self->memory_reader != NULL)
    lu_memory_reader_prefault (self->memory_reader, event->pid,
                               self->stack.sampled_sp + sample->stack_size,
                               self->stack.sampled_sp + sample->stack_asked);
}

/* Unwinds the sample into self->stack. Returns FALSE if the worker has to do it. */
static gboolean
unwind (LuDispatch *self, const LuLocatedEvent *located)
{
  const LuEvent *event = located->event;
  const LuSample *sample = &event->sample;
  LuLentResult lent;

  lu_stack_reset (&self->stack);
  self->stack.status = settled_status (sample, located->space);
  if (sample->is_chain)
    lu_callchain_user_frames (sample, &self->stack);
  if (self->stack.status != LU_STATUS_COMPLETE)
    return TRUE;
  lent = self->lent != NULL ? lu_lent_stacks_ask (self->lent, located->process, event->tid, sample)
                            : LU_LENT_NO;
  if (lent == LU_LENT_YES)
    {
      lu_lent_stack_end (sample, &self->stack);
      return TRUE;
    }
  if (self->walker == NULL || lent == LU_LENT_UNKNOWN)
    return FALSE;
  if (event->next != NULL)
    lu_walker_expect (self->walker, event->next->tid, &event->next->sample);
  if (!lu_walker_walk (self->walker, event->tid, sample, located->space, &self->stack))
    return FALSE;
  note_absent_page (self, event);
  return TRUE;
}

static void
send_stack (LuDispatch *self, LuStackMessage *message, const LuLocatedEvent *located)
{
  const LuSample *sample = &located->event->sample;
  const Chain *chain = chain_of (self, located->event);
  guint32 n_kernel = lu_callchain_kernel_frames (sample, message->frames);

  lu_stack_message_fill (message, header_of (located), &self->stack, sample->stack_asked, n_kernel);
  lu_stack_message_add_functions (message, chain->part, chain->frames);
  lu_queue_commit_quietly (self->to_writer, lu_stack_message_size (message));
}

/* Does what the worker wishes about missing pages. */
static void
grant_wishes (LuDispatch *self)
{
  if (self->memory_reader == NULL)
    return;
  self->n_absent += lu_memory_reader_grant (self->memory_reader);
  lu_counters_set (&self->counters, LU_COUNTER_PREFAULTS_STOPPED,
                   lu_memory_reader_hangs (self->memory_reader));
}

guint64
lu_dispatch_n_absent (const LuDispatch *self)
{
  return self->n_absent;
}

/* Wakes the writer even for little work: its queue has just wrapped (queue.c). */
static LuDispatchResult
no_room (LuDispatch *self)
{
  lu_queue_wake (self->to_writer);
  return LU_DISPATCH_NO_ROOM;
}

/* Neither the drain nor the worker finishes this sample. The stack keeps its frames, and its state
 * if one was found. */
static void
give_up (LuDispatch *self)
{
  if (self->stack.status == LU_STATUS_COMPLETE)
    self->stack.status = LU_STATUS_OVER_BUDGET;
  note_refused (self);
}

LuDispatchResult
lu_dispatch_sample (LuDispatch *self, const LuLocatedEvent *located, gboolean can_wait)
{
  const LuEvent *event = located->event;
  gboolean is_finished, is_sent;
  gpointer message = reserve_for_sample (self->to_writer, STACK_MESSAGE_MAX);

  if (message == NULL)
    return no_room (self);
  is_finished = unwind (self, located);
  is_sent = !is_finished && send_sample (self, located);
  if (!is_finished && !is_sent && (can_wait || !self->live))
    return LU_DISPATCH_NO_ROOM;
  if (self->pairs != NULL)
    lu_bpf_pairs_forget (self->pairs, event);
  if (is_sent)
    {
      keep_place (self, message);
      return LU_DISPATCH_DONE;
    }
  if (is_finished)
    {
      lu_count (&self->counters, LU_COUNTER_FINISHED_IN_DRAIN);
      lu_copy_size_count (self->copy_size, self->stack.status, event->sample.stack_asked,
                          self->stack.stack_needed);
    }
  else
    give_up (self);
  send_stack (self, message, located);
  return LU_DISPATCH_DONE;
}

void
lu_dispatch_compare_engines (LuDispatch *self)
{
  if (self->pairs == NULL)
    self->pairs = lu_bpf_pairs_new ();
}

gboolean
lu_dispatch_compares_engines (const LuDispatch *self)
{
  return self->pairs != NULL;
}

LuDispatchResult
lu_dispatch_bpf_unwound (LuDispatch *self, const LuLocatedEvent *located)
{
  LuStatus status;

  if (self->pairs != NULL)
    {
      lu_bpf_pairs_keep (self->pairs, located);
      lu_count (&self->counters, LU_COUNTER_BPF_UNWOUND);
      return LU_DISPATCH_DONE;
    }
  if (!has_room_for_samples (self->to_writer) || !send_bpf_unwound (self, located, &status))
    return no_room (self);
  lu_count (&self->counters, LU_COUNTER_BPF_UNWOUND);
  if (status == LU_STATUS_STALE_MAPPING)
    lu_count (&self->counters, LU_COUNTER_STALE);
  if (status == LU_STATUS_NO_MAPPING)
    lu_count (&self->counters, LU_COUNTER_UNMAPPED);
  return LU_DISPATCH_DONE;
}

gboolean
lu_dispatch_end_round (LuDispatch *self)
{
  gsize used = lu_queue_used (self->to_writer);
  gint64 now;

  grant_wishes (self);
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

const LuCounters *
lu_dispatch_counters (const LuDispatch *self)
{
  return &self->counters;
}
