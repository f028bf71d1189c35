/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-moved-text.c - code that was moved to memory without a file, and memory that only lies
 * between files. */

#include "process/moved-text.h"

#include "../../cases.h"

enum
{
  NONE,
  FILE_A,
  FILE_B,
  ANONYMOUS,
  COPIED,
  N_MODULES
};

typedef struct
{
  guint64 start, end, offset;
  guint module; /* NONE: there are no more */
  gboolean is_fixed;
} Piece;

typedef struct
{
  const char *name;
  Piece before[5], after[5];
} Case;

static const Case cases[] = {
  { "moved",
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x7000, 0, ANONYMOUS },
      { 0x7000, 0x9000, 0x7000, FILE_A } },
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x7000, 0x3000, FILE_A },
      { 0x7000, 0x9000, 0x7000, FILE_A } } },
  { "in two pieces",
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x5000, 0, ANONYMOUS },
      { 0x5000, 0x7000, 0, ANONYMOUS },
      { 0x7000, 0x9000, 0x7000, FILE_A } },
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x7000, 0x3000, FILE_A },
      { 0x7000, 0x9000, 0x7000, FILE_A } } },
  { "with a copy elsewhere, and generated code",
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x7000, 0, ANONYMOUS, TRUE },
      { 0x7000, 0x9000, 0x7000, FILE_A },
      { 0xa000, 0xb000, 0, ANONYMOUS, TRUE },
      { 0xb000, 0xc000, 0, ANONYMOUS } },
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x7000, 0x3000, FILE_A },
      { 0x7000, 0x9000, 0x7000, FILE_A },
      { 0xa000, 0xb000, 0, COPIED },
      { 0xb000, 0xc000, 0, ANONYMOUS } } },
  { "not moved, and memory that cannot be written to",
    { { 0x1000, 0x9000, 0x1000, FILE_A }, { 0xa000, 0xb000, 0, ANONYMOUS, TRUE } } },
  { "of another size than in the file",
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x7000, 0, ANONYMOUS },
      { 0x7000, 0x9000, 0x6000, FILE_A } } },
  { "between two files",
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x3000, 0x7000, 0, ANONYMOUS },
      { 0x7000, 0x9000, 0x7000, FILE_B } } },
  { "with a gap",
    { { 0x1000, 0x3000, 0x1000, FILE_A },
      { 0x4000, 0x7000, 0, ANONYMOUS },
      { 0x7000, 0x9000, 0x7000, FILE_A } } },
  { "at the end", { { 0x1000, 0x3000, 0x1000, FILE_A }, { 0x3000, 0x7000, 0, ANONYMOUS } } },
  { "at the start", { { 0x3000, 0x7000, 0, ANONYMOUS }, { 0x7000, 0x9000, 0x7000, FILE_A } } },
  { "a file", { { 0x1000, 0x3000, 0x1000, FILE_A }, { 0x3000, 0x7000, 0x3000, FILE_A } } },
};

static LuModule *modules[N_MODULES];

static void
test_case (gconstpointer data)
{
  const Case *a_case = data;
  const Piece *expected = a_case->after[0].module != NONE ? a_case->after : a_case->before;
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();
  const LuMapping *mappings;
  guint n;

  for (guint i = 0; i < G_N_ELEMENTS (a_case->before) && a_case->before[i].module != NONE; i++)
    {
      const Piece *piece = &a_case->before[i];
      const LuMapping mapping = { .start = piece->start,
                                  .end = piece->end,
                                  .file_offset = piece->offset,
                                  .is_fixed = piece->is_fixed,
                                  .module = modules[piece->module] };

      space = lu_address_space_take_with_mapping (space, &mapping);
    }
  g_assert_cmpint (lu_moved_text_adopt (&space, modules[COPIED]), ==,
                   a_case->after[0].module != NONE);
  mappings = lu_address_space_mappings (space, &n);
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmphex (mappings[i].start, ==, expected[i].start);
      g_assert_cmphex (mappings[i].end, ==, expected[i].end);
      g_assert_cmphex (mappings[i].file_offset, ==, expected[i].offset);
      g_assert_true (mappings[i].module == modules[expected[i].module]);
    }
  g_assert_true (n == G_N_ELEMENTS (a_case->after) || expected[n].module == NONE);
}

static void
test_possible (void)
{
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();
  LuMapping file = { .start = 0x1000, .end = 0x9000, .module = modules[FILE_A] };
  LuMapping inside = { .start = 0x3000, .end = 0x7000, .module = modules[ANONYMOUS] };
  LuMapping elsewhere = { .start = 0xa000, .end = 0xb000, .module = modules[ANONYMOUS] };
  LuMapping other = { .start = 0x3000, .end = 0x7000, .module = modules[FILE_B] };

  space = lu_address_space_take_with_mapping (space, &file);
  g_assert_true (lu_moved_text_is_possible (space, &inside));
  g_assert_false (lu_moved_text_is_possible (space, &elsewhere));
  g_assert_false (lu_moved_text_is_possible (space, &other));
}

