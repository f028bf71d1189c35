/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* statistics.c - counts of finished stacks; see statistics.h. */

#include "statistics.h"

#include <math.h>

/* Hostile programs can end stacks in ever new files. */
#define MAX_MODULES 512

static void
module_statistics_free (gpointer pointer)
{
  LuModuleStatistics *self = pointer;

  g_free (self->path);
  g_free (self);
}

void
lu_statistics_init (LuStatistics *self)
{
  *self = (LuStatistics){ 0 };
  self->modules = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, module_statistics_free);
}

void
lu_statistics_clear (LuStatistics *self)
{
  g_clear_pointer (&self->modules, g_hash_table_unref);
}

static void
add_to_module (LuStatistics *self, LuStatus status, const char *path)
{
  LuModuleStatistics *module = g_hash_table_lookup (self->modules, path);

  if (module == NULL)
    {
      if (g_hash_table_size (self->modules) >= MAX_MODULES)
        return;
      module = g_new0 (LuModuleStatistics, 1);
      module->path = g_strdup (path);
      g_hash_table_insert (self->modules, module->path, module);
    }
  module->by_status[status]++;
  module->total++;
}

/* Returns the smallest i with bytes <= 2^i, at most the last index of the arrays. */
static guint
log2_of (guint64 bytes)
{
  guint i = 0;

  while (i + 1 < LU_STATISTICS_LOG2_SIZES && (G_GUINT64_CONSTANT (1) << i) < bytes)
    i++;
  return i;
}

/* Returns the file in which an incomplete stack ended; NULL: none. */
static const char *
end_path (const LuStackMessage *stack)
{
  const LuMapping *mapping;

  if (stack->status == LU_STATUS_COMPLETE || stack->header.space == NULL || stack->end_pc == 0)
    return NULL;
  mapping = lu_address_space_find (stack->header.space, stack->end_pc);
  return mapping != NULL ? lu_module_path (mapping->module) : NULL;
}

/* Frames of other samples (join.h) are not counted. */
static void
add_inferred (LuStatistics *self, const LuStackMessage *stack)
{
  const LuFrame *user = stack->frames + stack->n_kernel;
  guint n = 0, n_derived = 0;

  for (guint32 i = 0; i < stack->n_user - stack->n_joined; i++)
    {
      n += (user[i].flags & LU_FRAME_INFERRED) != 0;
      n_derived += (user[i].flags & LU_FRAME_DERIVED) != 0;
    }
  lu_count_n (&self->counters, LU_COUNTER_INFERRED_FRAMES, n);
  lu_count_n (&self->counters, LU_COUNTER_DERIVED_FRAMES, n_derived);
  if (n > 0 && stack->status == LU_STATUS_COMPLETE)
    lu_count (&self->counters, LU_COUNTER_INFERRED);
  if (n_derived > 0 && stack->status == LU_STATUS_COMPLETE)
    lu_count (&self->counters, LU_COUNTER_DERIVED);
}

static void
add_stack_use (LuStatistics *self, const LuStackMessage *stack)
{
  lu_count_max (&self->counters, LU_COUNTER_STACK_NEEDED_MAX, stack->stack_needed);
  lu_count_max (&self->counters, LU_COUNTER_STACK_USED_MAX, stack->stack_used);
  if (stack->status == LU_STATUS_COMPLETE && stack->stack_asked > 0)
    self->used_log2[log2_of (stack->stack_used)]++;
  if (stack->status == LU_STATUS_TRUNCATED_COPY)
    self->truncated_log2[log2_of (stack->stack_asked)]++;
}

void
lu_statistics_add (LuStatistics *self, const LuStackMessage *stack)
{
  const char *path = end_path (stack);

  lu_count (&self->counters, LU_COUNTER_SAMPLES);
  self->by_status[stack->status]++;
  lu_count_n (&self->counters, LU_COUNTER_LIVE_READS,
              stack->live_read && stack->status == LU_STATUS_COMPLETE);
  lu_count_n (&self->counters, LU_COUNTER_JOINED, stack->n_joined > 0);
  add_stack_use (self, stack);
  if (!stack->has_no_fp_steps)
    add_inferred (self, stack);
  if (path != NULL)
    add_to_module (self, stack->status, path);
}

guint64
lu_statistics_truncated_at (const LuStatistics *self, guint32 stack_asked)
{
  guint64 n = 0;

  for (guint i = log2_of (stack_asked); i < LU_STATISTICS_LOG2_SIZES; i++)
    n += self->truncated_log2[i];
  return n;
}

guint64
lu_statistics_unwindable (const LuStatistics *self)
{
  guint64 unwindable = 0;

  for (guint i = 0; i < LU_N_STATUS; i++)
    if (!lu_status_is_excluded ((LuStatus) i))
      unwindable += self->by_status[i];
  return unwindable;
}

double
lu_statistics_complete_percent (const LuStatistics *self)
{
  guint64 unwindable = lu_statistics_unwindable (self);
  guint64 complete = self->by_status[LU_STATUS_COMPLETE]
                     - lu_counters_get (&self->counters, LU_COUNTER_LIVE_READS);

  return unwindable > 0 ? 100.0 * (double) complete / (double) unwindable : NAN;
}

static gint
by_total (gconstpointer a, gconstpointer b)
{
  const LuModuleStatistics *left = *(LuModuleStatistics *const *) a;
  const LuModuleStatistics *right = *(LuModuleStatistics *const *) b;

  return left->total < right->total ? 1 : left->total > right->total ? -1 : 0;
}

GPtrArray *
lu_statistics_modules (const LuStatistics *self)
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
lu_statistics_stack_size_for (const LuStatistics *self, double percent)
{
  guint64 whole = 0, sum = 0;

  for (guint i = 0; i < LU_STATISTICS_LOG2_SIZES; i++)
    whole += self->used_log2[i];
  for (guint i = 0; i < LU_STATISTICS_LOG2_SIZES && whole > 0; i++)
    {
      sum += self->used_log2[i];
      if ((double) sum * 100.0 >= percent * (double) whole)
        return G_GUINT64_CONSTANT (1) << i;
    }
  return 0;
}
