/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* worker.c - opens modules, reads what /proc says of new processes, unwinds what the drain could
 * not; see worker.h. */

#include "worker.h"

#include "base/clock.h"
#include "base/fd.h"
#include "messages.h"
#include "module/opener.h"
#include "stack/merge.h"
#include "toucher.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Private memory for images that no module has any more; there are more in lu_module_cache. */
#define IMAGE_BUDGET       (4u << 20)
#define COMMAND_LINE_MAX   4096
#define ARGUMENTS_TRIES    5
#define ARGUMENTS_RETRY_US 100
#define MOUNTINFO_MAX      (256u << 10)
/* Mount tables of our own namespace are alike; these many bytes of them are kept at most. */
#define OWN_MOUNTINFO_BUDGET (512u << 10)
/* Unwinding may take this much of each second; what comes then ends as "over budget". An enemy can
 * make samples that only libdwfl unwinds, and that slowly; files have to be opened meanwhile. */
#define BUDGET_SECOND_NS G_GUINT64_CONSTANT (1000000000)
#define UNWIND_BUDGET_NS (BUDGET_SECOND_NS / 2)
/* Answers wait for this many bytes of them, or until there is nothing more to do. */
#define ANSWER_BATCH_BYTES (256u << 10)
/* What a burst of processes leaves free between what still lives is given back this often. */
#define TRIM_NS (30 * BUDGET_SECOND_NS)
/* Who waits for the end looks this often whether there is still something done. */
#define JOIN_INTERVAL_NS (20 * 1000 * 1000)

typedef struct
{
  guint64 mount_id, inode;
} Root;

struct _LuWorker
{
  LuUnwinder *unwinder;    /* owned */
  LuQueue *input, *output; /* borrowed */
  LuOpener *opener;
  LuToucher *toucher;
  gboolean live;
  GThread *thread;
  pthread_mutex_t mutex; /* of has_ended */
  pthread_cond_t end;
  gboolean has_ended;
  atomic_llong busy_since; /* us; 0: it waits for somebody itself */
  LuStack *stack;
  LuStack *walked; /* NULL until it is needed */
  LuFrame kernel[LU_MERGE_MAX_KERNEL_FRAMES];
  char own_mount_namespace[64];
  Root own_root;
  gboolean own_mounts_are_known;
  gsize own_mountinfo_bytes;
  guint64 budget_start, unwind_ns; /* spent since then */
  guint64 last_trim;
};

