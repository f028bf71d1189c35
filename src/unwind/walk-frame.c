/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-frame.c - the steps that are not plain, and how walks end; see walk.h. */

#include "lu/step.h"
#include "unwind/dwfl-facts.h"
#include "unwind/guess.h"
#include "unwind/walk.h"

/* As in dwfl.c: what is further above the sampled stack pointer is another stack; what the kernel
 * puts between a handler's stack and the interrupted one. */
#define MAX_STACK        (64u << 20)
#define MAX_SIGNAL_FRAME 65536u

/* What the step reads */

static int
read_stack (void *data, uint64_t address, uint64_t *value)
{
  LuWalk *walk = data;
  guint64 offset = address - walk->copy.start;

  if (G_UNLIKELY (offset > walk->copy.size - sizeof *value)) /* below the copy, too */
    {
      walk->failed_address = address;
      return 0;
    }
  *value = lu_copy_word (&walk->copy, offset);
  return 1;
}

static int
read_register (void *data, uint32_t number, uint64_t *value)
{
  const LuWalk *walk = data;

  return lu_arch_read_dwarf (walk->arch, &walk->sample->regs, (int) number, value);
}

/* How walks end */

static LuWalkResult
finish (LuWalk *walk, LuStatus status, guint64 end_pc)
{
  walk->stack->status = status;
  walk->stack->end_pc = status == LU_STATUS_COMPLETE ? 0 : end_pc;
  if (walk->is_from_top && status != LU_STATUS_COMPLETE)
    {
      walk->is_refuted = TRUE;
      return LU_WALK_LEFT;
    }
  return walk->has_guessed && lu_guess_is_refuted_by (status) ? LU_WALK_LEFT : LU_WALK_DONE;
}

/* The word at failed_address is not in the copy. */
static LuWalkResult
finish_unreadable (LuWalk *walk, guint64 pc)
{
  const LuSample *sample = walk->sample;
  guint64 address = walk->failed_address;
  guint64 offset = address - walk->copy.start;

  if (walk->is_off_copy)
    return finish (walk, LU_STATUS_OTHER_STACK, pc);
  if (lu_space_view_search (walk->view, address) != NULL)
    return finish (walk, LU_STATUS_UNREADABLE_MEMORY, pc);
  if (address < walk->copy.start || offset > MAX_STACK)
    return finish (walk, LU_STATUS_OTHER_STACK, pc);
  if (sample->stack_size < sample->stack_asked && offset < sample->stack_asked)
    return finish (walk, LU_STATUS_UNREADABLE_MEMORY, pc);
  walk->stack->stack_needed = offset + 8;
  return finish (walk, LU_STATUS_TRUNCATED_COPY, pc);
}

/* A place without a rule */

static const LuDwflMapping *
find_mapping (gpointer data, guint64 address)
{
  LuSpaceView *view = ((LuWalk *) data)->view;
  const LuViewMapping *mapping =
      lu_space_view_may_have (view, address) ? lu_space_view_find (view, address) : NULL;

  return mapping != NULL ? &mapping->base : NULL;
}

static LuCallKind
call_before (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  const LuWalk *walk = data;

  return walk->reader != NULL
             ? lu_guess_read_call (walk->reader, walk->pid, walk->arch, mapping, pc)
             : lu_guess_known_call (mapping, pc);
}

static LuGuessRule
rule_at (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  LuWalk *walk = data;
  LuRuleFound found = lu_rule_cache_look_up (walk->rules, mapping->module, lookup - mapping->bias);

  if (found.rule.cfa_kind == LU_CFA_NONE)
    return LU_GUESS_RULE_NONE;
  return found.rule.cfa_kind == LU_CFA_FP && found.rule.cfa_off == 16 ? LU_GUESS_RULE_BY_FP
                                                                      : LU_GUESS_RULE_OTHER;
}

static LuGuessResult
leaf_at (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  const LuWalk *walk = data;

  return walk->reader != NULL ? lu_guess_read_leaf (walk->reader, walk->pid, mapping, pc)
                              : lu_guess_known_leaf (mapping, pc);
}

/* Whether the instruction before a place that has no rule has one, or could have if it is in
 * another mapping. */
static gboolean
has_rule_before (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup)
{
  if (lookup == mapping->start)
    return find_mapping (walk, lookup - 1) != NULL;
  return rule_at (walk, mapping, lookup - 1) != LU_GUESS_RULE_NONE;
}

/* What stands at a word above the stack pointer of a leaf of a file. */
static LuCallKind
call_before_word (LuWalk *walk, guint64 address, guint64 *value)
{
  const LuDwflMapping *above;

  if (!read_stack (walk, address, value) || (above = find_mapping (walk, *value - 1)) == NULL
      || above->status != LU_STATUS_COMPLETE
      || rule_at (walk, above, *value - 1) != LU_GUESS_RULE_OTHER)
    return LU_CALL_NONE;
  return call_before (walk, above, *value);
}

