/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walker.c - starts and ends walks; see walker.h, and walk.h for the steps. */

#include "unwind/walker.h"

#include "unwind/derived-step.h"
#include "unwind/walk.h"

enum
{
  WORD_PC,
  WORD_SP,
  WORD_FP,
  WORD_BX,
  WORD_LINK,
  N_WORDS
};

typedef struct
{
  const LuArch *arch; /* of the ABI */
  guint64 mask;       /* perf's register mask of the samples */
  guint16 abi, machine;
  guint64 address_mask;
  guint8 indices[N_WORDS];
  guint8 known; /* enum lu_known */
  guint n;      /* registers of a sample; G_MAXUINT: a walk needs more */
} Words;

struct _LuWalker
{
  LuWalk walk; /* the current or last walk; constant fields stay set */
  Words words;
  LuAddressSpaceCache *spaces;
  LuSetUpCode set_up;
  LuFpStepFacts facts;
};

/* Returns whether the perf bit is the register that a word is for. */
static gboolean
is_word (const LuArch *arch, guint which, guint bit)
{
  const guint16 numbers[N_WORDS] = {
    [WORD_FP] = arch->fp,
    [WORD_BX] = arch->bx,
    [WORD_LINK] = arch->has_link_register ? arch->ra : LU_ARCH_NO_REGISTER,
  };

  if (which == WORD_PC || which == WORD_SP)
    return bit == (which == WORD_PC ? arch->perf_pc : arch->perf_sp);
  return arch->dwarf_numbers[bit] == numbers[which];
}

/* Finds the registers of a sample by its mask; all samples of a recording have the same mask. */
static __attribute__ ((noinline)) void
find_words (Words *words, const LuRegs *sampled)
{
  const LuArch *arch = lu_arch_of_regs (sampled);
  guint64 mask = sampled->mask;
  guint has = 0;

  *words = (Words){
    .arch = arch, .mask = mask, .abi = sampled->abi, .machine = sampled->machine, .n = G_MAXUINT
  };
  if (arch == NULL || arch->word_size != 8)
    return;
  words->address_mask = lu_arch_address_mask (arch);
  words->n = 0;
  for (guint bit = 0; bit < arch->n_registers; bit++)
    {
      if ((mask >> bit & 1) == 0)
        continue;
      for (guint i = 0; i < N_WORDS; i++)
        if (is_word (arch, i, bit))
          {
            words->indices[i] = (guint8) words->n;
            has |= 1u << i;
          }
      words->n++;
    }
  if ((has & 1u << WORD_PC) == 0 || (has & 1u << WORD_SP) == 0)
    words->n = G_MAXUINT;
  words->known = (guint8) (((has & 1u << WORD_FP) != 0 ? LU_KNOWN_FP : 0)
                           | ((has & 1u << WORD_BX) != 0 ? LU_KNOWN_BX : 0)
                           | ((has & 1u << WORD_LINK) != 0 ? LU_KNOWN_LINK : 0));
}

/* Returns a register of the sample, or any value if it is not known. */
static inline guint64
word (const Words *words, const LuRegs *sampled, guint which)
{
  return sampled->words[words->indices[which]];
}

/* Reads the registers of the sample; FALSE if this walker cannot unwind it. */
static inline gboolean
start (LuWalk *walk, Words *words)
{
  const LuSample *sample = walk->sample;
  const LuRegs *sampled = &sample->regs;
  struct lu_regs *regs = &walk->regs;

  if (G_UNLIKELY (words->mask != sampled->mask || words->abi != sampled->abi
                  || words->machine != sampled->machine))
    find_words (words, sampled);
  if (sampled->n_words < words->n || sample->stack_size < sizeof (guint64))
    return FALSE;
  walk->arch = words->arch;
  regs->pc = word (words, sampled, WORD_PC);
  regs->sp = word (words, sampled, WORD_SP);
  regs->fp = word (words, sampled, WORD_FP);
  regs->bx = word (words, sampled, WORD_BX);
  regs->link = word (words, sampled, WORD_LINK);
  regs->ucontext = 0;
  regs->address_mask = words->address_mask;
  regs->known = words->known;
  regs->frame_kind = LU_FRAME_KIND_SAMPLED;
  regs->saved_words = words->arch->saved_words;
  walk->copy.bytes = sample->stack;
  walk->copy.start = regs->sp;
  walk->copy.size = sample->stack_size;
  return regs->sp + walk->copy.size >= regs->sp;
}

