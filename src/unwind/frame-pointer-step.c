/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer-step.c - the frame provider that follows the frame pointer; see
 * frame-pointer-step.h.
 *
 * Two traps exist on architectures whose calls leave return addresses on the stack:
 * - The code was sampled before it had set up its frame, or after it had taken it down. The frame
 *   pointer is still the caller's, so following it would skip the caller. The return address is
 * then on top of the stack, or below the frame pointer that has just been pushed.
 * - The code has no frame pointer but was called by code that has one. The frame pointer is the
 *   caller's here too, at every pc. The return address into that code is somewhere between stack
 *   pointer and frame pointer.
 *
 * Frames also hold old return addresses, in words that were reserved and not written yet. So where
 * a word could be one, other samples decide, or the code (lu/leaf.h). A sample without such words
 * proves that the frame is set up at this pc, whoever has called: code without a frame pointer
 * always has its return address there. Addresses in ordinary code count only if that code keeps
 * frame pointers and the frame pointer leads to code with unwind information (docs/experiments.md
 * has the figures without that condition). */

#include "unwind/frame-pointer-step.h"

#include "unwind/address-space-cache.h"

static gboolean
is_in_copy (LuFrameContext *self, guint64 address)
{
  return address - self->sampled_sp < self->sample->stack_size;
}

/* Returns whether `fp` can be the frame pointer of a frame whose stack pointer is `sp`. */
static gboolean
is_frame_pointer (LuFrameContext *self, guint64 fp, guint64 sp)
{
  return (fp & (self->arch->word_size - 1u)) == 0
         && lu_fp_is_possible (fp, sp, self->state.last_fp, self->sampled_sp);
}

static LuProviderResult
check_call (LuFrameContext *self, const LuDwflMapping *mapping, guint64 pc)
{
  switch (self->ops->call_before (self->data, mapping, pc))
    {
    case LU_CALL_UNKNOWN:
      return LU_PROVIDER_UNKNOWN;
    case LU_CALL_DIRECT:
    case LU_CALL_INDIRECT:
      return LU_PROVIDER_FOUND;
    case LU_CALL_NONE:
      break;
    }
  return LU_PROVIDER_NONE;
}

/* FOUND: this is a return address into a file. */
static LuProviderResult
check_call_before (LuFrameContext *self, guint64 pc)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;

  if (mapping == NULL || mapping->status == LU_STATUS_JIT || !lu_fp_step_is_possible (mapping))
    return LU_PROVIDER_NONE;
  return check_call (self, mapping, pc);
}

/* FOUND: this can be a return address, because there is code with a call before it. Code
 * without a file cannot be read; there the frame pointer of that code must be possible. */
static LuProviderResult
check_return (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;

  if (mapping == NULL || !lu_fp_step_is_possible (mapping))
    return LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return is_frame_pointer (self, fp, sp) ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
  return check_call (self, mapping, pc);
}

/* Like check_return(), for code that keeps `fp` as its frame pointer. */
static LuProviderResult
check_return_by_fp (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;

  if (mapping != NULL && mapping->status == LU_STATUS_COMPLETE
      && lu_frame_rule_at (self, mapping, pc - 1) == LU_FP_RULE_OTHER)
    return LU_PROVIDER_NONE;
  return check_return (self, pc, fp, sp);
}

/* Like check_return_by_fp(), for the caller of generated code, in words that are probably old. A
 * direct call in a file leads there only if the code called jumps on, as some of V8 does. */
static LuProviderResult
check_return_from_jit (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp)
{
  LuProviderResult result = check_return_by_fp (self, pc, fp, sp);
  const LuDwflMapping *mapping;

  if (result != LU_PROVIDER_FOUND)
    return result;
  mapping = self->ops->find (self->data, pc - 1);
  return mapping->status != LU_STATUS_JIT
                 && self->ops->call_before (self->data, mapping, pc) == LU_CALL_DIRECT
             ? LU_PROVIDER_NONE
             : LU_PROVIDER_FOUND;
}

/* Steps from a frame that is set up: the frame pointer points to the caller's frame pointer and the
 * return address. */
