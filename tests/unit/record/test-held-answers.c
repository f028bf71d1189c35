/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-held-answers.c - the order of answers that are held back, and how much of them there may be.
 */

#include "record/held-answers.h"

#define PID   5
#define OTHER 6

typedef struct
{
  LuMessage message;
  guint32 number;
} Numbered;

static gboolean
has_room (const LuHeldAnswers *self, gint32 pid, gsize size)
{
  const LuSampleMessage request = { .kind = LU_MESSAGE_SAMPLE, .header.pid = pid };

  return lu_held_answers_have_room (self, (const LuMessage *) &request, size);
}

static void
hold (LuHeldAnswers *self, gint32 pid, gsize size)
{
  g_autofree LuSampleMessage *request = g_malloc0 (size);
  const LuAwaitedRows rows = { .address = 1 };

  request->kind = LU_MESSAGE_SAMPLE;
  request->header.pid = pid;
  lu_held_answers_hold (self, (const LuMessage *) request, size, &rows, 7);
}

static void
fill (gpointer room, guint32 number)
{
  *(Numbered *) room = (Numbered){ { LU_MESSAGE_STACK }, number };
}

static guint32
take (LuHeldAnswers *self)
{
  g_autoptr (LuHeldAnswer) held = lu_held_answers_take (self);

  return held != NULL ? ((const Numbered *) held->answer)->number : 0;
}

/* Whatever is answered first, answers leave in the order of their requests. */
static void
test_order (void)
{
  g_autoptr (LuHeldAnswers) self = lu_held_answers_new ();
  LuHeldAnswer *first, *second;

  g_assert_true (lu_held_answers_is_empty (self));
  hold (self, PID, sizeof (LuSampleMessage));
  hold (self, PID, sizeof (LuSampleMessage));
  fill (lu_held_answers_append (self, sizeof (Numbered)), 3);
  g_assert_cmpuint (take (self), ==, 0);
  first = lu_held_answers_list (self)->data;
  second = lu_held_answers_list (self)->next->data;
  g_assert_cmpint (first->request->kind, ==, LU_MESSAGE_SAMPLE);
  g_assert_cmpuint (first->rows.address, ==, 1);
  g_assert_cmpuint (first->until, ==, 7);
  fill (lu_held_answers_settle (self, second, sizeof (Numbered)), 2);
  lu_held_answers_drop_request (self, second);
  g_assert_cmpuint (take (self), ==, 0);
  fill (lu_held_answers_settle (self, first, sizeof (Numbered)), 1);
  lu_held_answers_drop_request (self, first);
  for (guint32 i = 1; i <= 3; i++)
    g_assert_cmpuint (take (self), ==, i);
  g_assert_true (lu_held_answers_is_empty (self));
}

/* One process leaves room for others, all together there is a limit, and what was taken makes room
 * again. */
static void
test_room (void)
{
  g_autoptr (LuHeldAnswers) self = lu_held_answers_new ();
  LuHeldAnswer *first;

  hold (self, PID, LU_HELD_MAX_PROCESS_BYTES);
  g_assert_false (has_room (self, PID, 1));
  g_assert_true (has_room (self, OTHER, LU_HELD_MAX_BYTES - LU_HELD_MAX_PROCESS_BYTES));
  g_assert_false (has_room (self, OTHER, LU_HELD_MAX_BYTES - LU_HELD_MAX_PROCESS_BYTES + 1));
  first = lu_held_answers_list (self)->data;
  fill (lu_held_answers_settle (self, first, sizeof (Numbered)), 1);
  lu_held_answers_drop_request (self, first);
  g_assert_true (has_room (self, PID, LU_HELD_MAX_PROCESS_BYTES));
  g_assert_cmpuint (take (self), ==, 1);
  hold (self, PID, LU_HELD_MAX_PROCESS_BYTES);
  hold (self, OTHER, LU_HELD_MAX_BYTES - LU_HELD_MAX_PROCESS_BYTES);
  g_assert_false (has_room (self, OTHER, 1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/held-answers/order", test_order);
  g_test_add_func ("/held-answers/room", test_room);
  return g_test_run ();
}
