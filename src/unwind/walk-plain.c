/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-plain.c - the hot part of a walk: plain steps, and the thread's last stack; see walk.h.
 *
 * What counts is the number of instructions of a step and of branches that the CPU cannot foresee.
 * Tried: several walks in flight, one step of each in turn, so that they wait for memory together.
 * Two, four or eight of them took as long as this does, or longer (python3 10 to 13 ns per frame
 * in place of 8, cc1 9 to 13 in place of 8): what a step needs next is mostly known before it has
 * come from memory, and what is not costs all walks their work ahead. What helps is to fetch the
 * next sample's words while this one is walked (lu_walker_expect()), into the second cache: fetched
 * into the first one, not even exactly the words that an oracle would name were any faster. */

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
put_memo (LuMemoFrame *frame, guint32 start, const Position *at, guint64 plain)
{
  put_frame (&frame->frame, at->regs.pc, start + at->regs.offset, at->flags);
  frame->fp = at->regs.fp;
  frame->bx = at->regs.bx;
  frame->plain = plain;
  frame->known = (guint8) at->regs.known;
}

/* Of the frame that is met, those that do not matter may be others. */
static inline void
put_registers (LuMemoFrame *frame, const Position *at)
{
  frame->frame.flags = at->flags;
  frame->fp = at->regs.fp;
  frame->bx = at->regs.bx;
}

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

typedef guint32 FrameWords __attribute__ ((vector_size (sizeof (LuFrame))));

_Static_assert(offsetof (LuFrame, stack_offset) == 3 * sizeof (guint32), "as in take_over()");

/* Frames from `frame` on to the one that follows `limit`, with offsets in this copy. */
static inline LuFrame *
take_over (LuFrame *to, const LuMemoFrame *frame, const LuMemoFrame *limit, guint32 start)
{
  const FrameWords less = { 0, 0, 0, start };

  for (; frame > limit; frame--, to++)
    {
      FrameWords words;

      memcpy (&words, &frame->frame, sizeof words);
      words -= less;
      memcpy (to, &words, sizeof words);
    }
  return to;
}

/* As take_over(), as far as guesses are the same, too. */
static __attribute__ ((noinline)) LuFrame *
take_over_special (LuWalk *walk, LuFrame *to, LuMemoFrame *frame, const LuMemoFrame *limit)
{
  for (; frame > limit; frame--)
    {
      if ((frame->plain & LU_PLAIN) == 0)
        break;
      if ((frame->plain & LU_PLAIN_GUESSED) != 0 && !is_same_guess (walk, frame))
        {
          frame->plain = 0;
          walk->memo->is_changed = TRUE;
          break;
        }
      put_frame (to++, frame->frame.pc, lu_memo_offset (walk->memo, frame), frame->frame.flags);
    }
  return to;
}

/* Takes over the thread's last stack from frames[high - 1], which is the one at `at`, to the next
 * one whose step has to be made; that is at `at` then. The frame of the memo there, or NULL if
 * there was none but the first. */
static inline LuMemoFrame *
follow (LuWalk *walk, Position *at, guint high)
{
  LuMemo *memo = walk->memo;
  LuMemoFrame *frame = &memo->frames[high - 1];
  LuFrame *to = at->to;
  const LuFrame *last = &walk->stack->frames[LU_STACK_MAX_FRAMES];
  guint n = MIN (high - 1 - memo->low, (guint) (last - to)); /* at most */
  LuMemoFrame *limit = frame - n;
  LuMemoFrame *special = MAX (&memo->frames[memo->special], limit);

  put_registers (frame, at);
  if (frame > special)
    {
      put_frame (to, at->regs.pc, at->regs.offset, at->flags);
      to = take_over (to + 1, frame - 1, special, memo->start);
    }
  if (special > limit)
    to = take_over_special (walk, to, MIN (special, frame), limit);
  n = (guint) (to - at->to);
  if (n == 0)
    return NULL;
  frame -= n;
  *at = (Position){ .regs = { .pc = frame->frame.pc,
                              .offset = lu_memo_offset (memo, frame),
                              .fp = frame->fp,
                              .bx = frame->bx,
                              .known = frame->known },
                    .flags = frame->frame.flags,
                    .to = to };
  lu_memo_keep (memo, high - 1 - n, high);
  return frame;
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

/* The other way round. `frame`: the one in the memo, if it is a caller's. */
static inline void
leave (LuWalk *walk, const Position *at, LuMemoFrame *frame)
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
  regs->known = (regs->known & LU_KNOWN_FP) | (at->regs.known & LU_KNOWN_BX);
  regs->frame_kind = LU_FRAME_KIND_CALLER;
  regs->ucontext = 0;
  walk->frame = frame;
}

