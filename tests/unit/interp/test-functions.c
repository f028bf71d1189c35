/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-functions.c - names of functions, told apart by process, code and check. */

#include "interp/functions.h"

#include "../../cases.h"

#include "lu/status.h"

#include <string.h>

static LuInterpFunction
make_function (guint64 code, guint32 check, const char *name, const char *path)
{
  return (LuInterpFunction){ .language = LU_INTERP_PYTHON,
                             .check = check,
                             .first_line = 12,
                             .code = code,
                             .name = { .size = (guint16) strlen (name), .kind = 1 },
                             .path = { .size = (guint16) strlen (path), .kind = 1 },
                             .name_text = (const guint8 *) name,
                             .path_text = (const guint8 *) path };
}

static guint64
find (LuFunctions *functions, guint64 process, guint64 code, guint32 check)
{
  const struct lu_interp_frame frame = { .code = code | LU_INTERP_ENTRY, .check = check };

  const LuFunctionsOf of = { process, (gint32) process * 10, LU_INTERP_PYTHON };

  return lu_functions_find (functions, &of, &frame);
}

static gboolean
is_unreadable (const LuFunctions *functions, guint64 address)
{
  return g_str_equal (lu_functions_names (functions, address).name, LU_FUNCTION_UNREADABLE_NAME);
}

/* Chains of one CPU may come before the announcement that was made on another one. */
static void
test_late (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction late = make_function (0x1000, 1, "late", "/srv/app.py");
  guint64 address = find (functions, 7, 0x1000, 1);

  g_assert_true (is_unreadable (functions, address));
  g_assert_null (lu_functions_names (functions, address).source);
  g_assert_cmphex (find (functions, 7, 0x1000, 1), ==, address);
  g_assert_cmpuint (lu_functions_unnamed (functions), ==, 2);
  lu_functions_learn (functions, 7, 70, &late);
  g_assert_cmpstr (lu_functions_names (functions, address).name, ==, "late (app.py:12)");
  g_assert_cmpstr (lu_functions_names (functions, address).source, ==, "/srv/app.py:12");
  g_assert_cmpuint (lu_functions_unnamed (functions), ==, 0);
}

static void
test_identity (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction one = make_function (0x1000, 1, "work", "/srv/app.py");
  LuInterpFunction other = make_function (0x1000, 2, "work", "/srv/other/app.py");
  guint64 address;

  lu_functions_learn (functions, 7, 70, &one);
  address = find (functions, 7, 0x1000, 1);
  g_assert_true (lu_is_function (address) && lu_is_synthetic (address));
  g_assert_cmpstr (lu_functions_names (functions, address).name, ==, "work (app.py:12)");
  g_assert_cmpstr (lu_functions_names (functions, address).source, ==, "/srv/app.py:12");

  /* Another function at the same address, while chains of the first one may still come. */
  lu_functions_learn (functions, 7, 70, &other);
  g_assert_cmphex (find (functions, 7, 0x1000, 1), ==, address);
  g_assert_cmphex (find (functions, 7, 0x1000, 2), !=, address);
  g_assert_true (is_unreadable (functions, find (functions, 7, 0x1000, 3)));
  g_assert_true (is_unreadable (functions, find (functions, 8, 0x1000, 1)));
  g_assert_cmpuint (lu_functions_unnamed (functions), ==, 2);

  /* It is one function, whichever process runs it. */
  one.code = 0x2000;
  lu_functions_learn (functions, 8, 80, &one);
  g_assert_cmphex (find (functions, 8, 0x2000, 1), ==, address);
  lu_functions_end (functions, 70);
  g_assert_cmphex (find (functions, 7, 0x1000, 1), ==, address);
  for (guint i = 100; i < 164; i++)
    {
      lu_functions_learn (functions, i, (gint32) i, &one);
      lu_functions_end (functions, (gint32) i);
    }
  g_assert_true (is_unreadable (functions, find (functions, 7, 0x1000, 1)));
  g_assert_cmphex (find (functions, 8, 0x2000, 1), ==, address);
}

