/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-tasks.c - one sample of each thread from the task iterator; see source-tasks.h.
 *
 * An iterator is read from its beginning to its end once: that is a pass. Passes come at 0, 1, 3,
 * 7, … ms until every thread that was seen in the last one has been sampled. */

#include "bpf/source-tasks.h"

#include "arch/arch.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "bpf/kernel-support.h"
#include "input/perf-event.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glib/gi18n.h>
#include <poll.h>
#include <unistd.h>

#include "tasks.skel.h"

/* They take half a second. */
#define MAX_PASSES 10

typedef struct
{
  LuSource base;
  struct tasks_bpf *skeleton; /* owned */
  LuSource *perf;             /* owned */
  GArray *threads;            /* borrowed */
  GHashTable *numbers;        /* tid -> index in threads + 1 */
  /* Made while there are rights to; owned, -1: was read. */
  int iterators[MAX_PASSES];
  guint pass;           /* the one that is being read, or comes next */
  gint64 next_us;       /* when the next one may begin */
  gboolean has_record;  /* the skeleton's record is still to be delivered */
  gboolean is_sampling; /* the perf events are on */
  LuEventFunc func;     /* the receiver of this round */
  gpointer user_data;
} TasksSource;

static LuTask *
find_task (TasksSource *self, gint32 tid)
{
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->numbers, GINT_TO_POINTER (tid)));

  return number != 0 ? &g_array_index (self->threads, LuTask, number - 1) : NULL;
}

static LuTask *
note_task (TasksSource *self, const struct lu_task *record)
{
  LuTask *task = find_task (self, (gint32) record->tid);

  if (task == NULL)
    {
      LuTask new_task = { .pid = (gint32) record->pid, .tid = (gint32) record->tid };

      memcpy (new_task.comm, record->comm, sizeof new_task.comm - 1);
      g_array_append_val (self->threads, new_task);
      g_hash_table_insert (self->numbers, GINT_TO_POINTER (new_task.tid),
                           GUINT_TO_POINTER (self->threads->len));
      task = &g_array_index (self->threads, LuTask, self->threads->len - 1);
    }
  task->pass = self->pass;
  if (!task->has_sample)
    {
      task->state = record->state;
      task->was_running = !record->is_still;
    }
  return task;
}

/* Passes side-band on, and samples of threads that still need one. */
static LuVerdict
take_perf (const LuEvent *event, gpointer user_data)
{
  TasksSource *self = user_data;
  LuTask *task;
  LuVerdict verdict;

  if (event->kind != LU_EVENT_SAMPLE)
    return self->func (event, self->user_data);
  task = find_task (self, event->tid);
  if (task == NULL || task->has_sample || event->sample.stack_size == 0)
    return LU_VERDICT_DONE;
  verdict = self->func (event, self->user_data);
  task->has_sample = verdict == LU_VERDICT_DONE;
  task->was_running |= task->has_sample;
  return verdict;
}

/* Copies the registers that perf would have sampled from struct pt_regs; returns their number. */
static guint
copy_registers (const LuArch *arch, const guint64 *regs, guint64 *words)
{
  guint n = 0;

  for (guint bit = 0; bit < arch->n_registers; bit++)
    if ((lu_perf_user_registers () >> bit & 1) != 0)
      words[n++] = regs[arch->pt_regs_word (bit)];
  return n;
}

/* Delivers the record if the thread needs it and is not ours. */
static LuVerdict
deliver (TasksSource *self)
{
  struct lu_task *record = &self->skeleton->bss->record;
  LuTask *task = (gint32) record->pid != getpid () ? note_task (self, record) : NULL;
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);
  guint64 pc = record->regs[arch->pt_regs_word (arch->perf_pc)];
  guint64 words[LU_ARCH_MAX_PERF_REGISTERS];
  guint n_words;
  LuEvent event = { .kind = LU_EVENT_SAMPLE,
                    .cpu = -1,
                    .pid = (gint32) record->pid,
                    .tid = (gint32) record->tid,
                    .time = record->time,
                    .sample = { .ip = pc,
                                .callchain = &record->context,
                                .n_callchain = 1 + MIN (record->n_kernel, LU_TASK_MAX_KERNEL),
                                .cpumode = PERF_RECORD_MISC_USER,
                                .stack = record->stack,
                                .stack_asked = MIN (record->stack_size, LU_TASK_MAX_STACK) } };

  if (task == NULL || task->has_sample || !record->is_still)
    return LU_VERDICT_DONE;
  n_words = copy_registers (arch, record->regs, words);
  record->context = PERF_CONTEXT_KERNEL;
  event.sample.stack_size = event.sample.stack_asked;
  if (pc != 0)
    event.sample.regs = (LuRegs){ .abi = arch->is_64bit_task (record->regs) ? LU_ABI_64 : LU_ABI_32,
                                  .n_words = n_words,
                                  .mask = lu_perf_user_registers (),
                                  .words = words };
  if (self->func (&event, self->user_data) == LU_VERDICT_LATER)
    return LU_VERDICT_LATER;
  task->has_sample = TRUE;
  return LU_VERDICT_DONE;
}

/* Lets the program fill the record with the next thread; FALSE: the pass is over. */
static gboolean
read_record (TasksSource *self)
{
  guint32 tid;
  gssize n;

  do
    n = read (self->iterators[self->pass], &tid, sizeof tid);
  while (n < 0 && (errno == EINTR || errno == EAGAIN));
  return n == sizeof tid;
}

