/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-frame.c - steps that are not compact, and the ends of walks; see walk.h. */

#include "unwind/code-facts.h"
#include "unwind/derived-step.h"
#include "unwind/dwfl-facts.h"
#include "unwind/landing-pad.h"
#include "unwind/leaf-caller.h"
#include "unwind/walk.h"

/* The values of dwfl-walk.c: addresses further away are on another stack; and the most that
 * the kernel puts between a handler's stack and the interrupted one. */
#define MAX_STACK        (64u << 20)
#define MAX_SIGNAL_FRAME 65536u

/* Reads of a step */

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

/* Ends of walks */

static LuWalkResult
finish (LuWalk *walk, LuStatus status, guint64 end_pc)
{
  walk->stack->status = status;
  walk->stack->end_pc = status == LU_STATUS_COMPLETE ? 0 : end_pc;
  if (walk->is_from_top && status != LU_STATUS_COMPLETE)
    {
      lu_cut_off_walk_note (&walk->cut_off, walk->stack, walk->sample);
      walk->is_refuted = TRUE;
      return LU_WALK_LEFT;
    }
  return walk->has_inferred && lu_fp_step_is_refuted_by (status, walk->is_at_absent_page)
             ? LU_WALK_LEFT
             : LU_WALK_DONE;
}

/* Ends the walk because the word at failed_address is not in the copy. */
static LuWalkResult
finish_unreadable (LuWalk *walk, guint64 pc)
{
  const LuSample *sample = walk->sample;
  guint64 address = walk->failed_address;
  guint64 offset = address - walk->copy.start;

  if (walk->is_off_copy)
    return finish (walk, LU_STATUS_OTHER_STACK, pc);
  if (lu_address_space_view_search (walk->view, address) != NULL)
    return finish (walk, LU_STATUS_UNREADABLE_MEMORY, pc);
  if (address < walk->copy.start || offset > MAX_STACK)
    return finish (walk, LU_STATUS_OTHER_STACK, pc);
  walk->is_at_absent_page =
      sample->stack_size < sample->stack_asked && offset < sample->stack_asked;
  if (walk->is_at_absent_page)
    return finish (walk, LU_STATUS_UNREADABLE_MEMORY, pc);
  walk->stack->stack_needed = offset + 8;
  return finish (walk, LU_STATUS_TRUNCATED_COPY, pc);
}

/* Ends the walk at a leaf without a rule whose caller was not found, perhaps because the copy is
 * too small. */
static LuWalkResult
finish_leaf (LuWalk *walk)
{
  LuStatus status = walk->cut_off.status;

  if (status == LU_STATUS_COMPLETE)
    return finish (walk, LU_STATUS_NO_UNWIND_INFO, walk->regs.pc);
  walk->stack->stack_needed = walk->cut_off.needed;
  return finish (walk, status, walk->regs.pc);
}

/* Code without a rule */

static const LuDwflMapping *
find_mapping (gpointer data, guint64 address)
{
  LuAddressSpaceView *view = ((LuWalk *) data)->view;
  const LuViewMapping *mapping = lu_address_space_view_may_have (view, address)
                                     ? lu_address_space_view_find (view, address)
                                     : NULL;

  return mapping != NULL ? &mapping->base : NULL;
}

static LuCallKind
call_before (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  const LuWalk *walk = data;

  return lu_code_call (walk->reader, walk->pid, walk->arch, mapping, pc);
}

static enum lu_fp_rule
rule_at (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  LuWalk *walk = data;
  LuRuleFound found = lu_rule_cache_look_up (walk->rules, mapping->module, lookup - mapping->bias);

  return lu_fp_rule_of (&found.rule);
}

static LuLeaf
leaf_at (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  const LuWalk *walk = data;

  return lu_code_leaf (walk->reader, walk->pid, walk->arch, mapping, pc);
}

static LuProviderResult
leads_to (gpointer data, const LuFrameCall *call)
{
  const LuWalk *walk = data;

  return lu_code_leads_to (walk->reader, walk->pid, walk->arch, call);
}

