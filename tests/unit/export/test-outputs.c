/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-outputs.c - src/export/outputs.c: names of periods, and names that already exist. */

#include "export/outputs.h"

#include "base/error.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 2026-11-21 17:03:12 UTC */
#define TIME (G_GINT64_CONSTANT (1795280592) * G_USEC_PER_SEC)

static void
test_names (void)
{
  static const struct
  {
    const char *path, *name;
    guint copy;
  } cases[] = {
    { "capture.syscap", "capture-20261121T170312Z.syscap", 1 },
    { "capture.syscap", "capture-20261121T170312Z-2.syscap", 2 },
    { "a.b/x", "a.b/x-20261121T170312Z", 1 },
    { "a.b/x.y.pb.gz", "a.b/x.y-20261121T170312Z.pb.gz", 1 },
    { "x.json.gz", "x-20261121T170312Z.json.gz", 1 },
    { "x.speedscope.json", "x-20261121T170312Z.speedscope.json", 1 },
    { "x.perf.data", "x-20261121T170312Z.perf.data", 1 },
    { "/tmp/perf.data", "/tmp/20261121T170312Z.perf.data", 1 },
    { ".hidden", ".hidden-20261121T170312Z", 1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *name = lu_outputs_name_at (cases[i].path, TIME, cases[i].copy);

      g_assert_cmpstr (name, ==, cases[i].name);
    }
}

static void
test_names_that_are_taken (void)
{
  g_autofree char *directory = g_dir_make_tmp ("outputs-XXXXXX", NULL);
  g_autofree char *capture = g_build_filename (directory, "x.syscap", NULL);
  g_autofree char *folded = g_build_filename (directory, "x.folded", NULL);
  char *paths[] = { capture, folded, NULL };
  g_autoptr (LuKeeper) keeper = lu_keeper_new ();
  g_autoptr (LuOutputDirectories) directories = lu_output_directories_open (paths, keeper, NULL);
  g_autoptr (GPtrArray) made = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 1; i <= 3; i++)
    {
      g_auto (LuOutputs) outputs = LU_OUTPUTS_INIT;
      g_autoptr (GError) error = NULL;

      outputs.directories = directories;
      g_assert_true (lu_outputs_open_at (&outputs, paths, TIME, &error));
      g_assert_no_error (error);
      for (guint k = 0; k < 2; k++)
        {
          g_autofree char *name = lu_outputs_name_at (paths[k], TIME, i);

          g_assert_cmpstr (outputs.paths[k], ==, name);
          g_ptr_array_add (made, g_steal_pointer (&name));
        }
      /* if only the second name exists, both are changed */
      if (i == 2)
        g_assert_cmpint (g_unlink (outputs.paths[0]), ==, 0);
      g_assert_cmpint (outputs.capture_fd, >=, 0);
      g_assert_nonnull (outputs.tee);
    }
  for (guint i = 0; i < made->len; i++)
    g_unlink (g_ptr_array_index (made, i));
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

/* Somebody may put a FIFO where the name of the next file can be foreseen. */
static void
test_names_that_special_files_have (void)
{
  g_autofree char *directory = g_dir_make_tmp ("outputs-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "x.syscap", NULL);
  g_autofree char *first = lu_outputs_name_at (path, TIME, 1);
  g_autofree char *second = lu_outputs_name_at (path, TIME, 2);
  char *paths[] = { path, NULL };
  g_autoptr (LuKeeper) keeper = lu_keeper_new ();
  g_autoptr (LuOutputDirectories) directories = lu_output_directories_open (paths, keeper, NULL);
  g_auto (LuOutputs) outputs = LU_OUTPUTS_INIT;
  int reader;

  g_assert_cmpint (mkfifo (first, 0600), ==, 0);
  reader = open (first, O_RDONLY | O_NONBLOCK);
  outputs.directories = directories;
  g_assert_true (lu_outputs_open_at (&outputs, paths, TIME, NULL));
  g_assert_cmpstr (outputs.paths[0], ==, second);
  close (reader);
  g_unlink (first);
  g_unlink (second);
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

static void
test_nothing_is_left_of_a_failure (void)
{
  g_autofree char *directory = g_dir_make_tmp ("outputs-XXXXXX", NULL);
  g_autofree char *one = g_build_filename (directory, "1.syscap", NULL);
  g_autofree char *two = g_build_filename (directory, "2.syscap", NULL);
  char *paths[] = { one, two, NULL };
  g_auto (LuOutputs) outputs = LU_OUTPUTS_INIT;
  g_autoptr (GError) error = NULL;

  g_assert_false (lu_outputs_open (&outputs, paths, FALSE, &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_INVALID);
  g_assert_cmpint (outputs.capture_fd, ==, -1);
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

static void
test_what_cannot_rotate (void)
{
  char *files[] = { (char *) "/nonexistent/x.syscap", (char *) "/etc/passwd", NULL };
  char *standard[] = { (char *) "-", NULL };
  char *device[] = { (char *) "/dev/null", NULL };

  g_assert_true (lu_outputs_can_rotate (files, NULL));
  g_assert_false (lu_outputs_can_rotate (standard, NULL));
  g_assert_false (lu_outputs_can_rotate (device, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/outputs/names", test_names);
  g_test_add_func ("/outputs/names-that-are-taken", test_names_that_are_taken);
  g_test_add_func ("/outputs/names-that-special-files-have", test_names_that_special_files_have);
  g_test_add_func ("/outputs/nothing-is-left-of-a-failure", test_nothing_is_left_of_a_failure);
  g_test_add_func ("/outputs/what-cannot-rotate", test_what_cannot_rotate);
  return g_test_run ();
}
