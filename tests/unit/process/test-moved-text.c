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
  argc = g_test_run ();
  for (guint i = FILE_A; i < N_MODULES; i++)
    lu_module_unref (modules[i]);
  return argc;
}
