/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-dwfl.c - the dwfl engine on stopped programs whose stack is known (target.c), without perf.
 *
 * Arguments: the directory of the programs. Each case runs one build of the program in one way and
 * compares the frames with the recorded return addresses. */

#include "unwind/unwinder.h"

#include "tracee.h"

#include "../../tries.h"

#include <string.h>

#define WHOLE (4u << 20)

static const char *directory;

static const char *const builds[] = { "pie",         "no-pie",      "static",
                                      "static-pie",  "prelinked",   "one-segment",
                                      "debug-frame", "no-sections", "m32" };

/* Returns NULL and skips the test if that build does not exist or cannot run here. */
static Tracee *
start (const char *build, const char *first, const char *second)
{
  const char *args[] = { first, second, NULL };

  return tracee_start (directory, build, args, WHOLE);
}

static LuStack *
unwind (const Tracee *tracee)
{
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  LuStack *stack = g_new (LuStack, 1);

  lu_stack_reset (stack);
  tracee_unwind (unwinder, tracee->pid, &tracee->sample, tracee->space, stack);
  return stack;
}

static void
check_frames (const LuStack *stack, const Tracee *tracee, guint n)
{
  g_assert_cmpuint (stack->n_frames, >, n);
  g_assert_cmphex (stack->frames[0].pc, ==, tracee->words[8]);
  g_assert_cmpuint (stack->frames[0].flags, ==, 0);
  for (guint i = 0; i < n; i++)
    g_assert_cmphex (stack->frames[i + 1].pc, ==, tracee->returns[i]);
}

static void
check_status (const LuStack *stack, LuStatus want)
{
  g_assert_cmpstr (lu_status_key (stack->status), ==, lu_status_key (want));
  g_assert_true ((stack->end_pc == 0) == (want == LU_STATUS_COMPLETE));
}

static void
test_compact (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "plain", NULL);
  g_autofree LuStack *stack = NULL;

  if (tracee == NULL)
    return;
  stack = unwind (tracee);
  check_frames (stack, tracee, tracee->n_returns);
  check_status (stack, LU_STATUS_COMPLETE);
  for (guint i = 1; i < stack->n_frames; i++)
    g_assert_cmpuint (stack->frames[i].flags, ==, LU_FRAME_RETURN_ADDRESS);
}

/* Runs the program in one way and checks its first n frames and how the stack ends. */
static void
check_run (const char *build, const char *first, const char *second, guint n, LuStatus want)
{
  g_autoptr (Tracee) tracee = start (build, first, second);
  g_autofree LuStack *stack = NULL;

  if (tracee == NULL)
    return;
  stack = unwind (tracee);
  check_frames (stack, tracee, MIN (n, tracee->n_returns));
  check_status (stack, want);
}

static void
test_noreturn (gconstpointer build)
{
  check_run (build, "noreturn", NULL, G_MAXUINT, LU_STATUS_COMPLETE);
}

static void
test_realigned (gconstpointer build)
{
  check_run (build, "realigned", NULL, G_MAXUINT, LU_STATUS_COMPLETE);
}

/* libdw loses rbx where CFI does not mention it. */
static void
test_keeps_bx (gconstpointer build)
{
  check_run (build, "keeps-bx", NULL, G_MAXUINT, LU_STATUS_COMPLETE);
}

static void
test_loses_bx (gconstpointer build)
{
  check_run (build, "loses-bx", NULL, 2, LU_STATUS_UNSUPPORTED_RULE);
}

static void
test_recursion (gconstpointer build)
{
  check_run (build, "recurse", "2000", 2001, LU_STATUS_COMPLETE);
}

static void
test_depth (gconstpointer build)
{
  check_run (build, "recurse", "5000", LU_STACK_MAX_FRAMES - 1, LU_STATUS_DEPTH_LIMIT);
}

static void
test_signal (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "signal", NULL);
  g_autofree LuStack *stack = NULL;

  if (tracee == NULL)
    return;
  stack = unwind (tracee);
  check_frames (stack, tracee, tracee->n_returns);
  check_status (stack, LU_STATUS_COMPLETE);
  g_assert_cmpuint (stack->frames[1].flags, ==, LU_FRAME_RETURN_ADDRESS); /* into the restorer */
  g_assert_cmpuint (stack->frames[2].flags, ==, 0); /* the interrupted function */
  g_assert_cmpuint (stack->frames[3].flags, ==, LU_FRAME_RETURN_ADDRESS);
}

