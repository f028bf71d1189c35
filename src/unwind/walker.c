/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walker.c - begins and ends walks; see walker.h, and walk.h for what is between. */

#include "unwind/walker.h"

#include "unwind/walk.h"

#include <elf.h>

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
  guint64 mask;       /* of the registers that perf gave */
  guint32 abi;
  guint8 indices[N_WORDS];
  guint8 known; /* enum lu_known */
  guint n;      /* that a sample has, at least; G_MAXUINT: it has not what a walk needs */
} Words;

struct _LuWalker
{
  LuWalk walk; /* the last one, or the one under way; what does not change stays in it */
  Words words;
  LuSpaceCache *spaces;
  LuGuessPlaces set_up;
  LuGuessFacts facts;
};

/* Where the registers of a sample are, for one mask; all samples of a recording have the same. */
static __attribute__ ((noinline)) void
find_words (Words *words, guint32 abi, guint64 mask)
{
  const LuArch *arch = lu_arch_of_abi (abi);
  const guint8 dwarf_numbers[N_WORDS] = {
    [WORD_FP] = arch != NULL && arch->machine == EM_X86_64 ? 6 : 29,
    [WORD_BX] = 3,
    [WORD_LINK] = 30,
  };
  guint has = 0;

  *words = (Words){ .arch = arch, .mask = mask, .abi = abi, .n = G_MAXUINT };
  if (arch == NULL || arch->word_size != 8)
    return;
  words->n = 0;
  for (guint bit = 0; bit < arch->n_registers; bit++)
    {
      if ((mask >> bit & 1) == 0)
        continue;
      for (guint i = 0; i < N_WORDS; i++)
        if (i == WORD_PC   ? bit == arch->perf_pc
            : i == WORD_SP ? bit == arch->perf_sp
                           : arch->dwarf_numbers[bit] == dwarf_numbers[i])
          {
            words->indices[i] = (guint8) words->n;
            has |= 1u << i;
          }
      words->n++;
    }
  if ((has & 1u << WORD_PC) == 0 || (has & 1u << WORD_SP) == 0)
    words->n = G_MAXUINT;
  if ((has & 1u << WORD_FP) != 0)
    words->known |= LU_KNOWN_FP;
  if ((has & 1u << WORD_BX) != 0 && arch->machine == EM_X86_64)
    words->known |= LU_KNOWN_BX;
  if ((has & 1u << WORD_LINK) != 0 && arch->machine == EM_AARCH64)
    words->known |= LU_KNOWN_LINK;
}

/* Any for one that is not there. */
static inline guint64
word (const Words *words, const LuRegs *sampled, guint which)
{
  return sampled->words[words->indices[which]];
}

/* FALSE: not for this walker. */
static inline gboolean
start (LuWalk *walk, Words *words)
{
  const LuSample *sample = walk->sample;
  const LuRegs *sampled = &sample->regs;
  struct lu_regs *regs = &walk->regs;

  if (G_UNLIKELY (words->mask != sampled->mask || words->abi != sampled->abi))
    find_words (words, sampled->abi, sampled->mask);
  if (sampled->n_words < words->n || sample->stack_size < sizeof (guint64))
    return FALSE;
  walk->arch = words->arch;
  regs->pc = word (words, sampled, WORD_PC);
  regs->sp = word (words, sampled, WORD_SP);
  regs->fp = word (words, sampled, WORD_FP);
  regs->bx = word (words, sampled, WORD_BX);
  regs->link = word (words, sampled, WORD_LINK);
  regs->ucontext = 0;
  regs->address_mask = walk->arch->address_mask;
  regs->known = words->known;
  regs->frame_kind = LU_FRAME_KIND_SAMPLED;
  regs->is_sigframe = 0;
  walk->copy.bytes = sample->stack;
  walk->copy.start = regs->sp;
  walk->copy.size = sample->stack_size;
  return regs->sp + walk->copy.size >= regs->sp;
}

/* One by one: setting so much memory to zero takes as long as some steps do. */
static inline void
begin (LuWalk *walk, const LuSample *sample, LuStack *stack)
{
  walk->sample = sample;
  walk->stack = stack;
  walk->frame = NULL;
  walk->failed_address = walk->last_fp = 0;
  walk->n_guess_rules = 0;
  walk->is_off_copy = walk->is_guessed = walk->has_guessed = FALSE;
  walk->is_from_top = walk->is_refuted = FALSE;
}

/* The view of the space, which is mostly that of the last walk. */
static inline gboolean
find_view (LuWalker *self, LuSpace *space)
{
  LuWalk *walk = &self->walk;
  const LuSpaceView *view = walk->view;

  if (G_UNLIKELY (view == NULL || view->serial != lu_space_serial (space)
                  || view->arch != walk->arch || view->has_pending))
    walk->view = lu_space_cache_get (self->spaces, space, walk->arch);
  return walk->view != NULL;
}

/* The key of a pc that is where walks have been; else any other. */
static inline guint64
likely_key (const LuSpaceView *view, guint64 pc)
{
  return pc + (lu_view_mapping_has (view->last, pc) ? view->last->to_key : view->before->to_key);
}

void
lu_walker_expect (const LuWalker *self, gint32 tid, const LuSample *sample)
{
  const LuWalk *walk = &self->walk;
  const Words *words = &self->words;
  const LuRegs *sampled = &sample->regs;

  if (words->mask != sampled->mask || words->abi != sampled->abi || sampled->n_words < words->n
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

  /* Until the thread's last stack has been compared, they are there. */
  if (G_LIKELY (walk->view->n > 0))
    lu_rule_cache_expect_callers (walk->rules, likely_key (walk->view, walk->regs.pc));
  lu_memo_begin (walk->memo, tid, walk->view->serial, &walk->copy);
  walk->stack->sampled_sp = walk->copy.start;
  do
    {
      result = lu_walk_plain (walk);
      if (result == LU_WALK_ON)
        result = lu_walk_frame (walk);
    }
  while (result == LU_WALK_ON);
  return result;
}

gboolean
lu_walker_walk (LuWalker *self, gint32 tid, const LuSample *sample, LuSpace *space, LuStack *stack)
{
  LuWalk *walk = &self->walk;
  LuWalkResult result;

  begin (walk, sample, stack);
  walk->top = 0;
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
  /* What it seemed to be without that rule is not to be kept either. */
  lu_memo_forget (walk->memo);
  return FALSE;
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

  self->spaces = lu_space_cache_new ();
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
  lu_space_cache_free (self->spaces);
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
