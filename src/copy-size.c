/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copy-size.c - see copy-size.h. */

#include "copy-size.h"

#include "base/clock.h"
#include "input/perf-event.h"

#include <stdatomic.h>

/* No fewer stacks that were cut off are a reason, and a window has so many stacks. */
#define MIN_TRUNCATED 3
#define WINDOW        1024

struct _LuCopySize
{
  LuSource *source;     /* borrowed, as the next two */
  LuDispatch *dispatch; /* counts what the drain finishes */
  LuWriter *writer;     /* counts what the worker finishes */
  gboolean may_grow;
  atomic_uint bytes, n_grown;
};

static void
reset_window (LuCopySize *self, guint32 bytes)
{
  lu_dispatch_reset_window (self->dispatch, bytes);
  lu_writer_reset_window (self->writer, bytes);
}

LuCopySize *
lu_copy_size_new (LuSource *source, LuDispatch *dispatch, LuWriter *writer, guint32 bytes,
                  gboolean may_grow)
{
  LuCopySize *self = g_new0 (LuCopySize, 1);

  self->source = source;
  self->dispatch = dispatch;
  self->writer = writer;
  self->may_grow = may_grow && source->ops->set_stack_size != NULL;
  atomic_store (&self->bytes, bytes);
  reset_window (self, bytes);
  return self;
}

void
lu_copy_size_free (LuCopySize *self)
{
  g_free (self);
}

static void
grow (LuCopySize *self)
{
  guint32 bytes = atomic_load (&self->bytes);
  guint32 larger = MIN (bytes * 2, LU_STACK_SIZE_MAX);
  g_autoptr (GError) error = NULL;

  if (larger <= bytes || !self->source->ops->set_stack_size (self->source, larger, &error))
    {
      if (error != NULL)
        lu_dispatch_log (self->dispatch, lu_monotonic_ns (), error->message);
      self->may_grow = FALSE;
      return;
    }
  reset_window (self, larger);
  atomic_store (&self->bytes, larger);
  atomic_fetch_add (&self->n_grown, 1);
}

void
lu_copy_size_tick (LuCopySize *self)
{
  const LuDispatchWindow *here = lu_dispatch_window (self->dispatch);
  LuWriterProgress progress;
  guint64 stacks, truncated;

  if (!self->may_grow)
    return;
  /* Those of the worker are known to the writer, some rounds later. */
  lu_writer_get_progress (self->writer, &progress);
  stacks = here->stacks + progress.window;
  truncated = here->truncated + progress.truncated;
  if (truncated >= MIN_TRUNCATED && truncated * 100 > stacks)
    grow (self);
  else if (stacks >= WINDOW)
    reset_window (self, atomic_load (&self->bytes));
}

gboolean
lu_copy_size_may_grow (const LuCopySize *self)
{
  return self->may_grow;
}

gboolean
lu_copy_size_is_short (const LuCopySize *self)
{
  return self->may_grow && lu_dispatch_window (self->dispatch)->truncated > 0;
}

guint32
lu_copy_size_get (const LuCopySize *self, guint *n_grown)
{
  *n_grown = atomic_load (&self->n_grown);
  return atomic_load (&self->bytes);
}