/* A function that was found before is found again, as long as that is true. */
static void
test_again (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction one = make_function (0x1000, 1, "work", "/srv/app.py");
  LuInterpFunction two = make_function (0x2000, 1, "rest", "/srv/app.py");
  LuInterpFunction other = make_function (0x1000, 1, "other", "/srv/app.py");
  guint64 address, address_2;

  lu_functions_learn (functions, 7, 70, &one);
  lu_functions_learn (functions, 7, 70, &two);
  address = find (functions, 7, 0x1000, 1);
  address_2 = find (functions, 7, 0x2000, 1);
  g_assert_cmphex (find (functions, 7, 0x1000, 1), ==, address);
  g_assert_true (is_unreadable (functions, find (functions, 8, 0x1000, 1)));
  g_assert_true (is_unreadable (functions, find (functions, 8, 0x1000, 1)));
  g_assert_cmpuint (lu_functions_unnamed (functions), ==, 2);
  lu_functions_learn (functions, 7, 70, &other);
  g_assert_cmpstr (lu_functions_names (functions, find (functions, 7, 0x1000, 1)).name, ==,
                   "other (app.py:12)");
  g_assert_cmphex (find (functions, 7, 0x2000, 1), ==, address_2);
}

static guint64
find_waiting (LuFunctions *functions, guint64 process, guint64 code, guint32 check)
{
  return find (functions, process, code | LU_INTERP_AWAITS, check);
}

/* A function that awaits is another one, with the same source. */
static void
test_awaits (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction one = make_function (0x1000, 1, "work", "/srv/app.py");
  LuFunctionNames names, waiting;
  guint64 address, late;

  late = find_waiting (functions, 7, 0x1000, 1);
  g_assert_true (is_unreadable (functions, late));
  g_assert_cmphex (find_waiting (functions, 7, 0x1000, 1), ==, late);
  g_assert_cmphex (find (functions, 7, 0x1000, 1), !=, late);
  g_assert_cmpuint (lu_functions_unnamed (functions), ==, 3);
  lu_functions_learn (functions, 7, 70, &one);
  lu_functions_learn (functions, 8, 80, &one);
  g_assert_cmpuint (lu_functions_unnamed (functions), ==, 0);
  g_assert_cmpstr (lu_functions_names (functions, late).name, ==, "work [awaits] (app.py:12)");
  address = find_waiting (functions, 7, 0x1000, 1);
  names = lu_functions_names (functions, find (functions, 7, 0x1000, 1));
  waiting = lu_functions_names (functions, address);
  g_assert_cmpstr (names.name, ==, "work (app.py:12)");
  g_assert_cmpstr (waiting.name, ==, "work [awaits] (app.py:12)");
  g_assert_cmpstr (waiting.source, ==, names.source);
  g_assert_cmpuint (waiting.number, !=, names.number);
  g_assert_cmphex (find_waiting (functions, 7, 0x1000, 1), ==, address);
  g_assert_cmphex (find_waiting (functions, 8, 0x1000, 1), ==, address);
}

static const char *
find_note (LuFunctions *functions, guint32 n)
{
  return lu_functions_names (functions, find_waiting (functions, 7, LU_INTERP_NOTE, n)).name;
}

static void
test_notes (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();

  g_assert_cmpstr (find_note (functions, 2), ==, "[python: awaited by 2 tasks]");
  g_assert_cmpstr (find_note (functions, 9), ==, "[python: awaited by 9 tasks]");
  g_assert_cmpstr (find_note (functions, 10), ==, "[python: awaited by 10 or more tasks]");
  g_assert_cmpstr (find_note (functions, G_MAXUINT32), ==, "[python: awaited by 10 or more tasks]");
  g_assert_cmpstr (find_note (functions, 0), ==, "[python: awaited by further tasks]");
  g_assert_cmphex (find_waiting (functions, 7, LU_INTERP_UNREADABLE, 0), ==,
                   LU_FUNCTION_UNREADABLE);
}

