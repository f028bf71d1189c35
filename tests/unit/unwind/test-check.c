/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-check.c - the check engine reports how engines disagree. One of them is the table engine
 * with one change to its stacks, so that the difference is known.
 *
 * Arguments: the directory of target.c's programs. */

#include "unwind/check.h"

#include "tracee.h"

#include <string.h>

typedef enum
{
  LIE_NONE,
  LIE_FRAME, /* another pc in frame 2 */
  LIE_KIND,  /* frame 1 is not a return address */
  LIE_SHORT, /* one frame is missing at the end */
  LIE_STATE, /* the same frames, another state */
  LIE_FIRST, /* no frame at all */
  LIE_LEAF,  /* only a leaf of generated code, at leaf_pc */
  LIE_CUT,   /* one frame is missing at the end; the state and a frame's flags are those below */
} Lie;

static const char *directory;
static Lie lie;
static LuStatus cut_status;
static guint more_flags;
static const guint64 leaf_pc = 0x1008;

/* An engine that lies */

typedef struct
{
  LuUnwinder parent;
  LuUnwinder *table;
} Liar;

static void
liar_unwind (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  LuUnwinder *table = ((Liar *) unwinder)->table;

  table->ops->unwind (table, request, stack);
  if (lie == LIE_FRAME)
    stack->frames[2].pc += 8;
  else if (lie == LIE_KIND)
    stack->frames[1].flags = 0;
  else if (lie == LIE_SHORT)
    stack->n_frames--;
  else if (lie == LIE_STATE)
    stack->status = LU_STATUS_TRUNCATED_COPY;
  else if (lie == LIE_FIRST)
    stack->n_frames = 0;
  else if (lie == LIE_LEAF)
    {
      stack->frames[0].pc = leaf_pc;
      stack->n_frames = 1;
      stack->status = LU_STATUS_JIT;
    }
  else if (lie == LIE_CUT)
    {
      stack->n_frames--;
      stack->status = cut_status;
      stack->frames[2].flags |= more_flags;
    }
}

static void
liar_free (LuUnwinder *unwinder)
{
  lu_unwinder_free (((Liar *) unwinder)->table);
  g_free (unwinder);
}

static const LuUnwinderOps liar_ops = { .name = "liar", .unwind = liar_unwind, .free = liar_free };

static LuUnwinder *
liar_new (void)
{
  Liar *self = g_new0 (Liar, 1);

  self->parent.ops = &liar_ops;
  self->table = lu_unwinder_table.new(NULL);
  return &self->parent;
}

/* The report */

typedef struct
{
  guint n_calls, frame;
  char *report;
} Told;

static void
remember (const LuDifference *difference, gpointer user_data)
{
  Told *told = user_data;

  told->n_calls++;
  told->frame = difference->frame;
  g_free (told->report);
  told->report = g_strdup (difference->report);
}

static Tracee *
start (void)
{
  const char *args[] = { "plain", NULL };

  return tracee_start (directory, "pie", args, 1 << 20);
}

static void
unwind (LuUnwinder *unwinder, const Tracee *tracee, LuStack *stack)
{
  const LuUnwindRequest request = {
    .pid = 1, .tid = 1, .sample = &tracee->sample, .space = tracee->space
  };

  lu_stack_reset (stack);
  unwinder->ops->unwind (unwinder, &request, stack);
}

static void
unwind_twice (const Tracee *tracee, Lie which, Told *told, LuCounters *counters)
{
  g_autoptr (LuUnwinder) check =
      lu_check_new (lu_unwinder_dwfl.new(NULL), liar_new (), remember, told);
  g_autofree LuStack *stack = g_new (LuStack, 1);

  lie = which;
  for (guint i = 0; i < 2; i++)
    {
      unwind (check, tracee, stack);
      /* The check engine returns the reference's stack. */
      g_assert_cmpuint (stack->status, ==, LU_STATUS_COMPLETE);
      g_assert_cmphex (stack->frames[2].pc, ==, tracee->returns[1]);
    }
  lu_counters_add (counters, &check->counters);
  g_assert_cmpuint (lu_counters_get (counters, LU_COUNTER_COMPARED), ==, 2);
}

