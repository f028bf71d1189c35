/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-elf-symbols.c - which of several symbols names an address, in the small file from which the
 * fuzzer starts (elf_file() of tests/fuzz/make-corpus.py). */

#include "symbolize/elf-symbols.h"

static const char *corpus;

static const struct
{
  guint64 offset;
  const char *name; /* NULL: none */
  guint64 start, end;
} cases[] = {
  { 0x1ff, NULL, 0, 0 },
  { 0x200, "outer", 0x200, 0x280 },
  { 0x210, "inner", 0x210, 0x220 }, /* the innermost one */
  { 0x21f, "inner", 0x210, 0x220 },
  { 0x220, "outer", 0x200, 0x280 },   /* after the inner one */
  { 0x280, NULL, 0, 0 },              /* between functions with a size */
  { 0x290, "__alias", 0x290, 0x298 }, /* strong before weak */
  { 0x2a0, "label", 0x2a0, 0x800 },   /* up to the next symbol, outside of all functions */
  { 0x7ff, "label", 0x2a0, 0x800 },
  { 0x800, "callee@plt", 0x800, 0x810 }, /* without its version */
  { 0x80f, "callee@plt", 0x800, 0x810 },
  { 0x810, NULL, 0, 0 },
  { 0xb00, NULL, 0, 0 }, /* no code */
  { G_MAXUINT64, NULL, 0, 0 },
};

static void
test_find (void)
{
  g_autofree char *bytes = NULL;
  g_autoptr (LuElfSymbols) symbols = NULL;
  g_autoptr (GError) error = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (corpus, &bytes, &size, NULL));
  symbols = lu_elf_symbols_new_from_memory (bytes, size, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (lu_elf_symbols_file (symbols)->build_id, ==, "0001020304050607");
  g_assert_false (lu_elf_symbols_wants_debug_file (symbols));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LuElfSymbol symbol = { 0 };
      gboolean found = lu_elf_symbols_find (symbols, cases[i].offset, &symbol);

      g_test_message ("%" G_GINT64_MODIFIER "x", cases[i].offset);
      g_assert_cmpstr (symbol.name, ==, cases[i].name);
      g_assert_cmpint (found, ==, cases[i].name != NULL);
      g_assert_cmpuint (symbol.start, ==, cases[i].start);
      g_assert_cmpuint (symbol.end, ==, cases[i].end);
    }
}

/* A stripped Go program, from which the fuzzer of its tables starts (go_file()). */
static void
test_go (void)
{
  static const struct
  {
    guint64 offset;
    const char *name; /* NULL: none */
  } expected[] = {
    { 0x400, "main.main" },   { 0x43f, "main.main" }, { 0x440, "runtime.goexit" },
    { 0x450, "main.pushes" }, { 0x4d0, NULL },
  };
  g_autofree char *directory = g_path_get_dirname (corpus);
  g_autofree char *path = g_build_filename (directory, "..", "go-table", "fffffff1", NULL);
  g_autofree char *bytes = NULL;
  g_autoptr (LuElfSymbols) symbols = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  symbols = lu_elf_symbols_new_from_memory (bytes, size, NULL);
  g_assert_nonnull (symbols);
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      LuElfSymbol symbol = { 0 };

      lu_elf_symbols_find (symbols, expected[i].offset, &symbol);
      g_assert_cmpstr (symbol.name, ==, expected[i].name);
    }
}

/* However much is cut off, the rest is read or refused. */
static void
test_cut (void)
{
  g_autofree char *bytes = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (corpus, &bytes, &size, NULL));
  for (gsize left = 0; left < size; left += 7)
    {
      g_autoptr (LuElfSymbols) symbols = lu_elf_symbols_new_from_memory (bytes, left, NULL);
      LuElfSymbol symbol;

      for (guint i = 0; symbols != NULL && i < G_N_ELEMENTS (cases); i++)
        if (lu_elf_symbols_find (symbols, cases[i].offset, &symbol))
          g_assert_nonnull (symbol.name);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  corpus = argv[1];
  g_assert_cmpint (argc, ==, 2);
  g_test_add_func ("/symbolize/elf-symbols/find", test_find);
  g_test_add_func ("/symbolize/elf-symbols/go", test_go);
  g_test_add_func ("/symbolize/elf-symbols/cut", test_cut);
  return g_test_run ();
}