static LuProviderResult
leads_away (gpointer data, const LuFrameCall *call)
{
  const LuWalk *walk = data;

  return lu_code_leads_away (walk->reader, walk->pid, walk->arch, call);
}

static LuLeaf
frame_at (gpointer data, const LuFrameCall *call)
{
  const LuWalk *walk = data;

  return lu_code_frame (walk->reader, walk->pid, walk->arch, call);
}

static const LuFrameOps frame_ops = {
  .find = find_mapping,
  .rule_at = rule_at,
  .call_before = call_before,
  .leads_to = leads_to,
  .leads_away = leads_away,
  .frame_at = frame_at,
  .leaf_at = leaf_at,
};

/* Returns whether the instruction before an address without a rule has one, or could have one
 * because it is in another mapping. */
static gboolean
has_rule_before (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup)
{
  if (lookup == mapping->start)
    return find_mapping (walk, lookup - 1) != NULL;
  return rule_at (walk, mapping, lookup - 1) != LU_FP_RULE_NONE;
}

/* Finds the caller of a leaf in a file without a rule: the first word on top of the stack that is a
 * return address into code with unwind information, like find_leaf_caller() in dwfl.c. The word is
 * believed only if the stack is complete from there on; if not, the walk starts again with the next
 * word. NONE: there is none, or a word below it may be the return address. UNKNOWN: the dwfl engine
 * must decide, because a file has to be read, or the leaf entered the kernel with its last
 * instruction. */
static LuProviderResult
go_on_from_top (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup)
{
  struct lu_regs *regs = &walk->regs;
  guint64 fp = regs->fp & regs->address_mask;

  if (walk->view->has_pending
      || (lu_arch_may_be_system_call (walk->arch, walk->sample, regs->pc)
          && has_rule_before (walk, mapping, lookup)))
    return LU_PROVIDER_UNKNOWN;
  if (walk->arch->has_link_register) /* then the code shows where the return address is */
    return LU_PROVIDER_NONE;
  while (walk->top < LU_FP_LEAF_WORDS)
    {
      LuLeafWord word = {
        .code = mapping, .pc = regs->pc, .offset = 8 * (guint64) walk->top++, .size = 8
      };

      if (!read_stack (walk, regs->sp + word.offset, &word.value))
        break;
      if ((regs->known & LU_KNOWN_FP) != 0 && lu_fp_is_possible (fp, regs->sp, 0, walk->copy.start))
        read_stack (walk, fp + sizeof fp, &word.by_fp);
      switch (lu_leaf_caller_check (&frame_ops, walk, &word))
        {
        case LU_PROVIDER_UNKNOWN:
          return LU_PROVIDER_UNKNOWN;
        case LU_PROVIDER_END:
          walk->top = LU_FP_LEAF_WORDS;
          break;
        default:
          break;
        case LU_PROVIDER_FOUND:
          regs->pc = word.value;
          regs->sp += word.offset + 8;
          regs->known &= LU_KNOWN_FP | LU_KNOWN_BX;
          regs->frame_kind = LU_FRAME_KIND_CALLER;
          walk->is_inferred = walk->is_from_top = TRUE;
          return LU_PROVIDER_FOUND;
        }
    }
  return LU_PROVIDER_NONE;
}

/* Remembers a repeatable step: in the memo, for the thread's next stack (is_same_fp_step() in
 * walk-compact.c), and as facts. */
