/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walker.c - compiled rules, executed by step.h over the stack copy in place; see walker.h. */

#include "unwind/walker.h"

#include "lu/step.h"
#include "unwind/dwfl-facts.h"
#include "unwind/guess.h"
#include "unwind/rule-cache.h"
#include "unwind/space-cache.h"

#include <elf.h>
#include <string.h>

/* As in dwfl.c: what is further above the sampled stack pointer is another stack; what the kernel
 * puts between a handler's stack and the interrupted one. */
#define MAX_STACK        (64u << 20)
#define MAX_SIGNAL_FRAME 65536u
#define CPUMODE_KERNEL   1

typedef struct
{
  const LuArch *arch;
  const LuSample *sample;
  LuSpaceView *view;
  LuStack *stack;
  guint64 sampled_sp, last_offset; /* where the copy starts; offset of its last whole word */
  const guint8 *bytes;
  guint64 failed_address; /* of the last read that failed */
  gboolean is_off_copy;   /* interrupted on a stack that we have no copy of */
  gboolean is_guessed;    /* the frame to come */
  gboolean has_guessed;   /* some frame */
  guint64 last_fp;        /* by which the last guess went */
} Walk;

enum
{
  WORD_PC,
  WORD_SP,
  WORD_FP,
  WORD_BX,
  WORD_LINK,
  N_WORDS
};

#define NO_WORD G_MAXUINT8

typedef struct
{
  const LuArch *arch;
  guint64 mask; /* of the registers that perf gave */
  guint8 indices[N_WORDS];
  guint8 known; /* enum lu_known */
} Words;

struct _LuWalker
{
  Words words;
  LuRuleCache *rules;
  LuSpaceCache *spaces;
};

/* What the step reads */

static int
read_stack (void *data, uint64_t address, uint64_t *value)
{
  Walk *walk = data;
  guint64 offset = address - walk->sampled_sp;

  if (G_UNLIKELY (offset > walk->last_offset)) /* below the copy, too */
    {
      walk->failed_address = address;
      return 0;
    }
  memcpy (value, walk->bytes + offset, sizeof *value);
  return 1;
}

static int
read_register (void *data, uint32_t number, uint64_t *value)
{
  const Walk *walk = data;

  return lu_arch_read_dwarf (walk->arch, &walk->sample->regs, (int) number, value);
}

/* Where the registers of a sample are, for one mask; all samples of a recording have the same. */
static void
find_words (Words *words, const LuArch *arch, guint64 mask)
{
  const guint8 dwarf_numbers[N_WORDS] = {
    [WORD_FP] = arch->machine == EM_X86_64 ? 6 : 29,
    [WORD_BX] = 3,
    [WORD_LINK] = 30,
  };

  words->arch = arch;
  words->mask = mask;
  words->known = 0;
  for (guint i = 0; i < N_WORDS; i++)
    words->indices[i] = NO_WORD;
  for (guint bit = 0, index = 0; bit < arch->n_registers; bit++)
    {
      if ((mask >> bit & 1) == 0)
        continue;
      for (guint i = 0; i < N_WORDS; i++)
        if (i == WORD_PC   ? bit == arch->perf_pc
            : i == WORD_SP ? bit == arch->perf_sp
                           : arch->dwarf_numbers[bit] == dwarf_numbers[i])
          words->indices[i] = (guint8) index;
      index++;
    }
  if (words->indices[WORD_FP] != NO_WORD)
    words->known |= LU_KNOWN_FP;
  if (words->indices[WORD_BX] != NO_WORD && arch->machine == EM_X86_64)
    words->known |= LU_KNOWN_BX;
  if (words->indices[WORD_LINK] != NO_WORD && arch->machine == EM_AARCH64)
    words->known |= LU_KNOWN_LINK;
}

static guint64
word (const Words *words, const LuRegs *sampled, guint which)
{
  guint index = words->indices[which];

  return index < sampled->n_words ? sampled->words[index] : 0;
}

