/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copy-size.c - see copy-size.h. */

#include "copy-size.h"

#include "input/perf-event.h"

/* The copy grows only if at least MIN_TRUNCATED of the last WINDOW stacks were truncated. */
#define MIN_TRUNCATED 3
#define WINDOW        1024
/* Copies that are this much smaller than the size were made before it grew. */
#define SLACK 512

struct _LuCopySize
{
  LuSource *source; /* borrowed */
  gboolean may_grow;
  atomic_uint bytes;
  /* The window: stacks from copies of this size, and how many of them it cut off. */
  atomic_uint stacks, truncated;
  guint64 bpf_unwound_before; /* stacks that BPF had unwound when the window began */
};

LuCopySize *
lu_copy_size_new (LuSource *source, guint32 bytes, gboolean may_grow)
{
  LuCopySize *self = g_new0 (LuCopySize, 1);

  self->source = source;
  self->may_grow = may_grow && source->ops->set_stack_size != NULL;
  atomic_store (&self->bytes, bytes);
  return self;
}

void
lu_copy_size_free (LuCopySize *self)
{
  g_free (self);
}

void
lu_copy_size_count (LuCopySize *self, LuStatus status, guint32 stack_asked)
{
  if (self == NULL || lu_status_is_excluded (status)
      || stack_asked + SLACK < lu_copy_size_get (self))
    return;
  atomic_fetch_add_explicit (&self->stacks, 1, memory_order_relaxed);
  if (status == LU_STATUS_TRUNCATED_COPY)
    atomic_fetch_add_explicit (&self->truncated, 1, memory_order_relaxed);
}

static gboolean
grow (LuCopySize *self, GError **error)
{
  guint32 bytes = lu_copy_size_get (self);
  guint32 larger = MIN (bytes * 2, LU_STACK_SIZE_MAX);

  self->may_grow = larger > bytes;
  if (!self->may_grow)
    return TRUE;
  self->may_grow = self->source->ops->set_stack_size (self->source, larger, error);
  if (!self->may_grow)
    return FALSE;
  atomic_store (&self->bytes, larger);
  lu_count (&self->source->counters, LU_COUNTER_STACK_GROWN);
  return TRUE;
}

gboolean
lu_copy_size_tick (LuCopySize *self, guint64 n_bpf_unwound, GError **error)
{
  guint64 truncated = atomic_load (&self->truncated);
  guint64 stacks = atomic_load (&self->stacks) + n_bpf_unwound - self->bpf_unwound_before;
  gboolean is_short = truncated >= MIN_TRUNCATED && truncated * 100 > stacks, ok = TRUE;

  if (!self->may_grow || (!is_short && stacks < WINDOW))
    return TRUE;
  if (is_short)
    ok = grow (self, error);
  atomic_store (&self->truncated, 0);
  atomic_store (&self->stacks, 0);
  self->bpf_unwound_before = n_bpf_unwound;
  return ok;
}

gboolean
lu_copy_size_may_grow (const LuCopySize *self)
{
  return self->may_grow;
}

gboolean
lu_copy_size_is_short (const LuCopySize *self)
{
  return self->may_grow && atomic_load_explicit (&self->truncated, memory_order_relaxed) > 0;
}

guint32
lu_copy_size_get (const LuCopySize *self)
{
  return atomic_load_explicit (&self->bytes, memory_order_relaxed);
}
