/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-step.c - walks invented stacks by invented rules. Input: registers, a count of rules, the
 * rules, the stack. Each step must either end with a state or move the frame as step.h promises. */

#include "fuzz.h"

#include "arch/arch.h"
#include "lu/step.h"

#include <glib.h>
#include <string.h>

#define MAX_STEPS 256

/* The registers without the pointer at their end. */
#define SIZE_OF_NUMBERS offsetof (struct lu_regs, saved_words)

typedef struct
{
  guint64 sp;
  const guint8 *bytes;
  gsize size;
} Stack;

static int
read_stack (void *data, uint64_t address, uint64_t *value)
{
  const Stack *stack = data;
  guint64 offset = address - stack->sp;

  if (stack->size < 8 || address < stack->sp || offset > stack->size - 8)
    return 0;
  memcpy (value, stack->bytes + offset, 8);
  return 1;
}

static int
read_sampled (void *data, uint32_t number, uint64_t *value)
{
  *value = ((const Stack *) data)->sp + 8 * (guint64) number;
  return number < 17;
}

static void
check_step (const struct lu_regs *before, const struct lu_regs *after, const struct lu_rule *rule,
            int result)
{
  gboolean is_signal = (rule->flags & LU_RULE_SIGNAL) != 0;
  guint may_be_known = LU_KNOWN_FP | LU_KNOWN_BX;

  if (result != LU_STEP_CALLER)
    {
      g_assert_cmpint (result, >=, 0);
      g_assert_cmpint (result, <, LU_N_STATUS);
      g_assert_cmpmem (before, sizeof *before, after, sizeof *after);
      return;
    }
  g_assert_cmpint (after->frame_kind, ==,
                   is_signal ? LU_FRAME_KIND_INTERRUPTED : LU_FRAME_KIND_CALLER);
  if ((rule->flags & LU_RULE_SIGFRAME) != 0)
    may_be_known |= LU_KNOWN_LINK;
  g_assert_cmpuint (after->known & ~may_be_known, ==, 0);
  if (!is_signal)
    g_assert_cmpuint (after->sp, >=, before->sp);
  if (!is_signal && before->frame_kind == LU_FRAME_KIND_CALLER)
    g_assert_cmpuint (after->sp, >, before->sp);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree guint8 *copy = NULL;
  struct lu_rule *rules;
  struct lu_regs regs;
  guint n_rules;
  Stack stack;

  if (size < SIZE_OF_NUMBERS + 1)
    return 0;
  memcpy (&regs, data, SIZE_OF_NUMBERS);
  regs.saved_words =
      data[SIZE_OF_NUMBERS] % 2 != 0 ? lu_arch_x86_64.saved_words : lu_arch_aarch64.saved_words;
  regs.known &= LU_KNOWN_FP | LU_KNOWN_BX | LU_KNOWN_LINK;
  regs.frame_kind %= 3;
  n_rules = 1 + data[SIZE_OF_NUMBERS] % 16;
  data += SIZE_OF_NUMBERS + 1;
  size -= SIZE_OF_NUMBERS + 1;
  if (size < n_rules * sizeof *rules)
    return 0;
  copy = g_memdup2 (data, size);
  rules = (struct lu_rule *) copy;
  stack = (Stack){
    .sp = regs.sp,
    .bytes = copy + n_rules * sizeof *rules,
    .size = size - n_rules * sizeof *rules,
  };
  for (guint i = 0; i < MAX_STEPS; i++)
    {
      const struct lu_rule *rule = &rules[regs.pc % n_rules];
      struct lu_regs before = regs;
      int result = lu_step (&regs, rule, read_stack, read_sampled, &stack);

      check_step (&before, &regs, rule, result);
      if (result != LU_STEP_CALLER)
        break;
    }
  return 0;
}
