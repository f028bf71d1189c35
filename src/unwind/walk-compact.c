/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-compact.c - the hot part of a walk: compact steps, and the thread's last stack; see walk.h.
 *
 * The cost of a step is its instructions and mispredicted branches. Memory is prefetched one sample
 * ahead (lu_walker_expect()). Several walks in flight are no faster (docs/experiments.md). */

#include "unwind/walk.h"

/* A frame that is not in the stack yet, and where it will be. */
typedef struct
{
  struct lu_compact_regs regs;
  guint32 flags;
  LuFrame *to;
} Position;

static inline void
put_frame (LuFrame *frame, guint64 pc, guint64 offset, guint32 flags)
{
  *frame = (LuFrame){ .pc = pc, .flags = flags, .stack_offset = (guint32) offset };
}

static inline void
put_memo (LuMemoFrame *frame, guint32 start, const Position *at, guint64 compact)
{
  put_frame (&frame->frame, at->regs.pc, start + at->regs.offset, at->flags);
  frame->fp = at->regs.fp;
  frame->bx = at->regs.bx;
  frame->compact = compact;
  frame->known = (guint8) at->regs.known;
}

/* Updates the frame that a walk has reached: registers that do not matter may differ. */
static inline void
put_registers (LuMemoFrame *frame, const Position *at)
{
  frame->frame.flags = at->flags;
  frame->fp = at->regs.fp;
  frame->bx = at->regs.bx;
}

/* Returns whether the last stack's frame-pointer step from the same frame and words is valid here.
 * Facts about files do not change; the rest depends on the copy and on the previous such step. */
static gboolean
is_same_fp_step (LuWalk *walk, const LuMemoFrame *frame)
{
  if (walk->view->has_pending || frame->fp <= walk->provider_state.last_fp
      || frame[-1].fp - walk->copy.start >= walk->copy.size)
    return FALSE;
  walk->provider_state.last_fp = frame->fp;
  walk->has_inferred = TRUE;
  return TRUE;
}

typedef guint32 FrameWords __attribute__ ((vector_size (sizeof (LuFrame))));

_Static_assert(offsetof (LuFrame, stack_offset) == 3 * sizeof (guint32), "as in take_over()");

/* Copies frames from `frame` down to the one above `limit`, with offsets in this copy. */
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

/* Like take_over(), up to a step that has to be made again. */
static __attribute__ ((noinline)) LuFrame *
take_over_special (LuWalk *walk, LuFrame *to, LuMemoFrame *frame, const LuMemoFrame *limit)
{
  for (; frame > limit; frame--)
    {
      if ((frame->compact & LU_COMPACT) == 0)
        break;
      if ((frame->compact & LU_COMPACT_FP_STEPPED) != 0 && !is_same_fp_step (walk, frame))
        {
          frame->compact = 0;
          walk->memo->is_changed = TRUE;
          break;
        }
      put_frame (to++, frame->frame.pc, lu_memo_offset (walk->memo, frame), frame->frame.flags);
    }
  return to;
}

/* Copies the thread's last stack from frames[high - 1], which is the frame at `at`, to the next one
 * whose step has to be made, and moves `at` there. Returns that frame of the memo; NULL if nothing
 * was copied. */
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

/* Returns the frame where the walk starts or continues. */
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

/* Stores a position back into the walk. `frame` is the same frame in the memo, if it is a caller.
 */
static inline void
leave (LuWalk *walk, const Position *at, LuMemoFrame *frame)
{
  struct lu_regs *regs = &walk->regs;

  walk->stack->n_frames = (guint) (at->to - walk->stack->frames);
  walk->is_inferred = (at->flags & LU_FRAME_INFERRED) != 0;
  walk->is_derived = (at->flags & LU_FRAME_DERIVED) != 0;
  walk->frame = NULL;
  if ((at->flags & LU_FRAME_RETURN_ADDRESS) == 0)
    return;
  regs->pc = at->regs.pc;
  regs->sp = walk->copy.start + at->regs.offset;
  regs->fp = at->regs.fp;
  regs->bx = at->regs.bx;
  regs->known = (regs->known & (LU_KNOWN_FP | LU_LOST_SP)) | (at->regs.known & LU_KNOWN_BX);
  regs->frame_kind = LU_FRAME_KIND_CALLER;
  regs->ucontext = 0;
  walk->frame = frame;
}

