/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-record-order.c - records of several rings, round by round, come out in order of time. */

#include "input/record-order.h"

static void
expect (LuRecordOrder *order, const guint64 *places, gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      const LuOrderEntry *entry = lu_record_order_peek (order);

      g_assert_nonnull (entry);
      g_assert_cmpuint (LU_ORDER_POSITION (entry), ==, places[i]);
      lu_record_order_pop (order);
    }
  g_assert_null (lu_record_order_peek (order));
}

static void
test_rounds (void)
{
  LuRecordOrder order;

  lu_record_order_init (&order);
  /* Round 1: a ring with times 10 and 30, then one with 20. Nothing is safe before round 2 has
   * ended. */
  lu_record_order_add (&order, 10, 1, 8, NULL);
  lu_record_order_add (&order, 30, 2, 8, NULL);
  lu_record_order_add (&order, 20, 3, 8, NULL);
  lu_record_order_finish_round (&order);
  expect (&order, NULL, 0);
  lu_record_order_add (&order, 50, 4, 8, NULL);
  lu_record_order_add (&order, 25, 5, 8, NULL);
  lu_record_order_finish_round (&order);
  expect (&order, (const guint64[]){ 1, 3, 5, 2 }, 4);
  lu_record_order_add (&order, 50, 6, 8, NULL);
  lu_record_order_finish (&order);
  expect (&order, (const guint64[]){ 4, 6 }, 2);
  g_assert_cmpuint (order.n_late, ==, 0);
  lu_record_order_clear (&order);
}

static void
test_without_time (void)
{
  LuRecordOrder order;

  lu_record_order_init (&order);
  lu_record_order_add (&order, 10, 1, 8, NULL);
  lu_record_order_add (&order, 0, 2, 8, NULL);
  lu_record_order_add (&order, 0, 3, 8, NULL);
  lu_record_order_finish (&order);
  expect (&order, (const guint64[]){ 2, 3, 1 }, 3);
  g_assert_cmpuint (order.n_late, ==, 0);
  lu_record_order_clear (&order);
}

static void
test_late (void)
{
  LuRecordOrder order;

  lu_record_order_init (&order);
  lu_record_order_add (&order, 10, 1, 8, NULL);
  lu_record_order_finish (&order);
  expect (&order, (const guint64[]){ 1 }, 1);
  lu_record_order_add (&order, 11, 2, 8, NULL);
  lu_record_order_add (&order, 5, 3, 8, NULL);
  lu_record_order_finish (&order);
  expect (&order, (const guint64[]){ 3, 2 }, 2);
  g_assert_cmpuint (order.n_late, ==, 1);
  lu_record_order_clear (&order);
}

/* Files without rounds: the older half becomes ready when there are too many records. */
static void
test_bounded (void)
{
  LuRecordOrder order;
  guint n = 0;

  lu_record_order_init (&order);
  for (guint64 i = 0; i < 3 * LU_ORDER_MAX_RECORDS; i++)
    {
      lu_record_order_add (&order, 1000 + (i ^ 1), i, 8, NULL);
      for (; lu_record_order_peek (&order) != NULL; n++)
        {
          g_assert_cmpuint (LU_ORDER_POSITION (lu_record_order_peek (&order)), ==, n ^ 1);
          lu_record_order_pop (&order);
        }
      g_assert_cmpuint (order.entries->len, <=, LU_ORDER_MAX_RECORDS);
    }
  g_assert_cmpuint (n, >, LU_ORDER_MAX_RECORDS);
  lu_record_order_clear (&order);
}

static void
test_held (void)
{
  guint64 bytes[] = { 1, 2, 3 };
  LuRecordOrder order;

  lu_record_order_init (&order);
  lu_record_order_add (&order, 1, 1, sizeof bytes, bytes);
  lu_record_order_add (&order, 2, 2, sizeof bytes, bytes);
  lu_record_order_finish (&order);
  g_assert_cmpuint (order.held, ==, 48);
  g_assert_cmpmem (lu_record_order_peek (&order)->held,
                   LU_ORDER_SIZE (lu_record_order_peek (&order)), bytes, sizeof bytes);
  lu_record_order_pop (&order);
  g_assert_cmpuint (order.held, ==, 24);
  lu_record_order_clear (&order);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/record-order/rounds", test_rounds);
  g_test_add_func ("/record-order/without-time", test_without_time);
  g_test_add_func ("/record-order/late", test_late);
  g_test_add_func ("/record-order/bounded", test_bounded);
  g_test_add_func ("/record-order/held", test_held);
  return g_test_run ();
}
