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
  const LuArch *arch;
  guint64 mask; /* of the registers that perf gave */
  guint8 indices[N_WORDS];
  guint8 known; /* enum lu_known */
  guint n;      /* that a sample has, at least; G_MAXUINT: it has not what a walk needs */
} Words;

struct _LuWalker
{
  Words words;
  LuRuleCache *rules;
  LuSpaceCache *spaces;
  LuMemo *memo;
  LuGuessPlaces set_up;
  LuGuessFacts facts;
  LuCodeReader *reader; /* borrowed; NULL: none */
  gint32 pid;
};

/* Where the registers of a sample are, for one mask; all samples of a recording have the same. */
static void
find_words (Words *words, const LuArch *arch, guint64 mask)
{
  const guint8 dwarf_numbers[N_WORDS] = {
    [WORD_FP] = arch->machine == EM_X86_64 ? 6 : 29,
    [WORD_BX] = 3,
    [WORD_LINK] = 30,
  };
  guint has = 0;

  *words = (Words){ .arch = arch, .mask = mask };
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

static gboolean
start (LuWalk *walk, Words *words)
{
  const LuSample *sample = walk->sample;
  const LuRegs *sampled = &sample->regs;
  struct lu_regs *regs = &walk->regs;

  if (words->mask != sampled->mask || words->arch != walk->arch)
    find_words (words, walk->arch, sampled->mask);
  if (sampled->n_words < words->n || sample->stack_size < sizeof (guint64))
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
  walk->copy = (struct lu_copy){ sample->stack, regs->sp, sample->stack_size };
  return regs->sp + walk->copy.size >= regs->sp;
}

/* One by one: setting so much memory to zero takes as long as some steps do. */
static inline void
begin (LuWalk *walk, LuWalker *walker, const LuSample *sample, LuStack *stack)
{
  walk->arch = lu_arch_of_abi (sample->regs.abi);
  walk->sample = sample;
  walk->rules = walker->rules;
  walk->memo = walker->memo;
  walk->set_up = &walker->set_up;
  walk->facts = &walker->facts;
  walk->stack = stack;
  walk->frame = NULL;
  walk->failed_address = walk->last_fp = 0;
  walk->n_guess_rules = 0;
  walk->is_off_copy = walk->is_guessed = walk->has_guessed = FALSE;
  walk->is_from_top = walk->is_refuted = FALSE;
  walk->reader = walker->reader;
  walk->pid = walker->pid;
}

static LuWalkResult
run (LuWalk *walk, gint32 tid)
{
  LuWalkResult result;

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
  LuWalk walk;
  LuWalkResult result;

  begin (&walk, self, sample, stack);
  walk.top = 0;
  if (walk.arch == NULL || walk.arch->word_size != 8 || !start (&walk, &self->words))
    return FALSE;
  walk.view = lu_space_cache_get (self->spaces, space, walk.arch);
  if (walk.view == NULL)
    return FALSE;
  lu_rule_cache_begin (self->rules);
  result = run (&walk, tid);
  while (G_UNLIKELY (walk.is_refuted))
    {
      begin (&walk, self, sample, stack);
      start (&walk, &self->words);
      lu_stack_reset (stack);
      result = run (&walk, tid);
    }
  stack->stack_used = MIN (walk.regs.sp - walk.copy.start, walk.copy.size);
  if (G_LIKELY (self->rules->absent == NULL))
    return result == LU_WALK_DONE;
  /* What it seemed to be without that rule is not to be kept either. */
  lu_memo_forget (self->memo);
  return FALSE;
}

const LuModule *
lu_walker_absent (const LuWalker *self)
{
  return self->rules->absent;
}

LuWalker *
lu_walker_new (gboolean in_drain)
{
  LuWalker *self = g_new0 (LuWalker, 1);

  self->rules = lu_rule_cache_new (in_drain);
  self->spaces = lu_space_cache_new ();
  self->memo = lu_memo_new ();
  return self;
}

void
lu_walker_free (LuWalker *self)
{
  if (self == NULL)
    return;
  lu_rule_cache_free (self->rules);
  lu_space_cache_free (self->spaces);
  lu_memo_free (self->memo);
  g_free (self);
}

void
lu_walker_read_code (LuWalker *self, LuCodeReader *reader, gint32 pid)
{
  self->reader = reader;
  self->pid = pid;
}

guint64
lu_walker_n_rules_compiled (const LuWalker *self)
{
  return self->rules->n_misses;
}

guint64
lu_walker_n_followed (const LuWalker *self)
{
  return self->memo->n_followed;
}

gsize
lu_walker_table_bytes (const LuWalker *self)
{
  return lu_rule_cache_bytes (self->rules);
}
