/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-output-file.c - src/output/output-file.c: exclusive, private, never through a link. */

#include "output/output-file.h"

#include "base/error.h"
#include "base/fd.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  char *dir, *path;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  fixture->dir = g_dir_make_tmp ("output-XXXXXX", NULL);
  fixture->path = g_build_filename (fixture->dir, "x.syscap", NULL);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  unlink (fixture->path);
  rmdir (fixture->path);
  g_assert_cmpint (g_rmdir (fixture->dir), ==, 0);
  g_free (fixture->dir);
  g_free (fixture->path);
}

static void
assert_refused (const char *path, gboolean force, const char *says)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (lu_output_open (path, force, &error), ==, -1);
  g_assert_nonnull (strstr (error->message, says));
  g_assert_nonnull (strstr (error->message, path));
}

static void
test_new_file_is_private (Fixture *fixture, gconstpointer data)
{
  lu_autofd fd = lu_output_open (fixture->path, FALSE, NULL);
  struct stat status;

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (fstat (fd, &status), ==, 0);
  g_assert_cmpint (status.st_mode & 07777, ==, 0600);
  g_assert_cmpint (fcntl (fd, F_GETFD) & FD_CLOEXEC, !=, 0);
}

static void
test_existing_file (Fixture *fixture, gconstpointer data)
{
  lu_autofd fd = -1;
  struct stat status;

  g_assert_true (g_file_set_contents (fixture->path, "keep", -1, NULL));
  assert_refused (fixture->path, FALSE, "--force");
  g_assert_cmpint (stat (fixture->path, &status), ==, 0);
  g_assert_cmpint (status.st_size, ==, 4);
  fd = lu_output_open (fixture->path, TRUE, NULL);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (stat (fixture->path, &status), ==, 0);
  g_assert_cmpint (status.st_size, ==, 0);
}

static void
test_links_are_refused (Fixture *fixture, gconstpointer data)
{
  g_autofree char *victim = g_build_filename (fixture->dir, "victim", NULL);

  g_assert_true (g_file_set_contents (victim, "precious", -1, NULL));
  g_assert_cmpint (symlink (victim, fixture->path), ==, 0);
  assert_refused (fixture->path, FALSE, "symbolic link");
  assert_refused (fixture->path, TRUE, "symbolic link");
  unlink (fixture->path);
  g_assert_cmpint (symlink ("/nowhere/at/all", fixture->path), ==, 0);
  assert_refused (fixture->path, TRUE, "symbolic link");
  g_assert_cmpint (unlink (victim), ==, 0);
}

static void
test_directories_and_devices (Fixture *fixture, gconstpointer data)
{
  lu_autofd fd = lu_output_open ("/dev/null", FALSE, NULL);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (g_mkdir (fixture->path, 0700), ==, 0);
  assert_refused (fixture->path, TRUE, "not a file");
  assert_refused ("/nonexistent-directory/x", FALSE, "No such file");
}

static void
test_discard (Fixture *fixture, gconstpointer data)
{
  lu_autofd fd = lu_output_open (fixture->path, FALSE, NULL);

  lu_output_discard (fixture->path);
  g_assert_false (g_file_test (fixture->path, G_FILE_TEST_EXISTS));
  lu_output_discard ("/dev/null");
  lu_output_discard ("-");
  g_assert_true (g_file_test ("/dev/null", G_FILE_TEST_EXISTS));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/output-file/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("a new file is private", test_new_file_is_private);
  ADD ("an existing file", test_existing_file);
  ADD ("links are refused", test_links_are_refused);
  ADD ("directories and devices", test_directories_and_devices);
  ADD ("discard", test_discard);
#undef ADD
  return g_test_run ();
}
