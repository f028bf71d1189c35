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
  GPtrArray *held;  /* images whose CFI is held during a walk */
  guint64 n_samples, n_frames, n_handed_on;
} TableUnwinder;

/* Reads the CFI of a module. Any mapping of the module will do. */
static gboolean
fetch_cfi (TableUnwinder *self, const LuUnwindRequest *request, const LuModule *module)
{
  guint n, i = 0;
  const LuMapping *mappings = lu_address_space_mappings (request->space, &n);

  while (i < n && mappings[i].module != module)
    i++;
  return i < n
         && lu_code_reader_hold_cfi (lu_dwfl_unwinder_reader (self->dwfl), self->held,
                                     &(LuMappedModule){ .module = mappings[i].module,
                                                        .pid = request->pid,
                                                        .start = mappings[i].start,
                                                        .end = mappings[i].end })
                == LU_CODE_READ;
}

static gboolean
walk_once (TableUnwinder *self, const LuUnwindRequest *request, LuStack *stack)
{
  return lu_walker_walk (self->walker, request->tid, request->sample, request->space, stack);
}

/* Walks the sample, and retries until no CFI is missing. */
static gboolean
walk (TableUnwinder *self, const LuUnwindRequest *request, LuStack *stack)
{
  gboolean is_finished = walk_once (self, request, stack);

  while (G_UNLIKELY (lu_walker_absent (self->walker) != NULL)
         && fetch_cfi (self, request, lu_walker_absent (self->walker)))
    {
      lu_stack_reset (stack);
      is_finished = walk_once (self, request, stack);
    }
  g_ptr_array_set_size (self->held, 0);
  return is_finished;
}

static void
table_unwind (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  TableUnwinder *self = (TableUnwinder *) unwinder;
  LuCodeReader *reader = lu_dwfl_unwinder_reader (self->dwfl);

  self->n_samples++;
  lu_code_reader_set_limited (reader, !request->is_replay);
  lu_code_reader_set_awaited (reader, request->awaited);
  lu_walker_read_code (self->walker, reader, request->pid);
  if (walk (self, request, stack))
    {
      self->n_frames += stack->n_frames;
      return;
    }
  if (lu_code_reader_awaits (reader))
    return;
  self->n_handed_on++;
  lu_stack_reset (stack);
  self->dwfl->ops->unwind (self->dwfl, request, stack);
}

static void
table_verify (LuUnwinder *unwinder, const LuVerifyRequest *request, LuVerified *verified)
{
  TableUnwinder *self = (TableUnwinder *) unwinder;
  LuCodeReader *reader = lu_dwfl_unwinder_reader (self->dwfl);

  lu_code_reader_set_limited (reader, !request->is_replay);
  lu_code_reader_set_awaited (reader, request->awaited);
  lu_walker_read_code (self->walker, reader, request->pid);
  lu_walker_verify (self->walker, request->space, request->frames, verified);
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
  self->held = lu_held_cfi_new ();
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
  g_ptr_array_unref (self->held);
  g_free (self);
}

const LuUnwinderOps lu_unwinder_table = {
  .name = "table",
  .walks_in_drain = TRUE,
  .new = table_new,
  .unwind = table_unwind,
  .verify = table_verify,
  .free = table_free,
};