/* A leaf of a file that has no rule: its caller by the first word on top that is a return address
 * into code with unwind information, as in guess_leaf() in dwfl.c. That is believed only if the
 * stack is whole from there on; if not, the walk begins again with the word after it. If something
 * has to be read first, the other engine decides, and where the leaf entered the kernel with its
 * last instruction. NONE: there is none. */
static LuGuessResult
go_on_from_top (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup)
{
  struct lu_regs *regs = &walk->regs;

  if (walk->view->has_pending || walk->arch->address_mask != G_MAXUINT64
      || (lu_arch_may_be_system_call (walk->arch, walk->sample, regs->pc)
          && has_rule_before (walk, mapping, lookup)))
    return LU_GUESS_UNKNOWN;
  while (walk->top < LU_GUESS_LEAF_WORDS)
    {
      guint64 offset = 8 * (guint64) walk->top++, value = 0;

      switch (call_before_word (walk, regs->sp + offset, &value))
        {
        case LU_CALL_UNKNOWN:
          return LU_GUESS_UNKNOWN;
        case LU_CALL_NONE:
          break;
        case LU_CALL_DIRECT:
        case LU_CALL_INDIRECT:
          regs->pc = value;
          regs->sp += offset + 8;
          regs->known &= LU_KNOWN_FP | LU_KNOWN_BX;
          regs->frame_kind = LU_FRAME_KIND_CALLER;
          walk->is_guessed = walk->is_from_top = TRUE;
          return LU_GUESS_FOUND;
        }
    }
  return LU_GUESS_NONE;
}

/* What the frame pointer and the words there have decided alone is remembered: as a step, which the
 * thread's next stack can follow (is_same_guess() in walk-plain.c), and as facts. */
static void
remember_guess (LuWalk *walk, const LuGuess *guess, const LuGuessFrame *caller)
{
  guint n_asked = guess->n_rules - walk->n_guess_rules;
  gboolean is_jit;

  if (walk->frame == NULL || guess->is_exact || guess->has_searched || n_asked > 1
      || walk->arch->address_mask != G_MAXUINT64 || caller->fp - walk->copy.start >= walk->copy.size
      || walk->regs.sp - walk->copy.start > walk->copy.size)
    return;
  is_jit = find_mapping (walk, caller->pc - 1)->status == LU_STATUS_JIT;
  walk->frame->plain = LU_PLAIN_GUESS | (n_asked > 0 ? LU_PLAIN_GUESS_ASKED : 0);
  walk->memo->is_changed = TRUE;
  lu_guess_facts_note (walk->facts, walk->view->serial, walk->regs.pc, LU_GUESS_FROM);
  lu_guess_facts_note (walk->facts, walk->view->serial, caller->pc,
                       LU_GUESS_TO | (is_jit ? LU_GUESS_TO_JIT : 0)
                           | (n_asked > 0 ? LU_GUESS_TO_ASKED : 0));
}

/* Moves on to the caller by frame pointer, or ends here with the state. */
static LuWalkResult
guess_or_finish (LuWalk *walk, const LuDwflMapping *mapping, LuStatus status)
{
  struct lu_regs *regs = &walk->regs;
  LuGuess guess = { .arch = walk->arch,
                    .sample = walk->sample,
                    .sampled_sp = walk->copy.start,
                    .is_exact = regs->frame_kind != LU_FRAME_KIND_CALLER,
                    .last_fp = walk->last_fp,
                    .n_rules = walk->n_guess_rules,
                    .set_up = walk->set_up,
                    .serial = walk->view->serial,
                    .no_code = ~walk->view->regions,
                    .find = find_mapping,
                    .call_before = call_before,
                    .rule_at = rule_at,
                    .leaf_at = leaf_at,
                    .data = walk };
  LuGuessFrame frame = { .pc = regs->pc, .sp = regs->sp, .fp = regs->fp & regs->address_mask };
  LuGuessFrame caller;
  LuGuessResult result = LU_GUESS_NONE;

  if (walk->view->has_pending) /* perhaps this module, or the caller's */
    return LU_WALK_LEFT;
  if ((regs->known & LU_KNOWN_FP) != 0 && lu_guess_is_possible (mapping))
    result = lu_guess_caller (&guess, mapping, &frame, &caller);
  if (result == LU_GUESS_UNKNOWN)
    return LU_WALK_LEFT;
  if (result == LU_GUESS_NONE)
    return finish (walk, status, regs->pc);
  if (result == LU_GUESS_BEYOND)
    {
      walk->failed_address = frame.fp + sizeof (guint64);
      return finish_unreadable (walk, regs->pc);
    }
  remember_guess (walk, &guess, &caller);
  walk->last_fp = guess.last_fp;
  walk->n_guess_rules = guess.n_rules;
  walk->is_guessed = walk->has_guessed = TRUE;
  regs->pc = caller.pc;
  regs->sp = caller.sp;
  regs->fp = caller.fp;
  regs->bx = 0;
  regs->ucontext = 0;
  regs->known = LU_KNOWN_FP;
  regs->frame_kind = LU_FRAME_KIND_CALLER;
  return LU_WALK_ON;
}