static guint64
find_line (LuFunctions *functions, guint64 code, guint32 instr)
{
  const struct lu_interp_frame frame = { .code = code, .check = 1, .instr = instr };

  const LuFunctionsOf of = { 7, 70, LU_INTERP_PYTHON };

  return lu_functions_find (functions, &of, &frame);
}

/* Each line that runs has an address; the function has one for unknown lines. */
static void
test_lines (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction work = make_function (0x1000, 1, "work", "/srv/app.py");
  guint64 whole, second, third;
  LuFunctionNames names;

  work.lines = (struct lu_interp_table){ .size = 4, .format = LU_PYTHON_LINES_RANGES };
  work.lines_bytes = (const guint8 *) "\4\1\10\2";
  lu_functions_learn (functions, 7, 70, &work);
  whole = find_line (functions, 0x1000, G_MAXUINT32);
  second = find_line (functions, 0x1000, 2);
  third = find_line (functions, 0x1000, 4);
  g_assert_cmphex (find_line (functions, 0x1000, 0), ==, second);
  g_assert_cmphex (find_line (functions, 0x1000, 11), ==, third);
  g_assert_cmphex (find_line (functions, 0x1000, 12), ==, whole);
  g_assert_true (whole != second && second != third && whole != third);
  names = lu_functions_names (functions, third);
  g_assert_cmpstr (names.name, ==, "work (app.py:12)");
  g_assert_cmpstr (names.source, ==, "/srv/app.py:12");
  g_assert_cmpuint (names.first_line, ==, 12);
  g_assert_cmpuint (names.line, ==, 15);
  g_assert_cmpuint (names.number, ==, lu_functions_names (functions, whole).number);
  g_assert_cmpuint (lu_functions_names (functions, whole).line, ==, 0);

  /* A function of one line may have an empty table; this is not a table that could not be read. */
  work.code = 0x3000;
  work.lines = (struct lu_interp_table){ .format = LU_PYTHON_LINES_DELTAS };
  lu_functions_learn (functions, 7, 70, &work);
  g_assert_cmpuint (lu_functions_names (functions, find_line (functions, 0x3000, 2)).line, ==, 12);
  work.code = 0x4000;
  work.lines.is_cut = 1;
  lu_functions_learn (functions, 7, 70, &work);
  g_assert_cmphex (find_line (functions, 0x4000, 2), ==, whole);

  /* Another code object with the same name and first line, and other lines. */
  work.lines = (struct lu_interp_table){ .size = 4, .format = LU_PYTHON_LINES_RANGES };
  work.code = 0x2000;
  work.lines_bytes = (const guint8 *) "\2\3\10\2";
  lu_functions_learn (functions, 7, 70, &work);
  g_assert_cmphex (find_line (functions, 0x2000, 0), ==, third);
  g_assert_cmphex (find_line (functions, 0x2000, G_MAXUINT32), ==, whole);
}

/* A function without a name says of which language it is. */
static void
test_ruby (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  const LuFunctionsOf of = { 7, 70, LU_INTERP_RUBY };
  const struct lu_interp_frame late = { .code = 0x1000, .check = 1 };
  const struct lu_interp_frame unreadable = { .code = LU_INTERP_UNREADABLE };
  LuInterpFunction block = make_function (0x2000, 1, "<main>", "(eval at /srv/app.rb:3)");
  guint64 address = lu_functions_find (functions, &of, &unreadable);

  g_assert_cmpstr (lu_functions_names (functions, address).name, ==, "[ruby: unreadable]");
  address = lu_functions_find (functions, &of, &late);
  g_assert_cmpstr (lu_functions_names (functions, address).name, ==, "[ruby: unreadable]");
  lu_functions_learn (functions, 7, 70, &block);
  address = find (functions, 7, 0x2000, 1);
  g_assert_cmpstr (lu_functions_names (functions, address).name, ==,
                   "<main> ((eval at /srv/app.rb:3):12)");
}