/* Resets the walk field by field: clearing all of it takes as long as several steps. */
static inline void
begin (LuWalk *walk, const LuSample *sample, LuStack *stack)
{
  walk->sample = sample;
  walk->stack = stack;
  walk->frame = NULL;
  walk->failed_address = 0;
  walk->provider_state.last_fp = 0;
  walk->provider_state.n_rules = 0;
  walk->is_off_copy = walk->is_inferred = walk->has_inferred = walk->is_derived = FALSE;
  walk->is_from_top = walk->is_refuted = walk->has_lost_fp = walk->is_at_absent_page = FALSE;
}

/* Finds the view of the address space, which is usually that of the last walk. */
static inline gboolean
find_view (LuWalker *self, LuAddressSpace *space)
{
  LuWalk *walk = &self->walk;
  const LuAddressSpaceView *view = walk->view;

  if (G_UNLIKELY (view == NULL || view->serial != lu_address_space_serial (space)
                  || view->arch != walk->arch || view->has_pending))
    walk->view = lu_address_space_cache_get (self->spaces, space, walk->arch);
  if (walk->view == NULL)
    return FALSE;
  walk->provider_state.serial = walk->view->serial;
  return TRUE;
}

/* Returns the rule cache key of a pc in one of the last two mappings; otherwise any key. */
static inline guint64
likely_key (const LuAddressSpaceView *view, guint64 pc)
{
  return pc + (lu_view_mapping_has (view->last, pc) ? view->last->to_key : view->before->to_key);
}

void
lu_walker_expect (const LuWalker *self, gint32 tid, const LuSample *sample)
{
  const LuWalk *walk = &self->walk;
  const Words *words = &self->words;
  const LuRegs *sampled = &sample->regs;

  if (words->mask != sampled->mask || words->abi != sampled->abi
      || words->machine != sampled->machine || sampled->n_words < words->n
      || sample->stack_size < sizeof (guint64))
    return;
  if (walk->view != NULL && walk->view->n > 0)
    lu_rule_cache_expect (walk->rules, likely_key (walk->view, word (words, sampled, WORD_PC)));
  lu_memo_expect (walk->memo, tid, sample->stack, sample->stack_size,
                  word (words, sampled, WORD_SP));
}

static inline LuWalkResult
run (LuWalk *walk, gint32 tid)
{
  LuWalkResult result;

  /* They arrive while the thread's last stack is compared. */
  if (G_LIKELY (walk->view->n > 0))
    lu_rule_cache_expect_callers (walk->rules, likely_key (walk->view, walk->regs.pc));
  lu_memo_begin (walk->memo, tid, walk->view->serial, &walk->copy);
  walk->stack->sampled_sp = walk->copy.start;
  do
    {
      result = lu_walk_compact (walk);
      if (result == LU_WALK_ON)
        result = lu_walk_frame (walk);
    }
  while (result == LU_WALK_ON);
  return result;
}

