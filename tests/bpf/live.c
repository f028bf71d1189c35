/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* live.c - see live.h. */

#include "live.h"

#include "base/error.h"
#include "base/fd.h"
#include "input/perf-event.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define RING_BYTES (8u << 20)
#define MAX_WAITS  500

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer user_data)
{
  Live *self = user_data;

  lu_opener_open (self->opener, module, self->pid, start, end);
}

static const LuProcessTableFuncs funcs = {
  .module_added = module_added,
};

static gboolean
find_space (Live *self)
{
  LuProcess *process;
  LuAddressSpace *space;

  self->table = lu_process_table_new (FALSE, &funcs, self);
  self->opener = lu_opener_new (TRUE, 1u << 30);
  lu_process_table_follow (self->table, self->pid);
  if (!lu_process_table_discover (self->table, self->pid, 1)
      || !lu_process_table_lookup (self->table, self->pid, G_MAXINT64, &process, &space))
    return FALSE;
  lu_process_table_announce (self->table, process);
  self->space = lu_address_space_ref (space);
  return TRUE;
}

static guint32 *
add_entry (gpointer data, guint entry)
{
  Live *self = data;
  guint32 *words;

  return self->backing->ops->add_entries (self->backing, &entry, 1, &words) == 1 ? words : NULL;
}

static gboolean
publish (Live *self, gboolean is_known, GError **error)
{
  guint32 tgid = (guint32) self->pid;
  struct lu_bpf_process process;

  self->backing = lu_bpf_backing_kernel_new (self->program, error);
  if (self->backing == NULL)
    return FALSE;
  self->image.add_entry = add_entry;
  self->image.data = self;
  self->image.dictionary = self->backing->dictionary;
  self->image.modules = self->backing->modules;
  self->image.interps.backing = self->backing;
  self->image.known = is_known ? self->backing->known : NULL;
  bpf_image_init (&self->image);
  if (!bpf_image_add_space (&self->image, self->space, tgid, &process))
    return FALSE;
  process.identity = 1;
  process.check = lu_bpf_process_check (&process, tgid);
  return self->backing->ops->put_process (self->backing, tgid, &process);
}