static LuProviderResult
go_by_frame_pointer (LuFrameContext *self, const LuFrameRegs *frame, LuFrameRegs *caller)
{
  guint word = self->arch->word_size;
  guint64 mask = lu_arch_address_mask (self->arch);
  LuProviderResult result;

  if (!is_frame_pointer (self, frame->fp, frame->sp))
    return LU_PROVIDER_NONE;
  if (!lu_frame_read_word (self, frame->fp, &caller->fp)
      || !lu_frame_read_word (self, frame->fp + word, &caller->pc))
    return LU_PROVIDER_BEYOND;
  caller->pc &= mask;
  caller->sp = frame->fp + 2 * word;
  /* No code keeps a return address in that register, so these words are something else. */
  if (!is_in_copy (self, caller->fp)
      && (result = check_call_before (self, caller->fp)) != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_FOUND ? LU_PROVIDER_NONE : result;
  return check_return (self, caller->pc, caller->fp, caller->sp);
}

/* Returns FALSE if there is no code before an address, as for most stack words. One branch,
 * because it is not predictable for which. */
static inline gboolean
may_be_behind_code (LuFrameContext *self, guint64 address)
{
  return (guint) (address > LU_FP_MIN_ADDRESS)
         & ~(guint) (self->no_code >> lu_view_region_of (address - 1));
}

typedef LuProviderResult (*CheckFunc) (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp);

/* Returns the first word of a frame: hand-written code may take less than a word of the stack. */
static guint64
first_word (const LuFrameContext *self, guint64 sp)
{
  guint64 rest = self->arch->word_size - 1;

  return (sp + rest) & ~rest;
}

/* FOUND: a word in [from, fp) could be a return address of that kind. */
static LuProviderResult
find_return (LuFrameContext *self, guint64 from, guint64 fp, CheckFunc check)
{
  guint word = self->arch->word_size;
  guint64 value;

  from = first_word (self, from);
  for (guint64 at = from; at < fp && at - from < LU_FP_MAX_WORDS * word; at += word)
    {
      LuProviderResult result = LU_PROVIDER_NONE;

      if (lu_frame_read_word (self, at, &value) && may_be_behind_code (self, value))
        result = check (self, value, fp, at);
      if (result != LU_PROVIDER_NONE)
        return result;
    }
  return LU_PROVIDER_NONE;
}

/* Returns the place of the frame's code among that of its kind, and its key there. */
static guint64 *
find_set_up (LuFrameContext *self, guint64 pc, guint64 *key)
{
  if (self->is_generated)
    {
      *key = lu_fp_set_up_key (pc, self->state.serial, self->set_up->n_notes);
      return &self->set_up->generated[*key >> (64 - LU_FP_SET_UP_USER_BITS)];
    }
  *key = lu_fp_set_up_key (pc, self->state.serial, 0);
  return &self->set_up->in_files[*key >> (64 - LU_FP_SET_UP_USER_BITS)];
}

static gboolean
is_known_set_up (LuFrameContext *self, guint64 pc)
{
  guint64 key;

  return *find_set_up (self, pc, &key) == key;
}

static void
note_set_up (LuFrameContext *self, guint64 pc)
{
  guint64 key, *slot = find_set_up (self, pc, &key);

  *slot = key;
  self->set_up->n_notes += self->is_generated != FALSE;
}

/* Returns whether all generated code of HotSpot keeps frame pointers. */
static gboolean
is_known_hotspot (LuFrameContext *self)
{
  guint64 key = lu_fp_set_up_key (LU_FP_HOTSPOT_CODE, self->state.serial, self->set_up->n_notes);

  return self->set_up->hotspot[key >> (64 - LU_FP_HOTSPOT_BITS)] == key;
}

static void
note_hotspot (LuFrameContext *self)
{
  guint64 key = lu_fp_set_up_key (LU_FP_HOTSPOT_CODE, self->state.serial, self->set_up->n_notes);

  self->set_up->hotspot[key >> (64 - LU_FP_HOTSPOT_BITS)] = key;
}

/* Steps from a leaf whose frame is not set up yet, or no longer, while its caller's is: the return
 * address is on top. NONE: it is not. BEYOND: other words could be the return address, too. */
static LuProviderResult
go_by_top (LuFrameContext *self, const LuFrameRegs *frame, LuFrameRegs *caller, CheckFunc check)
{
  LuProviderResult result;

  *caller = *frame;
  caller->sp = frame->sp + self->arch->word_size;
  if (!lu_frame_read_word (self, frame->sp, &caller->pc)
      || !is_frame_pointer (self, frame->fp, caller->sp))
    return LU_PROVIDER_NONE;
  result = check (self, caller->pc, frame->fp, caller->sp);
  if (result != LU_PROVIDER_FOUND)
    return result;
  /* If there are several, the topmost may be wrong: all may be left from earlier calls. */
  result = find_return (self, caller->sp, frame->fp, check);
  return result == LU_PROVIDER_FOUND  ? LU_PROVIDER_BEYOND
         : result == LU_PROVIDER_NONE ? LU_PROVIDER_FOUND
                                      : result;
}

/* Takes the return address in a word of the stack. BEYOND: there is none. */
static LuProviderResult
take_return (LuFrameContext *self, const LuFrameRegs *frame, guint64 at, LuFrameRegs *caller)
{
  LuProviderResult result = LU_PROVIDER_NONE;

  *caller = *frame;
  caller->sp = at + self->arch->word_size;
  if (lu_frame_read_word (self, at, &caller->pc))
    result = check_return (self, caller->pc, frame->fp, caller->sp);
  return result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND : result;
}

/* Returns whether the frame pointer leads to code with unwind information. */
static gboolean
leads_to_rule (LuFrameContext *self, const LuFrameRegs *frame)
{
  const LuDwflMapping *mapping;
  guint64 pc;

  if (!lu_frame_read_word (self, frame->fp + self->arch->word_size, &pc))
    return FALSE;
  mapping = self->ops->find (self->data, pc - 1);
  return mapping != NULL && mapping->status == LU_STATUS_COMPLETE
         && lu_frame_rule_at (self, mapping, pc - 1) != LU_FP_RULE_NONE;
}

/* Returns what is proved about this frame if `pc` is its return address: FRAMED, BARE or UNDECIDED.
 * A direct call must be before it, to a function that has this code. */
static LuLeaf
prove_frame (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame, guint64 pc)
{
  LuProviderResult result = check_call_before (self, pc);
  const LuDwflMapping *mapping;

  if (result != LU_PROVIDER_FOUND)
    return result == LU_PROVIDER_UNKNOWN ? LU_LEAF_UNKNOWN : LU_LEAF_UNDECIDED;
  mapping = self->ops->find (self->data, pc - 1);
  return self->ops->call_before (self->data, mapping, pc) == LU_CALL_DIRECT
             ? self->ops->frame_at (self->data, mapping, pc, code, frame->pc)
             : LU_LEAF_UNDECIDED;
}

/* FOUND: the return address proves that the frame is set up. */
static LuProviderResult
prove_set_up (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame, guint64 pc)
{
  LuLeaf leaf = prove_frame (self, code, frame, pc);

  return leaf == LU_LEAF_UNKNOWN  ? LU_PROVIDER_UNKNOWN
         : leaf == LU_LEAF_FRAMED ? LU_PROVIDER_FOUND
                                  : LU_PROVIDER_NONE;
}

/* Reads the return address of a frame that is set up. FOUND: a call is before it. NONE: none is, or
 * it cannot be read. */
static LuProviderResult
read_return (LuFrameContext *self, const LuFrameRegs *frame, guint64 *pc)
{
  return lu_frame_read_word (self, frame->fp + self->arch->word_size, pc)
             ? check_call_before (self, *pc)
             : LU_PROVIDER_NONE;
}

/* FOUND: a direct call before the frame's return address leads to this code, so that the frame is
 * its own. */
static LuProviderResult
check_direct_call (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  const LuDwflMapping *mapping;
  guint64 pc;
  LuProviderResult result = read_return (self, frame, &pc);

  if (result != LU_PROVIDER_FOUND)
    return result;
  mapping = self->ops->find (self->data, pc - 1);
  if (self->ops->call_before (self->data, mapping, pc) != LU_CALL_DIRECT)
    return LU_PROVIDER_NONE;
  result = self->ops->leads_to (self->data, mapping, pc, code, frame->pc);
  return result == LU_PROVIDER_NONE ? prove_set_up (self, code, frame, pc) : result;
}

/* Returns whether the frame pointer may be that of generated code of V8. */
static gboolean
may_be_v8 (const LuFrameContext *self, guint64 fp)
{
  guint64 word;

  return lu_frame_read_word (self, fp - sizeof word, &word) && lu_fp_v8_may_be (word);
}

/* Returns whether this leaf keeps the frame pointer, as far as its caller's code shows. NONE: it
 * may. BEYOND: a direct call leads elsewhere, so the frame may be that of the leaf's caller, and a
 * word further up the return address. */
static LuProviderResult
check_set_up (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  guint64 pc;
  LuProviderResult result = read_return (self, frame, &pc);

  if (result != LU_PROVIDER_FOUND)
    return result;
  result =
      self->ops->leads_to (self->data, self->ops->find (self->data, pc - 1), pc, code, frame->pc);
  return result == LU_PROVIDER_FOUND  ? LU_PROVIDER_NONE
         : result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND
                                      : result;
}

/* Checks a word on top that leads to generated code, which cannot be read, so it may be any old
 * word, as a pointer of which one half was overwritten. FOUND: the frame may be that of generated
 * code. NONE: it is the leaf's own. BEYOND: unknown. */
static LuProviderResult
check_generated (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  LuProviderResult result;

  if (self->has_hotspot || may_be_v8 (self, frame->fp))
    return LU_PROVIDER_FOUND;
  result = check_direct_call (self, code, frame);
  return result == LU_PROVIDER_FOUND  ? LU_PROVIDER_NONE
         : result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND
                                      : result;
}

/* Steps from a leaf in a file whose code does not show where the return address is. A direct call
 * before the word on top must lead to this code. NONE: only words further up could be a return
 * address; they are old ones, unless ordinary code may have called this leaf. BEYOND: unknown. */
static LuProviderResult
go_undecided (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
              LuFrameRegs *caller)
{
  LuProviderResult result = go_by_top (self, frame, caller, check_return_by_fp);
  const LuDwflMapping *mapping;

  if (result == LU_PROVIDER_NONE && leads_to_rule (self, frame))
    return LU_PROVIDER_BEYOND;
  if (result == LU_PROVIDER_NONE)
    return check_set_up (self, code, frame);
  if (result != LU_PROVIDER_FOUND)
    return result;
  mapping = self->ops->find (self->data, caller->pc - 1);
  if (mapping->status == LU_STATUS_JIT)
    return check_generated (self, code, frame);
  result = self->ops->leads_to (self->data, mapping, caller->pc, code, frame->pc);
  return result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND : result;
}

/* Takes the return address that is proved to be on top. BEYOND: a direct call before the one that
 * the frame pointer leads to does not lead to the caller, which may have no frame either. */
static LuProviderResult
take_proved_top (LuFrameContext *self, const LuFrameRegs *frame, guint64 pc, LuFrameRegs *caller)
{
  const LuDwflMapping *mapping = self->ops->find (self->data, pc - 1);
  const LuFrameRegs next = { .pc = pc, .sp = frame->sp + self->arch->word_size, .fp = frame->fp };
  LuProviderResult result = take_return (self, frame, frame->sp, caller);
  guint64 outer;

  if (result != LU_PROVIDER_FOUND || !is_frame_pointer (self, next.fp, next.sp))
    return result;
  result = check_set_up (self, mapping, &next);
  if (result == LU_PROVIDER_BEYOND
      && lu_frame_read_word (self, next.fp + self->arch->word_size, &outer))
    {
      result = prove_set_up (self, mapping, &next, outer);
      return result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND : result;
    }
  return result == LU_PROVIDER_NONE ? LU_PROVIDER_FOUND : result;
}

/* Steps from a leaf about which the words say nothing certain, if the function that is called
 * before its return address proves where that is. NONE: its frame is set up. BEYOND: nothing is
 * proved. */
static LuProviderResult
go_by_proof (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
             LuFrameRegs *caller)
{
  LuProviderResult result = LU_PROVIDER_NONE;
  LuLeaf leaf = LU_LEAF_UNDECIDED;
  guint64 pc;

  if (is_frame_pointer (self, frame->fp, frame->sp)
      && lu_frame_read_word (self, frame->fp + self->arch->word_size, &pc))
    result = prove_set_up (self, code, frame, pc);
  if (result != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_FOUND ? LU_PROVIDER_NONE : result;
  if (lu_frame_read_word (self, frame->sp, &pc))
    leaf = prove_frame (self, code, frame, pc);
  if (leaf == LU_LEAF_BARE)
    return take_proved_top (self, frame, pc, caller);
  return leaf == LU_LEAF_UNKNOWN ? LU_PROVIDER_UNKNOWN : LU_PROVIDER_BEYOND;
}

/* Steps from a leaf that is about to push a register and return. NONE: the register holds no return
 * address. BEYOND: it does, but the frame that the leaf sets up, the caller's, is not there yet; or
 * the registers are not known. */
static LuProviderResult
go_by_register (LuFrameContext *self, LuLeaf leaf, const LuFrameRegs *frame, LuFrameRegs *caller)
{
  guint number = LU_LEAF_REGISTER_OF (leaf) - 1;
  LuProviderResult result;

  *caller = *frame;
  if (frame->sp != self->sampled_sp
      || !lu_arch_read_dwarf (self->arch, &self->sample->regs, (int) number, &caller->pc))
    return LU_PROVIDER_BEYOND;
  result = check_return (self, caller->pc, frame->fp, frame->sp);
  return result == LU_PROVIDER_FOUND && LU_LEAF_KIND (leaf) != LU_LEAF_UNDECIDED
             ? LU_PROVIDER_BEYOND
             : result;
}

/* Steps from a leaf that pops words and then returns. NONE: one of them is the frame pointer that
 * its own leads to, so its frame is set up. BEYOND: there is no return address behind the words. */
static LuProviderResult
go_by_pops (LuFrameContext *self, LuLeaf leaf, const LuFrameRegs *frame, LuFrameRegs *caller)
{
  guint word = self->arch->word_size, saved = LU_LEAF_FP_OF (leaf);
  guint64 at = frame->sp + LU_LEAF_DEPTH_OF (leaf) * word, fp_at = frame->sp + (saved - 1) * word;
  LuProviderResult result;

  if (saved > 0 && fp_at == frame->fp)
    {
      note_set_up (self, frame->pc);
      return LU_PROVIDER_NONE;
    }
  *caller = *frame;
  caller->sp = at + word;
  if (!lu_frame_read_word (self, at, &caller->pc)
      || (saved > 0 && !lu_frame_read_word (self, fp_at, &caller->fp)))
    return LU_PROVIDER_BEYOND;
  result = check_return (self, caller->pc, caller->fp, caller->sp);
  return result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND : result;
}

/* Steps from a leaf in a file whose code does not have its return address in a register. NONE: its
 * frame is set up. BEYOND: unknown; so is a frame too large to be searched, if neither its code nor
 * other samples show where it has its return address. */
static LuProviderResult
go_by_kind (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
            enum lu_leaf_kind kind, LuFrameRegs *caller)
{
  gboolean is_possible = is_frame_pointer (self, frame->fp, frame->sp);
  guint word = self->arch->word_size;
  LuProviderResult result =
      find_return (self, frame->sp, is_possible ? frame->fp : frame->sp + word, check_return);
  gboolean is_large = is_possible && frame->fp - frame->sp > LU_FP_MAX_WORDS * word;
  guint64 top;

  if (result == LU_PROVIDER_UNKNOWN || (result == LU_PROVIDER_NONE && !is_large))
    return result;
  switch (kind)
    {
    case LU_LEAF_BARE:
      return take_return (self, frame, frame->sp, caller);
    case LU_LEAF_PUSHED:
      return lu_frame_read_word (self, frame->sp, &top) && top == frame->fp
                 ? take_return (self, frame, frame->sp + word, caller)
                 : LU_PROVIDER_BEYOND;
    case LU_LEAF_FRAMED:
      note_set_up (self, frame->pc);
      return LU_PROVIDER_NONE;
    default:
      break;
    }
  result = is_large ? LU_PROVIDER_BEYOND : go_undecided (self, code, frame, caller);
  return result == LU_PROVIDER_BEYOND ? go_by_proof (self, code, frame, caller) : result;
}

static LuProviderResult
go_by_code (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
            LuFrameRegs *caller)
{
  LuProviderResult result = LU_PROVIDER_NONE;
  LuLeaf leaf;

  if (is_known_set_up (self, frame->pc))
    return LU_PROVIDER_NONE;
  leaf = self->ops->leaf_at (self->data, code, frame->pc);
  if (leaf == LU_LEAF_UNKNOWN)
    return LU_PROVIDER_UNKNOWN;
  if (LU_LEAF_KIND (leaf) == LU_LEAF_POPPED)
    return go_by_pops (self, leaf, frame, caller);
  if (LU_LEAF_REGISTER_OF (leaf) != 0)
    result = go_by_register (self, leaf, frame, caller);
  return result != LU_PROVIDER_NONE ? result
                                    : go_by_kind (self, code, frame, LU_LEAF_KIND (leaf), caller);
}

/* Returns whether the frame pointer is that of a function of V8. */
static gboolean
is_v8_function (const LuFrameContext *self, guint64 fp)
{
  guint64 words[LU_FP_V8_WORDS];

  for (guint i = 0; i < LU_FP_V8_WORDS; i++)
    if (!lu_frame_read_word (self, fp - sizeof words + i * sizeof *words, &words[i]))
      return FALSE;
  return lu_fp_v8_is_function (words);
}

/* Checks the return address found for a leaf of generated code. BEYOND: a direct call in a file is
 * before it, so that it may as well be an old one. */
static LuProviderResult
check_direct (LuFrameContext *self, guint64 pc)
{
  const LuDwflMapping *mapping = self->ops->find (self->data, pc - 1);

  if (mapping->status == LU_STATUS_JIT)
    return LU_PROVIDER_FOUND;
  return self->ops->call_before (self->data, mapping, pc) == LU_CALL_DIRECT ? LU_PROVIDER_BEYOND
                                                                            : LU_PROVIDER_FOUND;
}

/* Checks the return address on top of such a leaf's stack. BEYOND: as above; or ordinary code has
 * called something through a register, and the frame pointer is that of a function of V8: of that
 * code, or of this leaf, whose frame begins with an old word then. */
static LuProviderResult
check_top (LuFrameContext *self, guint64 pc, guint64 fp)
{
  const LuDwflMapping *mapping = self->ops->find (self->data, pc - 1);

  if (mapping->status != LU_STATUS_JIT && is_v8_function (self, fp))
    return LU_PROVIDER_BEYOND;
  return check_direct (self, pc);
}

/* Steps from a leaf of generated code that has not pushed anything, as far as the word on top
 * shows.
 */
static LuProviderResult
go_by_top_of_jit (LuFrameContext *self, guint64 top, const LuFrameRegs *frame, LuFrameRegs *caller)
{
  guint word = self->arch->word_size;
  LuProviderResult result = check_return_by_fp (self, top, frame->fp, frame->sp + word);

  if (result == LU_PROVIDER_FOUND && is_frame_pointer (self, frame->fp, frame->sp + word))
    result = check_top (self, top, frame->fp);
  return result == LU_PROVIDER_FOUND || result == LU_PROVIDER_NONE
             ? go_by_top (self, frame, caller, check_return_from_jit)
             : result;
}

static gboolean
is_generated (LuFrameContext *self, guint64 address)
{
  const LuDwflMapping *mapping =
      address > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, address - 1) : NULL;

  return mapping != NULL && mapping->status == LU_STATUS_JIT;
}

/* Returns whether the frame pointer may be that of an interpreted method. */
static gboolean
may_be_interpreted (const LuFrameContext *self, const LuFrameRegs *frame)
{
  guint64 slots[2];

  return lu_frame_read_word (self, frame->fp - sizeof slots, &slots[0])
         && lu_frame_read_word (self, frame->fp - sizeof *slots, &slots[1])
         && lu_fp_hotspot_may_call (slots, frame->sp, frame->fp);
}

/* Returns whether the frame pointer is that of the interpreted method that runs, which still has
 * its return address in a register, from its entry. Were it a caller's, the return address of a
 * method called by that would be between it and the stack pointer. */
static gboolean
is_own_interpreted (LuFrameContext *self, const LuFrameRegs *frame, guint64 address)
{
  guint word = self->arch->word_size;
  guint64 slot, value;

  if (frame->fp - frame->sp > LU_FP_MAX_WORDS * word
      || !lu_frame_read_word (self, frame->fp - word, &slot)
      || !lu_fp_hotspot_is_interpreted (slot, frame->fp)
      || !lu_frame_read_word (self, frame->fp + word, &value) || value != address)
    return FALSE;
  for (guint64 at = frame->sp; at < frame->fp; at += word)
    if (!lu_frame_read_word (self, at, &value) || is_generated (self, value))
      return FALSE;
  return TRUE;
}

/* Returns whether a leaf of HotSpot is, or may be, between interpreted and compiled code. The
 * registers of code that a signal has interrupted are not known. */
static gboolean
is_between (LuFrameContext *self, const LuFrameRegs *frame)
{
  const LuRegs *regs = &self->sample->regs;
  const LuArch *arch = self->arch;
  guint64 sender = 0, address = 0, bx = 0;

  if (frame->sp != self->sampled_sp)
    return !is_known_set_up (self, frame->pc);
  lu_arch_read_dwarf (arch, regs, arch->hotspot_sender, &sender);
  lu_arch_read_dwarf (arch, regs, arch->hotspot_return, &address);
  lu_arch_read_dwarf (arch, regs, arch->bx, &bx);
  return lu_fp_hotspot_is_between (frame->sp, frame->fp, sender)
         || lu_fp_hotspot_is_between (frame->sp, frame->fp, bx)
         || (is_generated (self, address) && !is_own_interpreted (self, frame, address));
}

/* Steps from a leaf of HotSpot's generated code. BEYOND: it may be between interpreted and compiled
 * code; or the words on top are those of a method that has just pushed the frame pointer, or old
 * ones in a frame that is set up, and its code, which would show that, cannot be read. */
static LuProviderResult
go_from_hotspot (LuFrameContext *self, guint64 top, const LuFrameRegs *frame, LuFrameRegs *caller)
{
  gboolean is_entered = lu_fp_hotspot_is_entered (frame->sp);
  guint64 sp = frame->sp, second;

  if (is_entered && is_generated (self, top) && is_frame_pointer (self, frame->fp, sp + sizeof top))
    {
      *caller = (LuFrameRegs){ .pc = top, .sp = sp + sizeof top, .fp = frame->fp };
      return may_be_interpreted (self, frame) ? LU_PROVIDER_BEYOND : LU_PROVIDER_FOUND;
    }
  if (is_between (self, frame))
    return LU_PROVIDER_BEYOND;
  if (is_known_set_up (self, frame->pc))
    return LU_PROVIDER_NONE;
  if (is_entered)
    return go_by_top_of_jit (self, top, frame, caller);
  return top == frame->fp && top > LU_FP_MIN_ADDRESS
                 && lu_frame_read_word (self, sp + sizeof top, &second)
                 && check_return (self, second, frame->fp, sp + 2 * sizeof top) != LU_PROVIDER_NONE
             ? LU_PROVIDER_BEYOND
             : LU_PROVIDER_NONE;
}

/* Steps from a leaf of generated code, in the same way. */
static LuProviderResult
go_by_words (LuFrameContext *self, const LuFrameRegs *frame, LuFrameRegs *caller)
{
  guint word = self->arch->word_size;
  LuProviderResult result;
  guint64 top;

  if (!lu_frame_read_word (self, frame->sp, &top))
    return LU_PROVIDER_NONE;
  if (self->has_hotspot && self->arch->hotspot_sender != 0)
    return go_from_hotspot (self, top, frame, caller);
  if (is_known_set_up (self, frame->pc))
    return LU_PROVIDER_NONE;
  /* The frame pointer has been pushed but not changed yet. */
  if (top == frame->fp && top > LU_FP_MIN_ADDRESS)
    {
      result = take_return (self, frame, frame->sp + word, caller);
      return result == LU_PROVIDER_BEYOND  ? LU_PROVIDER_NONE
             : result == LU_PROVIDER_FOUND ? check_direct (self, caller->pc)
                                           : result;
    }
  return go_by_top_of_jit (self, top, frame, caller);
}

/* FOUND: this may be the return address into ordinary code that keeps frame pointers and has called
 * `code`, from another file through a PLT. Code in a file can call generated code only through a
 * register or memory. */
static LuProviderResult
check_owner (LuFrameContext *self, const LuDwflMapping *code, const LuDwflMapping *owner,
             guint64 pc)
{
  switch (self->ops->call_before (self->data, owner, pc))
    {
    case LU_CALL_UNKNOWN:
      return LU_PROVIDER_UNKNOWN;
    case LU_CALL_INDIRECT:
      return LU_PROVIDER_FOUND;
    case LU_CALL_DIRECT:
      return code->status != LU_STATUS_JIT ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
    case LU_CALL_NONE:
      break;
    }
  return LU_PROVIDER_NONE;
}

/* Returns whether a word that leads to code without a rule may be the return address of a leaf in a
 * file: then nothing shows that the leaf has a frame. */
static gboolean
may_be_leafs (LuFrameContext *self, const LuDwflMapping *code, const LuDwflMapping *mapping,
              guint64 pc)
{
  return self->is_exact && code->status != LU_STATUS_JIT && lu_fp_step_is_possible (mapping)
         && self->ops->call_before (self->data, mapping, pc) != LU_CALL_NONE;
}

/* FOUND: generated code to which a word of the frame leads may keep `frame->fp` and have called
 * `code`. It cannot be read, so the word may be any old one: a direct call to code in a file, and a
 * frame that is not V8's, show whose frame it is. */
static LuProviderResult
check_generated_owner (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  LuProviderResult result;

  if (code->status == LU_STATUS_JIT)
    return is_v8_function (self, frame->fp) ? LU_PROVIDER_NONE : LU_PROVIDER_FOUND;
  if (may_be_v8 (self, frame->fp))
    return LU_PROVIDER_FOUND;
  self->is_repeatable = FALSE;
  result = check_direct_call (self, code, frame);
  return result == LU_PROVIDER_FOUND  ? LU_PROVIDER_NONE
         : result == LU_PROVIDER_NONE ? LU_PROVIDER_FOUND
                                      : result;
}

/* FOUND: this word of the frame may be a return address into code that keeps `frame->fp` and has
 * called `code`: generated code, or ordinary code that keeps frame pointers. The latter counts if
 * the frame's caller has a rule. Clears is_repeatable if it is such code and does not count. */
static LuProviderResult
check_word (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame, guint64 at,
            gboolean has_rule)
{
  const LuDwflMapping *mapping;
  guint64 value, below;
  enum lu_fp_rule rule;

  if (!lu_frame_read_word (self, at, &value) || !may_be_behind_code (self, value)
      || (mapping = self->ops->find (self->data, value - 1)) == NULL)
    return LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT && self->has_hotspot)
    return lu_frame_read_word (self, at - self->arch->word_size, &below)
                   && lu_fp_hotspot_is_return (below, frame->fp)
               ? LU_PROVIDER_FOUND
               : LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return check_generated_owner (self, code, frame);
  rule = mapping->status == LU_STATUS_COMPLETE ? lu_frame_rule_at (self, mapping, value - 1)
                                               : LU_FP_RULE_NONE;
  if (rule == LU_FP_RULE_NONE && may_be_leafs (self, code, mapping, value))
    self->is_repeatable = FALSE;
  /* A leaf without a frame may have this return address, and the frame pointer of any caller. */
  if (rule == LU_FP_RULE_OTHER && self->is_exact && code->status != LU_STATUS_JIT
      && at - frame->sp < LU_FP_LEAF_WORDS * self->arch->word_size)
    self->is_repeatable = FALSE;
  if (!lu_fp_is_kept (rule))
    return LU_PROVIDER_NONE;
  if (has_rule)
    return check_owner (self, code, mapping, value);
  self->is_repeatable = FALSE;
  return LU_PROVIDER_NONE;
}

