/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-records.c - compact steps of the BPF program's C where calls leave the return address in a
 * register, and functions save it at the bottom of their frames: the result is that of lu_step().
 */

#include "walk-arch.h" /* before lu/step.h */

#include <glib.h>

#include "../../bpf/walk-subprogram.h"

#define N_ROUNDS 200000
#define STACK    0x7ffc00000000 /* begins a page */
#define N_WORDS  64
#define CODE     0x400000
#define SIZE     0x1000

static guint64 words[N_WORDS];

static gint
below (GRand *rand, gint end)
{
  return g_rand_int_range (rand, 0, end);
}

/* Returns a rule as compilers make them, or one that is somewhat different. */
static struct lu_rule
random_rule (GRand *rand)
{
  gint frame = 2 + below (rand, 20),
       depth = below (rand, 4) == 0 ? 1 + below (rand, frame + 2) : frame - 1;
  struct lu_rule rule = { .cfa_kind = (guint8) (below (rand, 3) == 0 ? LU_CFA_FP : LU_CFA_SP),
                          .cfa_off = 8 * frame,
                          .ra_kind = LU_RA_AT_CFA,
                          .ra_off = (gint16) -depth,
                          .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4,
                          .fp_off = (gint16) (-depth - 1),
                          .flags = (guint8) (below (rand, 2) == 0 ? LU_RULE_SIGNED : 0) };

  if (below (rand, 8) == 0)
    rule.fp_off = (gint16) -below (rand, frame + 2);
  if (below (rand, 4) == 0)
    rule.saves = LU_SAVE_SAME | LU_SAVE_UNKNOWN << 4;
  if (below (rand, 16) == 0)
    rule.ra_kind = LU_RA_LINK;
  return rule;
}

static int
read_copy (void *data, uint64_t address, uint64_t *value)
{
  return host_read (value, sizeof *value, address) == 0;
}

static int
no_register (void *data, uint32_t number, uint64_t *value)
{
  return 0;
}

static void
set_up (GRand *rand, lu_compact_rule compact)
{
  struct walk *walk = &user_host.walk;
  guint64 pc = CODE + 4 * (guint64) below (rand, SIZE / 4), place = remembered_at (pc);

  for (guint i = 0; i < N_WORDS; i++)
    words[i] = g_rand_int (rand) | (guint64) 0x7f00 << 32;
  user_host.stack = (const guint8 *) words;
  user_host.stack_at = STACK;
  user_host.stack_size = 8 * (guint64) (1 + below (rand, N_WORDS));
  walk->remembered.rules[place] = (struct remembered){ .key = pc, .rule = compact };
  walk->place = (struct visited_mapping){ .start = CODE, .size = SIZE, .rules_size = SIZE };
  walk->window.n_words = walk->window.n_pairs = 0;
  walk->last.key = 0;
  walk->pc = pc;
  walk->sp = STACK + 8 * (guint64) below (rand, N_WORDS / 2);
  walk->fp = below (rand, 8) == 0 ? g_rand_int (rand) : walk->sp + 8 * (guint64) below (rand, 8);
  walk->bx_at = walk->mark = walk->at = 0;
  walk->limit = 1;
  walk->known =
      (below (rand, 8) == 0 ? 0 : LU_KNOWN_FP) | (below (rand, 2) == 0 ? LU_KNOWN_LINK : 0);
  walk->frame_kind = (guint32) below (rand, 3);
}

/* Makes one step both ways. Returns whether the compact step was made. */
static gboolean
compare (GRand *rand)
{
  struct walk *walk = &user_host.walk;
  struct lu_rule rule = random_rule (rand);
  lu_compact_rule compact = lu_bpf_compact_make (&rule, TRUE);
  struct lu_regs regs;
  gint64 result;

  if (compact == 0)
    return FALSE;
  set_up (rand, compact);
  regs = (struct lu_regs){ .pc = walk->pc,
                           .sp = walk->sp,
                           .fp = walk->fp,
                           .address_mask = host_config.address_mask,
                           .known = (guint8) walk->known,
                           .frame_kind = (guint8) walk->frame_kind };
  result = walk_compact (0);
  if (walk->at == 0)
    {
      g_assert_cmpint (result, ==, NEXT_RULE);
      return FALSE;
    }
  g_assert_cmpint (lu_step (&regs, &rule, read_copy, no_register, NULL), ==, LU_STEP_CALLER);
  g_assert_cmphex (walk->pc, ==, regs.pc & host_config.address_mask);
  g_assert_cmphex (walk->sp, ==, regs.sp);
  if ((fetch_saved (0) & LU_KNOWN_FP) != 0)
    g_assert_cmphex (walk->fp, ==, regs.fp);
  g_assert_cmphex (walk->known, ==, regs.known & ~(guint8) LU_KNOWN_BX);
  g_assert_cmphex (walk->mark, ==, LU_BPF_PC_RETURN);
  return TRUE;
}

static void
test_random (void)
{
  GRand *rand = g_rand_new_with_seed ((guint32) g_test_rand_int ());
  guint n_made = 0;

  user_host.config.address_mask = ((guint64) 1 << 48) - 1;
  for (guint i = 0; i < N_ROUNDS; i++)
    n_made += compare (rand);
  g_test_message ("%u steps", n_made);
  g_assert_cmpuint (n_made, >, N_ROUNDS / 10);
  g_rand_free (rand);
}

/* Rules of real code must be compact, or walks are slow. */
static void
test_usual (void)
{
  static const struct
  {
    const char *name;
    struct lu_rule rule;
  } cases[] = {
    { "stp x29, x30, [sp, #-96]!", { 96, 0, -12, 0, -11, LU_CFA_SP, 0x41, 0, 0 } },
    { "a large frame", { 65536, 0, -8192, 0, -8191, LU_CFA_SP, 0x41, 0, 0 } },
    { "by frame pointer", { 64, 0, -8, 0, -7, LU_CFA_FP, 0x41, 0, 0 } },
    { "the record just below the CFA", { 16, 0, -2, 0, -1, LU_CFA_FP, 0x41, 0, 0 } },
    { "no frame pointer", { 16, 0, 0, 0, -2, LU_CFA_SP, 0x40, 0, 0 } },
    { "signed", { 32, 0, -4, 0, -3, LU_CFA_SP, 0x41, 0, LU_RULE_SIGNED } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      lu_compact_rule compact = lu_bpf_compact_make (&cases[i].rule, TRUE);

      g_test_message ("%s", cases[i].name);
      g_assert_cmphex (compact & LU_COMPACT, !=, 0);
      g_assert_cmpuint (LU_BPF_COMPACT_RECORD (compact), ==, 8 * (-1 - cases[i].rule.ra_off));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/records/random", test_random);
  g_test_add_func ("/records/usual", test_usual);
  return g_test_run ();
}