static void
remember_step (LuWalk *walk, const LuFrameContext *context, const LuFrameRegs *caller)
{
  gboolean is_jit;

  if (walk->frame == NULL || context->is_exact || !context->is_repeatable
      || walk->arch->has_link_register || caller->fp - walk->copy.start >= walk->copy.size
      || walk->regs.sp - walk->copy.start > walk->copy.size)
    return;
  is_jit = find_mapping (walk, caller->pc - 1)->status == LU_STATUS_JIT;
  walk->frame->compact = LU_COMPACT_FP_STEP;
  walk->memo->is_changed = TRUE;
  lu_fp_step_facts_note (walk->facts, walk->view->serial, walk->regs.pc, LU_FP_STEP_FROM);
  lu_fp_step_facts_note (walk->facts, walk->view->serial, caller->pc,
                         LU_FP_STEP_TO | (is_jit ? LU_FP_STEP_TO_JIT : 0));
}

static void
move_to (LuWalk *walk, const LuFrameRegs *caller)
{
  struct lu_regs *regs = &walk->regs;

  walk->is_inferred = walk->has_inferred = TRUE;
  regs->pc = caller->pc;
  regs->sp = caller->sp;
  regs->fp = caller->fp;
  regs->bx = 0;
  regs->ucontext = 0;
  regs->known = LU_KNOWN_FP;
  if (walk->arch->has_link_register && !caller->has_sp)
    regs->known |= LU_LOST_SP;
  regs->frame_kind = LU_FRAME_KIND_CALLER;
}

