/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-compact-step.c - compact steps do what lu_step() does, or leave the step to it: random
 * rules, registers and stacks, with values near all edges. */

#include "unwind/compact-step.h"

#include <glib.h>
#include <string.h>

#define N_ROUNDS  2000000
#define COPY_SIZE 256

static const guint64 starts[] = { 0x7ffc12340000, 0, 8, G_MAXUINT64 - COPY_SIZE,
                                  G_GUINT64_CONSTANT (0x8000000000000000) - 64 };

static int
read_copy (void *data, uint64_t address, uint64_t *value)
{
  const struct lu_copy *copy = data;

  if (address - copy->start > copy->size - sizeof *value)
    return 0;
  *value = lu_copy_word (copy, address - copy->start);
  return 1;
}

static int
no_register (void *data, uint32_t number, uint64_t *value)
{
  return 0;
}

/* Returns an address in, at the edge of, or far from the copy. */
static guint64
random_address (GRand *rand, const struct lu_copy *copy)
{
  switch (g_rand_int_range (rand, 0, 8))
    {
    case 0:
      return copy->start + copy->size + (guint64) g_rand_int_range (rand, -16, 16);
    case 1:
      return copy->start + (guint64) g_rand_int_range (rand, -16, 16);
    case 2:
      return (guint64) g_rand_int (rand) << 32 | g_rand_int (rand);
    case 3:
      return 0;
    default:
      return copy->start + 8 * (guint64) g_rand_int_range (rand, 0, COPY_SIZE / 8);
    }
}

static struct lu_rule
random_rule (GRand *rand)
{
  return (struct lu_rule){
    .cfa_off = g_rand_int_range (rand, 0, 30) == 0 ? g_rand_int_range (rand, -2000000, 2000000)
                                                   : 8 * g_rand_int_range (rand, -3, 20),
    .fp_off = (gint16) g_rand_int_range (rand, -20, 2),
    .bx_off = (gint16) (g_rand_int_range (rand, 0, 30) == 0 ? -g_rand_int_range (rand, 200, 300)
                                                            : g_rand_int_range (rand, -20, 2)),
    .ra_off = (gint16) (g_rand_boolean (rand) ? -1 : g_rand_int_range (rand, -3, 2)),
    .cfa_kind = (guint8) (g_rand_int_range (rand, 0, 4) > 0 ? g_rand_int_range (rand, 1, 3)
                                                            : g_rand_int_range (rand, 0, 9)),
    .saves = (guint8) (g_rand_int_range (rand, 0, 3) | g_rand_int_range (rand, 0, 5) << 4),
    .ra_kind = (guint8) (g_rand_int_range (rand, 0, 8) == 0 ? g_rand_int_range (rand, 0, 6) : 0),
    .flags = (guint8) (g_rand_int_range (rand, 0, 8) == 0 ? g_rand_int_range (rand, 0, 8) : 0),
  };
}

static struct lu_regs
random_regs (GRand *rand, const struct lu_copy *copy)
{
  return (struct lu_regs){
    .pc = g_rand_int (rand),
    .sp = random_address (rand, copy),
    .fp = random_address (rand, copy),
    .bx = random_address (rand, copy),
    .address_mask = G_MAXUINT64,
    .known = (guint8) (g_rand_int_range (rand, 0, 8) | (g_rand_boolean (rand) ? LU_KNOWN_FP : 0)),
    .frame_kind = (guint8) g_rand_int_range (rand, 0, 3),
  };
}

static gboolean
is_same (const struct lu_compact_regs *a, const struct lu_regs *b, guint64 start)
{
  return a->pc == b->pc && a->offset + start == b->sp && (b->known & LU_KNOWN_FP) != 0
         && a->fp == b->fp && ((a->known ^ b->known) & LU_KNOWN_BX) == 0
         && ((a->known & LU_KNOWN_BX) == 0 || a->bx == b->bx);
}

