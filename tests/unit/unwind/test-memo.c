/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-memo.c - whether a walk reuses a thread's last stack correctly: made-up code in which every
 * register matters and made-up stacks; the registers at the end of the walk are compared, too. */

#include "unwind/walk.h"

#include <string.h>

#define N_PCS     96
#define N_WORDS   512
#define N_ROUNDS  400
#define N_CHANGES 400
#define CODE      G_GUINT64_CONSTANT (0x10000)
#define STACK     G_GUINT64_CONSTANT (0x7ffc00000000)

typedef struct
{
  GRand *rand;
  LuRuleCache *rules;
  LuMemo *memo;
  LuFpStepFacts facts; /* empty */
  LuViewMapping mapping;
  LuAddressSpaceView view;
  guint64 pcs[N_PCS];
  lu_compact_rule steps[N_PCS]; /* walk_frame() makes the steps that has_no_rule() names */
  guint64 words[N_WORDS];
  gint32 next_tid;
  guint64 size;   /* of the copy */
  guint n_made;   /* steps of the last walk without a compact rule */
  guint n_joined; /* repeated walks, with such steps, that have left one piece */
} Fixture;

typedef struct
{
  struct lu_regs regs;
  LuWalkResult result;
  LuStack stack;
} Outcome;

/* Makes a rule of a small frame; FP and BX are kept, saved or lost; a third go by frame pointer. */
static lu_compact_rule
random_compact (GRand *rand)
{
  struct lu_rule rule = {
    .cfa_kind = g_rand_int_range (rand, 0, 3) == 0 ? LU_CFA_FP : LU_CFA_SP,
    .cfa_off = 8 * g_rand_int_range (rand, 3, 9),
    .ra_off = -1,
    .fp_off = -2,
    .bx_off = -3,
    .saves = (guint8) (g_rand_int_range (rand, 0, 2) | g_rand_int_range (rand, 0, 2) << 4),
  };

  if (g_rand_int_range (rand, 0, 12) == 0)
    rule.saves = (guint8) ((rule.saves & 15) | LU_SAVE_UNKNOWN << 4);
  return lu_compact_make (&rule);
}

/* Returns whether the walker knows no compact rule for the place. */
static gboolean
has_no_rule (guint i)
{
  return i % 16 == 5;
}

/* Makes return addresses, each with a place of its own in the cache. */
static void
make_code (Fixture *self)
{
  guint64 pc = CODE;

  memset (self->rules->places, 0, sizeof self->rules->places);
  for (guint i = 0; i < N_PCS; pc += 5)
    {
      LuRulePlace *place = &self->rules->places[lu_rule_cache_index (self->rules, pc - 1)];

      if (place->key != 0)
        continue;
      self->pcs[i] = pc;
      self->steps[i] = i == 0 ? LU_COMPACT_END : random_compact (self->rand);
      *place = (LuRulePlace){ .key = pc - 1, .compact = has_no_rule (i) ? 0 : self->steps[i] };
      i++;
    }
  self->mapping = (LuViewMapping){ .start = CODE, .size = pc - CODE };
  self->mapping.base.start = CODE;
  self->mapping.base.end = pc;
  self->view = (LuAddressSpaceView){ .n = 1, .mappings = &self->mapping };
  self->view.last = self->view.before = &self->mapping;
}

/* Any word may be a return address or a frame pointer, so that walks go far. */
static guint64
random_word (Fixture *self)
{
  if (g_rand_int_range (self->rand, 0, 4) == 0)
    return STACK + 8 * (guint64) g_rand_int_range (self->rand, 0, N_WORDS + 8);
  return self->pcs[g_rand_int_range (self->rand, g_rand_int_range (self->rand, 0, 20) != 0, N_PCS)];
}

static guint
find_pc (const Fixture *self, guint64 pc)
{
  guint i = 0;

  while (i < N_PCS && self->pcs[i] != pc)
    i++;
  return i;
}

/* Fills the words with a whole stack for the given registers. */
static void
make_stack (Fixture *self, const struct lu_regs *sampled)
{
  struct lu_compact_regs regs = { .pc = sampled->pc, .fp = sampled->fp, .known = sampled->known };
  struct lu_copy copy = { (const guint8 *) self->words, STACK, sizeof self->words };

  for (guint i = 0; i < N_WORDS; i++)
    self->words[i] = random_word (self);
  for (guint guard = 0; guard < N_WORDS; guard++)
    {
      guint i = find_pc (self, regs.pc);

      if (i == N_PCS || i == 0 || !lu_compact_step (&regs, self->steps[i], &copy))
        return;
      /* The word is not a return address: replace it by one. */
      if (regs.pc >= STACK)
        {
          regs.pc = self->pcs[g_rand_int_range (self->rand, 1, N_PCS)];
          self->words[(regs.offset - 8) / 8] = regs.pc;
        }
    }
}

/* Goes on where lu_walk_compact() has left, as lu_walk_frame() does, and at times has the memo know
 * the step from then on. */
static gboolean
walk_frame (Fixture *self, LuWalk *walk)
{
  struct lu_regs *regs = &walk->regs;
  LuStack *stack = walk->stack;
  struct lu_compact_regs frame = {
    .pc = regs->pc, .offset = regs->sp - STACK, .fp = regs->fp, .bx = regs->bx, .known = regs->known
  };
  guint i = find_pc (self, regs->pc);

  if (i == N_PCS || !has_no_rule (i) || frame.offset > self->size
      || !lu_compact_step (&frame, self->steps[i], &walk->copy)
      || !lu_stack_push (stack, regs->pc, lu_walk_take_flags (walk, TRUE)))
    return FALSE;
  stack->frames[stack->n_frames - 1].stack_offset = (guint32) (regs->sp - STACK);
  if (walk->frame != NULL && g_rand_int_range (self->rand, 0, 8) == 0)
    {
      walk->frame->compact = self->steps[i];
      self->memo->is_changed = TRUE;
    }
  regs->pc = frame.pc;
  regs->sp = STACK + frame.offset;
  regs->fp = frame.fp;
  regs->bx = frame.bx;
  regs->known = (guint8) (LU_KNOWN_FP | (frame.known & LU_KNOWN_BX));
  self->n_made++;
  return TRUE;
}

