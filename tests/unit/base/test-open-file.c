/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-open-file.c - only regular files are opened, and links lead nowhere but within a root. */

#include "base/open-file.h"

#include "base/fd.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>

typedef struct
{
  char *directory, *file, *fifo, *link;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  (void) data;
  self->directory = g_dir_make_tmp ("open-file-XXXXXX", NULL);
  self->file = g_build_filename (self->directory, "file", NULL);
  self->fifo = g_build_filename (self->directory, "fifo", NULL);
  self->link = g_build_filename (self->directory, "link", NULL);
  g_assert_true (g_file_set_contents (self->file, "text", 4, NULL));
  g_assert_cmpint (mkfifo (self->fifo, 0600), ==, 0);
  g_assert_cmpint (symlink (self->file, self->link), ==, 0);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  (void) data;
  g_unlink (self->file);
  g_unlink (self->fifo);
  g_unlink (self->link);
  g_rmdir (self->directory);
  g_free (self->file);
  g_free (self->fifo);
  g_free (self->link);
  g_free (self->directory);
}

static void
assert_opened (int fd_taken, const struct stat *info)
{
  lu_autofd fd = fd_taken;
  char text[8] = "";

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (read (fd, text, sizeof text - 1), ==, 4);
  g_assert_cmpstr (text, ==, "text");
  g_assert_cmpint (info->st_size, ==, 4);
}

static void
test_paths (Fixture *self, gconstpointer data)
{
  struct stat info = { 0 };

  (void) data;
  assert_opened (lu_open_regular (self->file, &info), &info);
  assert_opened (lu_open_regular (self->link, &info), &info);
  g_assert_cmpint (lu_open_regular (self->fifo, NULL), ==, -1);
  g_assert_cmpint (lu_open_regular (self->directory, NULL), ==, -1);
  g_assert_cmpint (lu_open_regular ("/dev/null", NULL), ==, -1);
  g_assert_cmpint (lu_open_regular ("/nowhere/at/all", NULL), ==, -1);
}

static void
test_root (Fixture *self, gconstpointer data)
{
  struct stat info = { 0 };

  (void) data;
  assert_opened (lu_open_in_root (getpid (), self->file, LU_OPEN_FOLLOW, &info), &info);
  assert_opened (lu_open_in_root (getpid (), self->link, LU_OPEN_FOLLOW, &info), &info);
  g_assert_cmpint (lu_open_in_root (getpid (), self->link, LU_OPEN_NOFOLLOW, NULL), ==, -1);
  g_assert_cmpint (lu_open_in_root (getpid (), self->fifo, LU_OPEN_FOLLOW, NULL), ==, -1);
  g_assert_cmpint (lu_open_in_root (G_MAXINT32, self->file, LU_OPEN_FOLLOW, NULL), ==, -1);
}

/* Follows a link with that text, by all functions that follow any. */
static void
assert_link (const Fixture *self, const char *target, gboolean is_found)
{
  struct stat info = { 0 };
  int fds[2];

  g_unlink (self->link);
  g_assert_cmpint (symlink (target, self->link), ==, 0);
  fds[0] = lu_open_regular (self->link, &info);
  fds[1] = lu_open_in_root (getpid (), self->link, LU_OPEN_FOLLOW, &info);
  for (guint i = 0; i < 2; i++)
    if (is_found)
      assert_opened (fds[i], &info);
    else
      g_assert_cmpint (fds[i], ==, -1);
}

/* A link is its text, even if the kernel makes it up: nothing leads out of a root. */
static void
test_links (Fixture *self, gconstpointer data)
{
  g_autofree char *name = g_path_get_basename (self->file);
  g_autofree char *directory = g_path_get_basename (self->directory);
  g_autofree char *up = g_strdup_printf ("..//./%s/%s", directory, name);
  g_autofree char *above = g_strdup_printf ("../../../../../../../../../..%s", self->file);
  g_autofree char *open_file = NULL;
  lu_autofd fd = memfd_create ("file", MFD_CLOEXEC);

  (void) data;
  open_file = g_strdup_printf ("/proc/self/fd/%d", fd);
  assert_link (self, name, TRUE);
  assert_link (self, up, TRUE);
  assert_link (self, above, TRUE);
  assert_link (self, "/proc/self/root/nowhere", FALSE);
  assert_link (self, self->link, FALSE); /* to itself */
  assert_link (self, "..", FALSE);
  assert_link (self, open_file, FALSE);
}

/* A link that somebody made may lead to files like tracefs' trace_pipe, from which reading takes
 * what others wait for, or never ends. */
static void
test_made_up (Fixture *self, gconstpointer data)
{
  static const char *const paths[] = { "/proc/self/stat", "/proc/version",
                                       "/sys/kernel/mm/transparent_hugepage/enabled" };

  (void) data;
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_unlink (self->link);
      g_assert_cmpint (symlink (paths[i], self->link), ==, 0);
      g_assert_cmpint (lu_open_regular (self->link, NULL), ==, -1);
      g_assert_cmpint (lu_open_regular (paths[i], NULL), ==, -1);
      g_assert_cmpint (lu_open_in_root (getpid (), paths[i], LU_OPEN_FOLLOW, NULL), ==, -1);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/open-file/links", Fixture, NULL, set_up, test_links, tear_down);
  g_test_add ("/open-file/paths", Fixture, NULL, set_up, test_paths, tear_down);
  g_test_add ("/open-file/made up by the kernel", Fixture, NULL, set_up, test_made_up, tear_down);
  g_test_add ("/open-file/root", Fixture, NULL, set_up, test_root, tear_down);
  return g_test_run ();
}
