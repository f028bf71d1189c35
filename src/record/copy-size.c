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
/* The first size is doubled at most this often (LU_STACK_SIZE_MIN, LU_STACK_SIZE_MAX). */
#define MAX_DOUBLINGS 8

struct _LuCopySize
{
  LuSource *source; /* borrowed */
  gboolean may_grow;
  atomic_uint bytes;
  /* The window: stacks from copies of this size, how many of them it cut off, and how many would
   * still be cut off after one doubling and more. */
  atomic_uint stacks, truncated[MAX_DOUBLINGS + 1];
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

/* Returns the size after some doublings. */
static guint32
doubled (guint32 bytes, guint times)
{
  return (guint32) MIN ((guint64) bytes << times, LU_STACK_SIZE_MAX);
}

void
lu_copy_size_count (LuCopySize *self, LuStatus status, guint32 stack_asked, guint64 needed)
{
  guint32 bytes = self != NULL ? lu_copy_size_get (self) : 0;

  if (self == NULL || lu_status_is_excluded (status) || stack_asked + SLACK < bytes)
    return;
  atomic_fetch_add_explicit (&self->stacks, 1, memory_order_relaxed);
  if (status != LU_STATUS_TRUNCATED_COPY)
    return;
  for (guint i = 0; i <= MAX_DOUBLINGS && (i == 0 || doubled (bytes, i) < needed); i++)
    atomic_fetch_add_explicit (&self->truncated[i], 1, memory_order_relaxed);
}

/* Returns whether too many of the window's stacks are cut off after some doublings. */
static gboolean
is_too_small (LuCopySize *self, guint times, guint64 stacks)
{
  guint64 truncated = atomic_load (&self->truncated[times]);

  return truncated >= MIN_TRUNCATED && truncated * 100 > stacks;
}

static gboolean
grow (LuCopySize *self, guint64 stacks, GError **error)
{
  guint32 bytes = lu_copy_size_get (self), larger;
  guint times = 1;

  while (times < MAX_DOUBLINGS && is_too_small (self, times, stacks))
    times++;
  larger = doubled (bytes, times);

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
  guint64 stacks = atomic_load (&self->stacks) + n_bpf_unwound - self->bpf_unwound_before;
  gboolean is_short = is_too_small (self, 0, stacks), ok = TRUE;

  if (!self->may_grow || (!is_short && stacks < WINDOW))
    return TRUE;
  if (is_short)
    ok = grow (self, stacks, error);
  for (guint i = 0; i <= MAX_DOUBLINGS; i++)
    atomic_store (&self->truncated[i], 0);
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
  return self->may_grow && atomic_load_explicit (&self->truncated[0], memory_order_relaxed) > 0;
}

guint32
lu_copy_size_get (const LuCopySize *self)
{
  return atomic_load_explicit (&self->bytes, memory_order_relaxed);
}
