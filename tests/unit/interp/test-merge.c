/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-merge.c - functions of an interpreter in the native stack. Stacks are texts, leaf first: a
 * capital E is a call of the evaluation function, B one that begins, H a handler, other letters are
 * other native frames. Chains are digits; one in "<>" is the outermost of its call, "!" follows a
 * task's outermost coroutine, and what waits for the task follows "|". */

#include "interp/merge.h"

#include "../../cases.h"

#include <string.h>

typedef struct
{
  const char *name;
  const char *native, *chain;
  const char *merged; /* functions as digits; '?': the place of functions that are not matched */
  guint32 flags;      /* of the chain */
  LuMergeResult result;
  gboolean is_cut, begins_in_two, keeps_native;
} Case;

static const Case cases[] = {
  { "one function", "cEm", "<1>", "c1m" },
  { "a function of the interpreter's own", "Em", "10<2>", "12m" },
  { "two functions in one call", "Em", "1<2>", "12m" },
  { "a C function between two calls", "cEfEm", "<1>2<3>", "c1f23m" },
  { "a call each, as before 3.11", "EfEfEm", "<1><2><3>", "1f2f3m" },
  { "both are shown", "cEm", "1<2>", "c12Em", .keeps_native = TRUE },
  { "no entry at the outermost function", "EfEm", "<1>2", "1f2m" },
  { "a call that begins and is known", "Bm", "<1>", "1m" },
  { "a call that begins and is not known yet", "BfEm", "<1>", "Bf1m" },
  { "a call whose function has returned", "dEfEm", "<1>", "dEf1m", LU_INTERP_CHAIN_NO_LEAF },
  { "only such a call", "dEm", "", "dEm", LU_INTERP_CHAIN_NO_LEAF },
  { "handlers of instructions", "cHEfHEm", "<1><2>", "c1f2m" },
  { "handlers beside functions", "cHEm", "<1>", "cH1Em", .keeps_native = TRUE },

  { "a task that is waited for", "cEfEm", "1<2!><3>|45", "c1245f3m" },
  { "a task at the outer end of a cut stack", "cE", "<1><2!>3|45", "c12453",
    .result = LU_MERGED_PART, .is_cut = TRUE },
  { "a task beside native frames", "EfEm", "<1!><2>|3", "1E3f2Em", .keeps_native = TRUE },
  { "a task that a forged chain has twice", "EfE", "<1!><2!>|345", "1345f2",
    .result = LU_MERGED_PART, .is_cut = TRUE },
  { "nobody waits", "EfEm", "<1!><2>", "1f2m" },
  { "who waits has no call of its own", "EfEm", "<1!>|2", "E?fEm", .result = LU_MERGE_DIFFER },
  { "a task that the chain does not have", "EfEm", "<1><2>|3", "1f2m" },

  { "a call without functions", "EfEm", "<1>", "E?fEm", .result = LU_MERGE_DIFFER },
  { "functions without a call", "Em", "<1><2>", "E?m", .result = LU_MERGE_DIFFER },
  { "functions without any call", "cm", "<1>", "cm", .result = LU_MERGE_DIFFER },
  { "a call that notes its function in two steps", "BfEm", "<1><2>", "B?fEm",
    .result = LU_MERGE_DIFFER, .begins_in_two = TRUE },
  { "the same before its first step", "BfEm", "<1>", "Bf1m", .begins_in_two = TRUE },
  { "several interpreters", "BfEm", "<1>", "B?fEm", LU_INTERP_CHAIN_SEVERAL, LU_MERGE_DIFFER },
  { "a first call that begins", "Bm", "", "B?m", .result = LU_MERGE_DIFFER },
  { "a function has returned, and one more is missing", "EEEm", "<1>", "E?EEm",
    LU_INTERP_CHAIN_NO_LEAF, LU_MERGE_DIFFER },

  { "a cut stack", "cEfE", "<1>2<3><4>", "c1f234", .result = LU_MERGED_PART, .is_cut = TRUE },
  { "a stack that is cut before the first call", "c", "1<2>", "c12", .result = LU_MERGED_PART,
    .is_cut = TRUE },
  { "a cut stack with more calls than functions", "EfE", "<1>", "E?fE", .result = LU_MERGE_DIFFER,
    .is_cut = TRUE },
  { "a cut stack whose leaf begins", "BfE", "<1><2>", "B?fE", .result = LU_MERGE_DIFFER,
    .is_cut = TRUE },
  { "a cut chain", "EfEfEm", "<1>2", "1f2fEm", LU_INTERP_CHAIN_CUT, LU_MERGED_PART },
  { "a broken chain", "EfEm", "<1>", "1fEm", LU_INTERP_CHAIN_BROKEN, LU_MERGED_PART },
  { "a broken chain with more functions than calls", "Em", "<1><2>", "E?m", LU_INTERP_CHAIN_BROKEN,
    LU_MERGE_DIFFER },
};