/* Notes that all compiled methods keep frame pointers if a frame that is proved to be set up shows
 * that: it is a compiled method's, because generated code that keeps frame pointers has called it
 * and was called by it. */
static void
learn_hotspot (LuFrameContext *self, const LuFrameRegs *frame, const LuFrameRegs *caller)
{
  guint word = self->arch->word_size;
  guint64 slot;

  if (self->has_hotspot && self->state.last_fp != 0 && frame->sp == self->state.last_fp + 2 * word
      && lu_frame_read_word (self, frame->fp - word, &slot)
      && !lu_fp_hotspot_is_interpreted (slot, frame->fp)
      && self->ops->find (self->data, caller->pc - 1)->status == LU_STATUS_JIT)
    note_hotspot (self);
}

/* FOUND: the frame pointer may belong to a caller of this frame. Notes the code as set up if no
 * word of the frame can be a return address: code without a frame pointer has one there, always. */
static LuProviderResult
find_other_owner (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
                  const LuFrameRegs *caller)
{
  const LuDwflMapping *mapping = self->ops->find (self->data, caller->pc - 1);
  guint word = self->arch->word_size;
  gboolean has_rule = mapping->status == LU_STATUS_COMPLETE
                      && lu_frame_rule_at (self, mapping, caller->pc - 1) != LU_FP_RULE_NONE;

  self->is_repeatable = frame->fp - frame->sp <= LU_FP_MAX_WORDS * word;
  for (guint64 at = first_word (self, frame->sp);
       at < frame->fp && at - frame->sp < LU_FP_MAX_WORDS * word; at += word)
    {
      LuProviderResult result = check_word (self, code, frame, at, has_rule);

      if (result != LU_PROVIDER_NONE)
        return result;
    }
  if (!self->is_repeatable || self->state.n_rules >= LU_FP_MAX_RULES)
    return LU_PROVIDER_NONE;
  note_set_up (self, frame->pc);
  return LU_PROVIDER_NONE;
}

