/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* shadow.c - a stack of callers. Only the slot of the innermost one is ever compared with the stack
 * pointer, so a handler on an alternate stack, below or above the interrupted one, pops nothing
 * from it. */

#include "shadow.h"

void
shadow_init (Shadow *self, gboolean is_whole)
{
  *self = (Shadow){
    .callers = g_array_new (FALSE, FALSE, sizeof (Caller)),
    .is_whole = is_whole,
  };
}

void
shadow_clear (Shadow *self)
{
  g_clear_pointer (&self->callers, g_array_unref);
}

static void
pop_below (Shadow *self, guint64 sp)
{
  while (self->callers->len > 0 && shadow_caller (self, 0)->slot < sp)
    g_array_set_size (self->callers, self->callers->len - 1);
}

void
shadow_call (Shadow *self, guint64 slot, guint64 pc, guint64 fp, guint64 bx)
{
  Caller caller = { .slot = slot, .pc = pc, .sp = slot + 8, .fp = fp, .bx = bx };

  pop_below (self, slot + 8);
  g_array_append_val (self->callers, caller);
}

void
shadow_signal (Shadow *self, guint64 slot, guint64 restorer, const Caller *interrupted)
{
  Caller caller = *interrupted;

  caller.slot = slot + 8;
  caller.is_interrupted = TRUE;
  g_array_append_val (self->callers, caller);
  caller = (Caller){
    .slot = slot, .pc = restorer, .sp = slot + 8, .fp = interrupted->fp, .bx = interrupted->bx
  };
  g_array_append_val (self->callers, caller);
}

void
shadow_return (Shadow *self, guint64 slot, guint64 sp, guint64 pc)
{
  const Caller *caller = shadow_caller (self, 0);

  if (caller != NULL && caller->slot == slot && !caller->is_interrupted)
    {
      if (caller->pc == pc)
        self->n_returns++;
      else
        self->n_diverted++;
    }
  pop_below (self, sp);
}

void
shadow_jump (Shadow *self, guint64 sp)
{
  pop_below (self, sp);
}

gboolean
shadow_signal_return (Shadow *self, guint64 ucontext, guint64 pc, guint64 sp)
{
  const Caller *caller = shadow_caller (self, 0);
  gboolean is_there;

  if (caller == NULL || !caller->is_interrupted || caller->slot != ucontext)
    return FALSE;
  is_there = caller->pc == pc && caller->sp == sp;
  g_array_set_size (self->callers, self->callers->len - 1);
  return is_there;
}

const Caller *
shadow_caller (const Shadow *self, guint depth)
{
  if (depth >= self->callers->len)
    return NULL;
  return &g_array_index (self->callers, Caller, self->callers->len - 1 - depth);
}

gboolean
shadow_is_leaving (const Shadow *self, guint64 sp)
{
  const Caller *caller = shadow_caller (self, 0);

  return caller != NULL && sp > caller->slot + 8 && !caller->is_interrupted;
}
