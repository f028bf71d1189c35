/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unwinder.h - the engine vtable: one sample and the address space of its time in, one stack out.
 *
 * An unwinder belongs to the worker thread: it may allocate. Besides unwind() all operations are
 * optional; the session wires what is there. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"
#include "module/code-reader.h"
#include "process/space.h"

#include <glib.h>

typedef struct _LuUnwinder LuUnwinder;

/* What engines that compare count. */
typedef struct
{
  guint64 compared; /* samples */
  guint64 frames_differ;
  guint64 states_differ;   /* the same frames, another end state */
  guint64 walked_compared; /* stacks walked in the kernel */
  guint64 walked_differ;   /* of these, from one of the engines */
  guint64 kernel_compared; /* of these, those that hit the kernel: its own frames */
  guint64 kernel_differ;
} LuUnwinderCounts;

/* What the kernel made of a sample itself, and what else is known of it. All borrowed. */
typedef struct
{
  const LuStack *stack; /* that unwind() has just filled */
  const LuStack *walked;
  const LuFrame *kernel, *walked_kernel; /* the kernel's own frames: of the sample, of the walk */
  guint n_kernel, n_walked_kernel;
} LuComparison;

typedef struct
{
  const char *name;        /* as given to --engine */
  gboolean walks_in_drain; /* the drain tries a walker first (walker.h) and hands on the rest */
  LuUnwinder *(*new) (GError **error);
  /* Fills `stack` (reset by the caller) with user frames and a status. Never fails, never blocks on
   * anything the sampled process can hold. The sample has registers and at least one byte of stack.
   * `pid` and `tid` are for the engine's book-keeping only. */
  void (*unwind) (LuUnwinder *self, gint32 pid, gint32 tid, const LuSample *sample, LuSpace *space,
                  LuStack *stack);
  /* Optional: tells where the kernel's walk of this sample differs. */
  void (*compare) (LuUnwinder *self, const LuSample *sample, LuSpace *space,
                   const LuComparison *comparison);
  /* Optional: what it has counted so far. */
  void (*get_counts) (LuUnwinder *self, LuUnwinderCounts *counts);
  void (*free) (LuUnwinder *self);
} LuUnwinderOps;

/* Embedded as the first member of every engine. */
struct _LuUnwinder
{
  const LuUnwinderOps *ops;
};

/* All engines of this build, ended by NULL; the first one is the default. */
extern const LuUnwinderOps *const lu_unwinders[];
extern const LuUnwinderOps lu_unwinder_dwfl;
extern const LuUnwinderOps lu_unwinder_table;
extern const LuUnwinderOps lu_unwinder_check;

/* Of one of lu_unwinder_dwfl: what it reads code with; borrowed. */
LuCodeReader *lu_dwfl_unwinder_reader (LuUnwinder *unwinder);

static inline void
lu_unwinder_free (LuUnwinder *self)
{
  if (self != NULL)
    self->ops->free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuUnwinder, lu_unwinder_free)
