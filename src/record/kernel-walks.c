/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-walks.c - see kernel-walks.h. */

#include "config.h"

#include "kernel-walks.h"

#include "base/error.h"
#include "base/fd.h"
#include "bpf/backing-kernel.h"
#include "input/per-cpu-events.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <sys/eventfd.h>

/* Longest time to unwind a stack, with interrupts off. The deepest stack that is allowed takes
 * about this long, an ordinary one a hundredth of it. */
#define WALK_BUDGET_NS (2u * 1000 * 1000)
#define DEFAULT_RATE   1000
/* The part of the program for interpreters takes 0.3 s to load, and more on a busy machine. */
#define INTERPRETERS_MS 5000

struct _LuKernelWalks
{
  const LuKernelWalksOptions *options; /* borrowed, until the thread has ended */
  GThread *thread;                     /* loads the program; NULL: it has ended */
  int loaded_fd;                       /* owned; -1 once the thread has ended */
  GError *error;                       /* owned; set by the thread */
  LuKernelSupport support;
  LuBpfProgram *program; /* owned; NULL: inactive */
  LuBpfMaps *maps;       /* owned; NULL before start */
  char *refusal;         /* owned; NULL: the reason of `support` holds */
  guint memory_mib;
  double frequency;
  gboolean follow_all;
};

static gboolean
attach (int cpu, int sampler_fd, int output_fd, gpointer user_data, GError **error)
{
  LuKernelWalks *self = user_data;

  return lu_bpf_program_set_output (self->program, (guint) cpu, output_fd, error)
         && lu_bpf_program_attach (self->program, sampler_fd, error);
}

static void
refuse (LuKernelWalks *self, const char *reason)
{
  g_clear_pointer (&self->program, lu_bpf_program_free);
  self->refusal = g_strdup (reason);
}

static LuBpfProgram *
load (const LuKernelWalks *self, const LuKernelWalksOptions *options, GError **error)
{
  gboolean is_check = options->wanted == LU_KERNEL_WALKS_CHECKED;
  const LuBpfProgramOptions program_options = {
    .flags = LU_BPF_ARGUMENTS | (is_check ? LU_BPF_CHECK : 0)
             | (self->follow_all ? 0 : LU_BPF_FOLLOW)
             | (options->time_walks ? LU_BPF_TIME_WALKS : 0),
    .max_frames = options->max_depth,
    .budget_ns = WALK_BUDGET_NS,
    .n_cpus = lu_n_possible_cpus (),
    .max_entries = self->memory_mib,
    .pid_namespace = self->support.pid_namespace,
  };

  return lu_bpf_program_new (&program_options, error);
}

static gpointer
look_and_load (gpointer data)
{
  LuKernelWalks *self = data;
  const LuKernelWalksOptions *options = self->options;

  lu_kernel_support_probe (&self->support);
  if (self->support.level != LU_KERNEL_SUPPORT_NONE
      && (!self->support.is_unsafe
          || (options->unsafe_kernel && options->wanted != LU_KERNEL_WALKS_IF_SAFE)))
    self->program = load (self, options, &self->error);
  if (self->program != NULL)
    lu_bpf_program_prepare_interpreters (self->program);
  if (self->program != NULL && options->early_interpreters)
    lu_bpf_program_want_interpreters (self->program);
  eventfd_write (self->loaded_fd, 1);
  return NULL;
}

LuKernelWalks *
lu_kernel_walks_new (const LuKernelWalksOptions *options, LuSource *source, gboolean follow_all)
{
  LuKernelWalks *self = g_new0 (LuKernelWalks, 1);
  LuSourceInfo info;

  source->ops->get_info (source, &info);
  self->options = options;
  self->loaded_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  self->follow_all = follow_all;
  self->frequency = info.frequency > 0 ? info.frequency : DEFAULT_RATE;
  self->memory_mib = options->bpf_memory != 0 ? options->bpf_memory : LU_BPF_MEMORY_MIB;
  if (self->loaded_fd < 0)
    {
      refuse (self, g_strerror (errno));
      return self;
    }
  if (options->wanted != LU_KERNEL_WALKS_NEVER && source->ops->attach != NULL)
    {
      self->thread = g_thread_new ("load", look_and_load, self);
      return self;
    }
  refuse (self,
          source->ops->attach == NULL ? _ ("nothing is sampled") : _ ("not asked for (--engine)"));
  eventfd_write (self->loaded_fd, 1);
  return self;
}