static void
walk (Fixture *self, gint32 tid, const struct lu_regs *regs, Outcome *outcome)
{
  LuSample sample = { .stack_size = (guint32) self->size };
  LuWalk walk = {
    .sample = &sample,
    .view = &self->view,
    .rules = self->rules,
    .memo = self->memo,
    .facts = &self->facts,
    .stack = &outcome->stack,
    .copy = { (const guint8 *) self->words, STACK, self->size },
    .regs = *regs,
  };

  lu_stack_reset (&outcome->stack);
  lu_memo_begin (self->memo, tid, 1, &walk.copy);
  self->n_made = 0;
  do
    outcome->result = lu_walk_compact (&walk);
  while (outcome->result == LU_WALK_ON && walk_frame (self, &walk));
  outcome->regs = walk.regs;
}

/* Returns the registers that must agree at the end of a walk: all known ones, but only the register
 * of the CFA where the return address is outside the copy. */
static guint
registers_that_count (const Fixture *self, const struct lu_regs *regs)
{
  guint i = find_pc (self, regs->pc);

  if (i < N_PCS && (self->steps[i] & LU_COMPACT) != 0)
    {
      gboolean is_by_fp = (self->steps[i] & LU_COMPACT_BY_FP) != 0;
      guint64 base = is_by_fp ? regs->fp : regs->sp;

      if (base + LU_COMPACT_CFA (self->steps[i]) - STACK > self->size)
        return is_by_fp ? LU_KNOWN_FP : 0;
    }
  return regs->known;
}

static void
compare (Fixture *self, gint32 tid, const struct lu_regs *regs)
{
  static Outcome kept, fresh;
  guint counting;

  walk (self, tid, regs, &kept);
  walk (self, self->next_tid++, regs, &fresh);
  g_assert_cmpint (kept.result, ==, fresh.result);
  g_assert_cmphex (kept.regs.pc, ==, fresh.regs.pc);
  g_assert_cmphex (kept.regs.sp, ==, fresh.regs.sp);
  counting = registers_that_count (self, &fresh.regs);
  g_assert_cmphex (kept.regs.known & counting, ==, fresh.regs.known & counting);
  g_assert_cmpint (kept.regs.frame_kind, ==, fresh.regs.frame_kind);
  if ((fresh.regs.known & counting & LU_KNOWN_FP) != 0)
    g_assert_cmphex (kept.regs.fp, ==, fresh.regs.fp);
  if ((fresh.regs.known & counting & LU_KNOWN_BX) != 0)
    g_assert_cmphex (kept.regs.bx, ==, fresh.regs.bx);
  g_assert_cmpmem (kept.stack.frames, kept.stack.n_frames * sizeof (LuFrame), fresh.stack.frames,
                   fresh.stack.n_frames * sizeof (LuFrame));
}

/* Where nothing has changed, a step that is repeated each time leaves the frames in their places.
 */
static void
walk_again (Fixture *self, gint32 tid, const struct lu_regs *regs)
{
  static Outcome again;

  walk (self, tid, regs, &again);
  self->n_joined += self->n_made > 0 && self->memo->n_pieces == 1 && self->memo->n_added == 0;
}

static void
test_random (void)
{
  Fixture *self = g_new0 (Fixture, 1);

  self->rand = g_rand_new_with_seed ((guint32) g_test_rand_int ());
  self->rules = lu_rule_cache_new (FALSE);
  self->memo = lu_memo_new ();
  self->next_tid = 1000;
  for (guint round = 0; round < N_ROUNDS; round++)
    {
      struct lu_regs regs = { .sp = STACK,
                              .known = LU_KNOWN_FP | LU_KNOWN_BX,
                              .frame_kind = LU_FRAME_KIND_CALLER };

      make_code (self);
      lu_memo_free (self->memo); /* the code and the rules are new */
      self->memo = lu_memo_new ();
      regs.pc = self->pcs[1];
      regs.fp = STACK + 64;
      make_stack (self, &regs);
      for (guint i = 0; i < N_CHANGES; i++)
        {
          guint at = (guint) g_rand_int_range (self->rand, 0, N_WORDS);

          self->size = g_rand_int_range (self->rand, 0, 10) == 0
                           ? (guint64) g_rand_int_range (self->rand, 8, N_WORDS * 8)
                           : sizeof self->words;
          if (i % 3 != 0)
            self->words[at] = random_word (self);
          if (i % 7 == 0)
            regs.bx = random_word (self);
          if (i % 11 == 0)
            regs.fp = random_word (self);
          if (i % 13 == 0)
            regs.pc = self->pcs[g_rand_int_range (self->rand, 1, N_PCS)];
          compare (self, 1, &regs);
          if (i % 5 == 0)
            walk_again (self, 1, &regs);
        }
    }
  g_assert_cmpuint (self->memo->n_followed, >, 100);
  g_assert_cmpuint (self->n_joined, >, 20);
  lu_memo_free (self->memo);
  lu_rule_cache_free (self->rules);
  g_rand_free (self->rand);
  g_free (self);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memo/random", test_random);
  return g_test_run ();
}
