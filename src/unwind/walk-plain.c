/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-plain.c - the hot part of a walk: plain steps, and the thread's last stack; see walk.h. */

#include "unwind/guess.h"
#include "unwind/walk.h"

static inline LuFrame
frame_of (const LuWalk *walk, guint64 pc, guint64 sp, guint32 flags)
{
  guint64 offset = sp - walk->copy.start;

  return (LuFrame){ .pc = pc,
                    .flags = flags,
                    .stack_offset = offset <= G_MAXUINT32 ? (guint32) offset : 0 };
}

_Static_assert(LU_PLAIN_GUESSED >> 1 == LU_FRAME_GUESSED, "flags of a step and of what it found");

/* Whether the guess of the last stack is the one of this, its frame and words being the same: what
 * was seen of files stays so, and the rest is in relation to the copy and to the guess before it.
 */
static gboolean
is_same_guess (LuWalk *walk, const LuMemoFrame *frame)
{
  if (walk->view->has_pending || frame->fp <= walk->last_fp
      || frame[-1].fp - walk->copy.start >= walk->copy.size
      || walk->n_guess_rules >= LU_GUESS_MAX_RULES)
    return FALSE;
  walk->last_fp = frame->fp;
  walk->n_guess_rules += (frame->plain & LU_PLAIN_GUESS_ASKED) != 0;
  walk->has_guessed = TRUE;
  return TRUE;
}

static inline gboolean
leads_on (LuWalk *walk, const LuMemoFrame *frame, const struct lu_copy *copy)
{
  return lu_memo_leads_on (frame, copy)
         && (G_LIKELY ((frame->plain & LU_PLAIN_GUESSED) == 0) || is_same_guess (walk, frame));
}

/* Goes on along the thread's last stack as far as this one is the same, from frames[high - 1],
 * which is `regs`, to the frame that is returned and is `regs` then. NULL: not at all. */
static LuMemoFrame *
follow (LuWalk *walk, struct lu_regs *regs, guint high)
{
  LuMemoFrame *frames = walk->memo->frames, *frame = &frames[high - 1];
  LuStack *stack = walk->stack;
  LuFrame *out = &stack->frames[stack->n_frames];
  const LuFrame *end = &stack->frames[LU_STACK_MAX_FRAMES];
  struct lu_copy copy = walk->copy;

  if (frame == frames || regs->sp < copy.start || out == end || !leads_on (walk, frame, &copy))
    return NULL;
  *out++ = frame_of (walk, regs->pc, regs->sp, lu_walk_take_flags (walk, TRUE));
  frame->fp = regs->fp;
  frame->bx = regs->bx;
  for (frame--; frame > frames && out < end && leads_on (walk, frame, &copy); frame--)
    *out++ = (LuFrame){ .pc = frame->pc,
                        .flags = LU_FRAME_RETURN_ADDRESS
                                 | (guint32) (frame[1].plain & LU_PLAIN_GUESSED) >> 1,
                        .stack_offset = (guint32) (frame->sp - copy.start) };
  walk->is_guessed = (frame[1].plain & LU_PLAIN_GUESSED) != 0;
  stack->n_frames = (guint) (out - stack->frames);
  regs->pc = frame->pc;
  regs->sp = frame->sp;
  regs->fp = frame->fp;
  regs->bx = frame->bx;
  regs->known = frame->known;
  lu_memo_keep (walk->memo, (guint) (frame - frames), high);
  return frame;
}

/* The entry of the caller's frame that `regs` are of; that may be one further up afterwards. */
static inline LuMemoFrame *
remember (LuWalk *walk, struct lu_regs *regs)
{
  LuMemo *memo = walk->memo;
  LuMemoFrame *frame = NULL;
  guint n = memo->n;

  while (n > 0 && memo->frames[n - 1].sp < regs->sp)
    n--;
  memo->n = n;
  if (n > 0 && lu_memo_frame_is (&memo->frames[n - 1], regs))
    frame = follow (walk, regs, n);
  return frame != NULL ? frame : lu_memo_add (memo, regs);
}

/* The frame that comes next is the outermost one. */
static LuWalkResult
end (LuWalk *walk, LuMemoFrame *frame, gboolean is_caller)
{
  LuStack *stack = walk->stack;

  if (stack->n_frames == LU_STACK_MAX_FRAMES)
    return LU_WALK_ON;
  frame->plain = LU_PLAIN_END;
  stack->frames[stack->n_frames++] =
      frame_of (walk, walk->regs.pc, walk->regs.sp, lu_walk_take_flags (walk, is_caller));
  stack->status = LU_STATUS_COMPLETE;
  stack->end_pc = 0;
  return LU_WALK_DONE;
}

LuWalkResult
lu_walk_plain (LuWalk *self)
{
  struct lu_regs regs = self->regs;
  LuStack *stack = self->stack;
  LuMemoFrame *frame = NULL;
  LuMemoFrame leaf; /* nobody remembers it */
  guint is_caller = regs.frame_kind == LU_FRAME_KIND_CALLER;
  lu_plain plain = 0;
  guint place = LU_RULE_NO_PLACE;

  for (frame = &leaf;; is_caller = 1)
    {
      const LuViewMapping *mapping;
      guint64 lookup, pc, sp;

      if (is_caller)
        {
          frame = remember (self, &regs);
          plain = frame->plain;
          if (plain == LU_PLAIN_END)
            break;
          frame->plain = 0;
        }
      lookup = regs.pc - is_caller;
      mapping = lu_space_view_find (self->view, lookup);
      if (G_UNLIKELY (mapping == NULL || lookup - mapping->start >= mapping->size))
        break;
      plain = lu_rule_cache_find_caller (self->rules, &place, mapping->base.module,
                                         lookup + mapping->to_key)
              & LU_PLAIN_STEP_MASK;
      pc = regs.pc;
      sp = regs.sp;
      if (G_UNLIKELY ((plain & LU_PLAIN) == 0 || stack->n_frames == LU_STACK_MAX_FRAMES)
          || !lu_plain_step (&regs, plain, &self->copy))
        break;
      stack->frames[stack->n_frames++] =
          frame_of (self, pc, sp, lu_walk_take_flags (self, is_caller));
      frame->plain = plain;
    }
  self->frame = NULL;
  if (is_caller)
    {
      regs.frame_kind = LU_FRAME_KIND_CALLER;
      regs.ucontext = 0;
      self->frame = frame;
    }
  self->regs = regs;
  return plain == LU_PLAIN_END ? end (self, frame, is_caller) : LU_WALK_ON;
}
