/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* landing-pad.c - finds the contexts in a frame of libgcc; see landing-pad.h. */

#include "unwind/landing-pad.h"

/* The words of a frame that are searched. libgcc's have 70 to 80. */
#define MAX_WORDS 256

typedef struct
{
  guint64 slot, sp, pc; /* slot: where the return address is */
  guint64 saved;        /* the word there */
  guint64 fp_slot, fp;  /* where FP is, and its value */
} Context;

/* One frame, and the contexts in it that may be the catching frame's; pc 0: not found. */
typedef struct
{
  guint64 slot, pc;   /* where it has saved the return address, and that */
  guint64 fp;         /* the FP that it has saved, in the word below */
  gboolean is_exact;  /* it is a leaf, or was interrupted */
  gboolean is_whole;  /* its own context has the same return address */
  gboolean has_own;   /* there is an own context */
  Context by_address; /* its return address is the frame's */
  Context by_pad;     /* the landing pad is where its return address was */
  Context by_fp;      /* its FP is the frame's */
} Frame;

static gboolean
read_context (Context *self, guint64 at, lu_read_fn read, void *data)
{
  const guint64 fp = at - (16 - 6) * 8; /* before that of the return address */

  if (!read (data, at, &self->slot) || !read (data, at + 16, &self->sp)
      || !read (data, at + 24, &self->pc) || !read (data, self->slot, &self->saved))
    return FALSE;
  if (!read (data, fp, &self->fp_slot) || !read (data, self->fp_slot, &self->fp))
    self->fp_slot = 0;
  return TRUE;
}

/* Contexts of earlier calls may lie in the frame, too, but theirs do not have both words. */
static void
check_context (Frame *frame, const Context *context)
{
  gboolean is_usual = context->sp == context->slot + 8;

  if (context->slot == frame->slot && is_usual)
    {
      frame->has_own = TRUE;
      frame->is_whole |= context->pc == frame->pc;
    }
  if (context->slot <= frame->slot || context->sp <= frame->slot)
    return;
  if (context->saved == frame->pc)
    frame->by_address = *context;
  if (is_usual && frame->is_exact && context->saved == context->pc)
    frame->by_pad = *context;
  if (is_usual && context->fp_slot > frame->slot && context->fp == frame->fp)
    frame->by_fp = *context;
}

/* Only a leaf, or the code that a leaf was called by, does all that: there may be a callee and a
 * function that copies memory inside of the last frame. */
static gboolean
is_possible (const LuStack *stack)
{
  const LuFrame *last = &stack->frames[stack->n_frames - 1];

  return stack->n_frames < 3
         || (last[0].flags & last[-1].flags & last[-2].flags & LU_FRAME_RETURN_ADDRESS) == 0;
}

/* Returns the context at which the frame goes on for certain, or else NULL. */
static const Context *
find_certain (const Frame *frame)
{
  if (frame->is_whole)
    return NULL;
  if (frame->by_address.pc != 0)
    return &frame->by_address;
  return frame->has_own && frame->by_pad.pc != 0 ? &frame->by_pad : NULL;
}

gboolean
lu_landing_find (const LuStack *stack, guint64 sp, struct lu_regs callers[2], lu_read_fn read,
                 void *data)
{
  Frame frame = { .slot = callers[0].sp - 8, .pc = callers[0].pc, .fp = callers[0].fp };
  Context context = { 0 };
  const Context *certain, *to;

  if (!is_possible (stack))
    return FALSE;
  frame.is_exact = (stack->frames[stack->n_frames - 1].flags & LU_FRAME_RETURN_ADDRESS) == 0;
  for (guint64 at = sp; at + 32 <= frame.slot && at - sp < 8 * MAX_WORDS; at += 8)
    if (read_context (&context, at, read, data))
      check_context (&frame, &context);
  certain = find_certain (&frame);
  to = certain != NULL ? certain : &frame.by_fp;
  callers[1] = callers[0];
  callers[1].sp = to->sp;
  callers[1].pc = to->pc;
  callers[1].frame_kind = LU_FRAME_KIND_INTERRUPTED;
  if (certain == NULL && to->pc != 0)
    callers[0].known = 0;
  return certain != NULL;
}