/* Checks the return address that the code of a leaf shows. */
static LuProviderResult
check_link (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame, LuLeaf leaf,
            guint64 pc)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;

  if (mapping == NULL
      || !(mapping->status == LU_STATUS_COMPLETE || mapping->status == LU_STATUS_JIT))
    return LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return LU_PROVIDER_FOUND;
  if (LU_LEAF_KIND (leaf) == LU_LEAF_BARE)
    return self->ops->leads_to (self->data, mapping, pc, code, frame->pc);
  return check_call (self, mapping, pc);
}

/* Steps from a leaf where calls put the return address in a register. That may hold an old value,
 * so the code has to show whether it does, or where on the stack the register will be loaded from.
 */
static LuProviderResult
go_by_link (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
            LuFrameRegs *caller)
{
  LuLeaf leaf = self->ops->leaf_at (self->data, code, frame->pc);
  guint64 mask = lu_arch_address_mask (self->arch), word = self->arch->word_size, at;

  *caller = *frame;
  switch (LU_LEAF_KIND (leaf))
    {
    case LU_LEAF_UNKNOWN:
      return LU_PROVIDER_UNKNOWN;
    case LU_LEAF_BARE:
      caller->pc = self->link;
      caller->has_sp = TRUE;
      if (!self->has_link)
        return LU_PROVIDER_NONE;
      break;
    case LU_LEAF_POPPED:
      at = frame->sp + LU_LEAF_DEPTH_OF (leaf) * word;
      caller->sp = at + word;
      caller->has_sp = FALSE;
      if (!lu_frame_read_word (self, at, &caller->pc)
          || !lu_frame_read_word (self, frame->sp + (LU_LEAF_FP_OF (leaf) - 1) * word, &caller->fp))
        return LU_PROVIDER_NONE;
      break;
    default:
      return LU_PROVIDER_NONE;
    }
  caller->pc &= mask;
  return check_link (self, code, frame, leaf, caller->pc);
}