static gboolean
start (Walk *walk, Words *words, struct lu_regs *regs)
{
  const LuSample *sample = walk->sample;
  const LuRegs *sampled = &sample->regs;

  if (words->mask != sampled->mask || words->arch != walk->arch)
    find_words (words, walk->arch, sampled->mask);
  if (words->indices[WORD_PC] == NO_WORD || words->indices[WORD_SP] == NO_WORD
      || sample->stack_size < sizeof (guint64))
    return FALSE;
  *regs = (struct lu_regs){
    .pc = word (words, sampled, WORD_PC),
    .sp = word (words, sampled, WORD_SP),
    .fp = word (words, sampled, WORD_FP),
    .bx = word (words, sampled, WORD_BX),
    .link = word (words, sampled, WORD_LINK),
    .address_mask = walk->arch->address_mask,
    .known = words->known,
  };
  walk->bytes = sample->stack;
  walk->sampled_sp = regs->sp;
  walk->last_offset = sample->stack_size - sizeof (guint64);
  return regs->sp + walk->last_offset >= regs->sp;
}

/* How walks end. TRUE: the stack is finished; FALSE: the worker must. */

static gboolean
finish (Walk *walk, LuStatus status, guint64 end_pc)
{
  walk->stack->status = status;
  walk->stack->end_pc = status == LU_STATUS_COMPLETE ? 0 : end_pc;
  return !walk->has_guessed || !lu_guess_is_refuted_by (status);
}

/* The word at failed_address is not in the copy. */
static gboolean
finish_unreadable (Walk *walk, guint64 pc)
{
  const LuSample *sample = walk->sample;
  guint64 address = walk->failed_address;
  guint64 offset = address - walk->sampled_sp;

  if (walk->is_off_copy)
    return finish (walk, LU_STATUS_OTHER_STACK, pc);
  if (lu_space_view_search (walk->view, address) != NULL)
    return finish (walk, LU_STATUS_UNREADABLE_MEMORY, pc);
  if (address < walk->sampled_sp || offset > MAX_STACK)
    return finish (walk, LU_STATUS_OTHER_STACK, pc);
  if (sample->stack_size < sample->stack_asked && offset < sample->stack_asked)
    return finish (walk, LU_STATUS_UNREADABLE_MEMORY, pc);
  walk->stack->stack_needed = offset + 8;
  return finish (walk, LU_STATUS_TRUNCATED_COPY, pc);
}

/* A place without a rule */

/* Of a guess: the caches and the walk. */
typedef struct
{
  LuWalker *walker;
  Walk *walk;
} Guesser;

static const LuDwflMapping *
find_mapping (gpointer data, guint64 address)
{
  const LuViewMapping *mapping = lu_space_view_find (((Guesser *) data)->walk->view, address);

  return mapping != NULL ? &mapping->base : NULL;
}

static LuCallKind
call_before (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  return lu_guess_known_call (mapping, pc);
}

static LuGuessRule
rule_at (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  Guesser *guesser = data;
  const LuRuleSlot *slot =
      lu_rule_cache_find (guesser->walker->rules, mapping->module,
                          lu_rule_cache_module_key (mapping->module), lookup - mapping->bias);

  if (slot->rule.cfa_kind == LU_CFA_NONE)
    return LU_GUESS_RULE_NONE;
  return slot->rule.cfa_kind == LU_CFA_FP && slot->rule.cfa_off == 16 ? LU_GUESS_RULE_BY_FP
                                                                      : LU_GUESS_RULE_OTHER;
}

/* Whether a leaf of a file may have been called by code with unwind information, or entered the
 * kernel; as in guess_leaf() in dwfl.c. */
static gboolean
may_have_caller_on_top (LuWalker *self, Walk *walk, guint64 sp)
{
  Guesser guesser = { .walker = self, .walk = walk };

  if (walk->sample->cpumode == CPUMODE_KERNEL || walk->view->has_pending)
    return TRUE;
  for (guint64 offset = 0; offset <= 8; offset += 8)
    {
      const LuDwflMapping *mapping;
      guint64 value;

      if (read_stack (walk, sp + offset, &value)
          && (mapping = find_mapping (&guesser, value - 1)) != NULL
          && mapping->status == LU_STATUS_COMPLETE
          && rule_at (&guesser, mapping, value - 1) == LU_GUESS_RULE_OTHER
          && call_before (&guesser, mapping, value) != LU_CALL_NONE)
        return TRUE;
    }
  return FALSE;
}