static void
test_alternate_stack (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "alternate", NULL);
  g_autofree LuStack *stack = NULL;

  if (tracee == NULL)
    return;
  stack = unwind (tracee);
  check_frames (stack, tracee, 2);
  g_assert_cmpuint (stack->n_frames, ==, 3);
  check_status (stack, LU_STATUS_OTHER_STACK);
  g_assert_cmphex (stack->end_pc, ==, tracee->returns[1]);
}

static void
unwind_copy (LuUnwinder *unwinder, Tracee *tracee, guint64 size, LuStack *stack)
{
  tracee->sample.stack_size = tracee->sample.stack_asked = (guint32) size;
  lu_stack_reset (stack);
  tracee_unwind (unwinder, 1, &tracee->sample, tracee->space, stack);
}

/* A copy of the size that the engine asks for gets further, at the latest after the two words
 * (stack pointer and return address) that a signal frame's step reads one after the other. */
static void
check_needed (LuUnwinder *unwinder, Tracee *tracee, LuStack *stack, guint32 full)
{
  guint n = stack->n_frames;

  for (guint tries = 0; tries < 2 && stack->n_frames == n && stack->stack_needed <= full; tries++)
    {
      guint64 needed = stack->stack_needed;

      unwind_copy (unwinder, tracee, needed, stack);
      g_assert_true (stack->status == LU_STATUS_COMPLETE || stack->stack_needed > needed);
    }
  g_assert_true (stack->n_frames > n || stack->stack_needed > full);
}

/* With a copy of any size the frames are a prefix of the whole stack, the status is right, and so
 * is the size needed for the next frame. */
static void
test_truncated (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "signal", NULL);
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *whole = NULL;
  g_autofree LuStack *stack = g_new (LuStack, 1);
  guint n_complete = 0;
  guint32 full;

  if (tracee == NULL)
    return;
  whole = unwind (tracee);
  check_status (whole, LU_STATUS_COMPLETE);
  full = tracee->sample.stack_size;
  for (guint32 size = 0; size <= full; size += TEST_TRIES (1, 3))
    {
      unwind_copy (unwinder, tracee, size, stack);
      g_assert_cmpuint (stack->n_frames, <=, whole->n_frames);
      g_assert_cmpmem (stack->frames, stack->n_frames * sizeof (LuFrame), whole->frames,
                       stack->n_frames * sizeof (LuFrame));
      if (stack->status == LU_STATUS_COMPLETE)
        {
          g_assert_cmpuint (stack->n_frames, ==, whole->n_frames);
          n_complete++;
          continue;
        }
      g_assert_cmpuint (n_complete, ==, 0); /* more bytes never give fewer frames */
      check_status (stack, LU_STATUS_TRUNCATED_COPY);
      g_assert_cmpuint (stack->stack_needed, >, size);
      if (size % 64 == 0)
        check_needed (unwinder, tracee, stack, full);
    }
  g_assert_cmpuint (n_complete, >, 0);
}

/* As test_truncated(), but the kernel could not copy all bytes because a page was missing. */
static void
test_missing_page (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "plain", NULL);
  g_autofree LuStack *stack = NULL;

  if (tracee == NULL)
    return;
  tracee->sample.stack_size = 64;
  stack = unwind (tracee);
  check_status (stack, LU_STATUS_UNREADABLE_MEMORY);
}

/* A page that is not there ends a stack where the end of a copy does: it does not show that a step
 * by frame pointer was wrong, so all frames before it stay. */
static void
test_missing_page_above_frame_pointers (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "generated", "5");
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *cut_off = g_new (LuStack, 1), *stack = g_new (LuStack, 1);
  guint n_inferred = 0;
  guint32 whole;

  if (tracee == NULL)
    return;
  whole = tracee->sample.stack_size;
  for (guint32 size = 8; size < whole; size += 8)
    {
      unwind_copy (unwinder, tracee, size, cut_off);
      if (cut_off->status == LU_STATUS_COMPLETE)
        break;
      check_status (cut_off, LU_STATUS_TRUNCATED_COPY);
      tracee->sample.stack_asked = whole;
      lu_stack_reset (stack);
      tracee_unwind (unwinder, 1, &tracee->sample, tracee->space, stack);
      check_status (stack, LU_STATUS_UNREADABLE_MEMORY);
      g_assert_cmpuint (stack->n_frames, ==, cut_off->n_frames);
      n_inferred += (stack->frames[stack->n_frames - 1].flags & LU_FRAME_INFERRED) != 0;
    }
  g_assert_cmpuint (n_inferred, >, 0);
}

/* The caller of a leaf without unwind information is believed if the stack is complete from there
 * on. A copy that ends before says so, for it to grow or for the page to be made present. */