static LuProviderResult
step (LuFrameContext *self, const LuDwflMapping *mapping, const LuFrameRegs *frame,
      LuFrameRegs *caller)
{
  gboolean is_on_stack = !self->arch->has_link_register, is_vouched_for;
  LuProviderResult result = LU_PROVIDER_NONE, other = LU_PROVIDER_NONE;

  if (!lu_fp_step_is_possible (mapping))
    return LU_PROVIDER_NONE;
  if (self->is_exact && !is_on_stack)
    return mapping->status == LU_STATUS_JIT ? LU_PROVIDER_NONE
                                            : go_by_link (self, mapping, frame, caller);
  if (self->is_exact)
    result = mapping->status == LU_STATUS_JIT ? go_by_words (self, frame, caller)
                                              : go_by_code (self, mapping, frame, caller);
  if (result != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_BEYOND ? LU_PROVIDER_END : result;
  result = go_by_frame_pointer (self, frame, caller);
  if (result != LU_PROVIDER_FOUND)
    return result;
  is_vouched_for = self->has_hotspot && mapping->status == LU_STATUS_JIT && is_known_hotspot (self);
  if (is_on_stack && !is_vouched_for && !is_known_set_up (self, frame->pc))
    other = find_other_owner (self, mapping, frame, caller);
  if (other != LU_PROVIDER_NONE)
    return other == LU_PROVIDER_FOUND ? LU_PROVIDER_NONE : other;
  self->is_repeatable = is_vouched_for || is_known_set_up (self, frame->pc);
  if (self->is_repeatable && !is_vouched_for)
    learn_hotspot (self, frame, caller);
  /* Nothing is learnt from steps that are repeated. */
  if (self->has_hotspot && !is_vouched_for && self->state.last_fp == 0)
    self->is_repeatable = FALSE;
  self->state.last_fp = frame->fp;
  return LU_PROVIDER_FOUND;
}

const LuFrameProvider lu_frame_pointer_provider = {
  .name = "frame-pointer",
  .step = step,
};

/* Facts */

static guint
slot_of (guint64 serial, guint64 pc)
{
  return (guint) (((pc ^ serial << 47) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15))
                  >> (64 - LU_FP_STEP_FACT_BITS));
}

