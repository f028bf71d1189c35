/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* check.c - the check engine: unwinds every sample with dwfl and with table and compares.
 *
 * The stack that goes on is that of dwfl. A difference is told on standard error by its first frame
 * that is not the same, with the module and the ELF address of the frame before it, whose rule the
 * engines disagree about; a count stands at the end. */

#include "unwind/dwfl-space.h"
#include "unwind/unwinder.h"

#include <inttypes.h>

/* Differences told in full; more are only counted. */
#define MAX_TOLD 50

typedef struct
{
  LuUnwinder parent;
  LuUnwinder *dwfl, *table; /* owned */
  LuStack other;
  guint64 n_samples, n_frames_differ, n_states_differ;
} CheckUnwinder;

static guint
first_difference (const LuStack *a, const LuStack *b)
{
  guint i = 0;

  while (i < a->n_frames && i < b->n_frames && a->frames[i].pc == b->frames[i].pc
         && a->frames[i].flags == b->frames[i].flags)
    i++;
  return i;
}

static char *
describe_place (LuSpace *space, const LuFrame *frame)
{
  guint64 lookup = frame->pc - ((frame->flags & LU_FRAME_RETURN_ADDRESS) != 0);
  const LuMapping *mapping = lu_space_find (space, lookup);
  LuDwflMapping described;

  if (mapping == NULL)
    return g_strdup_printf ("%#" PRIx64, frame->pc);
  described = lu_dwfl_mapping_describe (mapping, lu_arch_of_abi (LU_ABI_64));
  return g_strdup_printf ("%s %#" PRIx64, lu_module_path (mapping->module),
                          frame->pc - described.bias);
}

static guint64
pc_at (const LuStack *stack, guint i)
{
  return i < stack->n_frames ? stack->frames[i].pc : 0;
}

static void
tell (const CheckUnwinder *self, LuSpace *space, const LuStack *dwfl, guint i)
{
  g_autofree char *place = NULL;

  if (self->n_frames_differ + self->n_states_differ > MAX_TOLD)
    return;
  place = i > 0 ? describe_place (space, &dwfl->frames[i - 1]) : g_strdup ("the sampled pc");
  g_printerr ("check: frame %u, after %s: dwfl %#" PRIx64 " of %u (%s), table %#" PRIx64
              " of %u (%s)\n",
              i, place, pc_at (dwfl, i), dwfl->n_frames, lu_status_key (dwfl->status),
              pc_at (&self->other, i), self->other.n_frames, lu_status_key (self->other.status));
}

static void
check_unwind (LuUnwinder *unwinder, gint32 pid, gint32 tid, const LuSample *sample, LuSpace *space,
              LuStack *stack)
{
  CheckUnwinder *self = (CheckUnwinder *) unwinder;
  guint i;

  self->dwfl->ops->unwind (self->dwfl, pid, tid, sample, space, stack);
  lu_stack_reset (&self->other);
  self->table->ops->unwind (self->table, pid, tid, sample, space, &self->other);
  self->n_samples++;
  i = first_difference (stack, &self->other);
  if (i < stack->n_frames || i < self->other.n_frames)
    self->n_frames_differ++;
  else if (stack->status != self->other.status)
    self->n_states_differ++;
  else
    return;
  tell (self, space, stack, i);
}

static void
check_free (LuUnwinder *unwinder)
{
  CheckUnwinder *self = (CheckUnwinder *) unwinder;

  g_printerr ("check: %" PRIu64 " samples: frames differ in %" PRIu64 ", only the state in %" PRIu64
              "\n",
              self->n_samples, self->n_frames_differ, self->n_states_differ);
  lu_unwinder_free (self->dwfl);
  lu_unwinder_free (self->table);
  g_free (self);
}

static LuUnwinder *
check_new (GError **error)
{
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(error);
  g_autoptr (LuUnwinder) table = dwfl != NULL ? lu_unwinder_table.new(error) : NULL;
  CheckUnwinder *self;

  if (table == NULL)
    return NULL;
  self = g_new0 (CheckUnwinder, 1);
  self->parent.ops = &lu_unwinder_check;
  self->dwfl = g_steal_pointer (&dwfl);
  self->table = g_steal_pointer (&table);
  return &self->parent;
}

const LuUnwinderOps lu_unwinder_check = {
  .name = "check",
  .new = check_new,
  .unwind = check_unwind,
  .free = check_free,
};
