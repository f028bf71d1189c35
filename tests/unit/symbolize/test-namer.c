/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-namer.c - addresses of several files and of generated code get their names. The file is the
 * one from which the fuzzer of ELF symbols starts; see test-elf-symbols.c for its contents. */

#include "symbolize/namer.h"

#include "symbolize/elf-cold.h"

#include "base/fd.h"

#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *corpus;

/* Adds the corpus with its build-id, a missing file, and the corpus with another build-id. */
static LuNamer *
namer_with_files (GHashTable *jitdumps)
{
  static LuFileId ids[] = { { .build_id = "0001020304050607" },
                            { .path = "/nonexistent" },
                            { .build_id = "ffffffffffffffff" } };
  LuNamer *self = lu_namer_new (jitdumps);

  ids[0].path = ids[2].path = corpus;
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    g_assert_cmpuint (lu_namer_add_file (self, &(LuNameFile){ .id = &ids[i] }), ==, i);
  return self;
}

static void
test_files (void)
{
  static const struct
  {
    guint32 file, number;
    guint64 file_offset;
    const char *name;
    gboolean has_symbol;
    guint64 start, end;
  } answers[] = {
    { 0, 5, 0x1ff, "small+0x1ff", FALSE, 0x1ff, 0x200 },
    { 0, 7, 0x210, "inner", TRUE, 0x210, 0x220 },
    { 0, 2, 0x220, "outer", TRUE, 0x200, 0x280 },
    { 0, 8, 0x283, "small+0x280", FALSE, 0x280, 0x28c }, /* an FDE covers it */
    { 0, 9, 0x28b, "small+0x280", FALSE, 0x280, 0x28c },
    { 0, 4, 0x28c, "small+0x28c", FALSE, 0x28c, 0x28d }, /* none does */
    { 1, 3, 0x210, "nonexistent+0x210", FALSE, 0x210, 0x211 },
    { 2, 1, 0x210, "small+0x210", FALSE, 0x210, 0x211 },
  };
  static const guint order[] = { 4, 2, 0, 7, 3, 6, 1, 5 };
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = namer_with_files (jitdumps);
  const LuNameQuery *got;
  guint n;

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    lu_namer_add (namer, answers[order[i]].file, answers[order[i]].file_offset,
                  answers[order[i]].number);
  g_assert_true (lu_namer_run (namer, &(LuNamerOptions){ 0 }));
  got = lu_namer_answers (namer, &n);
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (answers));
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpuint (got[i].file, ==, answers[i].file);
      g_assert_cmpuint (got[i].number, ==, answers[i].number);
      g_assert_cmpuint (got[i].file_offset, ==, answers[i].file_offset);
      g_assert_cmpstr (got[i].name, ==, answers[i].name);
      g_assert_cmpint (got[i].has_symbol, ==, answers[i].has_symbol);
      g_assert_cmphex (got[i].start, ==, answers[i].start);
      g_assert_cmphex (got[i].end, ==, answers[i].end);
    }
  g_assert_cmpint (lu_namer_result (namer, 0), ==, LU_NAMES_READ);
  g_assert_cmpint (lu_namer_result (namer, 1), ==, LU_NAMES_NO_FILE);
  g_assert_cmpint (lu_namer_result (namer, 2), ==, LU_NAMES_NO_FILE);
}

