/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* program-none.c - replaces program.c, backing-kernel.c and source-tasks.c in a build without
 * libbpf or a compiler for BPF, and says so. Functions that need a program cannot be called then.
 */

#include "bpf/backing-kernel.h"

#include "base/error.h"
#include "bpf/source-tasks.h"

#include <glib/gi18n.h>

LuBpfProgram *
lu_bpf_program_new (const LuBpfProgramOptions *options, GError **error)
{
  g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       _ ("Built without libbpf: stacks are not unwound in the kernel"));
  return NULL;
}

void
lu_bpf_program_free (LuBpfProgram *self)
{
}

gboolean
lu_bpf_program_attach (LuBpfProgram *self, int event_fd, GError **error)
{
  g_return_val_if_reached (FALSE);
}

gboolean
lu_bpf_program_set_output (LuBpfProgram *self, guint cpu, int output_fd, GError **error)
{
  g_return_val_if_reached (FALSE);
}

guint32
lu_bpf_program_flags (const LuBpfProgram *self)
{
  g_return_val_if_reached (0);
}

void
lu_bpf_program_prepare_interpreters (LuBpfProgram *self)
{
}

gboolean
lu_bpf_program_settle (LuBpfProgram *self)
{
  return TRUE;
}

void
lu_bpf_program_await_interpreters (const LuBpfProgram *self, int ms)
{
}

int
lu_bpf_program_read_interpreters (LuBpfProgram *self)
{
  return -ENOSYS;
}

guint
lu_bpf_program_verified_with_interpreters (const LuBpfProgram *self)
{
  return 0;
}

guint
lu_bpf_program_verified (const LuBpfProgram *self)
{
  g_return_val_if_reached (0);
}

void
lu_bpf_program_sum (const LuBpfProgram *self, struct lu_bpf_counters *sum)
{
  *sum = (struct lu_bpf_counters){ 0 };
}

gboolean
lu_bpf_program_count_runs (LuBpfProgram *self)
{
  g_return_val_if_reached (FALSE);
}

gboolean
lu_bpf_program_runs (const LuBpfProgram *self, guint64 *n_runs, guint64 *total_ns)
{
  g_return_val_if_reached (FALSE);
}

LuBpfBacking *
lu_bpf_backing_kernel_new (LuBpfProgram *program, GError **error)
{
  g_return_val_if_reached (NULL);
}

LuSource *
lu_source_tasks_new (GError **error)
{
  g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       _ ("Built without libbpf: the kernel is not asked for stacks of threads"));
  return NULL;
}

gboolean
lu_source_tasks_set (LuSource *source, LuSource *perf_taken, const GArray *pids, GArray *threads,
                     GError **error)
{
  g_return_val_if_reached (FALSE);
}
