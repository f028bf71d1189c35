/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl.c - the reference engine: libdwfl over our own mappings, images and stack copies.
 *
 * dwfl-walk.c makes one walk. This file starts it, and starts others where a leaf has no unwind
 * information. libdwfl's callbacks get the current walk as their argument; there is no global state
 * and no access to the process. */

#include "unwind/dwfl-walk.h"
#include "unwind/frame-pointer-step.h"
#include "unwind/unwinder.h"

/* The memory that libdw's parsed entries may take, by estimate (dwfl-address-space.h), in bytes. */
#define BUDGET (24u << 20)

typedef LuDwflWalk Walk;

typedef struct
{
  LuUnwinder parent;
  LuDwflAddressSpaces *spaces;
  LuDwflFactsCache *facts;
  LuCodeReader *reader;
  LuSetUpCode set_up;
  GPtrArray *held; /* images, for a walk */
  Walk walk;
} DwflUnwinder;

static gboolean
walk_init (DwflUnwinder *self, const LuUnwindRequest *request, LuStack *stack)
{
  const LuSample *sample = request->sample;
  guint64 serial = lu_address_space_serial (request->space);
  Walk *walk = &self->walk;
  gboolean has_hotspot = serial == walk->provider_state.serial
                             ? walk->has_hotspot
                             : lu_address_space_has_hotspot (request->space);

  lu_code_reader_set_limited (self->reader, !request->is_replay);
  lu_code_reader_set_awaited (self->reader, NULL);
  *walk = (Walk){
    .arch = lu_arch_of_regs (&sample->regs),
    .sample = sample,
    .facts = self->facts,
    .reader = self->reader,
    .held = self->held,
    .set_up = &self->set_up,
    .provider_state.serial = serial,
    .has_hotspot = has_hotspot,
    .stack = stack,
    .pid = request->pid,
    .deadline = lu_dwfl_walk_deadline (),
  };
  if (walk->arch == NULL || !lu_arch_read (&sample->regs, walk->arch->perf_sp, &walk->sampled_sp))
    return FALSE;
  walk->sampled_sp &= lu_arch_address_mask (walk->arch);
  stack->sampled_sp = walk->sampled_sp;
  walk->space = lu_dwfl_address_spaces_get (self->spaces, request->pid, request->space, walk->arch);
  return walk->space != NULL;
}

/* Gives up a further walk: the stack is the leaf alone again. Returns FALSE. */
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

/* Ends the walk at the leaf, whose caller was not found, perhaps because the copy is too small. */
static void
finish_leaf (Walk *walk, const LuCutOffWalk *cut_off)
{
  LuStatus status = cut_off->status;

  if (status != LU_STATUS_COMPLETE)
    walk->stack->stack_needed = cut_off->needed;
  else
    status = LU_STATUS_NO_UNWIND_INFO;
  lu_dwfl_walk_finish (walk, status, walk->stack->frames[0].pc);
}

/* Takes the word at this offset from the stack pointer for the leaf's return address and walks on
 * from there. FOUND: the stack is then complete; otherwise only the leaf remains, as before. END:
 * no word further up may be tried. */
static LuProviderResult
try_caller_at (Walk *walk, guint32 offset, LuCutOffWalk *cut_off)
{
  const Walk before = *walk;
  const LuFrame leaf = walk->stack->frames[0];
  LuProviderResult result;
  guint64 caller;

  if (!lu_dwfl_walk_read (walk, walk->sampled_sp + offset, &caller))
    return LU_PROVIDER_END;
  result = lu_dwfl_walk_check_top (walk, offset, caller);
  if (result != LU_PROVIDER_FOUND)
    return result;
  walk->caller.pc = caller;
  walk->caller.sp = walk->sampled_sp + offset + walk->arch->word_size;
  walk->is_to_begin = TRUE;
  walk->is_finished = FALSE;
  walk->is_exact = walk->is_signal_frame = FALSE;
  lu_dwfl_walk_run (walk);
  lu_cut_off_walk_note (cut_off, walk->stack, walk->sample);
  if (walk->stack->status == LU_STATUS_COMPLETE)
    return LU_PROVIDER_FOUND;
  back_to_leaf (walk, &before, leaf);
  return LU_PROVIDER_NONE;
}

/* Tries the words on top of the stack. Returns FALSE if the frame providers are to decide. */
static gboolean
try_top (Walk *walk, LuCutOffWalk *cut_off)
{
  if (walk->arch->has_link_register)
    return FALSE;
  for (guint i = 0; i < LU_FP_LEAF_WORDS; i++)
    switch (try_caller_at (walk, i * walk->arch->word_size, cut_off))
      {
      case LU_PROVIDER_FOUND:
        return TRUE;
      case LU_PROVIDER_UNKNOWN:
        lu_dwfl_walk_finish (walk, LU_STATUS_OVER_BUDGET, walk->stack->frames[0].pc);
        return TRUE;
      case LU_PROVIDER_END:
        return FALSE;
      default:
        break;
      }
  return FALSE;
}

/* Asks the frame providers. */
static void
try_frame_pointer (Walk *walk, const LuCutOffWalk *cut_off)
{
  guint64 fp;

  walk->is_finished = FALSE;
  if (lu_arch_read_dwarf (walk->arch, &walk->sample->regs, walk->arch->fp, &fp)
      && lu_dwfl_walk_ask_providers (walk, LU_STATUS_NO_UNWIND_INFO, fp))
    lu_dwfl_walk_run (walk);
  /* A copy that is too small refutes the caller that a provider finds, too. */
  if (!walk->is_finished
      || (walk->stack->n_frames == 1 && walk->stack->status == LU_STATUS_NO_UNWIND_INFO))
    finish_leaf (walk, cut_off);
}

/* Starts again with the instruction before the sampled pc. Returns TRUE if the leaf's caller is
 * then found; otherwise only the leaf remains, as before. */
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

/* Continues from a leaf in a file without unwind information: a system call stub whose child
 * returns elsewhere (clone), _init and _fini, a procedure linkage table. Its return address, into
 * code with unwind information, is on top of the stack or a word or two up; it is believed only if
 * the stack is complete from there on. Other leaves, and their callers, keep frame pointers. */
static void
find_leaf_caller (Walk *walk)
{
  LuCutOffWalk cut_off = { LU_STATUS_COMPLETE, 0 };

  if (walk->stack->status != LU_STATUS_NO_UNWIND_INFO || walk->stack->n_frames != 1
      || walk->inferred_n_frames > 0 || walk->mapping == NULL
      || walk->mapping->status != LU_STATUS_COMPLETE)
    return;
  if (lu_arch_may_be_system_call (walk->arch, walk->sample, walk->stack->frames[0].pc)
      && try_before_leaf (walk))
    return;
  if (!try_top (walk, &cut_off))
    try_frame_pointer (walk, &cut_off);
}

static void
dwfl_unwind (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  DwflUnwinder *self = (DwflUnwinder *) unwinder;

  if (!walk_init (self, request, stack))
    {
      stack->status = LU_STATUS_UNSUPPORTED_ABI;
      return;
    }
  lu_dwfl_walk_run (&self->walk);
  find_leaf_caller (&self->walk);
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
  self->spaces = lu_dwfl_address_spaces_new (&lu_dwfl_thread_callbacks, &self->walk, BUDGET);
  return &self->parent;
}

static void
dwfl_free (LuUnwinder *unwinder)
{
  DwflUnwinder *self = (DwflUnwinder *) unwinder;

  lu_dwfl_address_spaces_free (self->spaces);
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