gboolean
lu_walker_walk (LuWalker *self, gint32 tid, const LuSample *sample, LuAddressSpace *space,
                LuStack *stack)
{
  LuWalk *walk = &self->walk;
  LuWalkResult result;

  begin (walk, sample, stack);
  walk->top = 0;
  walk->cut_off.status = LU_STATUS_COMPLETE;
  if (!start (walk, &self->words) || !find_view (self, space))
    return FALSE;
  lu_rule_cache_begin (walk->rules);
  while (result = run (walk, tid), G_UNLIKELY (walk->is_refuted))
    {
      begin (walk, sample, stack);
      start (walk, &self->words);
      lu_stack_reset (stack);
    }
  stack->stack_used = MIN (walk->regs.sp - walk->copy.start, walk->copy.size);
  if (G_LIKELY (walk->rules->absent == NULL))
    return result == LU_WALK_DONE;
  /* The rule was missing, so the memo would be wrong. */
  lu_memo_forget (walk->memo);
  return FALSE;
}

/* Returns whether the stack goes on above a frame, to the next one, which a row from code has led
 * to; otherwise ends it. */
static LuProviderResult
verify_step (LuWalk *walk, const LuFrame *frame, LuVerified *verified)
{
  gboolean is_caller = (frame->flags & LU_FRAME_RETURN_ADDRESS) != 0;
  const LuViewMapping *code = lu_address_space_view_find (walk->view, frame->pc - is_caller);
  const LuViewMapping *mapping = lu_address_space_view_find (walk->view, frame[1].pc - 1);
  LuDerivedStep pair = { .lookup = frame->pc - is_caller, .pc = frame[1].pc };
  LuProviderResult result = LU_PROVIDER_NONE;

  if (code == NULL || code->base.status != LU_STATUS_COMPLETE)
    return LU_PROVIDER_UNKNOWN;
  if (is_caller)
    result = lu_code_is_root (walk->reader, walk->pid, walk->arch, &code->base, frame->pc);
  if (result == LU_PROVIDER_FOUND)
    {
      *verified = (LuVerified){ .status = LU_STATUS_COMPLETE, .n = verified->n };
      return LU_PROVIDER_NONE;
    }
  if (result == LU_PROVIDER_UNKNOWN)
    return result;
  pair.code = &code->base;
  pair.mapping = mapping != NULL ? &mapping->base : NULL;
  result = lu_derived_step_verify (walk->reader, walk->pid, walk->arch, &pair);
  verified->status = lu_derived_step_status (&pair);
  /* The file of the caller may not be open yet. */
  return result == LU_PROVIDER_NONE && walk->view->has_pending && walk->reader == NULL
             ? LU_PROVIDER_UNKNOWN
             : result;
}

/* Returns whether the stack goes on above a frame that the walk in the kernel passed by frame
 * pointer, in code that no row is for; see check_skipped() of frame-pointer-step.c. */
static LuProviderResult
verify_call (LuWalk *walk, const LuViewMapping *code, const LuFrame *frame, LuVerified *verified)
{
  const LuViewMapping *mapping = lu_address_space_view_find (walk->view, frame[1].pc - 1);
  LuFrameCall call = { .code = &code->base, .pc = frame[1].pc, .to = frame->pc };
  LuProviderResult result;

  if (mapping == NULL || mapping->base.status != LU_STATUS_COMPLETE
      || mapping->base.module != code->base.module)
    return LU_PROVIDER_FOUND;
  call.mapping = &mapping->base;
  result = lu_code_leads_away (walk->reader, walk->pid, walk->arch, &call);
  verified->status = LU_STATUS_NO_UNWIND_INFO;
  return result == LU_PROVIDER_FOUND  ? LU_PROVIDER_NONE
         : result == LU_PROVIDER_NONE ? LU_PROVIDER_FOUND
                                      : result;
}

/* Returns whether the stack goes on above a frame that the walk in the kernel passed by frame
 * pointer, because it had no row from code there. Such a row may exist by now, or come; then the
 * step has to be what a step by that row must be, or the stack ends. */
