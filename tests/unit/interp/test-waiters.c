/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-waiters.c - the part of a chain that waits, in the order of a stack. Chains are texts: a
 * digit is a coroutine, "/" comes before the outermost one of a task, "?" cannot be read, "N" is a
 * note; behind "|" they wait. */

#include "interp/waiters.h"

#include "../../cases.h"

#include <string.h>

typedef struct
{
  const char *name;
  const char *chain, *turned;
} Case;

static const Case cases[] = {
  { "nobody waits", "12", "12" },
  { "nothing at all", "", "" },
  { "one coroutine", "12|/3", "123" },
  { "coroutines of one task", "12|/345", "12543" },
  { "tasks", "1|/23/456/7", "1326547" },
  { "a note at the end", "1|/23N", "132N" },
  { "only a note", "1|N", "1N" },
  { "a coroutine that awaits what cannot be read", "1|/23?/4", "1?324" },
  { "a task that cannot be read", "1|/23/?", "132?" },
  { "without a beginning", "1|23/4", "1324" },
};

static guint
make_chain (const char *text, struct lu_interp_frame *chain)
{
  guint64 waits = 0, begins = 0;
  guint n = 0;

  for (; *text != 0; text++)
    if (*text == '|')
      waits = LU_INTERP_AWAITS;
    else if (*text == '/')
      begins = LU_INTERP_TASK;
    else
      {
        guint64 kind = *text == 'N' ? LU_INTERP_NOTE : *text == '?' ? LU_INTERP_UNREADABLE : 0;

        chain[n++].code = waits | begins | kind | (guint64) *text;
        begins = 0;
      }
  return n;
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  struct lu_interp_frame chain[16] = { { 0 } };
  guint n = make_chain (c->chain, chain), begin = lu_waiters_begin (chain, n);
  const char *mark = strchr (c->chain, '|');
  char text[17] = "";

  g_assert_cmpuint (begin, ==, mark != NULL ? (guint) (mark - c->chain) : n);
  lu_waiters_turn (chain + begin, n - begin);
  for (guint i = 0; i < n; i++)
    text[i] = (char) (chain[i].code & 0x7f);
  g_assert_cmpstr (text, ==, c->turned);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/waiters", cases, test_case);
  return g_test_run ();
}
