/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-syscap-events.c - what metadata says about the events of a recording, written and read. */

#include "capture/syscap-events.h"

#include "capture/syscap-format.h"

static void
test_usual (void)
{
  g_autoptr (LuSyscapEvents) events = lu_syscap_events_new ();
  const LuEventInfo usual = lu_event_of_frequency ("cycles", 999);

  g_assert_null (lu_syscap_events_describe (&usual, 1, 999));
  g_assert_null (lu_syscap_events_describe (NULL, 0, 0));
  g_assert_cmpuint (lu_syscap_events_size (events), ==, 1);
  g_assert_cmpuint (lu_syscap_events_get (events, 0)->weight, ==, 0);

  lu_syscap_events_take (events, LU_SYSCAP_KEY_FREQUENCY, "999");
  lu_syscap_events_take (events, LU_SYSCAP_KEY_EVENT, "cycles");
  lu_syscap_events_take (events, "unknown", "1");
  g_assert_cmpuint (lu_syscap_events_size (events), ==, 1);
  g_assert_cmpstr (lu_syscap_events_get (events, 0)->name, ==, "cycles");
  g_assert_cmpstr (lu_syscap_events_get (events, 0)->unit, ==, LU_UNIT_TIME);
  g_assert_cmpuint (lu_syscap_events_get (events, 0)->weight, ==, 1001001);
}

static void
test_several (void)
{
  const LuEventInfo several[] = {
    { .name = "cpu/event=0x3c, umask=0/u", .unit = LU_UNIT_COUNT, .varies = TRUE },
    { .name = "page-faults", .unit = LU_UNIT_COUNT, .weight = 100 },
  };
  g_autofree char *text = lu_syscap_events_describe (several, 2, 999);
  g_autoptr (LuSyscapEvents) events = lu_syscap_events_new ();

  g_assert_cmpstr (text, ==, "count each cpu/event=0x3c, umask=0/u\ncount 100 page-faults\n");
  lu_syscap_events_take (events, LU_SYSCAP_KEY_FREQUENCY, "999");
  lu_syscap_events_take (events, LU_SYSCAP_KEY_EVENTS, text);
  lu_syscap_events_take (events, LU_SYSCAP_KEY_EVENTS, "count 1 another\n");
  g_assert_cmpuint (lu_syscap_events_size (events), ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      const LuEventInfo *event = lu_syscap_events_get (events, i);

      g_assert_cmpstr (event->name, ==, several[i].name);
      g_assert_cmpstr (event->unit, ==, several[i].unit);
      g_assert_cmpuint (event->varies, ==, several[i].varies);
      g_assert_cmpuint (event->weight, ==, several[i].weight);
    }
  g_assert_true (lu_syscap_events_get (events, 2) == lu_syscap_events_get (events, 0));
  g_assert_cmpuint (lu_event_weight (lu_syscap_events_get (events, 0), 7), ==, 7);
  g_assert_cmpuint (lu_event_weight (lu_syscap_events_get (events, 1), 7), ==, 100);
}

/* A single event with a fixed period does not follow from the frequency. */
static void
test_fixed_period (void)
{
  const LuEventInfo event = { .name = "cycles", .unit = LU_UNIT_COUNT, .weight = 100000 };
  g_autofree char *text = lu_syscap_events_describe (&event, 1, 0);

  g_assert_cmpstr (text, ==, "count 100000 cycles\n");
}

static void
test_damaged (void)
{
  static const char *const texts[] = { "", "\n", "count\n", "count each\n", "\xff \xff" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (LuSyscapEvents) events = lu_syscap_events_new ();

      lu_syscap_events_take (events, LU_SYSCAP_KEY_EVENTS, texts[i]);
      g_assert_cmpuint (lu_syscap_events_size (events), ==, 1);
      g_assert_nonnull (lu_syscap_events_get (events, 0)->unit);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/capture/syscap-events/usual", test_usual);
  g_test_add_func ("/capture/syscap-events/several", test_several);
  g_test_add_func ("/capture/syscap-events/fixed-period", test_fixed_period);
  g_test_add_func ("/capture/syscap-events/damaged", test_damaged);
  return g_test_run ();
}