int
lu_kernel_walks_loaded_fd (const LuKernelWalks *self)
{
  return self->loaded_fd;
}

void
lu_kernel_walks_attach (LuKernelWalks *self, LuSource *source)
{
  const LuSamplerHook hook = { .attach = attach, .user_data = self };

  if (self->thread != NULL)
    g_thread_join (g_steal_pointer (&self->thread));
  lu_fd_clear (&self->loaded_fd);
  if (self->program != NULL && self->options->time_walks)
    lu_bpf_program_count_runs (self->program);
  if (self->program != NULL)
    source->ops->attach (source, &hook, &self->error);
  if (self->error != NULL)
    refuse (self, self->error->message);
}

void
lu_kernel_walks_start (LuKernelWalks *self, LuTables *tables)
{
  const LuBpfMapsOptions options = {
    .memory_mib = self->memory_mib,
    .sampling_ns = (guint64) (1e9 / self->frequency),
    .tables = tables,
    .follow_all = self->follow_all,
    .has_vmas = self->program != NULL && (lu_bpf_program_flags (self->program) & LU_BPF_VMAS) != 0
  };
  g_autoptr (GError) error = NULL;
  LuBpfBacking *backing;

  if (self->program == NULL)
    return;
  backing = lu_bpf_backing_kernel_new (self->program, &error);
  if (!lu_bpf_program_settle (self->program))
    g_debug ("descriptors of the BPF program stay open: %s", g_strerror (errno));
  if (backing != NULL)
    self->maps = lu_bpf_maps_new (backing, &options);
  else
    self->refusal = g_strdup (error->message);
}

void
lu_kernel_walks_free (LuKernelWalks *self)
{
  if (self == NULL)
    return;
  if (self->thread != NULL)
    g_thread_join (self->thread);
  lu_fd_clear (&self->loaded_fd);
  g_clear_error (&self->error);
  g_clear_pointer (&self->maps, lu_bpf_maps_free);
  lu_bpf_program_free (self->program);
  lu_kernel_support_clear (&self->support);
  g_free (self->refusal);
  g_free (self);
}

void
lu_kernel_walks_await_interpreters (const LuKernelWalks *self)
{
  if (lu_kernel_walks_is_active (self))
    lu_bpf_program_await_interpreters (self->program, INTERPRETERS_MS);
}

gboolean
lu_kernel_walks_is_active (const LuKernelWalks *self)
{
  return self->thread == NULL && self->program != NULL && self->refusal == NULL;
}

const char *
lu_kernel_walks_reason (const LuKernelWalks *self)
{
  return self->refusal != NULL ? self->refusal : self->support.reason;
}

gboolean
lu_kernel_walks_is_refused (const LuKernelWalks *self)
{
  return g_error_matches (self->error, LU_ERROR, LU_ERROR_REFUSED);
}

const char *
lu_kernel_walks_remedy (const LuKernelWalks *self)
{
  return self->refusal != NULL ? NULL : self->support.remedy;
}

LuBpfMaps *
lu_kernel_walks_maps (LuKernelWalks *self)
{
  return self->maps;
}

void
lu_kernel_walks_get_stats (LuKernelWalks *self, LuKernelWalksStats *stats, LuCounters *sum)
{
  *stats = (LuKernelWalksStats){ .is_active = lu_kernel_walks_is_active (self),
                                 .reason = lu_kernel_walks_reason (self) };
  if (self->program == NULL)
    return;
  stats->interpreters_error = lu_bpf_program_interpreters_error (self->program);
  stats->verified = lu_bpf_program_verified (self->program);
  lu_bpf_program_sum (self->program, &stats->bpf);
  for (guint i = 0; i < LU_N_BPF_COUNTERS; i++)
    lu_count_n (sum, (LuCounter) i, stats->bpf.values[i]);
  if (!lu_bpf_program_runs (self->program, &stats->n_runs, &stats->run_ns))
    stats->n_runs = stats->run_ns = 0;
  if (self->maps != NULL)
    lu_bpf_maps_add_counters (self->maps, sum);
}