static gpointer
reserve_patiently (LuWorker *self, gsize size)
{
  gpointer message;

  while ((message = lu_queue_reserve (self->output, size)) == NULL)
    {
      atomic_store (&self->busy_since, 0);
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

static void
open_module (LuWorker *self, LuOpenMessage *message)
{
  lu_opener_open (self->opener, message->module, message->pid, message->start, message->end);
  lu_module_unref (message->module);
}

/* Neither a kernel thread nor a process that has ended has a program. */
static gboolean
has_program (gint32 pid)
{
  char path[32], target[1];

  g_snprintf (path, sizeof path, "/proc/%d/exe", pid);
  return readlink (path, target, sizeof target) > 0;
}

/* One read has it all: the file is made for each. */
static gssize
read_once (const char *path, char *text, gsize size)
{
  lu_autofd fd = open (path, O_RDONLY | O_CLOEXEC);
  gssize n = -1;

  while (fd >= 0 && (n = read (fd, text, size)) < 0 && errno == EINTR)
    ;
  return n;
}

/* The kernel announces an exec before the new program has its arguments: they are empty for a
 * moment. */
static gssize
read_arguments (LuProcess *process, char *text, gsize size)
{
  gint32 pid = lu_process_pid (process);
  guint n_tries = lu_process_start_time (process) != 0 ? ARGUMENTS_TRIES : 1;
  char path[32];
  gssize length;

  g_snprintf (path, sizeof path, "/proc/%d/cmdline", pid);
  while ((length = read_once (path, text, size)) == 0 && --n_tries > 0 && has_program (pid))
    g_usleep (ARGUMENTS_RETRY_US);
  return length;
}

/* With a newline behind it. */
static gssize
read_comm (LuProcess *process, char *text, gsize size)
{
  char path[32];

  g_snprintf (path, sizeof path, "/proc/%d/comm", lu_process_pid (process));
  return read_once (path, text, size) - 1;
}

/* Kernel threads have no arguments, and are not looked at before they are sampled. */
static void
read_command_line (LuProcess *process)
{
  char text[COMMAND_LINE_MAX];
  gssize length = read_arguments (process, text, sizeof text);

  if (length <= 0 && lu_process_comm (process)[0] == 0)
    length = read_comm (process, text, sizeof text);
  if (length > 0)
    lu_process_set_arguments (process, text, (gsize) length);
}

/* What a link in /proc/PID leads to. */
static gboolean
read_link (gint32 pid, const char *link, char *target, gsize size)
{
  char path[48];
  gssize n;

  g_snprintf (path, sizeof path, "/proc/%d/%s", pid, link);
  n = readlink (path, target, size - 1);
  if (n < 0)
    return FALSE;
  target[n] = 0;
  return TRUE;
}

/* A mount is of one namespace: whose root is the same directory of the same mount has our paths.
 * Zeros where the kernel does not tell (before Linux 5.8). */
static Root
find_root (const char *path)
{
  struct statx info;

  if (statx (AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_INO | STATX_MNT_ID, &info) != 0
      || (info.stx_mask & STATX_MNT_ID) == 0)
    return (Root){ 0 };
  return (Root){ .mount_id = info.stx_mnt_id, .inode = info.stx_ino };
}

static gboolean
has_own_root (LuWorker *self, gint32 pid)
{
  char path[32];
  Root root;

  g_snprintf (path, sizeof path, "/proc/%d/root", pid);
  root = find_root (path);
  return root.mount_id != 0 && root.mount_id == self->own_root.mount_id
         && root.inode == self->own_root.inode;
}

/* The table of a process in our own namespace, but with another root, has other paths. */
static gboolean
is_own_table_enough (LuWorker *self, gint32 pid)
{
  char root[3]; /* room to see that it is longer */

  if (self->own_mounts_are_known)
    return read_link (pid, "root", root, sizeof root) && strcmp (root, "/") == 0;
  return self->own_mountinfo_bytes >= OWN_MOUNTINFO_BUDGET;
}

/* For whoever sees nothing but these files, paths are what they seem, too. */
static void
note_own_files (LuSpace *space)
{
  guint n;
  const LuMapping *mappings = lu_space_mappings (space, &n);

  for (guint i = 0; i < n; i++)
    lu_module_set_ours (mappings[i].module);
}

/* Viewers need the mount table to find the files of a container; that of our own namespace only
 * says that paths are what they seem, so it is kept for the first processes only. */
static void
read_mountinfo (LuWorker *self, LuProcess *process, LuSpace *space)
{
  gint32 pid = lu_process_pid (process);
  char path[32], name[64];
  gboolean own;
  gsize length = 0;
  char *text;

  if (self->own_mounts_are_known && has_own_root (self, pid))
    {
      note_own_files (space);
      return;
    }
  if (!read_link (pid, "ns/mnt", name, sizeof name))
    return;
  own = strcmp (name, self->own_mount_namespace) == 0;
  if (own && is_own_table_enough (self, pid))
    return;
  g_snprintf (path, sizeof path, "/proc/%d/mountinfo", pid);
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
  /* The child of a fork has that of its parent. */
  if (self->live && (message->needs & LU_PROCESS_NAME) != 0
      && !lu_process_has_command_line (message->process))
    read_command_line (message->process);
  if (self->live && (message->needs & LU_PROCESS_MOUNTS) != 0)
    read_mountinfo (self, message->process, message->space);
  lu_process_unref (message->process);
  lu_space_unref (message->space);
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

/* What the kernel's walk made of the same sample. */
static void
compare (LuWorker *self, const LuSampleMessage *message, guint32 n_kernel)
{
  const LuFrame *frames =
      (const LuFrame *) (message->sample.stack + lu_round_up_8 (message->sample.stack_size));
  LuComparison comparison = { .stack = self->stack,
                              .kernel = self->kernel,
                              .walked_kernel = frames,
                              .n_kernel = n_kernel,
                              .n_walked_kernel = message->n_walked_kernel };

  if (self->walked == NULL)
    self->walked = g_new (LuStack, 1);
  lu_stack_reset (self->walked);
  self->walked->status = message->walked_status;
  self->walked->n_frames = message->n_walked;
  memcpy (self->walked->frames, frames + message->n_walked_kernel,
          message->n_walked * sizeof (LuFrame));
  comparison.walked = self->walked;
  self->unwinder->ops->compare (self->unwinder, &message->sample, message->header.space,
                                &comparison);
}

/* This sample stays as it is, later ones of the thread are whole. */
static void
touch_missing_pages (LuWorker *self, const LuSampleMessage *message)
{
  const LuSample *sample = &message->sample;

  lu_toucher_touch (self->toucher, message->header.pid,
                    self->stack->sampled_sp + sample->stack_size,
                    self->stack->sampled_sp + sample->stack_asked);
}

/* Whether a sample may be unwound now. What is recorded already can take its time, and an engine
 * that was asked to do everything here is not an enemy's work. */
static gboolean
is_in_budget (LuWorker *self)
{
  guint64 now = lu_monotonic_ns ();

  if (now - self->budget_start >= BUDGET_SECOND_NS)
    {
      self->budget_start = now;
      self->unwind_ns = 0;
    }
  return !self->live || !self->unwinder->ops->walks_in_drain || self->unwind_ns < UNWIND_BUDGET_NS;
}

static void
unwind (LuWorker *self, LuSampleMessage *message)
{
  guint64 begin = lu_thread_cpu_ns (); /* a busy machine is no reason to give up */

  lu_stack_reset (self->stack);
  if (!is_in_budget (self))
    {
      self->stack->status = LU_STATUS_OVER_BUDGET;
      return;
    }
  self->unwinder->ops->unwind (self->unwinder, message->header.pid, message->header.tid,
                               &message->sample, message->header.space, self->stack);
  lu_opener_settle (self->opener);
  self->unwind_ns += lu_thread_cpu_ns () - begin;
  if (self->live && lu_stack_ends_at_absent_page (self->stack, &message->sample))
    touch_missing_pages (self, message);
}

static void
handle_sample (LuWorker *self, LuSampleMessage *message)
{
  LuStackMessage *out;
  guint32 n_kernel;

  attach_payload (message);
  unwind (self, message);
  n_kernel = lu_merge_kernel_frames (&message->sample, self->kernel);
  if (message->n_walked > 0 && self->unwinder->ops->compare != NULL)
    compare (self, message, n_kernel);
  out =
      reserve_patiently (self, sizeof *out + (n_kernel + self->stack->n_frames) * sizeof (LuFrame));
  memcpy (out->frames, self->kernel, n_kernel * sizeof (LuFrame));
  lu_stack_message_fill (out, message->header, self->stack, message->sample.stack_asked, n_kernel);
  lu_queue_commit_quietly (self->output, lu_stack_message_size (out));
}

static void
handle (LuWorker *self, LuMessage *message)
{
  atomic_store (&self->busy_since, g_get_monotonic_time ());
  switch (message->kind)
    {
    case LU_MESSAGE_OPEN:
      open_module (self, (LuOpenMessage *) message);
      answer_done (self);
      break;
    case LU_MESSAGE_PROCESS:
      look_at_process (self, (LuProcessMessage *) message);
      answer_done (self);
      break;
    case LU_MESSAGE_SAMPLE:
      handle_sample (self, (LuSampleMessage *) message);
      break;
    default:
      g_assert_not_reached ();
    }
  atomic_store (&self->busy_since, 0);
}

static void
trim_now_and_then (LuWorker *self)
{
  guint64 now = lu_monotonic_ns ();

  if (now - self->last_trim < TRIM_NS)
    return;
  self->last_trim = now;
  lu_opener_age (self->opener);
#ifdef __GLIBC__
  malloc_trim (0);
#endif
}

static gpointer
worker_main (gpointer data)
{
  LuWorker *self = data;
  gpointer message;

  while (!lu_queue_is_finished (self->input))
    {
      while ((message = lu_queue_peek (self->input, NULL)) != NULL)
        {
          handle (self, message);
          lu_queue_release (self->input);
          if (lu_queue_used (self->output) >= ANSWER_BATCH_BYTES)
            lu_queue_wake (self->output);
        }
      lu_queue_wake (self->output);
      trim_now_and_then (self);
      lu_queue_wait (self->input, -1);
    }
  lu_queue_close (self->output);
  pthread_mutex_lock (&self->mutex);
  self->has_ended = TRUE;
  pthread_cond_signal (&self->end);
  pthread_mutex_unlock (&self->mutex);
  return NULL;
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
lu_worker_new (LuUnwinder *unwinder, LuQueue *input, LuQueue *output, gboolean live)
{
  LuWorker *self = g_new0 (LuWorker, 1);

  self->unwinder = unwinder;
  self->input = input;
  self->output = output;
  self->live = live;
  init_end (self);
  self->last_trim = lu_monotonic_ns ();
  self->opener = lu_opener_new (live, IMAGE_BUDGET);
  self->toucher = lu_toucher_new ();
  self->stack = g_new (LuStack, 1);
  self->own_root = find_root ("/");
  if (!read_link (getpid (), "ns/mnt", self->own_mount_namespace, sizeof self->own_mount_namespace))
    self->own_mount_namespace[0] = 0;
  return self;
}

void
lu_worker_know_own_mounts (LuWorker *self)
{
  self->own_mounts_are_known = TRUE;
}

void
lu_worker_set_tables (LuWorker *self, LuTables *tables)
{
  lu_opener_set_tables (self->opener, tables);
}

void
lu_worker_be_lean (LuWorker *self)
{
  lu_opener_be_lean (self->opener);
}

void
lu_worker_start (LuWorker *self)
{
  self->thread = g_thread_new ("worker", worker_main, self);
}

static gboolean
is_stuck (LuWorker *self, int patience_ms)
{
  gint64 since = atomic_load (&self->busy_since);

  return patience_ms >= 0 && since != 0
         && g_get_monotonic_time () - since > patience_ms * G_GINT64_CONSTANT (1000);
}

static gboolean
wait_for_end (LuWorker *self, int patience_ms)
{
  gboolean has_ended;

  pthread_mutex_lock (&self->mutex);
  while (!self->has_ended && !is_stuck (self, patience_ms))
    {
      guint64 until = lu_monotonic_ns () + JOIN_INTERVAL_NS;
      struct timespec time = { .tv_sec = (time_t) (until / BUDGET_SECOND_NS),
                               .tv_nsec = (long) (until % BUDGET_SECOND_NS) };

      pthread_cond_timedwait (&self->end, &self->mutex, &time);
    }
  has_ended = self->has_ended;
  pthread_mutex_unlock (&self->mutex);
  return has_ended;
}

gboolean
lu_worker_join (LuWorker *self, int patience_ms)
{
  if (self->thread == NULL)
    return TRUE;
  if (!wait_for_end (self, patience_ms))
    return FALSE;
  g_thread_join (g_steal_pointer (&self->thread));
  return TRUE;
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
  lu_toucher_free (self->toucher);
  g_free (self->stack);
  g_free (self->walked);
  g_free (self);
}

void
lu_worker_get_counts (LuWorker *self, LuUnwinderCounts *counts)
{
  *counts = (LuUnwinderCounts){ 0 };
  if (self->unwinder->ops->get_counts != NULL)
    self->unwinder->ops->get_counts (self->unwinder, counts);
}