#define MAX_FRAMES 32

/* Returns the frames that run and those that wait. */
static guint
make_chain (const char *text, struct lu_interp_frame *chain, guint64 *addresses)
{
  guint n = 0;

  for (; *text != 0; text++)
    if (*text == '>')
      chain[n - 1].code |= LU_INTERP_ENTRY;
    else if (*text == '!')
      chain[n - 1].code |= LU_INTERP_TASK;
    else if (*text == '|')
      continue;
    else if (*text != '<')
      {
        chain[n] = (struct lu_interp_frame){ .code = (guint64) *text };
        addresses[n++] = *text == '0' ? 0 : LU_FUNCTION_BASE + (guint64) *text;
      }
  return n;
}

static guint
make_stack (const char *text, LuFrame *frames, guint8 *kinds)
{
  guint n;

  for (n = 0; text[n] != 0; n++)
    {
      frames[n] = (LuFrame){ .pc = (guint64) text[n] };
      kinds[n] = text[n] == 'E'   ? LU_NATIVE_CALL
                 : text[n] == 'B' ? LU_NATIVE_BEGINS
                 : text[n] == 'H' ? LU_NATIVE_HANDLER
                                  : LU_NATIVE_OTHER;
    }
  return n;
}

static void
describe (const LuFrame *frames, guint n, char *text)
{
  for (guint i = 0; i < n; i++)
    {
      gboolean is_function = lu_is_function (frames[i].pc);

      g_assert_cmpint (is_function, ==, (frames[i].flags & LU_FRAME_FUNCTION) != 0);
      text[i] = (char) frames[i].pc;
      if (frames[i].pc == LU_FUNCTION_UNMATCHED)
        text[i] = '?';
    }
  text[n] = 0;
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  LuFrame frames[MAX_FRAMES], merged[2 * MAX_FRAMES];
  struct lu_interp_frame chain[MAX_FRAMES];
  guint64 addresses[MAX_FRAMES];
  guint8 kinds[MAX_FRAMES];
  char text[2 * MAX_FRAMES];
  LuMerge merge = { .frames = frames,
                    .kinds = kinds,
                    .is_whole = !c->is_cut,
                    .chain = chain,
                    .addresses = addresses,
                    .chain_flags = c->flags,
                    .begins_in_two = c->begins_in_two,
                    .keeps_native = c->keeps_native };
  guint n, n_merged;

  merge.n_frames = make_stack (c->native, frames, kinds);
  n = make_chain (c->chain, chain, addresses);
  merge.n_waiters =
      strchr (c->chain, '|') != NULL ? (guint) strlen (strchr (c->chain, '|')) - 1 : 0;
  merge.n_chain = n - merge.n_waiters;
  merge.waiters = addresses + merge.n_chain;
  g_assert_cmpint (lu_merge (&merge, merged, &n_merged), ==, c->result);
  g_assert_cmpuint (n_merged, <=, lu_merge_room (&merge));
  describe (merged, n_merged, text);
  g_assert_cmpstr (text, ==, c->merged);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/merge", cases, test_case);
  return g_test_run ();
}