/* Makes one step both ways. Returns whether the compact step succeeded. */
static gboolean
compare (const struct lu_rule *rule, const struct lu_regs *before, struct lu_copy *copy)
{
  lu_compact_rule compact = lu_compact_make (rule);
  struct lu_compact_regs first = { .pc = before->pc,
                                   .offset = before->sp - copy->start,
                                   .fp = before->fp,
                                   .bx = before->bx,
                                   .known = before->known };
  struct lu_compact_regs quick = first;
  struct lu_regs slow = *before;
  int result;

  if (compact == LU_COMPACT_OUTERMOST)
    g_assert_cmpint (rule->ra_kind, ==, LU_RA_END);
  if ((compact & LU_COMPACT) == 0 || first.offset > copy->size || (first.known & LU_KNOWN_FP) == 0)
    return FALSE;
  if (!lu_compact_step (&quick, compact, copy))
    {
      g_assert_true (memcmp (&quick, &first, sizeof quick) == 0);
      return FALSE;
    }
  result = lu_step (&slow, rule, read_copy, no_register, copy);
  g_assert_cmpint (result, ==, LU_STEP_CALLER);
  g_assert_true (is_same (&quick, &slow, copy->start));
  g_assert_cmpuint (slow.frame_kind, ==, LU_FRAME_KIND_CALLER);
  g_assert_cmpuint (slow.ucontext, ==, 0);
  return TRUE;
}

static void
test_random (void)
{
  GRand *rand = g_rand_new_with_seed ((guint32) g_test_rand_int ());
  guint8 bytes[COPY_SIZE];
  guint n_through = 0;

  for (guint i = 0; i < N_ROUNDS; i++)
    {
      struct lu_copy copy = { bytes, starts[g_rand_int_range (rand, 0, G_N_ELEMENTS (starts))],
                              (guint64) g_rand_int_range (rand, 8, COPY_SIZE + 1) };
      struct lu_rule rule = random_rule (rand);
      struct lu_regs regs = random_regs (rand, &copy);

      for (guint k = 0; k < 4; k++)
        bytes[g_rand_int_range (rand, 0, COPY_SIZE)] =
            (guint8) (g_rand_boolean (rand) ? g_rand_int (rand) : 0);
      n_through += compare (&rule, &regs, &copy);
    }
  g_rand_free (rand);
  g_assert_cmpuint (n_through, >, N_ROUNDS / 200);
}

/* Rules of real code must be compact, or the walker is slow. */
static void
test_usual (void)
{
  static const struct
  {
    const char *name;
    struct lu_rule rule;
  } cases[] = {
    { "after a call in a leaf-like function", { 16, 0, 0, 0, -1, LU_CFA_SP, 0, 0, 0 } },
    { "rbp and rbx saved", { 64, 0, -2, -3, -1, LU_CFA_SP, 0x11, 0, 0 } },
    { "by frame pointer", { 16, 0, -2, -7, -1, LU_CFA_FP, 0x11, 0, 0 } },
    { "a large frame", { 262144, 0, -2, -3, -1, LU_CFA_SP, 0x11, 0, 0 } },
    { "aarch64, without rbx", { 96, 0, -12, 0, -1, LU_CFA_SP, 0x41, 0, 0 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      lu_compact_rule compact = lu_compact_make (&cases[i].rule);

      g_test_message ("%s", cases[i].name);
      g_assert_cmpuint (compact & LU_COMPACT, !=, 0);
      g_assert_cmpint ((gint64) LU_COMPACT_CFA (compact), ==, cases[i].rule.cfa_off);
      g_assert_cmpuint (LU_COMPACT_EXTRA (compact), ==, 0);
    }
}

/* LU_BPF_RULE_TOP depends on the kind of frame, so it has no compact form. */
static void
test_end (void)
{
  const struct lu_rule end = { .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_END };
  const struct lu_rule top = { .cfa_kind = LU_CFA_COMPLEX, .ra_kind = LU_RA_END };

  g_assert_cmphex (lu_compact_make (&end), ==, LU_COMPACT_OUTERMOST);
  g_assert_cmphex (lu_compact_make (&top), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/compact/random", test_random);
  g_test_add_func ("/compact/usual", test_usual);
  g_test_add_func ("/compact/end", test_end);
  return g_test_run ();
}
