/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-lines.c - source lines and inlined functions of a program: this one; and the cost of readers
 * of bad files. */

#include "symbolize/lines.h"

#include "../directory.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum
{
  INNER,
  MIDDLE,
  OUTER,
  N_LEVELS
};

static guint noted_lines[N_LEVELS];
static guint64 noted_address; /* in the innermost function */

static G_NO_INLINE guint
note (guint level, guint line)
{
  noted_lines[level] = line;
  if (level == INNER)
    noted_address = (guint64) (guintptr) __builtin_return_address (0) - 1;
  return line;
}

static inline __attribute__ ((always_inline)) guint
inner_function (guint value)
{
  return value * 7 + note (INNER, __LINE__);
}

static inline __attribute__ ((always_inline)) guint
middle_function (guint value)
{
  return inner_function (value) * 3 + note (MIDDLE, __LINE__);
}

/* The function is not static, so that no optimisation renames or merges it. */
G_NO_INLINE guint lu_test_outer_function (guint value);

guint
lu_test_outer_function (guint value)
{
  return middle_function (value) * 5 + note (OUTER, __LINE__);
}

static int
inspect (struct dl_phdr_info *info, size_t size, void *data)
{
  guint64 *file_offset = data;

  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *header = &info->dlpi_phdr[i];
      guint64 start = info->dlpi_addr + header->p_vaddr;

      if (header->p_type != PT_LOAD || noted_address < start
          || noted_address >= start + header->p_memsz)
        continue;
      *file_offset = noted_address - start + header->p_offset;
      return 1;
    }
  return 0;
}

static guint64
inner_offset (void)
{
  guint64 file_offset = 0;

  lu_test_outer_function (2);
  g_assert_cmpint (dl_iterate_phdr (inspect, &file_offset), ==, 1);
  return file_offset;
}

static char *
own_path (void)
{
  char *path = g_file_read_link ("/proc/self/exe", NULL);

  g_assert_nonnull (path);
  return path;
}

static void
check_chain (const LuLineQuery *query)
{
  static const char *const functions[] = { "inner_function", "middle_function",
                                           "lu_test_outer_function" };

  g_assert_cmpuint (query->n_lines, ==, N_LEVELS);
  for (guint i = 0; i < N_LEVELS; i++)
    {
      const LuLine *line = &query->lines[i];

      g_assert_cmpstr (line->function, ==, functions[i]);
      g_assert_cmpuint (line->line, ==, noted_lines[i]);
      g_assert_true (g_str_has_suffix (line->file, "test-lines.c"));
      g_assert_true (g_str_has_suffix (line->defined_in, "test-lines.c"));
      g_assert_cmpuint (line->defined_at, <, line->line);
      g_assert_cmpuint (line->defined_at, >, line->line - 5);
    }
}

static void
test_inlined (void)
{
  g_autoptr (LuLines) lines = lu_lines_new (LU_LINES_FILE_SECONDS, LU_LINES_TOTAL_SECONDS);
  g_autofree char *path = own_path ();
  guint64 offset = inner_offset ();
  LuNameFile file = { .id = &(LuFileId){ .path = path } };
  LuLineQuery queries[] = { { .file_offset = offset },
                            { .file_offset = 1ull << 40 },
                            { .file_offset = offset },
                            { .file_offset = offset & ~0xfffull } };

  g_assert_cmpint (lu_lines_find_all (lines, &file, queries, G_N_ELEMENTS (queries)), ==,
                   LU_LINES_READ);
  check_chain (&queries[0]);
  g_assert_cmpuint (queries[1].n_lines, ==, 0);
  check_chain (&queries[2]);
}

