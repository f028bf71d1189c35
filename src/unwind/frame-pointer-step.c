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

#include "unwind/frame-pointer-private.h"

/* The frame of a builtin of V8 that calls C code has at most as many words (Builtins_CEntry). */
#define MAX_BUILTIN_WORDS 4

static gboolean
is_in_copy (LuFrameContext *self, guint64 address)
{
  return address - self->sampled_sp < self->sample->stack_size;
}

/* Steps from a frame that is set up: the frame pointer points to the caller's frame pointer and the
 * return address. */
static LuProviderResult
go_by_frame_pointer (LuFrameContext *self, const LuFrameRegs *frame, LuFrameRegs *caller)
{
  guint word = self->arch->word_size;
  guint64 mask = lu_arch_address_mask (self->arch);
  LuProviderResult result;

  if (!lu_fp_is_frame_pointer (self, frame->fp, frame->sp))
    return LU_PROVIDER_NONE;
  if (!lu_frame_read_word (self, frame->fp, &caller->fp)
      || !lu_frame_read_word (self, frame->fp + word, &caller->pc))
    return LU_PROVIDER_BEYOND;
  caller->pc &= mask;
  caller->sp = frame->fp + 2 * word;
  /* No code keeps a return address in that register, so these words are something else. */
  if (!is_in_copy (self, caller->fp)
      && (result = lu_fp_check_call_before (self, caller->fp)) != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_FOUND ? LU_PROVIDER_NONE : result;
  return lu_fp_check_return (self, caller->pc, caller->fp, caller->sp);
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

/* Returns whether the frame is that of `code`, which is V8's and no function, and not a leaf. A
 * frame in a file is too small for ordinary code that builtins have called: the return addresses of
 * that and of code that it has called, what aligns the stack, and two words of the builtin's. There
 * is no such code in a copy, which holds nothing but builtins. */
static gboolean
is_v8_callee (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  return !self->is_exact
         && (code->status == LU_STATUS_JIT || code->is_copy
             || frame->fp - frame->sp <= MAX_BUILTIN_WORDS * self->arch->word_size)
         && lu_fp_is_v8_callee (self, frame->fp);
}

/* FOUND: generated code to which a word of the frame leads may keep `frame->fp` and have called
 * `code`. It cannot be read, so the word may be any old one: a direct call to code in a file, and a
 * frame that is not V8's, show whose frame it is. */
static LuProviderResult
check_generated_owner (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  LuProviderResult result;

  if (is_v8_callee (self, code, frame))
    return LU_PROVIDER_NONE;
  if (code->status == LU_STATUS_JIT)
    return lu_fp_is_v8_function (self, frame->fp) ? LU_PROVIDER_NONE : LU_PROVIDER_FOUND;
  if (lu_fp_may_be_v8 (self, frame->fp))
    return LU_PROVIDER_FOUND;
  self->is_repeatable = FALSE;
  result = lu_fp_check_direct_call (self, code, frame);
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

  if (!lu_frame_read_word (self, at, &value) || !lu_fp_may_be_behind_code (self, value)
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
  for (guint64 at = lu_fp_first_word (self, frame->sp);
       at < frame->fp && at - frame->sp < LU_FP_MAX_WORDS * word; at += word)
    {
      LuProviderResult result = check_word (self, code, frame, at, has_rule);

      if (result != LU_PROVIDER_NONE)
        return result;
    }
  if (!self->is_repeatable || self->state.n_rules >= LU_FP_MAX_RULES)
    return LU_PROVIDER_NONE;
  lu_fp_note_set_up (self, frame->pc);
  return LU_PROVIDER_NONE;
}

/* FOUND: the call before the frame's return address leads to a function that cannot have gone on to
 * this code: that function has set up the frame, and this code keeps its frame pointer. */
static LuProviderResult
check_skipped (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
               const LuFrameRegs *caller)
{
  const LuFrameCall call = { .mapping = self->ops->find (self->data, caller->pc - 1),
                             .code = code,
                             .pc = caller->pc,
                             .to = frame->pc };

  if (code->status != LU_STATUS_COMPLETE || call.mapping == NULL
      || call.mapping->module != code->module)
    return LU_PROVIDER_NONE;
  return self->ops->leads_away (self->data, &call);
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
                                            : lu_fp_go_by_link (self, mapping, frame, caller);
  if (self->is_exact)
    result = mapping->status == LU_STATUS_JIT ? lu_fp_go_by_words (self, mapping, frame, caller)
                                              : lu_fp_go_by_code (self, mapping, frame, caller);
  if (result != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_BEYOND ? LU_PROVIDER_END : result;
  result = go_by_frame_pointer (self, frame, caller);
  if (result == LU_PROVIDER_FOUND && is_on_stack)
    other = check_skipped (self, mapping, frame, caller);
  if (result != LU_PROVIDER_FOUND)
    return result;
  is_vouched_for = self->has_hotspot && mapping->status == LU_STATUS_JIT && is_known_hotspot (self);
  if (other == LU_PROVIDER_NONE && is_on_stack && !is_vouched_for
      && !lu_fp_is_known_set_up (self, frame->pc))
    other = find_other_owner (self, mapping, frame, caller);
  if (other != LU_PROVIDER_NONE)
    return other == LU_PROVIDER_FOUND ? LU_PROVIDER_NONE : other;
  self->is_repeatable = is_vouched_for || lu_fp_is_known_set_up (self, frame->pc);
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