static void
assert_has (const Told *told, const char *text)
{
  if (strstr (told->report, text) == NULL)
    g_error ("no \"%s\" in the report:\n%s", text, told->report);
}

static void
test_agreement (void)
{
  g_autoptr (Tracee) tracee = start ();
  Told told = { 0 };
  LuCounters counters = { 0 };

  if (tracee == NULL)
    return;
  unwind_twice (tracee, LIE_NONE, &told, &counters);
  g_assert_cmpuint (told.n_calls, ==, 0);
  g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_FRAMES_DIFFER)
                        + lu_counters_get (&counters, LU_COUNTER_STATES_DIFFER),
                    ==, 0);
}

/* The walk agrees with the engines in the user's frames, but not always in the kernel's. */
static void
test_kernel_frames (void)
{
  static const struct
  {
    guint64 sample[3], walk[3];
    guint is_compared, is_different;
    const char *report;
  } cases[] = {
    { { 0 }, { 0 }, 0, 0, NULL },
    { { 0x10, 0x20 }, { 0x10, 0x20 }, 1, 0, NULL },
    { { 0x10, 0x20 },
      { 0x10, 0x30 },
      1,
      1,
      "check: kernel frame 1: sample 0x20 (2 frames), bpf 0x30 (2 frames)\n" },
    { { 0x10, 0x20 },
      { 0x10 },
      1,
      1,
      "check: kernel frame 1: sample 0x20 (2 frames), bpf none (1 frames)\n" },
    { { 0 },
      { 0x10 },
      1,
      1,
      "check: kernel frame 0: sample none (0 frames), bpf 0x10 (1 frames)\n" },
  };
  g_autoptr (Tracee) tracee = start ();

  for (guint i = 0; tracee != NULL && i < G_N_ELEMENTS (cases); i++)
    {
      Told told = { 0 };
      g_autoptr (LuUnwinder) check =
          lu_check_new (lu_unwinder_dwfl.new(NULL), liar_new (), remember, &told);
      g_autofree LuStack *stack = g_new (LuStack, 1);
      LuFrame sample[3], walk[3];
      LuComparison comparison = {
        .stack = stack, .bpf_unwound = stack, .kernel = sample, .bpf_kernel = walk
      };
      LuCounters counters = { 0 };

      for (; cases[i].sample[comparison.n_kernel] != 0; comparison.n_kernel++)
        sample[comparison.n_kernel].pc = cases[i].sample[comparison.n_kernel];
      for (; cases[i].walk[comparison.n_bpf_kernel] != 0; comparison.n_bpf_kernel++)
        walk[comparison.n_bpf_kernel].pc = cases[i].walk[comparison.n_bpf_kernel];
      lie = LIE_NONE;
      unwind (check, tracee, stack);
      check->ops->compare (check, &tracee->sample, tracee->space, &comparison);
      lu_counters_add (&counters, &check->counters);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_BPF_DIFFER), ==, 0);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_KERNEL_FRAMES_COMPARED), ==,
                        cases[i].is_compared);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_KERNEL_FRAMES_DIFFER), ==,
                        cases[i].is_different);
      g_assert_cmpstr (told.report, ==, cases[i].report);
      g_free (told.report);
    }
}

/* A BPF walk may go on where the copy ends, and find a frame by another way than CFI. */
static void
test_bpf_allowed (void)
{
  static const struct
  {
    LuStatus status;    /* of the engines' stack, which is a frame shorter */
    guint ours, theirs; /* more flags of a frame */
    guint is_different;
  } cases[] = {
    { LU_STATUS_TRUNCATED_COPY, 0, 0, 0 },
    { LU_STATUS_OTHER_STACK, 0, 0, 0 },
    { LU_STATUS_NO_UNWIND_INFO, 0, 0, 1 },
    { LU_STATUS_OTHER_STACK, LU_FRAME_DERIVED, LU_FRAME_INFERRED, 0 },
    { LU_STATUS_OTHER_STACK, 0, LU_FRAME_INFERRED, 1 },
    { LU_STATUS_OTHER_STACK, LU_FRAME_DERIVED, 0, 1 },
    { LU_STATUS_OTHER_STACK, LU_FRAME_KERNEL, 0, 1 },
  };
  g_autoptr (Tracee) tracee = start ();
  g_autofree LuStack *stack = g_new (LuStack, 1), *bpf_unwound = g_new (LuStack, 1);

  for (gsize i = 0; tracee != NULL && i < G_N_ELEMENTS (cases); i++)
    {
      Told told = { 0 };
      g_autoptr (LuUnwinder) check = lu_check_new (liar_new (), liar_new (), remember, &told);
      LuComparison comparison = { .stack = stack, .bpf_unwound = bpf_unwound };
      LuCounters counters = { 0 };

      lie = LIE_CUT;
      cut_status = cases[i].status;
      more_flags = cases[i].ours;
      unwind (check, tracee, stack);
      *bpf_unwound = *stack;
      bpf_unwound->n_frames++;
      bpf_unwound->status = LU_STATUS_COMPLETE;
      bpf_unwound->frames[2].flags ^= cases[i].ours ^ cases[i].theirs;
      check->ops->compare (check, &tracee->sample, tracee->space, &comparison);
      lu_counters_add (&counters, &check->counters);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_BPF_DIFFER), ==,
                        cases[i].is_different);
      g_free (told.report);
    }
}

