/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memo.h - the last stack of each thread, with which its next stack is compared.
 *
 * Samples of a thread mostly differ near the leaf. A compact step (compact-step.h) depends only on
 * the address space, the registers that its rule names and the words that it reads. So if a walk
 * reaches a frame of the last stack with the same values in these registers, the words alone decide
 * whether the next frame is the same. The words are known in advance, and reading them waits
 * neither for each other nor for a rule: before a walk starts, all are compared, from the outermost
 * frame to the first difference. Once the walk reaches the last frame before that, the rest is
 * copied.
 *
 * Only words that matter are compared: all return addresses, and saved registers that a frame
 * further out uses before it restores them from a slot of its own, which is rare. Nothing is copied
 * that depends on a word that was not compared, so an entry cannot be wrong, whoever left it.
 *
 * Nothing is allocated after lu_memo_new(). Belongs to one thread. */

#pragma once

#include "lu/stack.h"
#include "compact-step.h"

#include <glib.h>

/* The number of frames kept of a stack: the outermost ones. */
#define LU_MEMO_FRAMES 224

/* A caller's frame and the step from it. The next frame further out holds what the step has read.
 */
typedef struct
{
  LuFrame frame; /* stack_offset: above LuMemo.origin */
  guint64 fp, bx;
  lu_compact_rule compact; /* the step; if not LU_COMPACT, it has to be made each time */
  guint8 known;            /* as in lu_compact_regs */
  /* Valid once the frame is settled: */
  guint8 live;     /* enum lu_known: registers that this step or one further out uses */
  guint16 special; /* the innermost frame from here outward whose step has no compact rule, or 0 */
  guint16 words_end; /* one past the words of this step; those of outer steps come before */
} LuMemoFrame;

/* A word that the next stack must also have. */
typedef struct
{
  guint64 value;
  guint32 at;    /* above the stack's origin */
  guint32 frame; /* the frame whose step has read it */
} LuMemoWord;

typedef struct _LuMemo LuMemo;

/* A range of frames copied from the last stack, after `n_added_before` frames that were walked. */
typedef struct
{
  guint n_added_before;
  guint low, high, at; /* at: their index in the new stack */
} LuMemoPiece;

#define LU_MEMO_MAX_PIECES 8

struct _LuMemo
{
  LuMemoFrame *frames; /* of the thread's last stack, the outermost one first */
  LuMemoWord *words;   /* of their steps */
  guint n_frames;
  guint low;     /* the outermost frame that is in the copy */
  guint n;       /* frames [low, n) may still be met; each leads to the next */
  guint special; /* of these, the innermost one whose step has no compact rule; otherwise `low` */
  guint32 start; /* of the copy, above the stack's origin */
  gboolean is_changed; /* the step of a frame has changed since it was settled */
  /* Filled by a walk: */
  guint n_pieces, n_added;
  LuMemoPiece pieces[LU_MEMO_MAX_PIECES];
  LuMemoFrame added[LU_STACK_MAX_FRAMES + 1]; /* leaf first */

  guint64 n_followed; /* frames copied so far */

  /* private */
  struct _LuMemoStack *stacks, *stack;
  LuMemoFrame *memory, *spare;
  LuMemoWord *word_memory;
};

LuMemo *lu_memo_new (void);
void lu_memo_free (LuMemo *self);

/* Starts a stack of the thread in this version of an address space, and compares it with the last
 * one. The frames that the walk adds are remembered. */
void lu_memo_begin (LuMemo *self, gint32 tid, guint64 serial, const struct lu_copy *copy);
/* Prefetches a stack that will be walked later: its top, and the words that will be compared, as
 * far as they are known now. `bytes` is a copy from the stack pointer on; it is not read, so it may
 * hold anything. */
void lu_memo_expect (const LuMemo *self, gint32 tid, const guint8 *bytes, guint64 size, guint64 sp);
/* Forgets the thread of the last walk, because its frames were wrong. */
void lu_memo_forget (LuMemo *self);
/* Returns the offset of the frame in the copy; beyond its size if it is not in it. */
static inline guint32
lu_memo_offset (const LuMemo *self, const LuMemoFrame *frame)
{
  return frame->frame.stack_offset - self->start;
}

/* Returns the offset in the copy of the next frame of the last stack; beyond the copy if there is
 * none. */
static inline guint64
lu_memo_next (const LuMemo *self)
{
  return self->n <= self->low ? G_MAXUINT64 : lu_memo_offset (self, &self->frames[self->n - 1]);
}

/* Drops frames below `offset`, then does the same. */
static inline guint64
lu_memo_skip (LuMemo *self, guint64 offset)
{
  while (self->n > self->low && lu_memo_offset (self, &self->frames[self->n - 1]) < offset)
    self->n--;
  if (self->n <= self->low)
    self->n = 0;
  return lu_memo_next (self);
}

/* Notes that `frames` [low, high) were copied, without another frame in between. They continue the
 * previous piece if they directly follow it; not if a frame has changed, because frames are settled
 * from the end of a piece on. */
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

/* Returns whether the steps from these registers are the steps from the frame. */
static inline gboolean
lu_memo_frame_is (const LuMemo *self, const LuMemoFrame *frame, const struct lu_compact_regs *regs)
{
  guint64 fp = -(guint64) (frame->live & LU_KNOWN_FP), bx = -(guint64) (frame->live >> 1);

  return frame->frame.pc == regs->pc && lu_memo_offset (self, frame) == regs->offset
         && (frame->compact & LU_COMPACT) != 0
         && (((frame->fp ^ regs->fp) & fp)
             | (((frame->bx ^ regs->bx) | ((frame->known ^ regs->known) & LU_KNOWN_BX)) & bx))
                == 0;
}

_Static_assert(LU_KNOWN_FP == 1 && LU_KNOWN_BX == 2, "as in lu_memo_frame_is()");