/* One frame */

static gboolean
push (LuWalk *walk)
{
  LuStack *stack = walk->stack;
  guint64 offset = walk->regs.sp - walk->copy.start;
  guint32 flags = lu_walk_take_flags (walk, walk->regs.frame_kind == LU_FRAME_KIND_CALLER);

  if (!lu_stack_push (stack, walk->regs.pc, flags))
    return FALSE;
  if (offset <= G_MAXUINT32)
    stack->frames[stack->n_frames - 1].stack_offset = (guint32) offset;
  return TRUE;
}

static LuWalkResult
step (LuWalk *walk, const struct lu_rule *rule, const LuDwflMapping *mapping, guint64 lookup)
{
  struct lu_regs *regs = &walk->regs;
  guint64 last_sp = regs->sp, last_pc = regs->pc;
  int result = lu_step (regs, rule, read_stack, read_register, walk);

  if (result == LU_STATUS_COMPLETE)
    return finish (walk, LU_STATUS_COMPLETE, last_pc);
  if (result == LU_STATUS_UNREADABLE_MEMORY)
    return finish_unreadable (walk, last_pc);
  if (result != LU_STEP_CALLER)
    return LU_WALK_LEFT;
  if (regs->pc == 0)
    return lu_dwfl_facts_is_entry (mapping, lookup) ? finish (walk, LU_STATUS_COMPLETE, last_pc)
                                                    : LU_WALK_LEFT;
  if (regs->frame_kind == LU_FRAME_KIND_INTERRUPTED)
    walk->is_off_copy = regs->sp - walk->copy.start >= walk->sample->stack_size
                        && regs->sp - last_sp > MAX_SIGNAL_FRAME;
  return LU_WALK_ON;
}

/* Where it has none, the entry's own code is the outermost frame. */
static gboolean
has_entry_rule (LuWalk *walk, const LuDwflMapping *mapping)
{
  guint64 entry = lu_image_entry (lu_module_image (mapping->module));

  return lu_rule_cache_look_up (walk->rules, mapping->module, entry).rule.cfa_kind != LU_CFA_NONE;
}

/* At a place of a file. */
static LuWalkResult
step_in_file (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup)
{
  LuRuleFound found = lu_rule_cache_look_up (walk->rules, mapping->module, lookup - mapping->bias);
  LuGuessResult result;

  if (found.go_place != LU_GO_ORDINARY && walk->regs.frame_kind == LU_FRAME_KIND_CALLER)
    return finish (walk,
                   found.go_place == LU_GO_SWITCH ? LU_STATUS_OTHER_STACK : LU_STATUS_COMPLETE,
                   walk->regs.pc);
  if (found.rule.cfa_kind != LU_CFA_NONE)
    return step (walk, &found.rule, mapping, lookup);
  if (lu_dwfl_facts_is_entry (mapping, lookup) && !has_entry_rule (walk, mapping))
    return finish (walk, LU_STATUS_COMPLETE, 0);
  if (walk->stack->n_frames == 1
      && (result = go_on_from_top (walk, mapping, lookup)) != LU_GUESS_NONE)
    return result == LU_GUESS_FOUND ? LU_WALK_ON : LU_WALK_LEFT;
  return guess_or_finish (walk, mapping, LU_STATUS_NO_UNWIND_INFO);
}

LuWalkResult
lu_walk_frame (LuWalk *self)
{
  gboolean is_caller = self->regs.frame_kind == LU_FRAME_KIND_CALLER;
  guint64 lookup = self->regs.pc - is_caller;
  const LuViewMapping *mapping = lu_space_view_find (self->view, lookup);

  if (mapping == NULL)
    {
      self->is_refuted = self->is_from_top;
      return LU_WALK_LEFT;
    }
  if (!push (self))
    return finish (self, LU_STATUS_DEPTH_LIMIT, self->stack->frames[LU_STACK_MAX_FRAMES - 1].pc);
  if (mapping->base.status != LU_STATUS_COMPLETE)
    return guess_or_finish (self, &mapping->base, mapping->base.status);
  return step_in_file (self, &mapping->base, lookup);
}