/* The same, if that frame is not in the memo yet. */
static inline void
leave_and_add (LuWalk *walk, const Position *at, LuMemoFrame *added, lu_plain plain)
{
  leave (walk, at, added);
  if (walk->frame == NULL)
    return;
  put_memo (added, walk->memo->start, at, plain);
  walk->memo->n_added++;
}

/* The frame that comes next is the outermost one. */
static inline LuWalkResult
end (LuWalk *walk, const Position *at)
{
  LuStack *stack = walk->stack;

  put_frame (at->to, at->regs.pc, at->regs.offset, at->flags);
  stack->n_frames = (guint) (at->to + 1 - stack->frames);
  stack->status = LU_STATUS_COMPLETE;
  stack->end_pc = 0;
  walk->regs.sp = walk->copy.start + at->regs.offset;
  return LU_WALK_DONE;
}

/* What a walk looks at in each step: copies of what does not change, so that the compiler sees
 * that, and what was found for the frame before. */
typedef struct
{
  LuSpaceView *view;
  LuRuleCache *rules;
  const LuViewMapping *mapping;
  LuRulePlace *place;
  struct lu_copy copy;
  guint32 memo_start;
} Way;

static inline Way
find_way (const LuWalk *walk)
{
  return (Way){ .view = walk->view,
                .rules = walk->rules,
                .mapping = walk->view->last,
                .place = lu_rule_cache_nowhere (walk->rules),
                .copy = walk->copy,
                .memo_start = walk->memo->start };
}

/* The mapping of the frame to come, if its rules are in the cache. */
static inline gboolean
find_mapping (Way *way, guint64 lookup)
{
  const LuViewMapping *found = way->mapping;

  if (G_LIKELY (lookup - found->start < found->size))
    return TRUE;
  found = lu_space_view_find (way->view, lookup);
  if (found == NULL || lookup - found->start >= found->size)
    return FALSE;
  way->mapping = found;
  return TRUE;
}

/* The rule of the frame to come; 0 if that is for others. */
static inline lu_plain
find_plain (Way *way, guint64 lookup)
{
  const LuViewMapping *found;

  if (!find_mapping (way, lookup))
    return 0;
  found = way->mapping;
  return lu_rule_cache_find_caller (way->rules, &way->place, found->base.module,
                                    lookup + found->to_key);
}

/* The same for the first frame of a walk. */
static inline lu_plain
find_first_plain (Way *way, guint64 lookup)
{
  const LuViewMapping *found;

  if (!find_mapping (way, lookup))
    return 0;
  found = way->mapping;
  way->place = lu_rule_cache_find_first (way->rules, found->base.module, lookup + found->to_key);
  return way->place->plain;
}

/* The step of a caller's frame without a rule, if it is one by frame pointer that is known.
 * `added`: the frame in the memo. */
static __attribute__ ((noinline)) gboolean
guess (LuWalk *walk, Position *at, LuMemoFrame *added)
{
  Position from = *at;
  lu_plain plain;

  if (walk->view->has_pending)
    return FALSE;
  plain = lu_guess_facts_step (walk->facts, walk->view->serial, walk->last_fp, walk->n_guess_rules,
                               &walk->copy, &at->regs);
  if (plain == 0)
    return FALSE;
  added->plain = plain;
  walk->last_fp = from.regs.fp;
  walk->n_guess_rules += (plain & LU_PLAIN_GUESS_ASKED) != 0;
  walk->has_guessed = TRUE;
  at->flags = LU_FRAME_RETURN_ADDRESS | LU_FRAME_GUESSED;
  return TRUE;
}

/* The sampled frame, or one that a signal interrupted. FALSE: its step is not plain. */
static inline gboolean
step_from_leaf (LuWalk *walk, Position *at, Way *way, lu_plain *plain)
{
  struct lu_plain_regs regs = at->regs;

  *plain = find_first_plain (way, regs.pc);
  if ((*plain & LU_PLAIN) == 0 || at->to == &walk->stack->frames[LU_STACK_MAX_FRAMES]
      || !lu_plain_step (&at->regs, *plain, &way->copy))
    return FALSE;
  put_frame (at->to++, regs.pc, regs.offset, at->flags);
  at->flags = LU_FRAME_RETURN_ADDRESS;
  return TRUE;
}

/* One caller's frame: into the stack, and to `added`. FALSE: its step is neither plain nor guessed,
 * and it is not in the stack. */
static inline __attribute__ ((always_inline)) gboolean
step_from_caller (LuWalk *walk, Position *at, Way *way, lu_plain *plain, LuMemoFrame *added)
{
  *plain = find_plain (way, at->regs.pc - 1);
  put_frame (at->to, at->regs.pc, at->regs.offset, at->flags);
  put_memo (added, way->memo_start, at, *plain);
  if (G_UNLIKELY ((*plain & LU_PLAIN) == 0))
    {
      Position from = *at;

      if ((*plain & LU_PLAIN_END) != 0 || !guess (walk, &from, added))
        return FALSE;
      *at = from;
    }
  else if (!lu_plain_step (&at->regs, *plain, &way->copy))
    return FALSE;
  else
    at->flags = LU_FRAME_RETURN_ADDRESS;
  at->to++;
  return TRUE;
}