/* Like leave(), for a frame that is not in the memo yet. One without a stack pointer of its own
 * stays out of it: steps from frames of the memo are by the stack pointer. */
static inline void
leave_and_add (LuWalk *walk, const Position *at, LuMemoFrame *added, lu_compact_rule compact)
{
  gboolean has_sp = (walk->regs.known & LU_LOST_SP) == 0;

  leave (walk, at, has_sp ? added : NULL);
  if (walk->frame == NULL)
    return;
  put_memo (added, walk->memo->start, at, compact);
  walk->memo->n_added++;
}

/* Ends the walk: the next frame is the outermost one. */
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

/* The data of each step: copies of what is constant, so that the compiler knows it, and what was
 * found for the previous frame. */
typedef struct
{
  LuAddressSpaceView *view;
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

/* Finds the mapping of the next frame; FALSE if its rules cannot be in the cache. */
static inline gboolean
find_mapping (Way *way, guint64 lookup)
{
  const LuViewMapping *found = way->mapping;

  if (G_LIKELY (lookup - found->start < found->size))
    return TRUE;
  found = lu_address_space_view_find (way->view, lookup);
  if (found == NULL || lookup - found->start >= found->size)
    return FALSE;
  way->mapping = found;
  return TRUE;
}

/* Returns the rule of the next frame; 0 if the slow path must look it up. */
static inline lu_compact_rule
find_compact (Way *way, guint64 lookup)
{
  const LuViewMapping *found;

  if (!find_mapping (way, lookup))
    return 0;
  found = way->mapping;
  return lu_rule_cache_find_caller (way->rules, &way->place, found->base.module,
                                    lookup + found->to_key);
}

/* Like find_compact(), for the first frame of a walk. */
static inline lu_compact_rule
find_first_compact (Way *way, guint64 lookup)
{
  const LuViewMapping *found;

  if (!find_mapping (way, lookup))
    return 0;
  found = way->mapping;
  way->place = lu_rule_cache_find_first (way->rules, found->base.module, lookup + found->to_key);
  return way->place->compact;
}

/* Repeats a known frame-pointer step from a caller's frame without a rule. `added` is the frame in
 * the memo. */
static __attribute__ ((noinline)) gboolean
fp_step (LuWalk *walk, Position *at, LuMemoFrame *added)
{
  Position from = *at;
  lu_compact_rule compact;

  if (walk->view->has_pending)
    return FALSE;
  compact = lu_fp_step_facts_step (walk->facts, &walk->provider_state, &walk->copy, &at->regs);
  if (compact == 0)
    return FALSE;
  added->compact = compact;
  walk->provider_state.last_fp = from.regs.fp;
  walk->has_inferred = TRUE;
  at->flags = LU_FRAME_RETURN_ADDRESS | LU_FRAME_INFERRED;
  return TRUE;
}

/* Steps from the sampled frame, or one interrupted by a signal. FALSE: its step is not compact. */
static inline gboolean
step_from_leaf (LuWalk *walk, Position *at, Way *way, lu_compact_rule *compact)
{
  struct lu_compact_regs regs = at->regs;

  *compact = find_first_compact (way, regs.pc);
  if ((*compact & LU_COMPACT) == 0 || at->to == &walk->stack->frames[LU_STACK_MAX_FRAMES]
      || !lu_compact_step (&at->regs, *compact, &way->copy))
    return FALSE;
  put_frame (at->to++, regs.pc, regs.offset, at->flags);
  at->flags = LU_FRAME_RETURN_ADDRESS;
  return TRUE;
}

/* Puts a caller's frame into the stack and into `added`, and steps from it. FALSE: the slow path
 * must step, and the frame is not in the stack. */
static inline __attribute__ ((always_inline)) gboolean
step_from_caller (LuWalk *walk, Position *at, Way *way, lu_compact_rule *compact,
                  LuMemoFrame *added)
{
  *compact = find_compact (way, at->regs.pc - 1);
  put_frame (at->to, at->regs.pc, at->regs.offset, at->flags);
  put_memo (added, way->memo_start, at, *compact);
  if (G_UNLIKELY ((*compact & LU_COMPACT) == 0))
    {
      Position from = *at;

      if ((*compact & LU_COMPACT_END) != 0 || !fp_step (walk, &from, added))
        return FALSE;
      *at = from;
    }
  else if (!lu_compact_step (&at->regs, *compact, &way->copy))
    return FALSE;
  else
    at->flags = LU_FRAME_RETURN_ADDRESS;
  at->to++;
  return TRUE;
}

/* Returns whether the thread's last stack leads to its end by compact rules alone, with room for
 * it.
 */
static inline gboolean
leads_to_end (const LuWalk *walk, const LuFrame *to, guint high)
{
  const LuMemo *memo = walk->memo;

  return (memo->frames[memo->low].compact & LU_COMPACT_END) != 0 && memo->special == memo->low
         && (guint) (&walk->stack->frames[LU_STACK_MAX_FRAMES] - to) >= high - memo->low;
}

/* Copies the thread's last stack to its end, from the frame after frames[high - 1], which is
 * already in the stack. */
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
  MET_NONE, /* nothing was copied */
  MET_SOME, /* the walk continues; the frame after the copied ones has been added */
  MET_LEFT, /* the slow path must step from the last copied frame */
  MET_END,
} Met;

