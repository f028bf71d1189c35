/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* worker.c - opens modules, reads what /proc says of new processes, unwinds samples; see worker.h.
 */

#include "worker.h"

#include "base/fd.h"
#include "join.h"
#include "messages.h"
#include "module/opener.h"
#include "stack/merge.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Private memory for images no process maps any more. */
#define IMAGE_BUDGET       (16u << 20)
#define COMMAND_LINE_MAX   4096
#define TOUCHES_PER_SECOND 1000
#define ARGUMENTS_TRIES    5
#define ARGUMENTS_RETRY_US 100
#define MOUNTINFO_MAX      (256u << 10)
/* Mount tables of our own namespace are alike; these many bytes of them are kept at most. */
#define OWN_MOUNTINFO_BUDGET (512u << 10)
/* A copy this much smaller than asked for was made before the size grew. */
#define STACK_SIZE_SLACK 512

struct _LuWorker
{
  LuUnwinder *unwinder;    /* owned */
  LuQueue *input, *output; /* borrowed */
  LuOpener *opener;
  gboolean live;
  GThread *thread;
  LuStack *stack;
  LuFrame kernel[LU_MERGE_MAX_KERNEL_FRAMES];
  LuStackMessage *finished; /* room for the largest */
  LuJoin *join;             /* NULL: cut-off stacks stay so */
  char own_mount_namespace[64];
  gsize own_mountinfo_bytes;
  guint64 touch_second; /* of samples; n_touches pages were touched in it */
  guint n_touches;

  atomic_ullong walked, complete, truncated, window;
  atomic_uint stack_size;
};

static gpointer
reserve_patiently (LuQueue *queue, gsize size)
{
  gpointer message;

  while ((message = lu_queue_reserve (queue, size)) == NULL)
    g_usleep (500);
  return message;
}

static void
hand_on (LuWorker *self, gconstpointer message, gsize size)
{
  memcpy (reserve_patiently (self->output, size), message, size);
  lu_queue_commit (self->output, size);
}

static void
open_module (LuWorker *self, LuOpenMessage *message)
{
  lu_opener_open (self->opener, message->module, message->pid, message->start, message->end);
  lu_module_unref (message->module);
}

/* The kernel announces an exec before the new program has its arguments: they are empty for a
 * moment. A process that was there before has none only if it is a kernel thread. */
static char *
read_arguments (LuProcess *process, gsize *length)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/cmdline", lu_process_pid (process));
  guint n_tries = lu_process_start_time (process) != 0 ? ARGUMENTS_TRIES : 1;
  char *text;

  while ((text = lu_fd_read_file (path, COMMAND_LINE_MAX, length)) != NULL && *length == 0
         && --n_tries > 0)
    {
      g_free (text);
      g_usleep (ARGUMENTS_RETRY_US);
    }
  return text;
}

static void
read_command_line (LuProcess *process)
{
  gsize length = 0;
  char *text = read_arguments (process, &length);

  while (length > 0 && text[length - 1] == 0)
    length--;
  for (gsize i = 0; i < length; i++)
    if (text[i] == 0)
      text[i] = ' ';
  if (length > 0)
    lu_process_take_command_line (process, text);
  else
    g_free (text);
}

static gboolean
mount_namespace (gint32 pid, char *name, gsize size)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/ns/mnt", pid);
  gssize n = readlink (path, name, size - 1);

  if (n < 0)
    return FALSE;
  name[n] = 0;
  return TRUE;
}

/* Viewers need the mount table to find the files of a container; that of our own namespace only
 * says that paths are what they seem, so it is kept for the first processes only. */
static void
read_mountinfo (LuWorker *self, LuProcess *process)
{
  gint32 pid = lu_process_pid (process);
  g_autofree char *path = g_strdup_printf ("/proc/%d/mountinfo", pid);
  char name[64];
  gboolean own;
  gsize length = 0;
  char *text;

  if (!mount_namespace (pid, name, sizeof name))
    return;
  own = strcmp (name, self->own_mount_namespace) == 0;
  if (own && self->own_mountinfo_bytes >= OWN_MOUNTINFO_BUDGET)
    return;
  text = lu_fd_read_file (path, MOUNTINFO_MAX, &length);
  if (text == NULL)
    return;
  if (own)
    self->own_mountinfo_bytes += length;
  lu_process_take_mountinfo (process, text);
}

static void
look_at_process (LuWorker *self, LuProcessMessage *message)
{
  if (self->live)
    {
      read_command_line (message->process);
      read_mountinfo (self, message->process);
    }
  lu_process_unref (message->process);
}

