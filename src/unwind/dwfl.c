/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl.c - the reference engine: libdwfl over our own mappings, images and stack copies.
 *
 * One walk is dwfl-walk.c; what is here begins it, and others where a leaf has no unwind
 * information. Everything libdwfl needs to know about the sample in work comes to its callbacks as
 * their argument, the walk of this engine; there is no global state and no access to the process.
 */

#include "unwind/dwfl-walk.h"
#include "unwind/unwinder.h"

/* What libdw's parsed entries may take, by estimate (dwfl-space.h). */
#define BUDGET (24u << 20)

typedef LuDwflWalk Walk;

typedef struct
{
  LuUnwinder parent;
  LuDwflSpaces *spaces;
  LuDwflFactsCache *facts;
  LuCodeReader *reader;
  LuGuessPlaces set_up;
  GPtrArray *held; /* images, for a walk */
  Walk walk;
} DwflUnwinder;

static gboolean
walk_init (DwflUnwinder *self, gint32 pid, const LuSample *sample, LuSpace *space, LuStack *stack)
{
  Walk *walk = &self->walk;

  *walk = (Walk){
    .arch = lu_arch_of_abi (sample->regs.abi),
    .sample = sample,
    .facts = self->facts,
    .reader = self->reader,
    .held = self->held,
    .set_up = &self->set_up,
    .serial = lu_space_serial (space),
    .stack = stack,
    .pid = pid,
    .deadline = lu_dwfl_walk_deadline (),
  };
  if (walk->arch == NULL || !lu_arch_read (&sample->regs, walk->arch->perf_sp, &walk->sampled_sp))
    return FALSE;
  walk->sampled_sp &= walk->arch->address_mask;
  stack->sampled_sp = walk->sampled_sp;
  walk->space = lu_dwfl_spaces_get (self->spaces, pid, space, walk->arch);
  return walk->space != NULL;
}

/* Gives up a second walk: the stack is the leaf alone, as it was before. */
static gboolean
back_to_leaf (Walk *walk, const Walk *before, LuFrame leaf)
{
  *walk = *before;
  walk->stack->frames[0] = leaf;
  walk->stack->n_frames = 1;
  walk->stack->stack_needed = 0;
  lu_dwfl_walk_finish (walk, LU_STATUS_NO_UNWIND_INFO, leaf.pc);
  return FALSE;
}

/* Takes the word at this place above the stack pointer for the leaf's return address and walks on
 * from there. TRUE if that is a whole stack; else the stack is the leaf alone, as before. */
static gboolean
try_caller_at (Walk *walk, guint32 offset)
{
  const Walk before = *walk;
  const LuFrame leaf = walk->stack->frames[0];
  guint64 caller;

  if (!lu_dwfl_walk_read (walk, walk->sampled_sp + offset, &caller)
      || !lu_dwfl_walk_is_return (walk, caller))
    return back_to_leaf (walk, &before, leaf);
  walk->caller.pc = caller;
  walk->caller.sp = walk->sampled_sp + offset + walk->arch->word_size;
  walk->is_to_begin = TRUE;
  walk->is_finished = FALSE;
  walk->is_exact = walk->is_signal_frame = FALSE;
  lu_dwfl_walk_run (walk);
  return walk->stack->status == LU_STATUS_COMPLETE || back_to_leaf (walk, &before, leaf);
}

/* Goes on by frame pointer. */
static void
try_frame_pointer (Walk *walk)
{
  guint64 fp;

  walk->is_finished = FALSE;
  if (lu_arch_read_dwarf (walk->arch, &walk->sample->regs, walk->arch->dwarf_fp, &fp)
      && lu_dwfl_walk_guess (walk, LU_STATUS_NO_UNWIND_INFO, fp))
    lu_dwfl_walk_run (walk);
  else if (!walk->is_finished)
    lu_dwfl_walk_finish (walk, LU_STATUS_NO_UNWIND_INFO, walk->stack->frames[0].pc);
}

/* Begins again with the instruction before the sampled pc. TRUE if that can be unwound from; else
 * the stack is the leaf alone, as before. */
static gboolean
try_before_leaf (Walk *walk)
{
  const Walk before = *walk;
  const LuFrame leaf = walk->stack->frames[0];

  walk->leaf_back = 1;
  walk->is_finished = walk->is_exact = walk->is_signal_frame = walk->has_lost = FALSE;
  walk->stack->n_frames = 0;
  lu_dwfl_walk_run (walk);
  if (walk->stack->n_frames > 1)
    return TRUE;
  return back_to_leaf (walk, &before, leaf);
}

/* Some leaves have no unwind information: system call stubs whose child returns elsewhere (clone),
 * _init and _fini, procedure linkage tables. Their return address, into code that has it, is on top
 * of the stack, or a word or two up; it is believed only if the stack is whole from there on. Other
 * leaves keep frame pointers, as do those that call them. */
static void
guess_leaf (Walk *walk)
{
  if (walk->stack->status != LU_STATUS_NO_UNWIND_INFO || walk->stack->n_frames != 1
      || walk->guess_n_frames > 0 || walk->mapping == NULL
      || walk->mapping->status != LU_STATUS_COMPLETE)
    return;
  if (lu_arch_may_be_system_call (walk->arch, walk->sample, walk->stack->frames[0].pc)
      && try_before_leaf (walk))
    return;
  for (guint i = 0; i < LU_GUESS_LEAF_WORDS; i++)
    if (try_caller_at (walk, i * walk->arch->word_size))
      return;
  try_frame_pointer (walk);
}

static void
dwfl_unwind (LuUnwinder *unwinder, gint32 pid, gint32 tid, const LuSample *sample, LuSpace *space,
             LuStack *stack)
{
  DwflUnwinder *self = (DwflUnwinder *) unwinder;

  if (!walk_init (self, pid, sample, space, stack))
    {
      stack->status = LU_STATUS_UNSUPPORTED_ABI;
      return;
    }
  lu_dwfl_walk_run (&self->walk);
  guess_leaf (&self->walk);
  g_ptr_array_set_size (self->held, 0);
}

/* The engine */

static LuUnwinder *
dwfl_new (GError **error)
{
  DwflUnwinder *self = g_new0 (DwflUnwinder, 1);

  self->parent.ops = &lu_unwinder_dwfl;
  self->facts = lu_dwfl_facts_cache_new ();
  self->reader = lu_code_reader_new ();
  self->held = lu_held_cfi_new ();
  self->spaces = lu_dwfl_spaces_new (&lu_dwfl_thread_callbacks, &self->walk, BUDGET);
  return &self->parent;
}

static void
dwfl_free (LuUnwinder *unwinder)
{
  DwflUnwinder *self = (DwflUnwinder *) unwinder;

  lu_dwfl_spaces_free (self->spaces);
  lu_dwfl_facts_cache_free (self->facts);
  lu_code_reader_free (self->reader);
  g_ptr_array_unref (self->held);
  g_free (self);
}

LuCodeReader *
lu_dwfl_unwinder_reader (LuUnwinder *unwinder)
{
  return ((DwflUnwinder *) unwinder)->reader;
}

const LuUnwinderOps lu_unwinder_dwfl = {
  .name = "dwfl",
  .new = dwfl_new,
  .unwind = dwfl_unwind,
  .free = dwfl_free,
};