static guint
facts_of (const LuFpStepFacts *self, guint64 serial, guint64 pc)
{
  guint i = slot_of (serial, pc);
  guint64 facts = self->slots[i].facts;

  return self->slots[i].pc == pc && facts >> LU_FP_STEP_FACT_SHIFT == serial
             ? (guint) facts & ((1 << LU_FP_STEP_FACT_SHIFT) - 1)
             : 0;
}

void
lu_fp_step_facts_note (LuFpStepFacts *self, guint64 serial, guint64 pc, guint bits)
{
  guint i = slot_of (serial, pc);

  bits |= facts_of (self, serial, pc);
  self->slots[i].pc = pc;
  self->slots[i].facts = serial << LU_FP_STEP_FACT_SHIFT | bits;
}

lu_compact_rule
lu_fp_step_facts_step (const LuFpStepFacts *self, const LuProviderState *state,
                       const struct lu_copy *copy, struct lu_compact_regs *regs)
{
  guint64 offset = regs->fp - copy->start, word = sizeof (guint64), pc, fp;
  guint to;

  /* The checks of is_frame_pointer(), with both words in the copy. */
  if ((regs->fp & (word - 1)) != 0 || regs->fp <= state->last_fp || offset < regs->offset
      || copy->size < 2 * word || offset > copy->size - 2 * word
      || (facts_of (self, state->serial, regs->pc) & LU_FP_STEP_FROM) == 0)
    return 0;
  fp = lu_copy_word (copy, offset);
  pc = lu_copy_word (copy, offset + word);
  to = facts_of (self, state->serial, pc);
  if ((to & LU_FP_STEP_TO) == 0 || fp - copy->start >= copy->size)
    return 0;
  if ((to & LU_FP_STEP_TO_JIT) != 0 && ((fp & (word - 1)) != 0 || fp < regs->fp + 2 * word))
    return 0;
  *regs = (struct lu_compact_regs){
    .pc = pc, .offset = offset + 2 * word, .fp = fp, .known = LU_KNOWN_FP
  };
  return LU_COMPACT_FP_STEP;
}