static LuProviderResult
verify_guess (LuWalk *walk, const LuFrame *frame, LuVerified *verified)
{
  guint64 lookup = frame->pc - 1;
  const LuViewMapping *code = lu_address_space_view_find (walk->view, lookup);
  LuTableSlot *slot;
  struct lu_rule rule;
  LuProviderResult result = LU_PROVIDER_FOUND;

  if (code == NULL || code->base.status != LU_STATUS_COMPLETE
      || (slot = lu_module_table_slot (code->base.module)) == NULL)
    return LU_PROVIDER_FOUND;
  if (!lu_table_slot_find (slot, lookup - code->base.bias, &rule) || rule.cfa_kind == LU_CFA_NONE)
    result = lu_walk_ask_for_rows (walk, &code->base, lookup, &rule);
  if (result != LU_PROVIDER_FOUND)
    return result == LU_PROVIDER_NONE ? verify_call (walk, code, frame, verified) : result;
  return (rule.flags & LU_RULE_DERIVED) != 0 ? verify_step (walk, frame, verified)
                                             : LU_PROVIDER_FOUND;
}

/* Verifies the step from a frame to the next one, as far as it has to be. */
static LuProviderResult
verify_next (LuWalk *walk, const LuFrame *frame, LuVerified *verified)
{
  return (frame[1].flags & LU_FRAME_DERIVED) != 0 ? verify_step (walk, frame, verified)
                                                  : verify_guess (walk, frame, verified);
}

/* Returns whether the step from a frame to the next one may have to be verified. A step by frame
 * pointer from a leaf is not made in the kernel where a file could tell more. */
static gboolean
is_to_be_verified (const LuFrame *frame)
{
  return (frame[1].flags & LU_FRAME_DERIVED) != 0
         || ((frame[1].flags & LU_FRAME_INFERRED) != 0
             && (frame->flags & LU_FRAME_RETURN_ADDRESS) != 0);
}

gboolean
lu_walker_verify (LuWalker *self, LuAddressSpace *space, const LuFrame *frames,
                  LuVerified *verified)
{
  const LuVerified whole = *verified;
  LuWalk *walk = &self->walk;

  walk->arch = lu_arch_of_abi (LU_ABI_64);
  for (guint32 i = 0; i + 1 < whole.n; i++)
    {
      LuProviderResult result = LU_PROVIDER_UNKNOWN;

      if (!is_to_be_verified (&frames[i]))
        continue;
      verified->n = i + 1;
      verified->end_pc = frames[i].pc;
      if (find_view (self, space))
        result = verify_next (walk, &frames[i], verified);
      if (result == LU_PROVIDER_UNKNOWN)
        verified->status = LU_STATUS_OVER_BUDGET;
      if (result != LU_PROVIDER_FOUND)
        return result == LU_PROVIDER_NONE || walk->reader != NULL;
    }
  *verified = whole;
  return TRUE;
}

const LuModule *
lu_walker_absent (const LuWalker *self)
{
  return self->walk.rules->absent;
}

LuWalker *
lu_walker_new (gboolean in_drain)
{
  LuWalker *self = g_new0 (LuWalker, 1);

  self->spaces = lu_address_space_cache_new ();
  self->walk.rules = lu_rule_cache_new (in_drain);
  self->walk.memo = lu_memo_new ();
  self->walk.set_up = &self->set_up;
  self->walk.facts = &self->facts;
  self->words.n = G_MAXUINT;
  return self;
}

void
lu_walker_free (LuWalker *self)
{
  if (self == NULL)
    return;
  lu_rule_cache_free (self->walk.rules);
  lu_address_space_cache_free (self->spaces);
  lu_memo_free (self->walk.memo);
  g_free (self);
}

void
lu_walker_read_code (LuWalker *self, LuCodeReader *reader, gint32 pid)
{
  self->walk.reader = reader;
  self->walk.pid = pid;
}

guint64
lu_walker_n_rules_compiled (const LuWalker *self)
{
  return self->walk.rules->n_misses;
}

guint64
lu_walker_n_followed (const LuWalker *self)
{
  return self->walk.memo->n_followed;
}

gsize
lu_walker_table_bytes (const LuWalker *self)
{
  return lu_rule_cache_bytes (self->walk.rules);
}