static gboolean
is_complete (const TasksSource *self)
{
  for (guint i = 0; i < self->threads->len; i++)
    {
      const LuTask *task = &g_array_index (self->threads, LuTask, i);

      if (!task->has_sample && task->pass + 1 == self->pass)
        return FALSE;
    }
  return TRUE;
}

/* Threads that have no sample yet may be running, so that only perf events can sample them. */
static LuRound
end_pass (TasksSource *self)
{
  lu_fd_clear (&self->iterators[self->pass]);
  self->next_us = g_get_monotonic_time () + (G_GINT64_CONSTANT (1000) << self->pass);
  self->pass++;
  if (is_complete (self) || self->pass == MAX_PASSES)
    return LU_ROUND_END;
  if (!self->is_sampling)
    self->is_sampling = self->perf->ops->start (self->perf, NULL);
  return LU_ROUND_CLOSED;
}

static LuRound
tasks_drain (LuSource *source, LuEventFunc func, gpointer user_data)
{
  TasksSource *self = (TasksSource *) source;

  self->func = func;
  self->user_data = user_data;
  if (!self->has_record && (self->pass == MAX_PASSES || g_get_monotonic_time () < self->next_us))
    {
      LuRound round = self->perf->ops->drain (self->perf, take_perf, self);

      return self->pass == MAX_PASSES || is_complete (self) ? LU_ROUND_END : round;
    }
  /* Side-band of the time before a thread was read comes before its sample. */
  while (self->has_record || read_record (self))
    {
      self->has_record = TRUE;
      if (self->perf->ops->drain (self->perf, take_perf, self) == LU_ROUND_OPEN
          || deliver (self) == LU_VERDICT_LATER)
        return LU_ROUND_OPEN;
      self->has_record = FALSE;
    }
  return end_pass (self);
}

static gboolean
tasks_start (LuSource *source, GError **error)
{
  return TRUE;
}

static double
tasks_get_fill (LuSource *source)
{
  return 0;
}

static void
tasks_wait (LuSource *source, int wake_fd, int timeout_ms)
{
  struct pollfd wake = { .fd = wake_fd, .events = POLLIN };

  poll (&wake, 1, 1);
}

static void
tasks_stop (LuSource *source)
{
  TasksSource *self = (TasksSource *) source;

  self->pass = MAX_PASSES;
  self->has_record = FALSE;
  self->perf->ops->stop (self->perf);
}

static void
tasks_get_info (LuSource *source, LuSourceInfo *info)
{
  TasksSource *self = (TasksSource *) source;

  self->perf->ops->get_info (self->perf, info);
}

static void
tasks_free (LuSource *source)
{
  TasksSource *self = (TasksSource *) source;

  for (guint i = 0; i < MAX_PASSES; i++)
    lu_fd_clear (&self->iterators[i]);
  tasks_bpf__destroy (self->skeleton);
  lu_source_free (self->perf);
  g_hash_table_unref (self->numbers);
  g_free (self);
}

static const LuSourceOps tasks_source_ops = {
  .name = "task iterator",
  .start = tasks_start,
  .drain = tasks_drain,
  .get_fill = tasks_get_fill,
  .wait = tasks_wait,
  .stop = tasks_stop,
  .get_info = tasks_get_info,
  .free = tasks_free,
};

static gboolean
check_support (GError **error)
{
  g_auto (LuKernelSupport) support = { 0 };

  lu_kernel_support_probe (&support);
  if (support.level != LU_KERNEL_SUPPORT_NONE)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
               _ ("the kernel does not hand over the stacks of threads: %s%s%s"), support.reason,
               support.remedy != NULL ? "\n  " : "", support.remedy != NULL ? support.remedy : "");
  return FALSE;
}

static int
load (TasksSource *self)
{
  libbpf_print_fn_t before = libbpf_set_print (NULL);
  int result;

  self->skeleton = tasks_bpf__open_and_load ();
  result = self->skeleton == NULL ? -errno : tasks_bpf__attach (self->skeleton);
  for (guint i = 0; i < MAX_PASSES && result == 0; i++)
    {
      self->iterators[i] = bpf_iter_create (bpf_link__fd (self->skeleton->links.take_task));
      result = self->iterators[i] < 0 ? -errno : 0;
    }
  libbpf_set_print (before);
  return result;
}

LuSource *
lu_source_tasks_new (GError **error)
{
  TasksSource *self;
  g_autoptr (LuSource) owner = NULL;
  int result;

  if (!check_support (error))
    return NULL;
  self = g_new0 (TasksSource, 1);
  owner = &self->base;
  self->base.ops = &tasks_source_ops;
  self->numbers = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < MAX_PASSES; i++)
    self->iterators[i] = -1;
  result = load (self);
  if (result == 0)
    return g_steal_pointer (&owner);
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
               _ ("the kernel does not hand over the stacks of threads: %s (Linux 5.18 or later is "
                  "needed)"),
               g_strerror (-result));
  return NULL;
}

gboolean
lu_source_tasks_set (LuSource *source, LuSource *perf_taken, const GArray *pids, GArray *threads,
                     GError **error)
{
  TasksSource *self = (TasksSource *) source;
  int map = bpf_map__fd (self->skeleton->maps.wanted), result = 0;
  guint32 all = 0;

  self->perf = perf_taken;
  self->threads = threads;
  if (pids == NULL)
    result = bpf_map_update_elem (map, &all, &all, BPF_ANY);
  for (guint i = 0; pids != NULL && i < pids->len && result == 0; i++)
    result = bpf_map_update_elem (map, &g_array_index (pids, pid_t, i), &all, BPF_ANY);
  if (result != 0)
    g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("too many processes at once: %s"),
                 g_strerror (errno));
  return result == 0;
}