static gboolean
open_events (Live *self, const LiveOptions *options)
{
  struct perf_event_attr sampler = { .type = PERF_TYPE_SOFTWARE,
                                     .size = sizeof sampler,
                                     .config = PERF_COUNT_SW_CPU_CLOCK,
                                     .sample_period = options->period_ns,
                                     .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_REGS_USER
                                                    | PERF_SAMPLE_STACK_USER,
                                     .sample_regs_user = lu_perf_user_registers (),
                                     .sample_stack_user = options->stack_size,
                                     .disabled = 1,
                                     .use_clockid = 1,
                                     .clockid = CLOCK_MONOTONIC };
  struct perf_event_attr output = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof output,
                                    .config = PERF_COUNT_SW_BPF_OUTPUT,
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC };

  self->sampler_fd = lu_perf_open (&sampler, options->all ? -1 : self->pid, (int) self->cpu);
  self->output_fd = lu_perf_open (&output, -1, (int) self->cpu);
  return self->sampler_fd >= 0 && self->output_fd >= 0
         && lu_ring_map (&self->ring, self->sampler_fd,
                         options->ring_bytes != 0 ? options->ring_bytes : RING_BYTES)
         && ioctl (self->output_fd, PERF_EVENT_IOC_SET_OUTPUT, self->sampler_fd) == 0
         && ioctl (self->output_fd, PERF_EVENT_IOC_ID, &self->output_id) == 0
         && ioctl (self->output_fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

gboolean
live_start (Live *self, gint32 pid, const LiveOptions *options, GError **error)
{
  memset (self, 0, sizeof *self);
  self->pid = pid;
  self->cpu = options->cpu;
  self->sampler_fd = self->output_fd = -1;
  self->program = lu_bpf_program_new (options->program, error);
  if (self->program == NULL)
    return FALSE;
  if (!find_space (self) || !publish (self, options->is_known, error)
      || !open_events (self, options))
    {
      if (error != NULL && *error != NULL)
        return FALSE;
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s",
                   self->space == NULL                           ? "the process"
                   : self->image.n_modules == 0                  ? "the maps"
                   : self->sampler_fd < 0 || self->output_fd < 0 ? "the events"
                                                                 : "the ring",
                   g_strerror (errno));
      return FALSE;
    }
  if (!lu_bpf_program_set_output (self->program, self->cpu, self->output_fd, error)
      || !lu_bpf_program_attach (self->program, self->sampler_fd, error))
    return FALSE;
  lu_bpf_program_count_runs (self->program);
  return ioctl (self->sampler_fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

void
live_stop (Live *self)
{
  lu_ring_unmap (&self->ring);
  lu_fd_clear (&self->sampler_fd);
  lu_fd_clear (&self->output_fd);
  if (self->image.rule_ids != NULL)
    bpf_image_clear (&self->image);
  g_clear_pointer (&self->space, lu_address_space_unref);
  g_clear_pointer (&self->table, lu_process_table_free);
  g_clear_pointer (&self->opener, lu_opener_free);
  g_clear_pointer (&self->backing, lu_bpf_backing_free);
  g_clear_pointer (&self->program, lu_bpf_program_free);
}

/* The kernel wrote the record, so its sizes are right. */
static void
hand_on (Live *self, const guint64 *words, LiveFunc func, gpointer user_data)
{
  static guint64 record[8192];
  guint n_words = (guint) __builtin_popcountll (lu_perf_user_registers ());
  LuSample sample = { .regs = { .abi = (guint32) words[2],
                                .n_words = n_words,
                                .mask = lu_perf_user_registers (),
                                .words = words + 3 } };
  const guint64 *stack = words + 3 + n_words;

  if (words[1] == self->output_id)
    {
      guint32 size;

      memcpy (&size, words + 2, sizeof size);
      memcpy (record, (const guint8 *) words + 20, MIN (size, sizeof record));
      if (*(const guint32 *) record == LU_BPF_VERSION)
        func ((const struct lu_bpf_record *) record, NULL, user_data);
      return;
    }
  if (sample.regs.abi == LU_ABI_NONE)
    stack = words + 3;
  sample.stack_asked = (guint32) stack[0];
  sample.stack = (const guint8 *) (stack + 1);
  if (sample.stack_asked > 0)
    sample.stack_size = (guint32) stack[1 + sample.stack_asked / 8];
  func (NULL, &sample, user_data);
}

guint64
live_drain (Live *self, LiveFunc func, gpointer user_data)
{
  guint64 head = lu_ring_head (&self->ring), n_lost = 0;
  gboolean corrupt = FALSE;
  gconstpointer record;
  gsize size;

  while ((record = lu_ring_peek (&self->ring, head, &size, &corrupt)) != NULL)
    {
      const struct perf_event_header *header = record;

      if (header->type == PERF_RECORD_SAMPLE)
        hand_on (self, record, func, user_data);
      else if (header->type == PERF_RECORD_LOST)
        n_lost += ((const guint64 *) record)[2];
      lu_ring_consume (&self->ring);
    }
  return n_lost;
}

/* Returns the CPU time of the process so far, in ns. */
static guint64
time_of (gint32 pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/schedstat", pid);
  g_autofree char *text = lu_fd_read_file (path, 256, NULL);

  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : G_MAXUINT64;
}

gint32
live_spawn (char **argv, guint cpu, guint wait_ms)
{
  cpu_set_t set;
  gint32 pid;

  CPU_ZERO (&set);
  CPU_SET (cpu, &set);
  pid = fork ();
  if (pid == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL); /* the command never ends by itself */
      sched_setaffinity (0, sizeof set, &set);
      execvp (argv[0], argv);
      _exit (127);
    }
  for (guint i = 0; pid > 0 && i < MAX_WAITS && time_of (pid) < wait_ms * 1000000ul; i++)
    g_usleep (10000);
  return MAX (pid, 0);
}