/* Moves on to the caller by frame pointer, or ends here with the state. */
static gboolean
guess_or_finish (LuWalker *self, Walk *walk, struct lu_regs *regs, const LuDwflMapping *mapping,
                 LuStatus status, gboolean *is_finished)
{
  Guesser guesser = { .walker = self, .walk = walk };
  LuGuess guess = { .arch = walk->arch,
                    .sample = walk->sample,
                    .sampled_sp = walk->sampled_sp,
                    .is_exact = regs->frame_kind != LU_FRAME_KIND_CALLER,
                    .last_fp = walk->last_fp,
                    .find = find_mapping,
                    .call_before = call_before,
                    .rule_at = rule_at,
                    .data = &guesser };
  LuGuessFrame frame = { .pc = regs->pc, .sp = regs->sp, .fp = regs->fp & regs->address_mask };
  LuGuessFrame caller;
  LuGuessResult result = LU_GUESS_NONE;

  *is_finished = TRUE;
  if (walk->view->has_pending) /* perhaps this module, or the caller's */
    return FALSE;
  if ((regs->known & LU_KNOWN_FP) != 0 && lu_guess_is_possible (mapping))
    result = lu_guess_caller (&guess, mapping, &frame, &caller);
  if (result == LU_GUESS_UNKNOWN)
    return FALSE;
  if (result == LU_GUESS_NONE)
    return finish (walk, status, regs->pc);
  if (result == LU_GUESS_BEYOND)
    {
      walk->failed_address = frame.fp + sizeof (guint64);
      return finish_unreadable (walk, regs->pc);
    }
  walk->last_fp = guess.last_fp;
  walk->is_guessed = walk->has_guessed = TRUE;
  regs->pc = caller.pc;
  regs->sp = caller.sp;
  regs->fp = caller.fp;
  regs->ucontext = 0;
  regs->known = LU_KNOWN_FP;
  regs->frame_kind = LU_FRAME_KIND_CALLER;
  *is_finished = FALSE;
  return TRUE;
}

/* The walk */

static gboolean
push_frame (Walk *walk, const struct lu_regs *regs)
{
  guint64 offset = regs->sp - walk->sampled_sp;
  gboolean is_exact = regs->frame_kind != LU_FRAME_KIND_CALLER;
  guint32 flags = is_exact ? 0 : LU_FRAME_RETURN_ADDRESS;

  if (G_UNLIKELY (walk->is_guessed))
    flags |= LU_FRAME_GUESSED;
  walk->is_guessed = FALSE;
  if (!lu_stack_push (walk->stack, regs->pc, flags))
    return FALSE;
  if (offset <= G_MAXUINT32)
    walk->stack->frames[walk->stack->n_frames - 1].stack_offset = (guint32) offset;
  return TRUE;
}

static gboolean
step (Walk *walk, struct lu_regs *regs, const struct lu_rule *rule, const LuDwflMapping *mapping,
      guint64 lookup, gboolean *is_finished)
{
  guint64 last_sp = regs->sp, last_pc = regs->pc;
  int result = lu_step (regs, rule, read_stack, read_register, walk);

  *is_finished = TRUE;
  if (G_UNLIKELY (result == LU_STATUS_COMPLETE))
    return finish (walk, LU_STATUS_COMPLETE, last_pc);
  if (G_UNLIKELY (result == LU_STATUS_UNREADABLE_MEMORY))
    return finish_unreadable (walk, last_pc);
  if (G_UNLIKELY (result != LU_STEP_CALLER))
    return FALSE;
  if (G_UNLIKELY (regs->pc == 0))
    return lu_dwfl_facts_is_entry (mapping, lookup) && finish (walk, LU_STATUS_COMPLETE, last_pc);
  if (G_UNLIKELY (regs->frame_kind == LU_FRAME_KIND_INTERRUPTED))
    walk->is_off_copy = regs->sp - walk->sampled_sp >= walk->sample->stack_size
                        && regs->sp - last_sp > MAX_SIGNAL_FRAME;
  *is_finished = FALSE;
  return TRUE;
}