/* Whether the thread's last stack leads on to its end, by plain rules alone, and there is room. */
static inline gboolean
leads_to_end (const LuWalk *walk, const LuFrame *to, guint high)
{
  const LuMemo *memo = walk->memo;

  return (memo->frames[memo->low].plain & LU_PLAIN_END) != 0 && memo->special == memo->low
         && (guint) (&walk->stack->frames[LU_STACK_MAX_FRAMES] - to) >= high - memo->low;
}

/* Takes over the thread's last stack from frames[high - 1], which is in the stack already, in front
 * of `to`, to its end. */
static __attribute__ ((noinline)) LuWalkResult
follow_to_end (LuWalk *walk, LuFrame *to, guint high)
{
  LuMemo *memo = walk->memo;
  LuStack *stack = walk->stack;
  const LuMemoFrame *frames = memo->frames;

  to = take_over (to, &frames[high - 2], frames + memo->low - 1, memo->start);
  lu_memo_keep (memo, memo->low, high);
  stack->n_frames = (guint) (to - stack->frames);
  stack->status = LU_STATUS_COMPLETE;
  stack->end_pc = 0;
  walk->regs.sp = walk->copy.start + to[-1].stack_offset;
  return LU_WALK_DONE;
}

typedef enum
{
  MET_NONE,
  MET_SOME, /* the walk goes on behind the frame after them, which has been added */
  MET_LEFT, /* the walk is for others where the last one is */
  MET_END,
} Met;

/* Goes on with the thread's last stack, of which the frame is frames[high - 1]. */
static __attribute__ ((noinline)) Met
meet (LuWalk *walk, Position *at, guint high)
{
  LuMemo *memo = walk->memo;
  LuMemoFrame *frame = follow (walk, at, high);
  Way way = find_way (walk);
  gboolean has_room = at->to < &walk->stack->frames[LU_STACK_MAX_FRAMES];
  lu_plain plain;

  if (frame == NULL)
    return MET_NONE;
  if ((frame->plain & LU_PLAIN_END) != 0 && has_room)
    {
      end (walk, at);
      return MET_END;
    }
  if (has_room && step_from_caller (walk, at, &way, &plain, &memo->added[memo->n_added]))
    {
      memo->pieces[memo->n_pieces - 1].low++;
      memo->n_added++;
      return MET_SOME;
    }
  leave (walk, at, frame);
  return MET_LEFT;
}

LuWalkResult
lu_walk_plain (LuWalk *self)
{
  const LuFrame *last = &self->stack->frames[LU_STACK_MAX_FRAMES];
  LuMemo *memo = self->memo;
  Position at = begin (self);
  Way way = find_way (self);
  LuMemoFrame *added = &memo->added[memo->n_added];
  guint64 next = lu_memo_next (memo); /* where to look for a frame of the last stack */
  lu_plain plain = 0;
  gboolean is_end, is_usual = way.view->n > 0 && at.regs.offset <= way.copy.size
                              && (at.regs.known & LU_KNOWN_FP) != 0;

  if (is_usual && (at.flags & LU_FRAME_RETURN_ADDRESS) == 0)
    is_usual = step_from_leaf (self, &at, &way, &plain);
  for (; G_LIKELY (is_usual) && G_LIKELY (at.to != last); added++)
    {
      if (at.regs.offset > next)
        next = lu_memo_skip (memo, at.regs.offset);
      if (at.regs.offset == next)
        {
          guint high = memo->n--;

          if (lu_memo_frame_is (memo, &memo->frames[high - 1], &at.regs))
            {
              Position met = at;
              Met result;

              memo->n_added = (guint) (added - memo->added);
              if (G_LIKELY (leads_to_end (self, at.to, high)))
                {
                  put_frame (at.to, at.regs.pc, at.regs.offset, at.flags);
                  put_registers (&memo->frames[high - 1], &at);
                  return follow_to_end (self, at.to + 1, high);
                }
              result = meet (self, &met, high);
              if (result > MET_SOME)
                return result == MET_END ? LU_WALK_DONE : LU_WALK_ON;
              next = lu_memo_next (memo);
              if (result == MET_SOME)
                {
                  at = met;
                  way.place = lu_rule_cache_nowhere (self->rules);
                  continue;
                }
            }
          next = lu_memo_next (memo);
        }
      if (!step_from_caller (self, &at, &way, &plain, added))
        break;
    }
  memo->n_added = (guint) (added - memo->added);
  is_end = (plain & LU_PLAIN_END) != 0 && at.to < last;
  leave_and_add (self, &at, added, is_end ? LU_PLAIN_END : 0);
  return is_end ? end (self, &at) : LU_WALK_ON;
}
