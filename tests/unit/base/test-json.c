/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-json.c - src/base/json.c: nesting, strings and numbers that other parsers can read, and
 * finding a number again. */

#include "base/json.h"

#include <math.h>

static void
test_nesting (void)
{
  LuJson *json = lu_json_new ();
  g_autofree char *text = NULL;

  lu_json_begin_object (json, "empty");
  lu_json_end_object (json);
  lu_json_begin_array (json, "list");
  lu_json_add_int (json, NULL, 1);
  lu_json_begin_object (json, NULL);
  lu_json_add_bool (json, "yes", TRUE);
  lu_json_add_bool (json, "no", FALSE);
  lu_json_end_object (json);
  lu_json_begin_array (json, NULL);
  lu_json_end_array (json);
  lu_json_end_array (json);
  lu_json_add_null (json, "nothing");
  text = lu_json_end (json);
  g_assert_cmpstr (text, ==,
                   "{\"empty\":{},\"list\":[1,{\"yes\":true,\"no\":false},[]],\"nothing\":null}");
}

static void
test_empty (void)
{
  g_autofree char *text = lu_json_end (lu_json_new ());
  g_autoptr (LuJson) unfinished = lu_json_new ();

  lu_json_begin_array (unfinished, "list");
  g_assert_cmpstr (text, ==, "{}");
}

static void
test_strings (void)
{
  static const struct
  {
    const char *value, *text;
  } cases[] = {
    { "", "{\"s\":\"\"}" },
    { NULL, "{\"s\":null}" },
    { "a \"b\" \\ /", "{\"s\":\"a \\\"b\\\" \\\\ /\"}" },
    { "\b\f\n\r\t", "{\"s\":\"\\b\\f\\n\\r\\t\"}" },
    { "a\037b", "{\"s\":\"a b\"}" },
    { "\001\036", "{\"s\":\"\\u0001\\u001e\"}" },
    { "f\303\274r \342\202\254", "{\"s\":\"f\303\274r \342\202\254\"}" },
    { "\377{", "{\"s\":\"\357\277\275{\"}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LuJson *json = lu_json_new ();
      g_autofree char *text = NULL;

      lu_json_add_string (json, "s", cases[i].value);
      text = lu_json_end (json);
      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

/* The text that looks like an opening bracket is inside a string. */
static void
test_strings_of_brackets (void)
{
  LuJson *json = lu_json_new ();
  g_autofree char *text = NULL;

  lu_json_add_string (json, "[", "{");
  lu_json_add_int (json, "\"", G_MININT64);
  text = lu_json_end (json);
  g_assert_cmpstr (text, ==, "{\"[\":\"{\",\"\\\"\":-9223372036854775808}");
}

static void
test_doubles (void)
{
  static const struct
  {
    double value;
    const char *text;
  } cases[] = {
    { 0, "{\"d\":0.0}" },     { -3, "{\"d\":-3.0}" },  { 99.5, "{\"d\":99.5}" },
    { 0.25, "{\"d\":0.25}" }, { NAN, "{\"d\":null}" }, { -INFINITY, "{\"d\":null}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LuJson *json = lu_json_new ();
      g_autofree char *text = NULL;

      lu_json_add_double (json, "d", cases[i].value);
      text = lu_json_end (json);
      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

static void
test_find (void)
{
  static const struct
  {
    const char *text;
    gint64 value; /* -1: absent */
  } cases[] = {
    { "{\"lost\":{\"percent\":0.5,\"samples\":17}}", 17 },
    { "{\"samples\":3,\"lost\":{}}", -1 },
    { "{\"lost\":{\"samples\":[]}}", -1 },
    { "{\"lost\":4}", -1 },
    { "{\"lost\":\"\\\"lost\\\":{\\\"samples\\\":1}\"}", -1 },
    { "[1]", -1 },
    { "{\"lost\":", -1 },
    { "", -1 },
    { NULL, -1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gint64 value = -1;

      g_assert_cmpint (lu_json_find_int (cases[i].text, "lost", "samples", &value), ==,
                       cases[i].value >= 0);
      g_assert_cmpint (value, ==, cases[i].value);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json/nesting", test_nesting);
  g_test_add_func ("/json/empty, and never ended", test_empty);
  g_test_add_func ("/json/strings", test_strings);
  g_test_add_func ("/json/strings of brackets", test_strings_of_brackets);
  g_test_add_func ("/json/doubles", test_doubles);
  g_test_add_func ("/json/find", test_find);
  return g_test_run ();
}
