/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-kallsyms-file.c - names of the kernel that runs: what is made of its answers, and the text
 * in their place when there are none. */

#include "symbolize/kallsyms-file.h"

#include <errno.h>
#include <string.h>

#define ADDRESS G_GUINT64_CONSTANT (0xffffffff81000110)

static const struct
{
  const char *answer;
  const char *name; /* NULL: none */
  guint64 begin, end;
  const char *module;
} answers[] = {
  { "do_work+0x10/0x80", "do_work", ADDRESS - 0x10, ADDRESS + 0x70 },
  { "first+0x0/0x1", "first", ADDRESS, ADDRESS + 1 },
  { "later+0x10/0x80 [xfs]", "later", ADDRESS - 0x10, ADDRESS + 0x70, "[xfs]" },
  { "Strange+name.llvm.1+0x10/0x80", "Strange+name.llvm.1", ADDRESS - 0x10, ADDRESS + 0x70 },
  { "0xffffffff81000110" },
  { "" },
  { "+0x10/0x80" },
  { "no_size+0x10" },
  { "no_size+0x10/" },
  { "no_number+10/0x80" },
  { "no_number+0x/0x80" },
  { "behind+0x80/0x80" },
  { "too_far+0xffffffffffffffff/0xffffffffffffffff" },
  { "too_long+0x10/0xffffffffffffffff" },
  { "too_large+0x10000000000000000/0x20000000000000000" },
  { "more+0x10/0x80x" },
};

typedef struct
{
  const char *answer; /* NULL: none, now and later */
  guint n_asked, n_freed;
} Kernel;

static gboolean
ask (guint64 address, char *text, gsize size, gpointer user_data)
{
  Kernel *kernel = user_data;

  kernel->n_asked++;
  if (kernel->answer == NULL)
    {
      errno = EPERM;
      return FALSE;
    }
  g_strlcpy (text, kernel->answer, size);
  return TRUE;
}

static void
count_free (gpointer data)
{
  ((Kernel *) data)->n_freed++;
}

static void
test_answers (void)
{
  Kernel kernel = { 0 };
  LuKallsymsFile *file = lu_kallsyms_file_new (-1, NULL);
  LuKernelSymbol symbol;

  lu_kallsyms_file_set_ask (file, ask, &kernel, count_free);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      kernel.answer = answers[i].answer;
      g_test_message ("%s", kernel.answer);
      g_assert_cmpint (lu_kallsyms_file_find (file, ADDRESS, &symbol), ==, answers[i].name != NULL);
      if (answers[i].name == NULL)
        continue;
      g_assert_cmpstr (symbol.name, ==, answers[i].name);
      g_assert_cmpuint (symbol.address, ==, answers[i].begin);
      g_assert_cmpuint (symbol.end, ==, answers[i].end);
      g_assert_cmpstr (symbol.module, ==, answers[i].module);
    }
  lu_kallsyms_file_unref (file);
  g_assert_cmpuint (kernel.n_freed, ==, 1);
}

static void
test_no_answer (void)
{
  static const char text[] = "ffffffff81000100 T of_the_text\nffffffff81000180 T next\n";
  Kernel kernel = { .answer = NULL };
  LuKallsymsFile *file = lu_kallsyms_file_new (-1, lu_kallsyms_parse (text, strlen (text), NULL));
  LuKernelSymbol symbol;

  lu_kallsyms_file_set_ask (file, ask, &kernel, count_free);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_true (lu_kallsyms_file_find (file, ADDRESS, &symbol));
      g_assert_cmpstr (symbol.name, ==, "of_the_text");
    }
  g_assert_cmpuint (kernel.n_asked, ==, 1);
  g_assert_cmpuint (kernel.n_freed, ==, 1);
  g_assert_false (lu_kallsyms_file_find (file, 0x1000, &symbol));
  lu_kallsyms_file_unref (file);
  g_assert_cmpuint (kernel.n_freed, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/symbolize/kallsyms-file/answers", test_answers);
  g_test_add_func ("/symbolize/kallsyms-file/no-answer", test_no_answer);
  return g_test_run ();
}