/* Continues with the thread's last stack: the current frame is frames[high - 1]. */
static __attribute__ ((noinline)) Met
meet (LuWalk *walk, Position *at, guint high)
{
  LuMemo *memo = walk->memo;
  LuMemoFrame *frame = follow (walk, at, high);
  Way way = find_way (walk);
  gboolean has_room = at->to < &walk->stack->frames[LU_STACK_MAX_FRAMES];
  lu_compact_rule compact;

  if (frame == NULL)
    return MET_NONE;
  if ((frame->compact & LU_COMPACT_END) != 0 && has_room)
    {
      end (walk, at);
      return MET_END;
    }
  if (has_room && step_from_caller (walk, at, &way, &compact, &memo->added[memo->n_added]))
    {
      memo->pieces[memo->n_pieces - 1].low++;
      memo->n_added++;
      return MET_SOME;
    }
  leave (walk, at, frame);
  return MET_LEFT;
}

LuWalkResult
lu_walk_compact (LuWalk *self)
{
  const LuFrame *last = &self->stack->frames[LU_STACK_MAX_FRAMES];
  LuMemo *memo = self->memo;
  Position at = begin (self);
  Way way = find_way (self);
  LuMemoFrame *added = &memo->added[memo->n_added];
  guint64 next = lu_memo_next (memo); /* the offset of the next frame of the last stack */
  lu_compact_rule compact = 0;
  gboolean is_end, is_usual = way.view->n > 0 && at.regs.offset <= way.copy.size
                              && (at.regs.known & (LU_KNOWN_FP | LU_LOST_SP)) == LU_KNOWN_FP;

  if (is_usual && (at.flags & LU_FRAME_RETURN_ADDRESS) == 0)
    is_usual = step_from_leaf (self, &at, &way, &compact);
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
      if (!step_from_caller (self, &at, &way, &compact, added))
        break;
    }
  memo->n_added = (guint) (added - memo->added);
  is_end = (compact & LU_COMPACT_END) != 0 && at.to < last;
  leave_and_add (self, &at, added, is_end ? LU_COMPACT_END : 0);
  return is_end ? end (self, &at) : LU_WALK_ON;
}