/* The copied code of an address space with moved code at 0x3000. */
static LuAddressSpace *
space_with_copy (void)
{
  static const Piece pieces[] = {
    { 0x1000, 0x3000, 0x11000, FILE_A },   { 0x3000, 0x7000, 0, ANONYMOUS },
    { 0x7000, 0x9000, 0x17000, FILE_A },   { 0x9000, 0xa000, 0, FILE_A },
    { 0x20000, 0x90000, 0x11000, FILE_B }, { 0xa0000, 0xa4000, 0, ANONYMOUS, TRUE },
  };
  LuAddressSpace *space = lu_address_space_new ();

  for (guint i = 0; i < G_N_ELEMENTS (pieces); i++)
    {
      const LuMapping mapping = { .start = pieces[i].start,
                                  .end = pieces[i].end,
                                  .file_offset = pieces[i].offset,
                                  .time = 5,
                                  .is_fixed = pieces[i].is_fixed,
                                  .module = modules[pieces[i].module] };

      space = lu_address_space_take_with_mapping (space, &mapping);
    }
  g_assert_true (lu_moved_text_adopt (&space, modules[COPIED]));
  return space;
}

/* All of the file's code around what was moved is compared, and nothing else. */
static void
test_ask (void)
{
  g_autoptr (LuAddressSpace) space = space_with_copy ();
  LuCopiedText question;

  g_assert_true (lu_moved_text_ask (space, 0xa0000, &question));
  g_assert_cmphex (question.start, ==, 0xa0000);
  g_assert_cmphex (question.end, ==, 0xa4000);
  g_assert_cmpuint (question.time, ==, 5);
  g_assert_cmphex (question.text_start, ==, 0x1000);
  g_assert_cmphex (question.text_end, ==, 0x9000);
  g_assert_false (lu_moved_text_ask (space, 0x3000, &question));
  g_assert_false (lu_moved_text_ask (space, 0xb0000, &question));
}

static void
test_settle (void)
{
  g_autoptr (LuAddressSpace) space = space_with_copy ();
  LuCopiedText answer, other;
  LuMapping mapping;

  g_assert_true (lu_moved_text_ask (space, 0xa0000, &answer));
  g_assert_false (lu_moved_text_settle (space, &answer, &mapping));
  answer.original = 0x4000;
  answer.size = 0x3100;
  g_assert_true (lu_moved_text_settle (space, &answer, &mapping));
  g_assert_true (mapping.module == modules[FILE_A] && mapping.is_copy && !mapping.is_moved);
  g_assert_cmphex (mapping.start, ==, 0xa0000);
  g_assert_cmphex (mapping.end, ==, 0xa3100);
  g_assert_cmphex (mapping.file_offset, ==, 0x14000);
  other = answer;
  other.time++;
  g_assert_false (lu_moved_text_settle (space, &other, &mapping));
  other = answer;
  other.end -= 0x1000;
  g_assert_false (lu_moved_text_settle (space, &other, &mapping));
  other = answer;
  other.original = 0x20000;
  g_assert_false (lu_moved_text_settle (space, &other, &mapping));
  space = lu_address_space_take_with_mapping (space, &mapping);
  g_assert_false (lu_moved_text_settle (space, &answer, &mapping));
}

int
main (int argc, char **argv)
{
  const LuModuleKey keys[N_MODULES] = { [FILE_A] = { .kind = LU_MODULE_FILE, .path = "/a" },
                                        [FILE_B] = { .kind = LU_MODULE_FILE, .path = "/b" },
                                        [ANONYMOUS] = { .kind = LU_MODULE_ANONYMOUS,
                                                        .path = "//anon" },
                                        [COPIED] = { .kind = LU_MODULE_COPIED, .path = "//anon" } };

  g_test_init (&argc, &argv, NULL);
  for (guint i = FILE_A; i < N_MODULES; i++)
    modules[i] = lu_module_new (&keys[i]);
  TEST_ADD_CASES ("/moved-text", cases, test_case);
  g_test_add_func ("/moved-text/possible", test_possible);
  g_test_add_func ("/moved-text/ask", test_ask);
  g_test_add_func ("/moved-text/settle", test_settle);
  argc = g_test_run ();
  for (guint i = FILE_A; i < N_MODULES; i++)
    lu_module_unref (modules[i]);
  return argc;
}
