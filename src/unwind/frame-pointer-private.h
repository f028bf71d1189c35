/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer-private.h - the frame-pointer step, as its files share it; for them only.
 *
 * frame-pointer-step.c has the step and asks who else may own a frame pointer. Where the sampled pc
 * is exact, frame-pointer-leaf.c looks at leaves in files, and frame-pointer-generated.c at leaves
 * of generated code. frame-pointer-words.c checks words of the stack for all three. */

#pragma once

#include "unwind/frame-pointer-step.h"

#include "unwind/address-space-cache.h"

/* Returns whether `fp` can be the frame pointer of a frame whose stack pointer is `sp`. */
static inline gboolean
lu_fp_is_frame_pointer (LuFrameContext *self, guint64 fp, guint64 sp)
{
  return (fp & (self->arch->word_size - 1u)) == 0
         && lu_fp_is_possible (fp, sp, self->state.last_fp, self->sampled_sp);
}

/* Returns FALSE if there is no code before an address, as for most stack words. One branch,
 * because it is not predictable for which. */
static inline gboolean
lu_fp_may_be_behind_code (LuFrameContext *self, guint64 address)
{
  return (guint) (address > LU_FP_MIN_ADDRESS)
         & ~(guint) (self->no_code >> lu_view_region_of (address - 1));
}

/* Returns the first word of a frame: hand-written code may take less than a word of the stack. */
static inline guint64
lu_fp_first_word (const LuFrameContext *self, guint64 sp)
{
  guint64 rest = self->arch->word_size - 1;

  return (sp + rest) & ~rest;
}

/* Returns whether the frame pointer may be that of generated code of V8. */
static inline gboolean
lu_fp_may_be_v8 (const LuFrameContext *self, guint64 fp)
{
  guint64 word;

  return lu_frame_read_word (self, fp - sizeof word, &word) && lu_fp_v8_may_be (word);
}

/* frame-pointer-words.c */

/* Checks whether a word can be the return address into code that has the frame pointer `fp`, from a
 * frame that ends at `sp`. */
typedef LuProviderResult (*LuFpCheckFunc) (LuFrameContext *self, guint64 pc, guint64 fp,
                                           guint64 sp);

/* FOUND: a call is before this return address, which is in that file. */
LuProviderResult lu_fp_check_call (LuFrameContext *self, const LuDwflMapping *mapping, guint64 pc);
/* FOUND: this is a return address into a file. */
LuProviderResult lu_fp_check_call_before (LuFrameContext *self, guint64 pc);
/* FOUND: this can be a return address, because there is code with a call before it. Code
 * without a file cannot be read; there the frame pointer of that code must be possible. */
LuProviderResult lu_fp_check_return (LuFrameContext *self, guint64 pc, guint64 fp, guint64 sp);
/* Like lu_fp_check_return(), for code that keeps `fp` as its frame pointer. */
LuProviderResult lu_fp_check_return_by_fp (LuFrameContext *self, guint64 pc, guint64 fp,
                                           guint64 sp);
/* FOUND: a word in [from, fp) could be a return address of that kind. */
LuProviderResult lu_fp_find_return (LuFrameContext *self, guint64 from, guint64 fp,
                                    LuFpCheckFunc check);
/* Returns whether the frames of the code at `pc` are known to be set up there. */
gboolean lu_fp_is_known_set_up (LuFrameContext *self, guint64 pc);
void lu_fp_note_set_up (LuFrameContext *self, guint64 pc);
/* Steps from a leaf whose frame is not set up yet, or no longer, while its caller's is: the return
 * address is on top. NONE: it is not. BEYOND: other words could be the return address, too. */
LuProviderResult lu_fp_go_by_top (LuFrameContext *self, const LuFrameRegs *frame,
                                  LuFrameRegs *caller, LuFpCheckFunc check);
/* Takes the return address in a word of the stack. BEYOND: there is none. */
LuProviderResult lu_fp_take_return (LuFrameContext *self, const LuFrameRegs *frame, guint64 at,
                                    LuFrameRegs *caller);
/* Returns what is proved about this frame if `pc` is its return address: FRAMED, BARE or UNDECIDED.
 * A direct call must be before it, to a function that has this code. */
LuLeaf lu_fp_prove_frame (LuFrameContext *self, const LuDwflMapping *code, const LuFrameRegs *frame,
                          guint64 pc);
/* FOUND: the return address proves that the frame is set up. */
LuProviderResult lu_fp_prove_set_up (LuFrameContext *self, const LuDwflMapping *code,
                                     const LuFrameRegs *frame, guint64 pc);
/* Reads the return address of a frame that is set up. FOUND: a call is before it. NONE: none is, or
 * it cannot be read. */
LuProviderResult lu_fp_read_return (LuFrameContext *self, const LuFrameRegs *frame, guint64 *pc);
/* FOUND: a direct call before the frame's return address leads to this code, so that the frame is
 * its own. */
LuProviderResult lu_fp_check_direct_call (LuFrameContext *self, const LuDwflMapping *code,
                                          const LuFrameRegs *frame);

/* frame-pointer-leaf.c */

/* Steps from a leaf where calls put the return address on the stack. NONE: its frame is set up, as
 * far as its code shows, or other samples. BEYOND: unknown. */
LuProviderResult lu_fp_go_by_code (LuFrameContext *self, const LuDwflMapping *code,
                                   const LuFrameRegs *frame, LuFrameRegs *caller);
/* Steps from a leaf where calls put the return address in a register. That may hold an old value,
 * so the code has to show whether it does, or where on the stack the register will be loaded from.
 */
LuProviderResult lu_fp_go_by_link (LuFrameContext *self, const LuDwflMapping *code,
                                   const LuFrameRegs *frame, LuFrameRegs *caller);

/* frame-pointer-generated.c */

/* Returns whether the frame pointer is that of a function of V8. */
gboolean lu_fp_is_v8_function (const LuFrameContext *self, guint64 fp);
/* Returns whether the frame pointer is that of other code of V8, which a function has called. All
 * code of V8 on the stack keeps a frame pointer, so the frame belongs to the code that was called
 * last, unless ordinary code was. */
gboolean lu_fp_is_v8_callee (const LuFrameContext *self, guint64 fp);
/* Steps from a leaf of generated code, whose code cannot be read: by the words of its stack.
 * Returns as lu_fp_go_by_code(). */
LuProviderResult lu_fp_go_by_words (LuFrameContext *self, const LuDwflMapping *code,
                                    const LuFrameRegs *frame, LuFrameRegs *caller);
