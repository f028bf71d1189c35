/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unwinder.h - the engine vtable: turns a sample and its address space into a stack.
 *
 * An unwinder belongs to the worker thread, so it may allocate. docs/HOWTO-add-an-engine.md. */

#pragma once

#include "lu/stack.h"
#include "module/code-reader.h"
#include "process/address-space.h"
#include "unwind/walker.h"

typedef struct _LuUnwinder LuUnwinder;

/* One sample to unwind. All pointers are borrowed. */
typedef struct
{
  gint32 pid, tid;        /* keys of the engine's caches */
  const LuSample *sample; /* has registers and at least one byte of stack */
  LuAddressSpace *space;  /* at the sample's time */
  gboolean is_replay;     /* files may be read for as long as that takes */
  /* Where to note rows that have yet to come (code-reader.h). If some are noted, the stack means
   * nothing: the sample is to be unwound again. NULL: it ends without them. */
  LuAwaitedRows *awaited;
} LuUnwindRequest;

/* A stack that BPF unwound, whose steps by rows from code are to be verified (walker.h). Borrowed.
 */
typedef struct
{
  gint32 pid;
  LuAddressSpace *space; /* at the sample's time */
  const LuFrame *frames; /* of the user */
  gboolean is_replay;    /* as in LuUnwindRequest, like the next */
  LuAwaitedRows *awaited;
} LuVerifyRequest;

/* One sample unwound by BPF and by the engine. All pointers are borrowed. */
typedef struct
{
  const LuStack *stack; /* just filled by unwind() */
  const LuStack *bpf_unwound;
  const LuFrame *kernel, *bpf_kernel; /* kernel frames: of the sample, of the BPF walk */
  guint n_kernel, n_bpf_kernel;
} LuComparison;

typedef struct
{
  const char *name;        /* in reports */
  gboolean walks_in_drain; /* the drain tries a walker first (walker.h) */
  LuUnwinder *(*new) (GError **error);
  /* Fills `stack` (reset by the caller) with user frames and a status. Never fails, and never
   * blocks on anything that the sampled process can hold. */
  void (*unwind) (LuUnwinder *self, const LuUnwindRequest *request, LuStack *stack);
  /* Optional: does what lu_walker_verify() does, and reads code for it. */
  void (*verify) (LuUnwinder *self, const LuVerifyRequest *request, LuVerified *verified);
  /* Optional: reports where the BPF walk of this sample differs. */
  void (*compare) (LuUnwinder *self, const LuSample *sample, LuAddressSpace *space,
                   const LuComparison *comparison);
  void (*free) (LuUnwinder *self);
} LuUnwinderOps;

/* Embedded as the first member of every engine. */
struct _LuUnwinder
{
  const LuUnwinderOps *ops;
  LuCounters counters;
};

/* The engines */
extern const LuUnwinderOps lu_unwinder_dwfl;
extern const LuUnwinderOps lu_unwinder_table;
extern const LuUnwinderOps lu_unwinder_check;

/* Returns the code reader of a dwfl engine, borrowed. */
LuCodeReader *lu_dwfl_unwinder_reader (LuUnwinder *unwinder);

static inline void
lu_unwinder_free (LuUnwinder *self)
{
  if (self != NULL)
    self->ops->free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuUnwinder, lu_unwinder_free)