/* An engine may end in code without CFI where a BPF walk goes on, if the other one has found all of
 * its frames. */
static void
test_bpf_doubt (void)
{
  static const struct
  {
    LuStatus status; /* of the tested engine's stack, which is a frame shorter */
    gboolean both;   /* the reference's is, too */
    guint wrong;     /* the frame of the BPF walk that is; 0: none */
    gboolean is_different;
  } cases[] = {
    { LU_STATUS_JIT, FALSE, 0, FALSE },
    { LU_STATUS_NO_UNWIND_INFO, FALSE, 0, FALSE },
    { LU_STATUS_BAD_RETURN_ADDRESS, FALSE, 0, TRUE },
    { LU_STATUS_JIT, TRUE, 0, TRUE },
    { LU_STATUS_JIT, FALSE, 2, TRUE },
    { LU_STATUS_JIT, FALSE, G_MAXUINT, TRUE }, /* the last one */
  };
  g_autoptr (Tracee) tracee = start ();
  g_autofree LuStack *stack = g_new (LuStack, 1), *bpf_unwound = g_new (LuStack, 1);

  for (gsize i = 0; tracee != NULL && i < G_N_ELEMENTS (cases); i++)
    {
      Told told = { 0 };
      g_autoptr (LuUnwinder) check =
          lu_check_new (lu_unwinder_dwfl.new(NULL), liar_new (), remember, &told);
      LuComparison comparison = { .stack = stack, .bpf_unwound = bpf_unwound };
      LuCounters counters = { 0 };

      lie = LIE_CUT;
      cut_status = cases[i].status;
      more_flags = 0;
      unwind (check, tracee, stack);
      *bpf_unwound = *stack;
      if (cases[i].wrong > 0)
        bpf_unwound->frames[MIN (cases[i].wrong, stack->n_frames - 1)].pc += 8;
      if (cases[i].both)
        {
          stack->n_frames--;
          stack->status = cases[i].status;
        }
      check->ops->compare (check, &tracee->sample, tracee->space, &comparison);
      lu_counters_add (&counters, &check->counters);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_BPF_DIFFER), ==,
                        cases[i].is_different);
      g_free (told.report);
    }
}

/* A BPF walk may pass a leaf of HotSpot's where the engines end: they must then find the same
 * frames from its caller on. The leaf here has just pushed the frame pointer of a real stack. */