static void
test_leaf_of_a_small_copy (gconstpointer build)
{
  const char *args[] = { "bare", NULL };
  g_autoptr (Tracee) tracee = tracee_start (directory, build, args, 1 << 20);
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *stack = g_new (LuStack, 1);
  guint32 whole, size = 64;

  if (tracee == NULL)
    return;
  whole = tracee->sample.stack_size;
  for (; size < whole; size += 8)
    {
      unwind_copy (unwinder, tracee, size, stack);
      if (stack->status == LU_STATUS_COMPLETE)
        break;
      check_status (stack, LU_STATUS_TRUNCATED_COPY);
      g_assert_cmpuint (stack->stack_needed, >, size);
      g_assert_cmpuint (stack->n_frames, ==, 1);
    }
  g_assert_cmpuint (size, >, 64);
  g_assert_cmpuint (size, <, whole);
  tracee->sample.stack_size = 64;
  tracee->sample.stack_asked = whole;
  lu_stack_reset (stack);
  tracee_unwind (unwinder, tracee->pid, &tracee->sample, tracee->space, stack);
  check_status (stack, LU_STATUS_UNREADABLE_MEMORY);
  g_assert_cmpuint (stack->stack_needed, ==, 0);
}

static void
test_missing_registers (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "plain", NULL);

  if (tracee == NULL)
    return;
  for (guint bit = 7; bit <= 8; bit++)
    {
      LuRegs saved = tracee->sample.regs;
      g_autofree LuStack *stack = NULL;

      tracee->sample.regs.mask &= ~(G_GUINT64_CONSTANT (1) << bit);
      tracee->sample.regs.n_words--;
      stack = unwind (tracee);
      g_assert_cmpuint (stack->status, ==, LU_STATUS_UNSUPPORTED_ABI);
      g_assert_cmpuint (stack->n_frames, ==, 0);
      tracee->sample.regs = saved;
    }
}

/* Replaces the module at an address by one in another state. */
static void
replace_module (Tracee *tracee, guint64 address, LuModuleKind kind, LuModuleState state)
{
  const LuMapping *found = lu_address_space_find (tracee->space, address);
  LuModuleKey key = { .kind = kind, .path = "replaced" };
  g_autoptr (LuModule) module = lu_module_new (&key);
  LuMapping mapping;
  LuAddressSpace *space;

  g_assert_nonnull (found);
  mapping = *found;
  mapping.module = module;
  if (state != LU_MODULE_PENDING)
    lu_module_publish (module, state, NULL);
  space = lu_address_space_take_with_mapping (lu_address_space_ref (tracee->space), &mapping);
  lu_address_space_unref (tracee->space);
  tracee->space = space;
}

static void
test_bad_modules (gconstpointer build)
{
  static const struct
  {
    LuModuleKind kind;
    LuModuleState state;
    LuStatus want;
  } cases[] = {
    { LU_MODULE_FILE, LU_MODULE_GONE, LU_STATUS_FILE_GONE },
    { LU_MODULE_FILE, LU_MODULE_PENDING, LU_STATUS_FILE_GONE },
    { LU_MODULE_FILE, LU_MODULE_BROKEN, LU_STATUS_NO_UNWIND_INFO },
    { LU_MODULE_ANONYMOUS, LU_MODULE_BROKEN, LU_STATUS_JIT },
    { LU_MODULE_COPIED, LU_MODULE_BROKEN, LU_STATUS_JIT },
    { LU_MODULE_MEMORY, LU_MODULE_BROKEN, LU_STATUS_JIT },
    { LU_MODULE_MEMORY, LU_MODULE_GONE, LU_STATUS_JIT },
    { LU_MODULE_MEMORY, LU_MODULE_PENDING, LU_STATUS_FILE_GONE },
    { LU_MODULE_VSYSCALL, LU_MODULE_BROKEN, LU_STATUS_NO_UNWIND_INFO },
    { LU_MODULE_UPROBES, LU_MODULE_PENDING, LU_STATUS_NO_UNWIND_INFO },
  };
  g_autoptr (Tracee) tracee = start (build, "plain", NULL);
  guint64 in_libc;

  if (tracee == NULL)
    return;
  {
    g_autofree LuStack *stack = unwind (tracee);

    /* The frame after main is in libc. */
    in_libc = stack->frames[tracee->n_returns + 1].pc;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree LuStack *stack = NULL;

      replace_module (tracee, in_libc, cases[i].kind, cases[i].state);
      stack = unwind (tracee);
      check_frames (stack, tracee, tracee->n_returns);
      check_status (stack, cases[i].want);
      g_assert_cmphex (stack->end_pc, ==, in_libc);
    }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree LuStack *stack = NULL;

      replace_module (tracee, tracee->words[8], cases[i].kind, cases[i].state);
      stack = unwind (tracee);
      g_assert_cmpuint (stack->n_frames, ==, 1);
      check_status (stack, cases[i].want);
    }
}

