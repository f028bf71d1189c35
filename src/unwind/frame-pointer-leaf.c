/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer-leaf.c - the caller of a leaf whose code is in a file; see
 * frame-pointer-private.h. */

#include "unwind/frame-pointer-private.h"

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

/* Returns whether this leaf keeps the frame pointer, as far as its caller's code shows. NONE: it
 * may. BEYOND: a direct call leads elsewhere, so the frame may be that of the leaf's caller, and a
 * word further up the return address. */
static LuProviderResult
check_set_up (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  LuFrameCall call = { .code = code, .to = frame->pc };
  LuProviderResult result = lu_fp_read_return (self, frame, &call.pc);

  if (result != LU_PROVIDER_FOUND)
    return result;
  call.mapping = self->ops->find (self->data, call.pc - 1);
  result = self->ops->leads_to (self->data, &call);
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

  if (self->has_hotspot || lu_fp_may_be_v8 (self, frame->fp))
    return LU_PROVIDER_FOUND;
  result = lu_fp_check_direct_call (self, code, frame);
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
  LuProviderResult result = lu_fp_go_by_top (self, frame, caller, lu_fp_check_return_by_fp);
  LuFrameCall call = { .code = code, .to = frame->pc };

  if (result == LU_PROVIDER_NONE && leads_to_rule (self, frame))
    return LU_PROVIDER_BEYOND;
  if (result == LU_PROVIDER_NONE)
    return check_set_up (self, code, frame);
  if (result != LU_PROVIDER_FOUND)
    return result;
  call.mapping = self->ops->find (self->data, caller->pc - 1);
  call.pc = caller->pc;
  if (call.mapping->status == LU_STATUS_JIT)
    return check_generated (self, code, frame);
  result = self->ops->leads_to (self->data, &call);
  return result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND : result;
}

/* Takes the return address that is proved to be on top. BEYOND: a direct call before the one that
 * the frame pointer leads to does not lead to the caller, which may have no frame either. */
static LuProviderResult
take_proved_top (LuFrameContext *self, const LuFrameRegs *frame, guint64 pc, LuFrameRegs *caller)
{
  const LuDwflMapping *mapping = self->ops->find (self->data, pc - 1);
  const LuFrameRegs next = { .pc = pc, .sp = frame->sp + self->arch->word_size, .fp = frame->fp };
  LuProviderResult result = lu_fp_take_return (self, frame, frame->sp, caller);
  guint64 outer;

  if (result != LU_PROVIDER_FOUND || !lu_fp_is_frame_pointer (self, next.fp, next.sp))
    return result;
  result = check_set_up (self, mapping, &next);
  if (result == LU_PROVIDER_BEYOND
      && lu_frame_read_word (self, next.fp + self->arch->word_size, &outer))
    {
      result = lu_fp_prove_set_up (self, mapping, &next, outer);
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

  if (lu_fp_is_frame_pointer (self, frame->fp, frame->sp)
      && lu_frame_read_word (self, frame->fp + self->arch->word_size, &pc))
    result = lu_fp_prove_set_up (self, code, frame, pc);
  if (result != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_FOUND ? LU_PROVIDER_NONE : result;
  if (lu_frame_read_word (self, frame->sp, &pc))
    leaf = lu_fp_prove_frame (self, code, frame, pc);
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
  result = lu_fp_check_return (self, caller->pc, frame->fp, frame->sp);
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
      lu_fp_note_set_up (self, frame->pc);
      return LU_PROVIDER_NONE;
    }
  *caller = *frame;
  caller->sp = at + word;
  if (!lu_frame_read_word (self, at, &caller->pc)
      || (saved > 0 && !lu_frame_read_word (self, fp_at, &caller->fp)))
    return LU_PROVIDER_BEYOND;
  result = lu_fp_check_return (self, caller->pc, caller->fp, caller->sp);
  return result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND : result;
}

/* Steps from a leaf in a file whose code does not have its return address in a register. NONE: its
 * frame is set up. BEYOND: unknown; so is a frame too large to be searched, if neither its code nor
 * other samples show where it has its return address. */
static LuProviderResult
go_by_kind (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
            enum lu_leaf_kind kind, LuFrameRegs *caller)
{
  gboolean is_possible = lu_fp_is_frame_pointer (self, frame->fp, frame->sp);
  guint word = self->arch->word_size;
  LuProviderResult result = lu_fp_find_return (
      self, frame->sp, is_possible ? frame->fp : frame->sp + word, lu_fp_check_return);
  gboolean is_large = is_possible && frame->fp - frame->sp > LU_FP_MAX_WORDS * word;
  guint64 top;

  if (result == LU_PROVIDER_UNKNOWN || (result == LU_PROVIDER_NONE && !is_large))
    return result;
  switch (kind)
    {
    case LU_LEAF_BARE:
      return lu_fp_take_return (self, frame, frame->sp, caller);
    case LU_LEAF_PUSHED:
      return lu_frame_read_word (self, frame->sp, &top) && top == frame->fp
                 ? lu_fp_take_return (self, frame, frame->sp + word, caller)
                 : LU_PROVIDER_BEYOND;
    case LU_LEAF_FRAMED:
      lu_fp_note_set_up (self, frame->pc);
      return LU_PROVIDER_NONE;
    default:
      break;
    }
  result = is_large ? LU_PROVIDER_BEYOND : go_undecided (self, code, frame, caller);
  return result == LU_PROVIDER_BEYOND ? go_by_proof (self, code, frame, caller) : result;
}

LuProviderResult
lu_fp_go_by_code (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
                  LuFrameRegs *caller)
{
  LuProviderResult result = LU_PROVIDER_NONE;
  LuLeaf leaf;

  if (lu_fp_is_known_set_up (self, frame->pc))
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

/* Checks the return address that the code of a leaf shows. */
static LuProviderResult
check_link (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame, LuLeaf leaf,
            guint64 pc)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;
  const LuFrameCall call = { .mapping = mapping, .code = code, .pc = pc, .to = frame->pc };

  if (mapping == NULL
      || !(mapping->status == LU_STATUS_COMPLETE || mapping->status == LU_STATUS_JIT))
    return LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return LU_PROVIDER_FOUND;
  if (LU_LEAF_KIND (leaf) == LU_LEAF_BARE)
    return self->ops->leads_to (self->data, &call);
  return lu_fp_check_call (self, mapping, pc);
}

LuProviderResult
lu_fp_go_by_link (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
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
