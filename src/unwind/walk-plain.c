/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-plain.c - the hot part of a walk: plain steps, and the thread's last stack; see walk.h.
 *
 * What counts is the number of instructions of a step and of branches that the CPU cannot foresee.
 * Tried: several walks in flight, one step of each in turn, so that they wait for memory together.
 * Two, four or eight of them took as long as this does, or longer (python3 10 to 13 ns per frame
 * in place of 8, cc1 9 to 13 in place of 8): what a step needs next is mostly known before it has
 * come from memory, and what is not costs all walks their work ahead. */

#include "unwind/guess.h"
#include "unwind/walk.h"

/* A frame that is not in the stack yet, and where it comes to be. */
typedef struct
{
  struct lu_plain_regs regs;
  guint32 flags;
  LuFrame *to;
} Position;

static inline void
put_frame (LuFrame *frame, guint64 pc, guint64 offset, guint32 flags)
{
  *frame = (LuFrame){ .pc = pc, .flags = flags, .stack_offset = (guint32) offset };
}

static inline void
put_memo (LuMemoFrame *frame, const struct lu_plain_regs *regs, guint64 start, lu_plain plain)
{
  *frame = (LuMemoFrame){ .pc = regs->pc,
                          .sp = start + regs->offset,
                          .fp = regs->fp,
                          .bx = regs->bx,
                          .plain = plain,
                          .known = regs->known };
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

static guint32
flags_behind (lu_plain plain)
{
  return LU_FRAME_RETURN_ADDRESS | (guint32) (plain & LU_PLAIN_GUESSED) >> 1;
}

/* Whether the frame leads to the one before it, at `end`, by a step that is known. *flags: of that
 * one, if they are not the usual ones. */
static inline gboolean
leads_on (LuWalk *walk, const LuMemoFrame *frame, guint64 end, const struct lu_copy *copy,
          guint32 *flags)
{
  if (G_UNLIKELY ((frame->plain & (LU_PLAIN | LU_PLAIN_GUESSED)) != LU_PLAIN))
    {
      if ((frame->plain & LU_PLAIN) == 0 || !lu_memo_leads_on (frame, end, copy))
        return FALSE;
      *flags = flags_behind (frame->plain);
      return is_same_guess (walk, frame);
    }
  return lu_memo_leads_on (frame, end, copy);
}

/* Goes on along the thread's last stack as far as this one is the same, from frames[high - 1],
 * which is the one at `at`, to a frame that is at `at` then. Whether that is the outermost one. */
static gboolean
follow (LuWalk *walk, Position *at, guint high)
{
  LuMemoFrame *frames = walk->memo->frames, *frame = &frames[high - 1];
  LuFrame *to = at->to;
  const LuFrame *last = &walk->stack->frames[LU_STACK_MAX_FRAMES];
  const LuMemoFrame *limit = frame - MIN (high - 1, (guint) (last - to));
  struct lu_copy copy = walk->copy;
  guint64 offset = at->regs.offset;
  guint32 flags = at->flags;
  gboolean is_end;

  frame->fp = at->regs.fp;
  frame->bx = at->regs.bx;
  while (frame > limit)
    {
      guint64 end = frame[-1].sp - copy.start;
      guint32 next_flags = LU_FRAME_RETURN_ADDRESS;

      if (!leads_on (walk, frame, end, &copy, &next_flags))
        break;
      put_frame (to++, frame->pc, offset, flags);
      flags = next_flags;
      offset = end;
      frame--;
    }
  if (frame == &frames[high - 1])
    return FALSE;
  *at = (Position){ .regs = { .pc = frame->pc,
                              .offset = offset,
                              .fp = frame->fp,
                              .bx = frame->bx,
                              .known = frame->known },
                    .flags = flags,
                    .to = to };
  is_end = (frame->plain & LU_PLAIN_END) != 0 && to < last;
  lu_memo_keep (walk->memo, (guint) (frame - frames), high, is_end);
  return is_end;
}

/* For a caller's frame that is far enough up to be one of the last stack: follows that one. */
static __attribute__ ((noinline)) gboolean
meet (LuWalk *walk, Position *at)
{
  LuMemo *memo = walk->memo;
  guint64 sp = walk->copy.start + at->regs.offset;
  const LuMemoFrame *frame;
  gboolean is_end = FALSE;
  guint n = memo->n;

  while (n > 0 && memo->frames[n - 1].sp < sp)
    n--;
  memo->n = n;
  if (n == 0)
    return FALSE;
  frame = &memo->frames[n - 1];
  if (lu_memo_frame_is (frame, &at->regs, walk->copy.start))
    is_end = follow (walk, at, n);
  if (memo->n == n && frame->sp == sp)
    memo->n--;
  return is_end;
}

/* Where the walk begins or goes on. */
static inline Position
begin (LuWalk *walk)
{
  const struct lu_regs *regs = &walk->regs;

  return (Position){ .regs = { .pc = regs->pc,
                               .offset = regs->sp - walk->copy.start,
                               .fp = regs->fp,
                               .bx = regs->bx,
                               .known = regs->known },
                     .flags = lu_walk_take_flags (walk, regs->frame_kind == LU_FRAME_KIND_CALLER),
                     .to = &walk->stack->frames[walk->stack->n_frames] };
}

/* The other way round. `added`: where the memo has the frame, if it is a caller. */
static inline void
leave (LuWalk *walk, const Position *at, LuMemoFrame *added)
{
  struct lu_regs *regs = &walk->regs;

  walk->stack->n_frames = (guint) (at->to - walk->stack->frames);
  walk->is_guessed = (at->flags & LU_FRAME_GUESSED) != 0;
  walk->frame = NULL;
  if ((at->flags & LU_FRAME_RETURN_ADDRESS) == 0)
    return;
  regs->pc = at->regs.pc;
  regs->sp = walk->copy.start + at->regs.offset;
  regs->fp = at->regs.fp;
  regs->bx = at->regs.bx;
  regs->known = at->regs.known & (LU_KNOWN_FP | LU_KNOWN_BX);
  regs->frame_kind = LU_FRAME_KIND_CALLER;
  regs->ucontext = 0;
  put_memo (added, &at->regs, walk->copy.start, 0);
  walk->frame = added;
  walk->memo->n_added = (guint) (added + 1 - walk->memo->added);
}

/* The frame that comes next is the outermost one. `added`: as in leave(), or NULL. */
static LuWalkResult
end (LuWalk *walk, Position *at, LuMemoFrame *added)
{
  LuStack *stack = walk->stack;

  put_frame (at->to++, at->regs.pc, at->regs.offset, at->flags);
  stack->n_frames = (guint) (at->to - stack->frames);
  stack->status = LU_STATUS_COMPLETE;
  stack->end_pc = 0;
  walk->regs.sp = walk->copy.start + at->regs.offset;
  if (added == NULL || (at->flags & LU_FRAME_RETURN_ADDRESS) == 0)
    return LU_WALK_DONE;
  put_memo (added, &at->regs, walk->copy.start, LU_PLAIN_END);
  walk->memo->n_added = (guint) (added + 1 - walk->memo->added);
  return LU_WALK_DONE;
}

/* The rule of the frame to come; 0 if that is for others. *mapping: of the frame before. */
static inline lu_plain
find_plain (LuSpaceView *view, LuRuleCache *rules, guint64 lookup, const LuViewMapping **mapping,
            guint *place)
{
  const LuViewMapping *found = *mapping;

  if (G_UNLIKELY (lookup - found->start >= found->size))
    {
      found = lu_space_view_find (view, lookup);
      if (found == NULL || lookup - found->start >= found->size)
        return 0;
      *mapping = found;
    }
  return lu_rule_cache_find_caller (rules, place, found->base.module, lookup + found->to_key);
}

/* The step of a caller's frame without a rule, if it is one by frame pointer that is known. */
static __attribute__ ((noinline)) lu_plain
guess (LuWalk *walk, struct lu_plain_regs *regs)
{
  guint64 fp = regs->fp;
  lu_plain plain;

  if (walk->view->has_pending)
    return 0;
  plain = lu_guess_facts_step (walk->facts, walk->view->serial, walk->last_fp, walk->n_guess_rules,
                               &walk->copy, regs);
  if (plain == 0)
    return 0;
  walk->last_fp = fp;
  walk->n_guess_rules += (plain & LU_PLAIN_GUESS_ASKED) != 0;
  walk->has_guessed = TRUE;
  return plain;
}

LuWalkResult
lu_walk_plain (LuWalk *self)
{
  const LuFrame *last = &self->stack->frames[LU_STACK_MAX_FRAMES];
  LuMemo *memo = self->memo;
  struct lu_copy copy = self->copy;
  Position at = begin (self);
  LuMemoFrame *added = &memo->added[memo->n_added];
  guint64 next = lu_memo_next (memo, &copy); /* where to look for a frame of the last stack */
  LuSpaceView *view = self->view;
  LuRuleCache *rules = self->rules;
  const LuViewMapping *mapping = view->last;
  guint place = LU_RULE_NO_PLACE;
  lu_plain plain = 0;
  gboolean is_usual =
      view->n > 0 && at.regs.offset <= copy.size && (at.regs.known & LU_KNOWN_FP) != 0;

  while (G_LIKELY (is_usual))
    {
      guint is_caller = at.flags & LU_FRAME_RETURN_ADDRESS;
      guint32 flags = LU_FRAME_RETURN_ADDRESS; /* of the next */
      struct lu_plain_regs regs = at.regs;

      if (G_UNLIKELY (regs.offset >= next) && is_caller)
        {
          Position met = at;

          memo->n_added = (guint) (added - memo->added);
          if (meet (self, &met))
            return end (self, &met, NULL);
          at = met;
          next = lu_memo_next (memo, &copy);
          if (at.regs.offset != regs.offset)
            place = LU_RULE_NO_PLACE;
          regs = at.regs;
        }
      plain = find_plain (view, rules, regs.pc - is_caller, &mapping, &place);
      if (G_UNLIKELY ((plain & LU_PLAIN) == 0))
        {
          struct lu_plain_regs caller = regs;

          if ((plain & LU_PLAIN_END) != 0 || !is_caller || at.to == last
              || (plain = guess (self, &caller)) == 0)
            break;
          at.regs = caller;
          flags = flags_behind (plain);
        }
      else if (G_UNLIKELY (at.to == last) || !lu_plain_step (&at.regs, plain, &copy))
        break;
      put_frame (at.to++, regs.pc, regs.offset, at.flags);
      put_memo (added, &regs, copy.start, plain); /* that of the leaf is overwritten */
      added += is_caller;
      at.flags = flags;
    }
  memo->n_added = (guint) (added - memo->added);
  if ((plain & LU_PLAIN_END) != 0 && at.to < last)
    return end (self, &at, added);
  leave (self, &at, added);
  return LU_WALK_ON;
}