/* Points the sample into the message's own payload. */
static void
attach_payload (LuSampleMessage *message)
{
  LuSample *sample = &message->sample;

  sample->callchain = message->payload;
  sample->regs.words = message->payload + sample->n_callchain;
  sample->stack = (const guint8 *) (message->payload + sample->n_callchain + sample->regs.n_words);
}

/* The kernel's copy of a stack ends at the first page that was never touched, as inside a large
 * array, and would do so in every sample of the thread. Reading one byte of such a page makes it
 * present, as if the program had read it; what is read is not used. This sample stays as it is,
 * later ones are whole. */
static void
touch_missing_pages (LuWorker *self, const LuSampleMessage *message)
{
  const LuSample *sample = &message->sample;
  guint64 page = (guint64) sysconf (_SC_PAGESIZE);
  guint64 at = self->stack->sampled_sp + sample->stack_size;
  guint64 end = self->stack->sampled_sp + sample->stack_asked;
  guint64 second = message->header.time / G_GUINT64_CONSTANT (1000000000);

  if (second != self->touch_second)
    self->n_touches = 0;
  self->touch_second = second;
  for (; at < end && self->n_touches < TOUCHES_PER_SECOND; at = (at / page + 1) * page)
    {
      char byte;
      struct iovec local = { .iov_base = &byte, .iov_len = 1 };
      struct iovec remote = { .iov_base = (void *) (gsize) at, .iov_len = 1 };

      self->n_touches++;
      if (process_vm_readv (message->header.pid, &local, 1, &remote, 1, 0) != 1)
        break; /* the end of the stack, or not allowed */
    }
}

static void
unwind (LuWorker *self, LuSampleMessage *message)
{
  lu_stack_reset (self->stack);
  self->stack->status = message->status;
  if (message->status != LU_STATUS_COMPLETE)
    return;
  self->unwinder->ops->unwind (self->unwinder, message->header.pid, message->header.tid,
                               &message->sample, message->header.space, self->stack);
  if (self->live && self->stack->status == LU_STATUS_UNREADABLE_MEMORY
      && message->sample.stack_size < message->sample.stack_asked)
    touch_missing_pages (self, message);
}

static void
count (LuWorker *self, const LuSampleMessage *message)
{
  LuStatus status = self->stack->status;

  if (lu_status_is_excluded (status))
    return;
  atomic_fetch_add_explicit (&self->walked, 1, memory_order_relaxed);
  if (status == LU_STATUS_COMPLETE && !self->stack->live_read)
    atomic_fetch_add_explicit (&self->complete, 1, memory_order_relaxed);
  if (message->sample.stack_asked + STACK_SIZE_SLACK
      < atomic_load_explicit (&self->stack_size, memory_order_relaxed))
    return;
  atomic_fetch_add_explicit (&self->window, 1, memory_order_relaxed);
  if (status == LU_STATUS_TRUNCATED_COPY)
    atomic_fetch_add_explicit (&self->truncated, 1, memory_order_relaxed);
}

/* The whole of a stack goes to the writer. */
static void
send_stack (const LuStackMessage *stack, const LuFrame *tail, guint n_tail, gpointer user_data)
{
  LuWorker *self = user_data;
  gsize n_frames = stack->n_kernel + stack->n_user;
  gsize size = sizeof *stack + (n_frames + n_tail) * sizeof (LuFrame);
  LuStackMessage *out = reserve_patiently (self->output, size);

  memcpy (out, stack, sizeof *stack + n_frames * sizeof (LuFrame));
  if (n_tail > 0)
    {
      memcpy (out->frames + n_frames, tail, n_tail * sizeof (LuFrame));
      for (guint i = 0; i < n_tail; i++)
        out->frames[n_frames + i].flags |= LU_FRAME_GUESSED;
      out->status = LU_STATUS_COMPLETE;
      out->end_pc = 0;
      out->n_user += n_tail;
      out->n_joined = n_tail;
    }
  lu_queue_commit (self->output, size);
}

