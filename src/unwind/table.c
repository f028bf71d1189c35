/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table.c - the table engine: the walker, and the dwfl engine for what it leaves unfinished. */

#include "unwind/unwinder.h"
#include "unwind/walker.h"

typedef struct
{
  LuUnwinder parent;
  LuUnwinder *dwfl; /* owned */
  LuWalker *walker; /* owned */
  guint64 n_samples, n_frames, n_handed_on;
} TableUnwinder;

static void
table_unwind (LuUnwinder *unwinder, gint32 pid, gint32 tid, const LuSample *sample, LuSpace *space,
              LuStack *stack)
{
  TableUnwinder *self = (TableUnwinder *) unwinder;

  self->n_samples++;
  lu_walker_read_code (self->walker, lu_dwfl_unwinder_reader (self->dwfl), pid);
  if (lu_walker_walk (self->walker, tid, sample, space, stack))
    {
      self->n_frames += stack->n_frames;
      return;
    }
  self->n_handed_on++;
  lu_stack_reset (stack);
  self->dwfl->ops->unwind (self->dwfl, pid, tid, sample, space, stack);
}

static LuUnwinder *
table_new (GError **error)
{
  LuUnwinder *dwfl = lu_unwinder_dwfl.new(error);
  TableUnwinder *self;

  if (dwfl == NULL)
    return NULL;
  self = g_new0 (TableUnwinder, 1);
  self->parent.ops = &lu_unwinder_table;
  self->dwfl = dwfl;
  self->walker = lu_walker_new (FALSE);
  return &self->parent;
}

static void
table_free (LuUnwinder *unwinder)
{
  TableUnwinder *self = (TableUnwinder *) unwinder;

  g_debug ("table: %" G_GUINT64_FORMAT " samples, %" G_GUINT64_FORMAT " frames, %" G_GUINT64_FORMAT
           " rules compiled, %" G_GUINT64_FORMAT " samples handed to dwfl",
           self->n_samples, self->n_frames, lu_walker_n_rules_compiled (self->walker),
           self->n_handed_on);
  lu_unwinder_free (self->dwfl);
  lu_walker_free (self->walker);
  g_free (self);
}

const LuUnwinderOps lu_unwinder_table = {
  .name = "table",
  .walks_in_drain = TRUE,
  .new = table_new,
  .unwind = table_unwind,
  .free = table_free,
};