typedef struct
{
  const char *name;
  const char *bytes;
  struct lu_interp_text text;
  const char *shown; /* NULL: it is unreadable */
} Case;

static const Case cases[] = {
  { "Latin-1", "\xe9\xe8\xe7\xe0", { 4, 1, 0 }, "éèçà (app.py:12)" },
  { "two bytes a character", "\x3b\x04\x01\x00", { 4, 2, 0 }, NULL },
  { "Cyrillic", "\x3b\x04\x3e\x04", { 4, 2, 0 }, "ло (app.py:12)" },
  { "four bytes a character", "\x00\xf6\x01\x00", { 4, 4, 0 }, "😀 (app.py:12)" },
  { "no character", "\xff\xff\xff\x7f", { 4, 4, 0 }, "\xef\xbf\xbd (app.py:12)" },
  { "half a character", "\x3b\x04\x3e", { 3, 2, 0 }, "л (app.py:12)" },
  { "a cut name", "long", { 4, 1, 1 }, "long… (app.py:12)" },
  { "UTF-8", "\xd0\xbb\xc3\xa9", { 4, LU_INTERP_UTF8, 0 }, "лé (app.py:12)" },
  { "cut UTF-8", "\xd0\xbb\xc3", { 3, LU_INTERP_UTF8, 1 }, "л\xef\xbf\xbd… (app.py:12)" },
  { "unreadable", "", { 0, 0, 0 }, NULL },
  { "empty", "", { 0, 1, 0 }, NULL },
  { "a kind that does not exist", "abcdefgh", { 8, 255, 0 }, NULL },
};

static void
test_text (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction function = make_function (0x1000, 1, "", "app.py");
  const char *name;

  function.name = c->text;
  function.name_text = (const guint8 *) c->bytes;
  lu_functions_learn (functions, 1, 1, &function);
  name = lu_functions_names (functions, find (functions, 1, 0x1000, 1)).name;
  if (c->shown != NULL)
    g_assert_cmpstr (name, ==, c->shown);
  g_assert_true (g_utf8_validate (name, -1, NULL));
}

/* Many functions, many processes and long names end in a name that says so. */
static void
test_limits (void)
{
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction other;
  guint64 last = 0;

  for (guint i = 0; i < 200000; i++)
    {
      g_autofree char *name = g_strdup_printf ("f%u", i);
      LuInterpFunction function = make_function (i, 1, name, "app.py");

      lu_functions_learn (functions, 1, 1, &function);
    }
  last = find (functions, 1, 199999, 1);
  g_assert_cmphex (last, ==, LU_FUNCTION_TOO_MANY);
  g_assert_cmpstr (lu_functions_names (functions, last).name, ==, "[python: too many functions]");
  g_assert_cmpstr (lu_functions_names (functions, find (functions, 1, 5, 1)).name, ==,
                   "f5 (app.py:12)");
  /* The process has not taken all the room. */
  other = make_function (7, 1, "other", "app.py");
  lu_functions_learn (functions, 2, 2, &other);
  g_assert_cmpstr (lu_functions_names (functions, find (functions, 2, 7, 1)).name, ==,
                   "other (app.py:12)");
  for (guint i = 2; i < 6000; i++)
    {
      LuInterpFunction function = make_function (1, 1, "f0", "app.py");

      lu_functions_learn (functions, i, (gint32) i, &function);
    }
  g_assert_cmphex (find (functions, 5999, 1, 1), ==, LU_FUNCTION_TOO_MANY);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/functions/again", test_again);
  g_test_add_func ("/functions/awaits", test_awaits);
  g_test_add_func ("/functions/identity", test_identity);
  g_test_add_func ("/functions/late", test_late);
  g_test_add_func ("/functions/limits", test_limits);
  g_test_add_func ("/functions/lines", test_lines);
  g_test_add_func ("/functions/notes", test_notes);
  g_test_add_func ("/functions/ruby", test_ruby);
  TEST_ADD_CASES ("/functions/text", cases, test_text);
  return g_test_run ();
}
