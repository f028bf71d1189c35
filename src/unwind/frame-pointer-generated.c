/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer-generated.c - the caller of a leaf of generated code; see
 * frame-pointer-private.h. */

#include "unwind/frame-pointer-private.h"

/* General registers, without the pc, by DWARF number. */
#define N_REGISTERS 16

/* Like lu_fp_check_return_by_fp(), for the caller of generated code, in words that are probably
 * old. A direct call in a file leads there only if the code called jumps on, as some of V8 does. */
static LuProviderResult
check_return_from_jit (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp)
{
  LuProviderResult result = lu_fp_check_return_by_fp (self, pc, fp, sp);
  const LuDwflMapping *mapping;

  if (result != LU_PROVIDER_FOUND)
    return result;
  mapping = self->ops->find (self->data, pc - 1);
  return mapping->status != LU_STATUS_JIT
                 && self->ops->call_before (self->data, mapping, pc) == LU_CALL_DIRECT
             ? LU_PROVIDER_NONE
             : LU_PROVIDER_FOUND;
}

gboolean
lu_fp_is_v8_function (const LuFrameContext *self, guint64 fp)
{
  guint64 words[LU_FP_V8_WORDS];

  for (guint i = 0; i < LU_FP_V8_WORDS; i++)
    if (!lu_frame_read_word (self, fp - sizeof words + i * sizeof *words, &words[i]))
      return FALSE;
  return lu_fp_v8_is_function (words);
}

gboolean
lu_fp_is_v8_callee (const LuFrameContext *self, guint64 fp)
{
  guint64 marker, caller;

  return lu_frame_read_word (self, fp - sizeof marker, &marker) && lu_fp_v8_is_marker (marker)
         && lu_frame_read_word (self, fp, &caller) && caller > fp
         && lu_fp_is_v8_function (self, caller);
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

/* Returns whether this is code that was copied from a file. Unlike generated code, it keeps the
 * return address in a register for some moments, and calls leave old words that lead to it. */
static gboolean
is_copied (const LuDwflMapping *mapping)
{
  return lu_module_key (mapping->module)->kind == LU_MODULE_COPIED;
}

/* Checks the return address on top of such a leaf's stack. BEYOND: as above; or ordinary code has
 * called something through a register, and the frame pointer is that of a function of V8: of that
 * code, or of this leaf, whose frame begins with an old word then. */
static LuProviderResult
check_top (LuFrameContext *self, guint64 pc, guint64 fp)
{
  const LuDwflMapping *mapping = self->ops->find (self->data, pc - 1);

  if ((mapping->status != LU_STATUS_JIT || is_copied (mapping)) && lu_fp_is_v8_function (self, fp))
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
  LuProviderResult result = lu_fp_check_return_by_fp (self, top, frame->fp, frame->sp + word);

  if (result == LU_PROVIDER_FOUND && lu_fp_is_frame_pointer (self, frame->fp, frame->sp + word))
    result = check_top (self, top, frame->fp);
  return result == LU_PROVIDER_FOUND || result == LU_PROVIDER_NONE
             ? lu_fp_go_by_top (self, frame, caller, check_return_from_jit)
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
    return !lu_fp_is_known_set_up (self, frame->pc);
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

  if (is_entered && is_generated (self, top)
      && lu_fp_is_frame_pointer (self, frame->fp, sp + sizeof top))
    {
      *caller = (LuFrameRegs){ .pc = top, .sp = sp + sizeof top, .fp = frame->fp };
      return may_be_interpreted (self, frame) ? LU_PROVIDER_BEYOND : LU_PROVIDER_FOUND;
    }
  if (is_between (self, frame))
    return LU_PROVIDER_BEYOND;
  if (lu_fp_is_known_set_up (self, frame->pc))
    return LU_PROVIDER_NONE;
  if (is_entered)
    return go_by_top_of_jit (self, top, frame, caller);
  return top == frame->fp && top > LU_FP_MIN_ADDRESS
                 && lu_frame_read_word (self, sp + sizeof top, &second)
                 && lu_fp_check_return (self, second, frame->fp, sp + 2 * sizeof top)
                        != LU_PROVIDER_NONE
             ? LU_PROVIDER_BEYOND
             : LU_PROVIDER_NONE;
}

/* Returns whether a value may be a return address into generated or copied code, or into a file. */
static gboolean
may_be_return (LuFrameContext *self, guint64 value)
{
  return is_generated (self, value) || lu_fp_check_call_before (self, value) != LU_PROVIDER_NONE;
}

/* Returns whether a leaf of copied code may have its return address in a register, or in a word of
 * what seems to be its frame. If not, the frame is its own. */
static gboolean
has_return (LuFrameContext *self, const LuFrameRegs *frame)
{
  const LuRegs *regs = &self->sample->regs;
  guint word = self->arch->word_size;
  guint64 value;

  if (frame->sp != self->sampled_sp || frame->fp - frame->sp > LU_FP_MAX_WORDS * word)
    return TRUE;
  for (guint i = 0; i < N_REGISTERS; i++)
    if (lu_arch_read_dwarf (self->arch, regs, i, &value) && may_be_return (self, value))
      return TRUE;
  for (guint64 at = frame->sp; at < frame->fp; at += word)
    if (!lu_frame_read_word (self, at, &value) || may_be_return (self, value))
      return TRUE;
  return FALSE;
}

LuProviderResult
lu_fp_go_by_words (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
                   LuFrameRegs *caller)
{
  guint word = self->arch->word_size;
  LuProviderResult result;
  guint64 top;

  if (!lu_frame_read_word (self, frame->sp, &top))
    return LU_PROVIDER_NONE;
  if (self->has_hotspot && self->arch->hotspot_sender != 0)
    return go_from_hotspot (self, top, frame, caller);
  if (lu_fp_is_known_set_up (self, frame->pc))
    return LU_PROVIDER_NONE;
  if (is_copied (code))
    return has_return (self, frame) ? LU_PROVIDER_BEYOND : LU_PROVIDER_NONE;
  /* The frame pointer has been pushed but not changed yet. */
  if (top == frame->fp && top > LU_FP_MIN_ADDRESS)
    {
      result = lu_fp_take_return (self, frame, frame->sp + word, caller);
      return result == LU_PROVIDER_BEYOND  ? LU_PROVIDER_NONE
             : result == LU_PROVIDER_FOUND ? check_direct (self, caller->pc)
                                           : result;
    }
  return go_by_top_of_jit (self, top, frame, caller);
}