static void
test_nowhere (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "plain", NULL);
  g_autofree LuStack *stack = NULL;
  g_autofree LuStack *smashed = NULL;

  if (tracee == NULL)
    return;
  /* The copy contains the first return address, which the program has recorded. */
  for (gsize at = 0; at + 8 <= tracee->sample.stack_size; at += 8)
    if (memcmp (tracee->stack + at, &tracee->returns[0], 8) == 0)
      {
        memset (tracee->stack + at, 0x11, 8);
        break;
      }
  smashed = unwind (tracee);
  g_assert_cmpuint (smashed->n_frames, ==, 1);
  check_status (smashed, LU_STATUS_BAD_RETURN_ADDRESS);

  tracee->words[8] = 0;
  stack = unwind (tracee);
  g_assert_cmpuint (stack->n_frames, ==, 1);
  g_assert_cmpuint (stack->status, ==, LU_STATUS_NO_MAPPING);
}

/* A new version of an address space with one more mapping, then without the old ones: the session
 * is changed, not created again, and must still be right. */
static void
test_space_changes (gconstpointer build)
{
  g_autoptr (Tracee) tracee = start (build, "plain", NULL);
  g_autoptr (LuUnwinder) unwinder = tracee_engine ()->new (NULL);
  g_autofree LuStack *whole = NULL;
  g_autofree LuStack *stack = g_new (LuStack, 1);

  if (tracee == NULL)
    return;
  whole = unwind (tracee);
  for (guint i = 0; i < 64; i++)
    {
      const LuMapping *own = lu_address_space_find (tracee->space, tracee->words[8]);
      LuMapping more = *own;
      LuAddressSpace *space;

      more.start = 0x10000000 + i * 0x100000;
      more.end = more.start + (own->end - own->start);
      space = lu_address_space_take_with_mapping (lu_address_space_ref (tracee->space), &more);
      lu_address_space_unref (tracee->space);
      tracee->space = space;
      lu_stack_reset (stack);
      tracee_unwind (unwinder, 1 + i % 3, &tracee->sample, tracee->space, stack);
      g_assert_cmpuint (stack->n_frames, ==, whole->n_frames);
      check_status (stack, LU_STATUS_COMPLETE);
    }
  {
    LuAddressSpace *empty = lu_address_space_new ();

    lu_stack_reset (stack);
    tracee_unwind (unwinder, 1, &tracee->sample, empty, stack);
    g_assert_cmpuint (stack->status, ==, LU_STATUS_NO_MAPPING);
    lu_address_space_unref (empty);
  }
  lu_stack_reset (stack);
  tracee_unwind (unwinder, 1, &tracee->sample, tracee->space, stack);
  g_assert_cmpuint (stack->n_frames, ==, whole->n_frames);
}

static void
add (const char *name, const char *build, GTestDataFunc test)
{
  g_autofree char *path = g_strdup_printf ("/dwfl/%s/%s", name, build);

  g_test_add_data_func (path, build, test);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  directory = argc > 1 ? argv[1] : ".";
  for (guint i = 0; i < G_N_ELEMENTS (builds); i++)
    {
      add ("plain", builds[i], test_compact);
      add ("noreturn", builds[i], test_noreturn);
      add ("signal", builds[i], test_signal);
      add ("alternate-stack", builds[i], test_alternate_stack);
      add ("recursion", builds[i], test_recursion);
    }
  add ("realigned", "pie", test_realigned);
  add ("realigned", "debug-frame", test_realigned);
  add ("keeps-bx", "pie", test_keeps_bx);
  add ("keeps-bx", "prelinked", test_keeps_bx);
  add ("loses-bx", "pie", test_loses_bx);
  add ("depth", "pie", test_depth);
  add ("truncated", "pie", test_truncated);
  add ("truncated", "m32", test_truncated);
  add ("missing-page", "pie", test_missing_page);
  add ("missing-page-above-frame-pointers", "pie", test_missing_page_above_frame_pointers);
  add ("leaf-of-a-small-copy", "pie", test_leaf_of_a_small_copy);
  add ("missing-registers", "pie", test_missing_registers);
  add ("bad-modules", "pie", test_bad_modules);
  add ("nowhere", "pie", test_nowhere);
  add ("space-changes", "pie", test_space_changes);
  return g_test_run ();
}