/* Functions are told apart by build-id, digest, name of the file, and start. */
static void
test_functions (void)
{
  static LuFileId ids[] = { { .build_id = "0001020304050607", .inode = 1 },
                            { .build_id = "0001020304050607", .inode = 2 },
                            { .path = "/a/init", .inode = 1 },
                            { .path = "/a/init", .inode = 2 },
                            { .path = "/a/init", .build_id = "00", .digest = "aa" },
                            { .path = "/b/init", .build_id = "00", .digest = "aa" },
                            { .path = "/a/init", .build_id = "00", .digest = "bb" } };
  static const struct
  {
    guint32 file;
    guint64 file_offset;
    guint function; /* the same number for the same function */
  } cases[] = {
    { 0, 0x210, 1 }, { 0, 0x21f, 1 }, { 0, 0x220, 2 }, { 0, 0x27f, 2 }, { 0, 0x281, 3 },
    { 0, 0x282, 3 }, { 0, 0x28d, 4 }, { 0, 0x28e, 5 }, { 1, 0x211, 1 }, { 1, 0x283, 3 },
    { 2, 0x100, 6 }, { 3, 0x100, 7 }, { 4, 0x100, 8 }, { 5, 0x100, 8 }, { 6, 0x100, 9 }
  };
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = lu_namer_new (jitdumps);
  const LuNameQuery *answers;
  guint n;

  ids[0].path = ids[1].path = corpus;
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    lu_namer_add_file (namer, &(LuNameFile){ .id = &ids[i] });
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    lu_namer_add (namer, cases[i].file, cases[i].file_offset, i);
  g_assert_true (lu_namer_run (namer, &(LuNamerOptions){ 0 }));
  answers = lu_namer_answers (namer, &n);
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (cases));
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++)
      g_assert_cmpint (answers[i].function == answers[j].function, ==,
                       cases[i].function == cases[j].function);
}

/* A cold part has the name and the number of its function, if exactly one can be it. */
static void
test_cold (void)
{
  static const struct
  {
    guint64 file_offset;
    const char *name;
    guint function; /* the same number for the same function */
    guint64 start, end;
  } cases[] = {
    { 0x201, "init", 1, 0x200, 0x210 },
    { 0x211, "init", 2, 0x210, 0x220 },
    { 0x220, "init", 1, 0x220, 0x228 },
    { 0x221, "init", 1, 0x220, 0x228 },
    { 0x22f, "init", 2, 0x228, 0x230 },
    { 0x231, "whole_too", 3, 0x230, 0x240 }, /* the longer one of two names */
    { 0x241, "whole_too", 3, 0x240, 0x248 },
    { 0x248, "odd.cold", 4, 0x248, 0x250 },  /* without a function */
    { 0x250, "init.cold", 5, 0x250, 0x258 }, /* its unit has none, and there are two others */
  };
  g_autofree char *directory = g_path_get_dirname (corpus);
  g_autofree char *path = g_build_filename (directory, "cold", NULL);
  LuFileId id = { .path = path, .build_id = "0001020304050607" };
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = lu_namer_new (jitdumps);
  const LuNameQuery *answers;
  guint n;

  lu_namer_add_file (namer, &(LuNameFile){ .id = &id });
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    lu_namer_add (namer, 0, cases[i].file_offset, i);
  g_assert_true (lu_namer_run (namer, &(LuNamerOptions){ 0 }));
  answers = lu_namer_answers (namer, &n);
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (cases));
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpstr (answers[i].name, ==, cases[i].name);
      g_assert_cmphex (answers[i].start, ==, cases[i].start);
      g_assert_cmphex (answers[i].end, ==, cases[i].end);
      for (guint j = 0; j < n; j++)
        g_assert_cmpint (answers[i].function == answers[j].function, ==,
                         cases[i].function == cases[j].function);
    }
}