static void
test_bpf_hotspot_leaf (void)
{
  static const struct
  {
    guint wrong; /* the frame of the BPF walk that is; 0: none */
    gboolean has_hotspot, is_different;
  } cases[] = { { 0, TRUE, FALSE }, { 1, TRUE, TRUE }, { 3, TRUE, TRUE }, { 0, FALSE, TRUE } };
  g_autoptr (Tracee) tracee = start ();
  g_autoptr (LuModule) jvm = lu_module_new (&(LuModuleKey){ .path = "/gone/libjvm.so" });
  const LuMapping mapping = { .start = 4096, .end = 8192, .module = jvm };
  g_autofree LuStack *stack = g_new (LuStack, 1), *bpf_unwound = g_new (LuStack, 1);

  for (gsize i = 0; tracee != NULL && i < G_N_ELEMENTS (cases); i++)
    {
      Told told = { 0 };
      g_autoptr (LuUnwinder) check = lu_check_new (liar_new (), liar_new (), remember, &told);
      LuComparison comparison = { .stack = stack, .bpf_unwound = bpf_unwound };
      LuSample sample = tracee->sample;
      g_autofree guint8 *copy = g_malloc (sample.stack_size + 16);
      guint64 regs[64], pair[2];
      LuCounters counters = { 0 };
      LuAddressSpace *space = lu_address_space_ref (tracee->space);
      guint sp = lu_arch_x86_64.perf_sp, pc = lu_arch_x86_64.perf_pc;

      lie = LIE_NONE;
      unwind (check, tracee, stack);
      *bpf_unwound = *stack;
      memmove (&bpf_unwound->frames[1], stack->frames, stack->n_frames * sizeof (LuFrame));
      bpf_unwound->n_frames++;
      bpf_unwound->frames[0] = (LuFrame){ .pc = leaf_pc };
      bpf_unwound->frames[1].flags = LU_FRAME_RETURN_ADDRESS | LU_FRAME_INFERRED;
      if (cases[i].wrong > 0)
        bpf_unwound->frames[cases[i].wrong].pc += 8;
      lie = LIE_LEAF;
      unwind (check, tracee, stack);
      lie = LIE_NONE;

      memcpy (regs, sample.regs.words, sample.regs.n_words * sizeof *regs);
      g_assert_true (lu_arch_read_dwarf (&lu_arch_x86_64, &sample.regs, 6, &pair[0]));
      pair[1] = regs[pc];
      regs[sp] -= sizeof pair;
      regs[pc] = leaf_pc;
      memcpy (copy, pair, sizeof pair);
      memcpy (copy + sizeof pair, sample.stack, sample.stack_size);
      sample.regs.words = regs;
      sample.stack = copy;
      sample.stack_size += sizeof pair;
      sample.stack_asked += sizeof pair;
      if (cases[i].has_hotspot)
        space = lu_address_space_take_with_mapping (space, &mapping);
      check->ops->compare (check, &sample, space, &comparison);
      lu_counters_add (&counters, &check->counters);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_BPF_DIFFER), ==,
                        cases[i].is_different);
      lu_address_space_unref (space);
      g_free (told.report);
    }
}

/* A sample that the engines had no time for is not compared with the one before it. */
static void
test_bpf_over_budget (void)
{
  g_autoptr (Tracee) tracee = start ();
  Told told = { 0 };
  g_autoptr (LuUnwinder) check = lu_check_new (liar_new (), liar_new (), remember, &told);
  g_autofree LuStack *stack = g_new (LuStack, 1), *bpf_unwound = g_new (LuStack, 1);
  LuComparison comparison = { .stack = stack, .bpf_unwound = bpf_unwound };
  LuCounters counters = { 0 };

  if (tracee == NULL)
    return;
  lie = LIE_NONE;
  unwind (check, tracee, stack);
  *bpf_unwound = *stack;
  bpf_unwound->frames[0].pc++;
  lu_stack_reset (stack);
  stack->status = LU_STATUS_OVER_BUDGET;
  check->ops->compare (check, &tracee->sample, tracee->space, &comparison);
  lu_counters_add (&counters, &check->counters);
  g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_BPF_COMPARED), ==, 0);
  g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_BPF_DIFFER), ==, 0);
  g_assert_cmpuint (told.n_calls, ==, 0);
}