static void
test_other_file (void)
{
  g_autoptr (LuLines) lines = lu_lines_new (LU_LINES_FILE_SECONDS, LU_LINES_TOTAL_SECONDS);
  g_autofree char *path = own_path ();
  guint64 offset = inner_offset ();
  const struct
  {
    LuFileId id;
    LuLinesResult result;
  } cases[] = {
    { { .path = path, .build_id = "00112233" }, LU_LINES_NO_FILE },
    { { .path = path, .inode = 1 }, LU_LINES_NO_FILE },
    { { .path = "/nonexistent" }, LU_LINES_NO_FILE },
    { { .path = "/dev/zero" }, LU_LINES_NO_FILE },
    { { .path = "/etc/passwd" }, LU_LINES_NO_FILE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LuNameFile file = { .id = &cases[i].id };
      LuLineQuery query = { .file_offset = offset, .n_lines = 1 };

      g_assert_cmpint (lu_lines_find_all (lines, &file, &query, 1), ==, cases[i].result);
      g_assert_cmpuint (query.n_lines, ==, 0);
    }
}

static void
test_out_of_time (void)
{
  g_autoptr (LuLines) no_time_for_a_file = lu_lines_new (0, 60);
  g_autoptr (LuLines) no_time = lu_lines_new (60, 0);
  g_autofree char *path = own_path ();
  LuNameFile file = { .id = &(LuFileId){ .path = path } };
  LuLineQuery query = { .file_offset = inner_offset () };

  g_assert_cmpint (lu_lines_find_all (no_time_for_a_file, &file, &query, 1), ==, LU_LINES_TOO_SLOW);
  g_assert_cmpuint (query.n_lines, ==, 0);
  g_assert_cmpint (lu_lines_find_all (no_time, &file, &query, 1), ==, LU_LINES_SKIPPED);
  g_assert_cmpuint (query.n_lines, ==, 0);
}

/* Raised in the next reader before it reads; 0: none. */
static int reader_signal;

static void
begin_reader (void)
{
  if (reader_signal > 0)
    raise (reader_signal);
}

/* A reader that hangs, crashes or is interrupted loses its own answers, and the time that it has
 * used. */
static void
test_reader_ends (void)
{
  static const struct
  {
    int signal;
    LuLinesResult result, next;
  } cases[] = {
    { SIGSTOP, LU_LINES_TOO_SLOW, LU_LINES_READ },
    { SIGKILL, LU_LINES_BROKEN, LU_LINES_READ },
    { SIGINT, LU_LINES_SKIPPED, LU_LINES_SKIPPED },
  };
  g_autofree char *path = own_path ();
  LuNameFile file = { .id = &(LuFileId){ .path = path } };
  LuLineQuery query = { .file_offset = inner_offset () };

  g_assert_cmpint (pthread_atfork (NULL, NULL, begin_reader), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LuLines) lines = lu_lines_new (2, 60);

      reader_signal = cases[i].signal;
      g_assert_cmpint (lu_lines_find_all (lines, &file, &query, 1), ==, cases[i].result);
      g_assert_cmpuint (query.n_lines, ==, 0);
      reader_signal = 0;
      g_assert_cmpint (lu_lines_find_all (lines, &file, &query, 1), ==, cases[i].next);
    }
}

/* Returns the file offset of a section, or 0 if there is none. */
static gsize
find_section (const char *bytes, gsize size, const char *name, gsize *section_size)
{
  const ElfW (Ehdr) *header = (const ElfW (Ehdr) *) (gconstpointer) bytes;
  const ElfW (Shdr) *sections = (const ElfW (Shdr) *) (gconstpointer) (bytes + header->e_shoff);
  const char *names = bytes + sections[header->e_shstrndx].sh_offset;

  for (guint i = 0; i < header->e_shnum; i++)
    if (strcmp (names + sections[i].sh_name, name) == 0)
      {
        *section_size = sections[i].sh_size;
        return sections[i].sh_offset;
      }
  return 0;
}

/* Debug information is damaged many times: the answer still comes, either whole or not at all. */
static void
test_broken (void)
{
  static const char *const sections[] = { ".debug_info",     ".debug_abbrev",   ".debug_line",
                                          ".debug_line_str", ".debug_rnglists", ".debug_str" };
  g_autofree char *path = own_path (), *bytes = NULL;
  g_autofree char *directory = g_dir_make_tmp ("lines-XXXXXX", NULL);
  g_autofree char *copy = g_build_filename (directory, "program", NULL);
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  guint64 offset = inner_offset ();
  gsize size;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  for (guint round = 0; round < 60; round++)
    {
      g_autoptr (LuLines) lines = lu_lines_new (2, 4);
      LuNameFile file = { .id = &(LuFileId){ .path = copy } };
      LuLineQuery query = { .file_offset = offset };
      g_autofree char *changed = g_memdup2 (bytes, size);
      gsize section_size = 0, at;

      at = find_section (bytes, size, sections[round % G_N_ELEMENTS (sections)], &section_size);
      for (guint i = 0; at > 0 && section_size > 0 && i < 1 + round; i++)
        changed[at + (gsize) g_rand_int_range (random, 0, (gint32) section_size)] =
            (char) g_rand_int_range (random, 0, 256);
      g_assert_true (g_file_set_contents (copy, changed, (gssize) size, NULL));
      lu_lines_find_all (lines, &file, &query, 1);
      for (guint i = 0; i < query.n_lines; i++)
        g_assert_true (query.lines[i].file == NULL
                       || g_utf8_validate (query.lines[i].file, -1, NULL));
    }
  directory_remove (directory);
  /* no reader is left */
  g_assert_cmpint (waitpid (-1, NULL, WNOHANG), ==, -1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lines/inlined", test_inlined);
  g_test_add_func ("/lines/other-file", test_other_file);
  g_test_add_func ("/lines/out-of-time", test_out_of_time);
  g_test_add_func ("/lines/reader-ends", test_reader_ends);
  g_test_add_func ("/lines/broken", test_broken);
  return g_test_run ();
}
