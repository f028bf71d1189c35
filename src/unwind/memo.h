/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memo.h - the last stack of each thread, so that its next one is compared instead of walked.
 *
 * Used by the walker. Samples of a thread mostly differ near the leaf. A plain step (plain.h) is a
 * function of the space, of the registers that its rule names and of the words that it reads; so
 * where a walk comes to a frame that the last stack had, with the same of these registers, the
 * words alone decide whether the next frame is the same too. They are known in advance, and their
 * reads wait neither for each other nor for a rule: before a walk begins, all are compared, from
 * the outermost frame on to the first that differs. Where the walk comes to the last frame before
 * that, all the rest is the same. Of the words, only those that matter are compared: all return
 * addresses, and what is saved of a register if a frame further out uses it before it has it from
 * its own slot; in most code none does. Nothing is ever taken over that depends on a word that was
 * not compared, so no entry can be wrong, whoever it is from. Tried: comparing while frames are
 * taken over, from where the stacks before began to be the same. Where that is was often wrong, and
 * how far it goes cannot be foreseen either. No allocation after lu_memo_new(). Belongs to one
 * thread. */

#pragma once

#include "lu/stack.h"
#include "unwind/plain.h"

#include <glib.h>

/* Frames that are kept of a stack, the outermost ones. */
#define LU_MEMO_FRAMES 224

/* A caller's frame, and the step from it. What that has read is in the next frame further out. */
typedef struct
{
  LuFrame frame; /* stack_offset: above LuMemo.origin */
  guint64 fp, bx;
  lu_plain plain; /* the step, or LU_PLAIN_END; without LU_PLAIN it has to be made */
  guint8 known;   /* as in lu_plain_regs */
  /* Of a frame that has its place in the stack: */
  guint8 live;       /* enum lu_known: the registers that its step, or one further out, uses */
  guint16 special;   /* the innermost frame from here outward whose step is no plain rule's, or 0 */
  guint16 words_end; /* the words of its step and of all further out are those before */
} LuMemoFrame;

/* A word that a stack must have. */
typedef struct
{
  guint64 value;
  guint32 at;    /* above the stack's origin */
  guint32 frame; /* whose step has read it */
} LuMemoWord;

typedef struct _LuMemo LuMemo;

/* Frames that were taken over, after `n_added_before` frames that were not. */
typedef struct
{
  guint n_added_before;
  guint low, high, at; /* at: where they come to be */
} LuMemoPiece;

#define LU_MEMO_MAX_PIECES 8

struct _LuMemo
{
  LuMemoFrame *frames; /* of the thread's last stack, the outermost one first */
  LuMemoWord *words;   /* of their steps */
  guint n_frames;
  guint low; /* the outermost one that is in the copy */
  guint n;   /* those before it are looked for further on: they lead on to each other, and to it */
  guint special; /* of these, the innermost one whose step is no plain rule's; `low` if there is
                    none */
  guint32 start; /* of the copy, above the stack's origin */
  gboolean is_changed; /* a frame has got another step since it was put in its place */
  /* What this walk, or the last one, leaves behind: */
  guint n_pieces, n_added;
  LuMemoPiece pieces[LU_MEMO_MAX_PIECES];
  LuMemoFrame added[LU_STACK_MAX_FRAMES + 1]; /* leaf first */

  guint64 n_followed; /* frames taken over so far */

  /* private */
  struct _LuMemoStack *stacks, *stack;
  LuMemoFrame *memory, *spare;
  LuMemoWord *word_memory;
};

LuMemo *lu_memo_new (void);
void lu_memo_free (LuMemo *self);

/* Begins a stack of the thread in this space, and compares it with the last one. What the walk adds
 * is remembered. */
void lu_memo_begin (LuMemo *self, gint32 tid, guint64 serial, const struct lu_copy *copy);
/* Lets the CPU fetch what will be read of a stack to come, of which `bytes` are a copy from the
 * stack pointer on: its top, and the words by which it will be compared with the thread's last one,
 * as far as that is known now. The copy may be any: nothing is read of it. */
void lu_memo_expect (const LuMemo *self, gint32 tid, const guint8 *bytes, guint64 size, guint64 sp);
/* What the last walk added was a mistake: nothing is known of its thread. */
void lu_memo_forget (LuMemo *self);
/* Where the frame is in the copy; beyond it if it is not in it. */
static inline guint32
lu_memo_offset (const LuMemo *self, const LuMemoFrame *frame)
{
  return frame->frame.stack_offset - self->start;
}

/* Where in the copy the walk should look for a frame of the last stack; beyond the copy if nowhere.
 */
static inline guint64
lu_memo_next (const LuMemo *self)
{
  return self->n <= self->low ? G_MAXUINT64 : lu_memo_offset (self, &self->frames[self->n - 1]);
}

/* The same behind `offset`. */
static inline guint64
lu_memo_skip (LuMemo *self, guint64 offset)
{
  while (self->n > self->low && lu_memo_offset (self, &self->frames[self->n - 1]) < offset)
    self->n--;
  if (self->n <= self->low)
    self->n = 0;
  return lu_memo_next (self);
}

/* `frames` [low, high) were met, from high - 1 on, and no other in between. Where the step in front
 * of them was one that had to be made, and led to them again, they go on with the piece before; but
 * not if a frame has changed, as what comes of that is settled from the end of a piece on. */
static inline void
lu_memo_keep (LuMemo *self, guint low, guint high)
{
  LuMemoPiece *next = &self->pieces[self->n_pieces];

  if (self->n_pieces > 0 && next[-1].low == high && next[-1].n_added_before == self->n_added
      && !self->is_changed)
    next[-1].low = low;
  else
    {
      *next = (LuMemoPiece){ .n_added_before = self->n_added, .low = low, .high = high };
      self->n_pieces++;
    }
  self->n_followed += high - low;
  self->n = self->n_pieces < LU_MEMO_MAX_PIECES ? low : 0;
}

/* Whether the steps from the frame on are those from these registers. */
static inline gboolean
lu_memo_frame_is (const LuMemo *self, const LuMemoFrame *frame, const struct lu_plain_regs *regs)
{
  guint64 fp = -(guint64) (frame->live & LU_KNOWN_FP), bx = -(guint64) (frame->live >> 1);

  return frame->frame.pc == regs->pc && lu_memo_offset (self, frame) == regs->offset
         && (frame->plain & LU_PLAIN) != 0
         && (((frame->fp ^ regs->fp) & fp)
             | (((frame->bx ^ regs->bx) | ((frame->known ^ regs->known) & LU_KNOWN_BX)) & bx))
                == 0;
}

_Static_assert(LU_KNOWN_FP == 1 && LU_KNOWN_BX == 2, "as in lu_memo_frame_is()");
