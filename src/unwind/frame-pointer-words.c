/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer-words.c - words of the stack as return addresses; see frame-pointer-private.h. */

#include "unwind/frame-pointer-private.h"

LuProviderResult
lu_fp_check_call (LuFrameContext *self, const LuDwflMapping *mapping, guint64 pc)
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

LuProviderResult
lu_fp_check_call_before (LuFrameContext *self, guint64 pc)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;

  if (mapping == NULL || mapping->status == LU_STATUS_JIT || !lu_fp_step_is_possible (mapping))
    return LU_PROVIDER_NONE;
  return lu_fp_check_call (self, mapping, pc);
}

LuProviderResult
lu_fp_check_return (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;

  if (mapping == NULL || !lu_fp_step_is_possible (mapping))
    return LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return lu_fp_is_frame_pointer (self, fp, sp) ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
  return lu_fp_check_call (self, mapping, pc);
}

LuProviderResult
lu_fp_check_return_by_fp (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp)
{
  const LuDwflMapping *mapping =
      pc > LU_FP_MIN_ADDRESS ? self->ops->find (self->data, pc - 1) : NULL;

  if (mapping != NULL && mapping->status == LU_STATUS_COMPLETE
      && lu_frame_rule_at (self, mapping, pc - 1) == LU_FP_RULE_OTHER)
    return LU_PROVIDER_NONE;
  return lu_fp_check_return (self, pc, fp, sp);
}

LuProviderResult
lu_fp_find_return (LuFrameContext *self, guint64 from, guint64 fp, LuFpCheckFunc check)
{
  guint word = self->arch->word_size;
  guint64 value;

  from = lu_fp_first_word (self, from);
  for (guint64 at = from; at < fp && at - from < LU_FP_MAX_WORDS * word; at += word)
    {
      LuProviderResult result = LU_PROVIDER_NONE;

      if (lu_frame_read_word (self, at, &value) && lu_fp_may_be_behind_code (self, value))
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

gboolean
lu_fp_is_known_set_up (LuFrameContext *self, guint64 pc)
{
  guint64 key;

  return *find_set_up (self, pc, &key) == key;
}

void
lu_fp_note_set_up (LuFrameContext *self, guint64 pc)
{
  guint64 key, *slot = find_set_up (self, pc, &key);

  *slot = key;
  self->set_up->n_notes += self->is_generated != FALSE;
}

LuProviderResult
lu_fp_go_by_top (LuFrameContext *self, const LuFrameRegs *frame, LuFrameRegs *caller,
                 LuFpCheckFunc check)
{
  LuProviderResult result;

  *caller = *frame;
  caller->sp = frame->sp + self->arch->word_size;
  if (!lu_frame_read_word (self, frame->sp, &caller->pc)
      || !lu_fp_is_frame_pointer (self, frame->fp, caller->sp))
    return LU_PROVIDER_NONE;
  result = check (self, caller->pc, frame->fp, caller->sp);
  if (result != LU_PROVIDER_FOUND)
    return result;
  /* If there are several, the topmost may be wrong: all may be left from earlier calls. */
  result = lu_fp_find_return (self, caller->sp, frame->fp, check);
  return result == LU_PROVIDER_FOUND  ? LU_PROVIDER_BEYOND
         : result == LU_PROVIDER_NONE ? LU_PROVIDER_FOUND
                                      : result;
}

LuProviderResult
lu_fp_take_return (LuFrameContext *self, const LuFrameRegs *frame, guint64 at, LuFrameRegs *caller)
{
  LuProviderResult result = LU_PROVIDER_NONE;

  *caller = *frame;
  caller->sp = at + self->arch->word_size;
  if (lu_frame_read_word (self, at, &caller->pc))
    result = lu_fp_check_return (self, caller->pc, frame->fp, caller->sp);
  return result == LU_PROVIDER_NONE ? LU_PROVIDER_BEYOND : result;
}

LuLeaf
lu_fp_prove_frame (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
                   guint64 pc)
{
  LuProviderResult result = lu_fp_check_call_before (self, pc);
  LuFrameCall call = { .code = code, .pc = pc, .to = frame->pc };

  if (result != LU_PROVIDER_FOUND)
    return result == LU_PROVIDER_UNKNOWN ? LU_LEAF_UNKNOWN : LU_LEAF_UNDECIDED;
  call.mapping = self->ops->find (self->data, pc - 1);
  return self->ops->call_before (self->data, call.mapping, pc) == LU_CALL_DIRECT
             ? self->ops->frame_at (self->data, &call)
             : LU_LEAF_UNDECIDED;
}

LuProviderResult
lu_fp_prove_set_up (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
                    guint64 pc)
{
  LuLeaf leaf = lu_fp_prove_frame (self, code, frame, pc);

  return leaf == LU_LEAF_UNKNOWN  ? LU_PROVIDER_UNKNOWN
         : leaf == LU_LEAF_FRAMED ? LU_PROVIDER_FOUND
                                  : LU_PROVIDER_NONE;
}

LuProviderResult
lu_fp_read_return (LuFrameContext *self, const LuFrameRegs *frame, guint64 *pc)
{
  return lu_frame_read_word (self, frame->fp + self->arch->word_size, pc)
             ? lu_fp_check_call_before (self, *pc)
             : LU_PROVIDER_NONE;
}

LuProviderResult
lu_fp_check_direct_call (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame)
{
  LuFrameCall call = { .code = code, .to = frame->pc };
  LuProviderResult result = lu_fp_read_return (self, frame, &call.pc);

  if (result != LU_PROVIDER_FOUND)
    return result;
  call.mapping = self->ops->find (self->data, call.pc - 1);
  if (self->ops->call_before (self->data, call.mapping, call.pc) != LU_CALL_DIRECT)
    return LU_PROVIDER_NONE;
  result = self->ops->leads_to (self->data, &call);
  return result == LU_PROVIDER_NONE ? lu_fp_prove_set_up (self, code, frame, call.pc) : result;
}