static void
test_cold_names (void)
{
  static const struct
  {
    const char *symbol, *function;
  } cases[] = {
    { "work.cold", "work" },
    { "work.cold.12", "work" },
    { "work.part.0.cold", "work.part.0" },
    { "work.colder", NULL },
    { "work", NULL },
    { ".cold", NULL },
    { "work.cold.part", NULL },
    { "_Z1fv.cold.1.2", "_Z1fv" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *function = lu_cold_function_name (cases[i].symbol);

      g_assert_cmpstr (function, ==, cases[i].function);
    }
}

static gboolean
stop_at_second (guint done, guint total, gpointer user_data)
{
  g_assert_cmpuint (total, ==, 3);
  ++*(guint *) user_data;
  return done < 1;
}

static void
test_stopped (void)
{
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = namer_with_files (jitdumps);
  guint n_calls = 0, n;
  LuNamerOptions options = { .progress = stop_at_second, .progress_data = &n_calls };
  const LuNameQuery *answers;

  lu_namer_add (namer, 0, 0x210, 0);
  lu_namer_add (namer, 2, 0x210, 1);
  g_assert_false (lu_namer_run (namer, &options));
  g_assert_cmpuint (n_calls, ==, 2);
  answers = lu_namer_answers (namer, &n);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpstr (answers[0].name, ==, "inner");
  g_assert_cmpstr (answers[1].name, ==, "small+0x210");
}

static void
test_generated (void)
{
  static const struct
  {
    guint64 address;
    const char *name;
  } cases[] = {
    { 0x7fff, NULL }, { 0x8010, "compiled" }, { 0x803f, "compiled" }, { 0x8040, NULL }
  };
  g_autofree char *map = g_strdup_printf ("/tmp/perf-%d.map", getpid ());
  g_autoptr (GHashTable) jitdumps = g_hash_table_new (NULL, NULL);
  g_autoptr (LuNamer) namer = namer_with_files (jitdumps);
  LuGeneratedQuery query = { .pid = getpid (), .time = (guint64) g_get_monotonic_time () * 1000 };
  const LuNameQuery *answers;
  guint n;

  g_assert_true (g_file_set_contents (map, "100 8 other\n8000 40 compiled\n", -1, NULL));
  lu_namer_add (namer, 0, 0x210, 9);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      query.address = cases[i].address;
      lu_namer_add_generated (namer, &query, i);
    }
  g_assert_true (lu_namer_run (namer, &(LuNamerOptions){ 0 }));
  g_assert_cmpint (g_remove (map), ==, 0);
  answers = lu_namer_answers (namer, &n);
  g_assert_cmpuint (n, ==, 1 + G_N_ELEMENTS (cases));
  g_assert_cmpstr (answers[0].name, ==, "inner");
  g_assert_false (answers[0].is_generated);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_true (answers[i + 1].is_generated);
      g_assert_cmpuint (answers[i + 1].number, ==, i);
      g_assert_cmpstr (answers[i + 1].name, ==, cases[i].name);
    }
  g_assert_true (answers[2].name == answers[3].name);
  g_assert_cmphex (answers[2].start, ==, 0x8000);
  g_assert_cmphex (answers[2].end, ==, 0x8040);
}

/* No path leads to a file in memory. One that is known to be a program is what its process runs. */
static void
test_in_memory (void)
{
  static const struct
  {
    LuFileId id;
    gboolean is_generated;
  } cases[] = {
    { { .path = "/memfd:code" }, TRUE },
    { { .path = "/memfd:code", .inode = 7 }, TRUE },
    { { .path = "/memfd:program", .build_id = "0001020304050607" }, FALSE },
    { { .path = "/memfd:program", .device = 1, .inode = 7 }, FALSE },
    { { .path = "//anon" }, TRUE },
    { { .path = "/bin/program" }, FALSE },
  };
  const LuNameFile file = { .id = &cases[2].id, .pid = getpid () };
  struct stat program, opened, info;
  lu_autofd fd = lu_name_file_open (&file, 1, &info);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpint (lu_file_is_generated (&cases[i].id), ==, cases[i].is_generated);
  g_assert_cmpint (fstat (fd, &opened), ==, 0);
  g_assert_cmpint (stat ("/proc/self/exe", &program), ==, 0);
  g_assert_cmpuint (opened.st_ino, ==, program.st_ino);
  g_assert_cmpint (lu_name_file_open (&file, 2, &info), ==, -1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 2);
  corpus = argv[1];
  g_test_add_func ("/symbolize/namer/files", test_files);
  g_test_add_func ("/symbolize/namer/in-memory", test_in_memory);
  g_test_add_func ("/symbolize/namer/functions", test_functions);
  g_test_add_func ("/symbolize/namer/cold", test_cold);
  g_test_add_func ("/symbolize/namer/cold-names", test_cold_names);
  g_test_add_func ("/symbolize/namer/stopped", test_stopped);
  g_test_add_func ("/symbolize/namer/generated", test_generated);
  return g_test_run ();
}