/* Where a BPF walk differs, the report also has both stacks and the words that lead into code. */
static void
test_bpf_frames (void)
{
  g_autoptr (Tracee) tracee = start ();
  Told told = { 0 };
  g_autoptr (LuUnwinder) check =
      lu_check_new (lu_unwinder_dwfl.new(NULL), liar_new (), remember, &told);
  g_autofree LuStack *stack = g_new (LuStack, 1), *bpf_unwound = g_new (LuStack, 1);
  LuComparison comparison = { .stack = stack, .bpf_unwound = bpf_unwound };
  LuCounters counters = { 0 };
  g_autofree char *place = NULL;

  if (tracee == NULL)
    return;
  lie = LIE_NONE;
  unwind (check, tracee, stack);
  *bpf_unwound = *stack;
  memmove (&bpf_unwound->frames[2], &bpf_unwound->frames[3],
           --bpf_unwound->n_frames * sizeof *bpf_unwound->frames - 2 * sizeof *stack->frames);
  check->ops->compare (check, &tracee->sample, tracee->space, &comparison);
  lu_counters_add (&counters, &check->counters);
  g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_BPF_DIFFER), ==, 1);
  g_assert_cmpuint (told.n_calls, ==, 1);
  g_assert_cmpuint (told.frame, ==, 2);
  place = g_strdup_printf ("check:   liar 2: %#" G_GINT64_MODIFIER "x (", stack->frames[2].pc);
  assert_has (&told, place);
  assert_has (&told, "check:   bpf 1: 0x");
  assert_has (&told, "check:   word at +");
  assert_has (&told, "check:   stack pointer 0x");
  g_free (told.report);
}

/* The report names the frame, the module and address of the previous frame, and both rules; it
 * appears once per place, however many samples pass it. */
static void
test_frame (void)
{
  g_autoptr (Tracee) tracee = start ();
  Told told = { 0 };
  LuCounters counters = { 0 };
  g_auto (GStrv) lines = NULL;

  if (tracee == NULL)
    return;
  unwind_twice (tracee, LIE_FRAME, &told, &counters);
  g_assert_cmpuint (told.n_calls, ==, 1);
  g_assert_cmpuint (told.frame, ==, 2);
  g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_FRAMES_DIFFER), ==, 2);
  g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_STATES_DIFFER), ==, 0);
  assert_has (&told, "check: frame 2: dwfl 0x");
  assert_has (&told, ", liar 0x");
  assert_has (&told, "/target-pie 0x");
  assert_has (&told, "(before a return address)");
  lines = g_strsplit (told.report, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 8); /* the last one is empty */
  g_assert_true (g_str_has_prefix (lines[2], "check:   table cfa=rsp+"));
  g_assert_true (g_str_has_prefix (lines[3], "check:   libdw cfa=rsp+"));
  g_assert_nonnull (strstr (lines[2], " ra=*(cfa-8)"));
  g_assert_nonnull (strstr (lines[3], " ra=*(cfa-8)"));
  g_assert_true (g_str_has_prefix (lines[4], "check:   called by that: "));
  g_assert_true (g_str_has_prefix (lines[5], "check:   table cfa="));
  g_assert_true (g_str_has_prefix (lines[6], "check:   libdw cfa="));
  g_free (told.report);
}

static void
test_others (void)
{
  static const struct
  {
    Lie lie;
    guint frames_differ, states_differ;
    const char *text;
  } cases[] = {
    { LIE_KIND, 2, 0, "check: frame 1: " },
    { LIE_SHORT, 2, 0, ", liar none (" },
    { LIE_STATE, 0, 2, ", truncated-copy)" },
    { LIE_FIRST, 2, 0, "check:   in the sampled registers\n" },
  };
  g_autoptr (Tracee) tracee = start ();

  for (guint i = 0; tracee != NULL && i < G_N_ELEMENTS (cases); i++)
    {
      Told told = { 0 };
      LuCounters counters = { 0 };

      unwind_twice (tracee, cases[i].lie, &told, &counters);
      g_assert_cmpuint (told.n_calls, ==, 1);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_FRAMES_DIFFER), ==,
                        cases[i].frames_differ);
      g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_STATES_DIFFER), ==,
                        cases[i].states_differ);
      assert_has (&told, cases[i].text);
      g_free (told.report);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  directory = argc > 1 ? argv[1] : ".";
  g_test_add_func ("/check/agreement", test_agreement);
  g_test_add_func ("/check/frame", test_frame);
  g_test_add_func ("/check/kernel-frames", test_kernel_frames);
  g_test_add_func ("/check/bpf-frames", test_bpf_frames);
  g_test_add_func ("/check/bpf-allowed", test_bpf_allowed);
  g_test_add_func ("/check/bpf-doubt", test_bpf_doubt);
  g_test_add_func ("/check/bpf over budget", test_bpf_over_budget);
  g_test_add_func ("/check/bpf and a leaf of HotSpot", test_bpf_hotspot_leaf);
  g_test_add_func ("/check/others", test_others);
  return g_test_run ();
}
