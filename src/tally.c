/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tally.c - counts of finished samples; see tally.h. */

#include "tally.h"

/* Hostile programs may end stacks in ever new files. */
#define MAX_MODULES 512

static void
module_tally_free (gpointer pointer)
{
  LuModuleTally *self = pointer;

  g_free (self->path);
  g_free (self);
}

void
lu_tally_init (LuTally *self)
{
  *self = (LuTally){ 0 };
  self->modules = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, module_tally_free);
}

void
lu_tally_clear (LuTally *self)
{
  g_clear_pointer (&self->modules, g_hash_table_unref);
}

static void
add_to_module (LuTally *self, LuStatus status, const char *path)
{
  LuModuleTally *module = g_hash_table_lookup (self->modules, path);

  if (module == NULL)
    {
      if (g_hash_table_size (self->modules) >= MAX_MODULES)
        return;
      module = g_new0 (LuModuleTally, 1);
      module->path = g_strdup (path);
      g_hash_table_insert (self->modules, module->path, module);
    }
  module->by_status[status]++;
  module->total++;
}

/* The smallest i with bytes <= 2^i, as far as the arrays go. */
static guint
log2_of (guint64 bytes)
{
  guint i = 0;

  while (i + 1 < LU_TALLY_LOG2_SIZES && (G_GUINT64_CONSTANT (1) << i) < bytes)
    i++;
  return i;
}

void
lu_tally_add (LuTally *self, LuStatus status, guint32 n_kernel, guint32 n_user,
              const LuStackUse *use, const char *end_path)
{
  self->samples++;
  self->by_status[status]++;
  self->kernel_frames += n_kernel;
  self->user_frames += n_user;
  self->stack_needed_max = MAX (self->stack_needed_max, use->needed);
  self->stack_used_max = MAX (self->stack_used_max, use->used);
  if (status == LU_STATUS_COMPLETE && use->asked > 0)
    self->used_log2[log2_of (use->used)]++;
  if (status != LU_STATUS_COMPLETE && end_path != NULL)
    add_to_module (self, status, end_path);
  if (status == LU_STATUS_TRUNCATED_COPY)
    self->truncated_log2[log2_of (use->asked)]++;
}

void
lu_tally_add_guesses (LuTally *self, LuStatus status, const LuFrame *user, guint32 n_user)
{
  guint n = 0;

  for (guint32 i = 0; i < n_user; i++)
    n += (user[i].flags & LU_FRAME_GUESSED) != 0;
  self->guessed_frames += n;
  if (n > 0 && status == LU_STATUS_COMPLETE)
    self->guessed++;
}

guint64
lu_tally_truncated_at (const LuTally *self, guint32 stack_asked)
{
  guint64 n = 0;

  for (guint i = log2_of (stack_asked); i < LU_TALLY_LOG2_SIZES; i++)
    n += self->truncated_log2[i];
  return n;
}

guint64
lu_tally_walked (const LuTally *self)
{
  guint64 walked = 0;

  for (guint i = 0; i < LU_N_STATUS; i++)
    if (!lu_status_is_excluded ((LuStatus) i))
      walked += self->by_status[i];
  return walked;
}

double
lu_tally_complete_percent (const LuTally *self)
{
  guint64 walked = lu_tally_walked (self);
  guint64 complete = self->by_status[LU_STATUS_COMPLETE] - self->live_reads;

  return walked > 0 ? 100.0 * (double) complete / (double) walked : 100.0;
}

static gint
by_total (gconstpointer a, gconstpointer b)
{
  const LuModuleTally *left = *(LuModuleTally *const *) a;
  const LuModuleTally *right = *(LuModuleTally *const *) b;

  return left->total < right->total ? 1 : left->total > right->total ? -1 : 0;
}

GPtrArray *
lu_tally_modules (const LuTally *self)
{
  GPtrArray *modules = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->modules);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    g_ptr_array_add (modules, value);
  g_ptr_array_sort (modules, by_total);
  return modules;
}

guint64
lu_tally_stack_size_for (const LuTally *self, double percent)
{
  guint64 whole = 0, sum = 0;

  for (guint i = 0; i < LU_TALLY_LOG2_SIZES; i++)
    whole += self->used_log2[i];
  for (guint i = 0; i < LU_TALLY_LOG2_SIZES && whole > 0; i++)
    {
      sum += self->used_log2[i];
      if ((double) sum * 100.0 >= percent * (double) whole)
        return G_GUINT64_CONSTANT (1) << i;
    }
  return 0;
}
