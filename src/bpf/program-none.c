/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* program-none.c - in place of program.c and names.c where libbpf or its compiler was not there:
 * says so. What needs a program cannot be called then. */

#include "bpf/names.h"
#include "bpf/program.h"

#include "base/error.h"

#include <glib/gi18n.h>

LuBpfProgram *
lu_bpf_program_new (const LuBpfProgramOptions *options, GError **error)
{
  g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       _ ("Built without libbpf: stacks are not walked in the kernel"));
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

int
lu_bpf_program_map_fd (const LuBpfProgram *self, LuBpfMapId map)
{
  g_return_val_if_reached (-1);
}

gpointer
lu_bpf_program_mmap (const LuBpfProgram *self, LuBpfMapId map, gsize *size)
{
  g_return_val_if_reached (NULL);
}

guint
lu_bpf_program_add_entries (LuBpfProgram *self, const guint32 *places, guint n, guint32 **words,
                            guint64 *bytes)
{
  errno = ENOSYS;
  return 0;
}

gboolean
lu_bpf_program_remove_entry (const LuBpfProgram *self, guint entry)
{
  g_return_val_if_reached (FALSE);
}

guint
lu_bpf_program_n_identities (const LuBpfProgram *self)
{
  g_return_val_if_reached (0);
}

guint32
lu_bpf_program_flags (const LuBpfProgram *self)
{
  g_return_val_if_reached (0);
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

guint64
lu_bpf_program_memory (const LuBpfProgram *self)
{
  return 0;
}

guint64
lu_bpf_map_memory (int map_fd)
{
  return 0;
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

LuBpfNames *
lu_bpf_names_new (void)
{
  return NULL;
}

gboolean
lu_bpf_names_ask (guint64 address, char *text, gsize size, gpointer user_data)
{
  g_return_val_if_reached (FALSE);
}

void
lu_bpf_names_free (gpointer self)
{
}
