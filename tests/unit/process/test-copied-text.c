/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-copied-text.c - code in memory is found where it was copied from, and nowhere else. */

#include "process/copied-text.h"

#include "../../cases.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_TEXT 70 /* pages; more than are read at once */
#define N_COPY 20

typedef struct
{
  const char *name;
  guint from;       /* byte of the text from which the copy was made */
  guint size;       /* bytes of the copy that are those of the text; the others are 0 */
  guint again;      /* page of the text that has the same bytes as the first page of the copy */
  guint n_copy;     /* pages of the copy */
  guint unreadable; /* page of the text that cannot be read */
  guint64 budget;   /* 0: enough */
  guint want;       /* bytes */
} Case;

static gsize page;
static guint8 *text, *copy;

#define PAGE 4096

static const Case cases[] = {
  { "a copy", .from = 3 * PAGE, .size = 4 * PAGE, .n_copy = 4, .want = 4 * PAGE },
  { "a copy of the text's start", .size = PAGE, .n_copy = 1, .want = PAGE },
  { "a copy of pages that are read later", .from = 67 * PAGE, .size = 3 * PAGE, .n_copy = 3,
    .want = 3 * PAGE },
  { "a copy that ends inside of a page", .from = 3 * PAGE, .size = 18 * PAGE + 100, .n_copy = 19,
    .want = 18 * PAGE + 100 },
  { "a copy that is larger than the text", .from = 68 * PAGE, .size = 2 * PAGE, .n_copy = 3,
    .want = 2 * PAGE },
  { "less than a page", .from = 3 * PAGE, .size = PAGE - 1, .n_copy = 1 },
  { "not from the start of a page", .from = 3 * PAGE + 64, .size = 4 * PAGE, .n_copy = 4 },
  { "two places", .from = 3 * PAGE, .size = 2 * PAGE, .n_copy = 2, .again = 68 },
  { "something else", .n_copy = 4 },
  { "text that cannot be read", .from = 3 * PAGE, .size = 4 * PAGE, .n_copy = 4, .unreadable = 68 },
  { "a part of the original that cannot be read", .from = 3 * PAGE, .size = 4 * PAGE, .n_copy = 4,
    .unreadable = 5 },
  { "too little time", .from = 3 * PAGE, .size = 4 * PAGE, .n_copy = 4, .budget = 8 * PAGE },
};

static void
test_case (gconstpointer data)
{
  const Case *a_case = data;
  guint64 budget = a_case->budget != 0 ? a_case->budget : G_MAXUINT64;
  LuCopiedText answer = { .pid = getpid (),
                          .start = (gsize) copy,
                          .end = (gsize) copy + a_case->n_copy * PAGE,
                          .text_start = (gsize) text,
                          .text_end = (gsize) text + N_TEXT * PAGE };

  for (guint i = 0; i < N_TEXT * PAGE; i++)
    text[i] = (guint8) g_test_rand_int_range (1, 256);
  memset (copy, 0, N_COPY * PAGE);
  memcpy (copy, text + a_case->from, a_case->size);
  if (a_case->again != 0)
    memcpy (text + a_case->again * PAGE, copy, PAGE);
  if (a_case->unreadable != 0)
    g_assert_cmpint (mprotect (text + a_case->unreadable * PAGE, PAGE, PROT_NONE), ==, 0);
  lu_copied_text_compare (&answer, &budget);
  mprotect (text, N_TEXT * PAGE, PROT_READ | PROT_WRITE);
  g_assert_cmpuint (answer.size, ==, a_case->want);
  g_assert_cmphex (answer.original, ==, a_case->want != 0 ? (gsize) text + a_case->from : 0);
}

static void
test_no_process (void)
{
  guint64 budget = G_MAXUINT64;
  LuCopiedText answer = { .pid = G_MAXINT32,
                          .start = (gsize) copy,
                          .end = (gsize) copy + PAGE,
                          .text_start = (gsize) text,
                          .text_end = (gsize) text + PAGE,
                          .size = 5 };

  lu_copied_text_compare (&answer, &budget);
  g_assert_cmpuint (answer.size, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  page = (gsize) sysconf (_SC_PAGESIZE);
  if (page != PAGE)
    return 77;
  text = mmap (NULL, N_TEXT * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  copy = mmap (NULL, N_COPY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true (text != MAP_FAILED && copy != MAP_FAILED);
  TEST_ADD_CASES ("/copied-text", cases, test_case);
  g_test_add_func ("/copied-text/no process", test_no_process);
  return g_test_run ();
}
