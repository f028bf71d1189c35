/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-join.c - src/record/join.c: which truncated stacks are completed, and which must not be. */

#include "record/join.h"

#include "process/process-private.h"

#define SP    0x7ff000000000ull
#define ASKED 65528

typedef struct
{
  LuJoin *join;
  LuProcess *process;
  GArray *stacks; /* of Result, in the order of delivery */
} Fixture;

typedef struct
{
  guint64 time;
  guint n_tail;
  guint64 last_pc;
} Result;

static void
keep (const LuStackMessage *stack, gpointer user_data)
{
  Fixture *fixture = user_data;
  Result result = { .time = stack->header.time,
                    .n_tail = stack->n_joined,
                    .last_pc = stack->frames[stack->n_user - 1].pc };

  g_array_append_val (fixture->stacks, result);
}

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();

  fixture->process = lu_process_new (5, 0, "x", space);
  fixture->stacks = g_array_new (FALSE, FALSE, sizeof (Result));
  fixture->join = lu_join_new (keep, fixture);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  lu_join_free (fixture->join);
  lu_process_unref (fixture->process);
  g_array_unref (fixture->stacks);
}

/* Makes a stack with frames at `depths` (bytes below the top of the stack) and these pcs. */
static void
add (Fixture *fixture, guint64 time, gint32 tid, LuStatus status, guint n, const guint64 *pcs,
     const guint32 *depths)
{
  g_autofree LuStackMessage *stack = g_malloc0 (sizeof (LuStackMessage) + n * sizeof (LuFrame));

  stack->status = status;
  stack->header =
      (LuSampleHeader){ .time = time, .pid = 5, .tid = tid, .process = fixture->process };
  stack->stack_asked = ASKED;
  stack->stack_used = 60000;
  stack->sampled_sp = SP - depths[0];
  stack->n_user = n;
  for (guint i = 0; i < n; i++)
    stack->frames[i] = (LuFrame){ .pc = pcs[i],
                                  .flags = i > 0 ? LU_FRAME_RETURN_ADDRESS : 0,
                                  .stack_offset = depths[0] - depths[i] };
  lu_join_add (fixture->join, stack);
}

static const guint64 whole_pcs[] = { 0x1000, 0x2000, 0x3000, 0x4000 };
static const guint32 whole_depths[] = { 50000, 40000, 20000, 100 };

static void
add_whole (Fixture *fixture, guint64 time)
{
  add (fixture, time, 7, LU_STATUS_COMPLETE, 4, whole_pcs, whole_depths);
}

/* Ends with the frame 0x2000 of the whole stack. */
static void
add_cut (Fixture *fixture, guint64 time)
{
  static const guint64 pcs[] = { 0x9000, 0x8000, 0x2000 };
  static const guint32 depths[] = { 99000, 90000, 40000 };

  add (fixture, time, 7, LU_STATUS_TRUNCATED_COPY, 3, pcs, depths);
}

static const Result *
result_of (Fixture *fixture, guint64 time)
{
  for (guint i = 0; i < fixture->stacks->len; i++)
    if (g_array_index (fixture->stacks, Result, i).time == time)
      return &g_array_index (fixture->stacks, Result, i);
  return NULL;
}

static void
test_between_two_that_agree (Fixture *fixture, gconstpointer data)
{
  add_whole (fixture, 1);
  add_cut (fixture, 2);
  add_cut (fixture, 3);
  g_assert_null (result_of (fixture, 2));
  add_whole (fixture, 4);
  g_assert_cmpuint (result_of (fixture, 2)->n_tail, ==, 2);
  g_assert_cmphex (result_of (fixture, 2)->last_pc, ==, 0x4000);
  g_assert_cmpuint (result_of (fixture, 3)->n_tail, ==, 2);
  g_assert_cmpuint (fixture->stacks->len, ==, 4);
}

static void
test_callers_differ (Fixture *fixture, gconstpointer data)
{
  static const guint64 pcs[] = { 0x1000, 0x2000, 0x3333, 0x4000 };

  add_whole (fixture, 1);
  add_cut (fixture, 2);
  add (fixture, 3, 7, LU_STATUS_COMPLETE, 4, pcs, whole_depths);
  g_assert_cmpuint (result_of (fixture, 2)->n_tail, ==, 0);
}

static void
test_another_stack_pointer (Fixture *fixture, gconstpointer data)
{
  static const guint64 pcs[] = { 0x9000, 0x2000 };
  static const guint32 depths[] = { 99000, 40008 };

  add_whole (fixture, 1);
  add (fixture, 2, 7, LU_STATUS_TRUNCATED_COPY, 2, pcs, depths);
  g_assert_cmpuint (result_of (fixture, 2)->n_tail, ==, 0);
  add_whole (fixture, 3);
  g_assert_cmpuint (fixture->stacks->len, ==, 3);
}

static void
test_nothing_before_or_after (Fixture *fixture, gconstpointer data)
{
  add_cut (fixture, 1);
  g_assert_cmpuint (result_of (fixture, 1)->n_tail, ==, 0);
  add_whole (fixture, 2);
  add_cut (fixture, 3);
  g_clear_pointer (&fixture->join, lu_join_free);
  g_assert_cmpuint (result_of (fixture, 3)->n_tail, ==, 0);
}

static void
test_another_thread_or_state (Fixture *fixture, gconstpointer data)
{
  static const guint64 pcs[] = { 0x9000, 0x2000 };
  static const guint32 depths[] = { 99000, 40000 };

  add_whole (fixture, 1);
  add (fixture, 2, 8, LU_STATUS_TRUNCATED_COPY, 2, pcs, depths);
  add (fixture, 3, 7, LU_STATUS_BAD_RETURN_ADDRESS, 2, pcs, depths);
  add_whole (fixture, 4);
  g_assert_cmpuint (result_of (fixture, 2)->n_tail, ==, 0);
  g_assert_cmpuint (result_of (fixture, 3)->n_tail, ==, 0);
}

static void
test_waiting_is_bounded (Fixture *fixture, gconstpointer data)
{
  add_whole (fixture, 1);
  add_cut (fixture, 2);
  lu_join_expire (fixture->join, 2 * G_GUINT64_CONSTANT (1000000000));
  g_assert_cmpuint (result_of (fixture, 2)->n_tail, ==, 0);
  for (guint i = 0; i < 1000; i++)
    add_cut (fixture, 10 + i);
  g_assert_cmpuint (fixture->stacks->len, >, 700);
}

static void
test_another_incarnation (Fixture *fixture, gconstpointer data)
{
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();
  LuProcess *first = fixture->process;

  add_whole (fixture, 1);
  fixture->process = lu_process_new (5, 2, "y", space);
  add_cut (fixture, 3);
  add_whole (fixture, 4);
  g_assert_cmpuint (result_of (fixture, 3)->n_tail, ==, 0);
  lu_process_unref (first);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/join/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("between two that agree", test_between_two_that_agree);
  ADD ("not if the callers differ", test_callers_differ);
  ADD ("not at another stack pointer", test_another_stack_pointer);
  ADD ("not with nothing before or after", test_nothing_before_or_after);
  ADD ("not of another thread or state", test_another_thread_or_state);
  ADD ("waiting is bounded", test_waiting_is_bounded);
  ADD ("not of another incarnation", test_another_incarnation);
#undef ADD
  return g_test_run ();
}