/* Moves on to the caller that a frame provider finds, or ends the walk with the status. */
static LuWalkResult
ask_providers (LuWalk *walk, const LuDwflMapping *mapping, LuStatus status)
{
  struct lu_regs *regs = &walk->regs;
  LuFrameContext context = { .arch = walk->arch,
                             .sample = walk->sample,
                             .sampled_sp = walk->copy.start,
                             .is_exact = regs->frame_kind != LU_FRAME_KIND_CALLER,
                             .has_hotspot = walk->view->has_hotspot,
                             .has_link = (regs->known & LU_KNOWN_LINK) != 0,
                             .link = regs->link,
                             .state = walk->provider_state,
                             .set_up = walk->set_up,
                             .no_code = ~walk->view->regions,
                             .ops = &frame_ops,
                             .data = walk };
  LuFrameRegs frame = { .pc = regs->pc, .sp = regs->sp, .fp = regs->fp & regs->address_mask };
  LuFrameRegs caller;
  LuProviderResult result = LU_PROVIDER_NONE;

  if (walk->view->has_pending) /* this module may be pending, or the caller's */
    return LU_WALK_LEFT;
  if ((regs->known & LU_KNOWN_FP) != 0)
    result = lu_frame_providers_step (&context, mapping, &frame, &caller);
  switch (result)
    {
    case LU_PROVIDER_FOUND:
      remember_step (walk, &context, &caller);
      walk->provider_state = context.state;
      move_to (walk, &caller);
      return LU_WALK_ON;
    case LU_PROVIDER_BEYOND:
      walk->failed_address = frame.fp + sizeof (guint64);
      return finish_unreadable (walk, regs->pc);
    case LU_PROVIDER_UNKNOWN:
      return LU_WALK_LEFT;
    default:
      return walk->top > 0 && walk->stack->n_frames == 1 ? finish_leaf (walk)
                                                         : finish (walk, status, regs->pc);
    }
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

/* Returns whether a caller's code keeps a frame pointer. */
static gboolean
is_by_fp (LuWalk *walk, guint64 pc)
{
  const LuDwflMapping *mapping = find_mapping (walk, pc - 1);

  return mapping != NULL && mapping->status == LU_STATUS_COMPLETE
         && rule_at (walk, mapping, pc - 1) == LU_FP_RULE_BY_FP;
}

/* After a step from a function that goes on at a landing pad: corrects the caller. A rule that
 * takes the frame pointer from its register is for the last instructions, whose return address is
 * the landing pad. A caller that keeps a frame pointer cannot have that of the catching frame. */
static void
land (LuWalk *walk, const struct lu_rule *rule, guint64 last_sp)
{
  struct lu_regs *regs = &walk->regs, callers[2] = { *regs };
  gboolean has_fp = (regs->known & LU_KNOWN_FP) != 0;

  if (lu_rule_fp_kind (rule) == LU_SAVE_SAME)
    regs->frame_kind = LU_FRAME_KIND_INTERRUPTED;
  else if (lu_landing_find (walk->stack, last_sp, callers, read_stack, walk)
           || (has_fp && callers[0].known == 0 && is_by_fp (walk, regs->pc)))
    *regs = callers[1];
  else
    regs->known = callers[0].known;
  walk->has_lost_fp |= has_fp && regs->known == 0;
}

/* Returns whether a return address of 0 ends the stack: at the program's entry, or in a function
 * that is in a call that never returns, whose own return address nothing will need. */
static gboolean
is_end (const LuDwflMapping *mapping, guint64 lookup, guint64 pc)
{
  return lu_dwfl_facts_is_entry (mapping, lookup)
         || (lookup < pc && lu_code_was_last_call (mapping, pc));
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
    return walk->has_lost_fp ? finish (walk, (LuStatus) result, last_pc) : LU_WALK_LEFT;
  regs->pc &= regs->address_mask;
  if (regs->pc == 0)
    return is_end (mapping, lookup, last_pc) ? finish (walk, LU_STATUS_COMPLETE, last_pc)
                                             : LU_WALK_LEFT;
  if (regs->frame_kind == LU_FRAME_KIND_INTERRUPTED)
    walk->is_off_copy = regs->sp - walk->copy.start >= walk->sample->stack_size
                        && regs->sp - last_sp > MAX_SIGNAL_FRAME;
  if ((rule->flags & LU_RULE_LANDING) != 0)
    land (walk, rule, last_sp);
  return LU_WALK_ON;
}

/* Makes a step by a row that is not from CFI, and verifies it. A caller that cannot be verified
 * ends the stack. */
static LuWalkResult
step_derived (LuWalk *walk, const struct lu_rule *rule, const LuDwflMapping *mapping,
              guint64 lookup)
{
  guint64 last_pc = walk->regs.pc;
  LuWalkResult result = step (walk, rule, mapping, lookup);
  LuDerivedStep pair = { .code = mapping, .lookup = lookup, .pc = walk->regs.pc };

  if (result != LU_WALK_ON)
    return result;
  pair.mapping = find_mapping (walk, walk->regs.pc - 1);
  switch (lu_derived_step_verify (walk->reader, walk->pid, walk->arch, &pair))
    {
    case LU_PROVIDER_FOUND:
      walk->is_derived = TRUE;
      return LU_WALK_ON;
    case LU_PROVIDER_UNKNOWN:
      return LU_WALK_LEFT;
    default:
      if (walk->view->has_pending) /* the file of the caller may be */
        return LU_WALK_LEFT;
      return finish (walk, lu_derived_step_status (&pair), last_pc);
    }
}

/* FOUND: stacks made by hand begin at this return address. */
static LuProviderResult
find_root (LuWalk *walk, const LuDwflMapping *mapping)
{
  return walk->regs.frame_kind == LU_FRAME_KIND_CALLER
             ? lu_code_is_root (walk->reader, walk->pid, walk->arch, mapping, walk->regs.pc)
             : LU_PROVIDER_NONE;
}

/* Returns whether the file's entry has a rule. If not, code at the entry is the outermost frame. */
static gboolean
has_entry_rule (LuWalk *walk, const LuDwflMapping *mapping)
{
  guint64 entry = lu_image_entry (lu_module_image (mapping->module));

  return lu_rule_cache_look_up (walk->rules, mapping->module, entry).rule.cfa_kind != LU_CFA_NONE;
}

/* Applies what the last frame's Go function says about its caller. A restorer is at the pc itself,
 * which has no call before it. */
static void
apply_go (LuWalk *walk, LuRuleFound *found)
{
  if (found->go_kind == LU_GO_PREEMPT)
    {
      found->rule.flags |= LU_RULE_SIGNAL;
      if (walk->arch->files.complete_go_preempt != NULL)
        walk->arch->files.complete_go_preempt (&found->rule);
    }
  else if (found->go_kind == LU_GO_RESTORER && walk->arch->kernel_frame != NULL
           && walk->regs.frame_kind == LU_FRAME_KIND_CALLER)
    {
      found->rule = *walk->arch->kernel_frame;
      walk->stack->frames[walk->stack->n_frames - 1].flags &= ~LU_FRAME_RETURN_ADDRESS;
    }
}

LuProviderResult
lu_walk_ask_for_rows (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup,
                      struct lu_rule *rule)
{
  LuTableSlot *slot = lu_module_table_slot (mapping->module);
  LuMappedModule file;

  if (slot == NULL || !lu_table_slot_may_get_rows (slot))
    return LU_PROVIDER_NONE;
  if (walk->reader == NULL)
    return LU_PROVIDER_UNKNOWN;
  file = lu_code_file_of (mapping, walk->pid);
  if (lu_code_reader_fill_gaps (walk->reader, &file, lookup - mapping->bias)
      && lu_table_slot_find (slot, lookup - mapping->bias, rule) && rule->cfa_kind != LU_CFA_NONE)
    return LU_PROVIDER_FOUND;
  return lu_code_reader_awaits (walk->reader) ? LU_PROVIDER_UNKNOWN : LU_PROVIDER_NONE;
}

/* Steps from an address in a file. */
static LuWalkResult
step_in_file (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup)
{
  LuRuleFound found = lu_rule_cache_look_up (walk->rules, mapping->module, lookup - mapping->bias);
  LuProviderResult result;
  LuStatus status;

  if (lu_go_stack_ends (found.go_kind, walk->regs.frame_kind == LU_FRAME_KIND_CALLER, &status))
    return finish (walk, status, walk->regs.pc);
  apply_go (walk, &found);
  if (found.rule.cfa_kind != LU_CFA_NONE && (found.rule.flags & LU_RULE_DERIVED) == 0)
    return step (walk, &found.rule, mapping, lookup);
  result = find_root (walk, mapping);
  if (result != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_FOUND ? finish (walk, LU_STATUS_COMPLETE, 0) : LU_WALK_LEFT;
  if (found.rule.cfa_kind != LU_CFA_NONE)
    return step_derived (walk, &found.rule, mapping, lookup);
  if (lu_dwfl_facts_is_entry (mapping, lookup) && !has_entry_rule (walk, mapping))
    return finish (walk, LU_STATUS_COMPLETE, 0);
  result = lu_walk_ask_for_rows (walk, mapping, lookup, &found.rule);
  if (result != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_FOUND ? step_derived (walk, &found.rule, mapping, lookup)
                                       : LU_WALK_LEFT;
  if (walk->stack->n_frames == 1
      && (result = go_on_from_top (walk, mapping, lookup)) != LU_PROVIDER_NONE)
    return result == LU_PROVIDER_FOUND ? LU_WALK_ON : LU_WALK_LEFT;
  return ask_providers (walk, mapping, LU_STATUS_NO_UNWIND_INFO);
}

LuWalkResult
lu_walk_frame (LuWalk *self)
{
  gboolean is_caller = self->regs.frame_kind == LU_FRAME_KIND_CALLER;
  guint64 lookup;
  const LuViewMapping *mapping;

  self->regs.pc &= self->regs.address_mask; /* compact steps leave an authentication code */
  lookup = self->regs.pc - is_caller;
  mapping = lu_address_space_view_find (self->view, lookup);
  if (mapping == NULL)
    {
      self->is_refuted = self->is_from_top;
      return LU_WALK_LEFT;
    }
  if (!push (self))
    return finish (self, LU_STATUS_DEPTH_LIMIT, self->stack->frames[LU_STACK_MAX_FRAMES - 1].pc);
  if (mapping->base.status != LU_STATUS_COMPLETE)
    return ask_providers (self, &mapping->base, mapping->base.status);
  return step_in_file (self, &mapping->base, lookup);
}