static gboolean
walk_frames (LuWalker *self, Walk *walk, struct lu_regs *regs)
{
  gboolean is_finished = FALSE, is_ours = TRUE;

  while (!is_finished)
    {
      gboolean is_caller = regs->frame_kind == LU_FRAME_KIND_CALLER;
      guint64 lookup = regs->pc - is_caller;
      const LuViewMapping *mapping = lu_space_view_find (walk->view, lookup);
      const LuRuleSlot *slot;

      if (G_UNLIKELY (mapping == NULL))
        return FALSE;
      if (G_UNLIKELY (!push_frame (walk, regs)))
        return finish (walk, LU_STATUS_DEPTH_LIMIT,
                       walk->stack->frames[LU_STACK_MAX_FRAMES - 1].pc);
      if (G_UNLIKELY (mapping->base.status != LU_STATUS_COMPLETE))
        {
          is_ours = guess_or_finish (self, walk, regs, &mapping->base, mapping->base.status,
                                     &is_finished);
          continue;
        }
      slot = lu_rule_cache_find (self->rules, mapping->base.module, mapping->key,
                                 lookup - mapping->base.bias);
      if (G_UNLIKELY (slot->go_place != LU_GO_ORDINARY && is_caller))
        return finish (walk,
                       slot->go_place == LU_GO_SWITCH ? LU_STATUS_OTHER_STACK : LU_STATUS_COMPLETE,
                       regs->pc);
      if (G_UNLIKELY (slot->rule.cfa_kind == LU_CFA_NONE))
        {
          /* The other engine knows whether that is the entry, and may find the leaf's caller. */
          if (lu_dwfl_facts_is_entry (&mapping->base, lookup)
              || (walk->stack->n_frames == 1 && may_have_caller_on_top (self, walk, regs->sp)))
            return FALSE;
          is_ours = guess_or_finish (self, walk, regs, &mapping->base, LU_STATUS_NO_UNWIND_INFO,
                                     &is_finished);
          continue;
        }
      is_ours = step (walk, regs, &slot->rule, &mapping->base, lookup, &is_finished);
    }
  return is_ours;
}

gboolean
lu_walker_walk (LuWalker *self, gint32 tid, const LuSample *sample, LuSpace *space, LuStack *stack)
{
  Walk walk = { .arch = lu_arch_of_abi (sample->regs.abi), .sample = sample, .stack = stack };
  struct lu_regs regs;
  gboolean is_ours;

  (void) tid;
  if (walk.arch == NULL || walk.arch->word_size != 8 || !start (&walk, &self->words, &regs))
    return FALSE;
  walk.view = lu_space_cache_get (self->spaces, space, walk.arch);
  stack->sampled_sp = walk.sampled_sp;
  lu_rule_cache_begin (self->rules);
  is_ours = walk_frames (self, &walk, &regs);
  stack->stack_used = MIN (regs.sp - walk.sampled_sp, walk.last_offset + sizeof (guint64));
  return is_ours;
}

LuWalker *
lu_walker_new (void)
{
  LuWalker *self = g_new0 (LuWalker, 1);

  self->rules = lu_rule_cache_new ();
  self->spaces = lu_space_cache_new ();
  return self;
}

void
lu_walker_free (LuWalker *self)
{
  if (self == NULL)
    return;
  lu_rule_cache_free (self->rules);
  lu_space_cache_free (self->spaces);
  g_free (self);
}

guint64
lu_walker_n_rules_compiled (const LuWalker *self)
{
  return self->rules->n_misses;
}

gsize
lu_walker_table_bytes (const LuWalker *self)
{
  return lu_rule_cache_bytes (self->rules);
}