static void
finish_stack (LuWorker *self, const LuSampleMessage *message, guint32 n_kernel)
{
  const LuStack *stack = self->stack;
  LuStackMessage *out = self->finished;

  *out = (LuStackMessage){ .kind = LU_MESSAGE_STACK,
                           .status = stack->status,
                           .header = message->header,
                           .end_pc = stack->end_pc,
                           .sampled_sp = stack->sampled_sp,
                           .stack_needed = stack->stack_needed,
                           .stack_used = stack->stack_used,
                           .stack_asked = message->sample.stack_asked,
                           .live_read = stack->live_read,
                           .n_kernel = n_kernel,
                           .n_user = stack->n_frames };
  memcpy (out->frames, self->kernel, n_kernel * sizeof (LuFrame));
  memcpy (out->frames + n_kernel, stack->frames, stack->n_frames * sizeof (LuFrame));
  if (self->join != NULL)
    {
      lu_join_add (self->join, out);
      lu_join_expire (self->join, out->header.time);
    }
  else
    send_stack (out, NULL, 0, self);
}

static void
handle_sample (LuWorker *self, LuSampleMessage *message)
{
  attach_payload (message);
  unwind (self, message);
  count (self, message);
  finish_stack (self, message, lu_merge_kernel_frames (&message->sample, self->kernel));
}

static void
handle (LuWorker *self, LuMessage *message, gsize size)
{
  switch (message->kind)
    {
    case LU_MESSAGE_OPEN:
      open_module (self, (LuOpenMessage *) message);
      break;
    case LU_MESSAGE_PROCESS:
      look_at_process (self, (LuProcessMessage *) message);
      break;
    case LU_MESSAGE_SAMPLE:
      handle_sample (self, (LuSampleMessage *) message);
      break;
    case LU_MESSAGE_STACK:
    case LU_MESSAGE_TASK:
    case LU_MESSAGE_LOG:
      hand_on (self, message, size);
      break;
    }
}

static gpointer
worker_main (gpointer data)
{
  LuWorker *self = data;
  gpointer message;
  gsize size;

  while (!lu_queue_is_finished (self->input))
    {
      while ((message = lu_queue_peek (self->input, &size)) != NULL)
        {
          handle (self, message, size);
          lu_queue_release (self->input);
        }
      lu_queue_wait (self->input, -1);
    }
  g_clear_pointer (&self->join, lu_join_free);
  lu_queue_close (self->output);
  return NULL;
}

LuWorker *
lu_worker_new (LuUnwinder *unwinder, LuQueue *input, LuQueue *output, gboolean live, gboolean join)
{
  LuWorker *self = g_new0 (LuWorker, 1);

  self->unwinder = unwinder;
  self->input = input;
  self->output = output;
  self->live = live;
  self->opener = lu_opener_new (live, IMAGE_BUDGET);
  self->stack = g_new (LuStack, 1);
  self->finished =
      g_malloc (sizeof *self->finished
                + (LU_MERGE_MAX_KERNEL_FRAMES + LU_STACK_MAX_FRAMES) * sizeof (LuFrame));
  if (join)
    self->join = lu_join_new (send_stack, self);
  if (!mount_namespace (getpid (), self->own_mount_namespace, sizeof self->own_mount_namespace))
    self->own_mount_namespace[0] = 0;
  return self;
}

void
lu_worker_start (LuWorker *self)
{
  self->thread = g_thread_new ("worker", worker_main, self);
}

void
lu_worker_join (LuWorker *self)
{
  if (self->thread != NULL)
    g_thread_join (g_steal_pointer (&self->thread));
}

void
lu_worker_free (LuWorker *self)
{
  if (self == NULL)
    return;
  lu_worker_join (self);
  lu_unwinder_free (self->unwinder);
  lu_opener_free (self->opener);
  g_clear_pointer (&self->join, lu_join_free);
  g_free (self->finished);
  g_free (self->stack);
  g_free (self);
}

void
lu_worker_reset_window (LuWorker *self, guint32 stack_size)
{
  atomic_store (&self->stack_size, stack_size);
  atomic_store (&self->truncated, 0);
  atomic_store (&self->window, 0);
}

void
lu_worker_get_progress (LuWorker *self, LuWorkerProgress *progress)
{
  progress->walked = atomic_load_explicit (&self->walked, memory_order_relaxed);
  progress->complete = atomic_load_explicit (&self->complete, memory_order_relaxed);
  progress->truncated = atomic_load_explicit (&self->truncated, memory_order_relaxed);
  progress->window = atomic_load_explicit (&self->window, memory_order_relaxed);
}

void
lu_worker_get_counts (LuWorker *self, LuUnwinderCounts *counts)
{
  *counts = (LuUnwinderCounts){ 0 };
  if (self->unwinder->ops->get_counts != NULL)
    self->unwinder->ops->get_counts (self->unwinder, counts);
}
