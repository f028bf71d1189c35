/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-output-file.c - which output files are created, replaced and refused. */

#include "capture/output-file.h"

#include "base/error.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

typedef struct
{
  char *directory;
  char *path; /* path of a file in it that does not exist */
} Fixture;

static void
setup (Fixture *self, gconstpointer data)
{
  self->directory = g_dir_make_tmp ("lu-output-XXXXXX", NULL);
  g_assert_nonnull (self->directory);
  self->path = g_build_filename (self->directory, "out.syscap", NULL);
  g_unsetenv ("SUDO_UID");
  g_unsetenv ("SUDO_GID");
}

static void
teardown (Fixture *self, gconstpointer data)
{
  const char *name;
  g_autoptr (GDir) dir = g_dir_open (self->directory, 0, NULL);

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (self->directory, name, NULL);

      g_remove (path);
    }
  g_rmdir (self->directory);
  g_free (self->directory);
  g_free (self->path);
}

static void
assert_refused (const char *path, gboolean force, LuError code, const char *text)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (lu_output_open (path, force, &error), ==, -1);
  g_assert_error (error, LU_ERROR, (gint) code);
  if (strstr (error->message, text) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, text);
}

static void
put_file (const char *path, const char *text)
{
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
assert_text (const char *path, const char *text)
{
  g_autofree char *found = NULL;

  g_assert_true (g_file_get_contents (path, &found, NULL, NULL));
  g_assert_cmpstr (found, ==, text);
}

static void
test_new (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  mode_t old = umask (0);
  int fd = lu_output_open (self->path, FALSE, &error);
  struct stat st;

  umask (old);
  g_assert_no_error (error);
  g_assert_cmpint (fstat (fd, &st), ==, 0);
  g_assert_cmphex (st.st_mode, ==, S_IFREG | 0600);
  g_assert_cmphex (fcntl (fd, F_GETFD), ==, FD_CLOEXEC);
  close (fd);
}

static void
test_existing (Fixture *self, gconstpointer data)
{
  int fd;

  put_file (self->path, "precious");
  assert_refused (self->path, FALSE, LU_ERROR_EXISTS, "--force");
  assert_text (self->path, "precious");
  fd = lu_output_open (self->path, TRUE, NULL);
  g_assert_cmpint (fd, >=, 0);
  close (fd);
  assert_text (self->path, "");
}

static void
test_symlink (Fixture *self, gconstpointer data)
{
  g_autofree char *target = g_build_filename (self->directory, "target", NULL);

  /* a dangling link: creation must not follow it */
  g_assert_cmpint (symlink (target, self->path), ==, 0);
  assert_refused (self->path, FALSE, LU_ERROR_EXISTS, "symbolic link");
  assert_refused (self->path, TRUE, LU_ERROR_EXISTS, "symbolic link");
  g_assert_false (g_file_test (target, G_FILE_TEST_EXISTS));

  put_file (target, "precious");
  assert_refused (self->path, TRUE, LU_ERROR_EXISTS, "symbolic link");
  assert_text (target, "precious");
}

static void
test_directory (Fixture *self, gconstpointer data)
{
  g_autofree char *missing = g_build_filename (self->directory, "none", "out", NULL);

  assert_refused (self->directory, TRUE, LU_ERROR_EXISTS, "directory");
  assert_refused (missing, FALSE, LU_ERROR_FAILED, "cannot create");
}

static void
test_special_files (Fixture *self, gconstpointer data)
{
  int reader, fd = lu_output_open ("/dev/null", FALSE, NULL);

  g_assert_cmpint (fd, >=, 0);
  close (fd);

  g_assert_cmpint (mkfifo (self->path, 0600), ==, 0);
  reader = open (self->path, O_RDONLY | O_NONBLOCK);
  fd = lu_output_open (self->path, FALSE, NULL);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, "x", 1), ==, 1);
  close (fd);
  close (reader);
}

static void
test_sudo (Fixture *self, gconstpointer data)
{
  static const char *const nonsense[] = { "", "-1", "4294967295", "12x", " 12", "0x10" };
  struct stat st;
  int fd;

  if (geteuid () != 0)
    {
      g_test_skip ("needs root");
      return;
    }
  g_setenv ("SUDO_UID", "12345", TRUE);
  g_setenv ("SUDO_GID", "23456", TRUE);
  fd = lu_output_open (self->path, FALSE, NULL);
  g_assert_cmpint (fstat (fd, &st), ==, 0);
  g_assert_cmpuint (st.st_uid, ==, 12345);
  g_assert_cmpuint (st.st_gid, ==, 23456);
  close (fd);
  /* an earlier capture of the caller */
  fd = lu_output_open (self->path, TRUE, NULL);
  g_assert_cmpint (fd, >=, 0);
  close (fd);
  /* a file of another user */
  g_assert_cmpint (chown (self->path, 777, 777), ==, 0);
  assert_refused (self->path, TRUE, LU_ERROR_EXISTS, "another user");

  for (guint i = 0; i < G_N_ELEMENTS (nonsense); i++)
    {
      g_unlink (self->path);
      g_setenv ("SUDO_UID", nonsense[i], TRUE);
      fd = lu_output_open (self->path, FALSE, NULL);
      g_assert_cmpint (fstat (fd, &st), ==, 0);
      g_assert_cmpuint (st.st_uid, ==, 0);
      close (fd);
    }
}

/* Whoever owns a FIFO in a directory that everybody can write to may read it. */
static void
test_special_files_of_others (Fixture *self, gconstpointer data)
{
  int reader, fd;

  if (geteuid () != 0)
    {
      g_test_skip ("needs root");
      return;
    }
  g_assert_cmpint (g_chmod (self->directory, 01777), ==, 0);
  g_assert_cmpint (mkfifo (self->path, 0666), ==, 0);
  g_assert_cmpint (chown (self->path, 777, 777), ==, 0);
  reader = open (self->path, O_RDONLY | O_NONBLOCK);
  assert_refused (self->path, FALSE, LU_ERROR_EXISTS, "another user");
  assert_refused (self->path, TRUE, LU_ERROR_EXISTS, "another user");

  /* the user who called sudo */
  g_setenv ("SUDO_UID", "777", TRUE);
  g_setenv ("SUDO_GID", "777", TRUE);
  fd = lu_output_open (self->path, FALSE, NULL);
  g_assert_cmpint (fd, >=, 0);
  close (fd);

  /* the system's, for an ordinary user */
  g_assert_cmpint (chown (self->path, 0, 0), ==, 0);
  g_assert_cmpint (chmod (self->path, 0666), ==, 0);
  g_assert_cmpint (seteuid (777), ==, 0);
  fd = lu_output_open (self->path, FALSE, NULL);
  g_assert_cmpint (seteuid (0), ==, 0);
  g_assert_cmpint (fd, >=, 0);
  close (fd);
  close (reader);

  g_assert_cmpint (g_unlink (self->path), ==, 0);
  if (mknod (self->path, S_IFCHR | 0666, makedev (1, 3)) != 0)
    return; /* no devices can be made here */
  g_unsetenv ("SUDO_UID");
  g_assert_cmpint (chown (self->path, 777, 777), ==, 0);
  assert_refused (self->path, FALSE, LU_ERROR_EXISTS, "another user");
}

static void
test_stdout (Fixture *self, gconstpointer data)
{
  int fd;

  if (isatty (STDOUT_FILENO))
    {
      assert_refused ("-", FALSE, LU_ERROR_INVALID, "terminal");
      return;
    }
  fd = lu_output_open ("-", FALSE, NULL);
  g_assert_cmpint (fd, >, STDERR_FILENO);
  close (fd);
}

static void
test_terminal (Fixture *self, gconstpointer data)
{
  int master = posix_openpt (O_RDWR | O_NOCTTY);

  if (master < 0 || grantpt (master) != 0 || unlockpt (master) != 0)
    {
      g_test_skip ("no pseudo terminals");
      return;
    }
  assert_refused (ptsname (master), FALSE, LU_ERROR_INVALID, "terminal");
  close (master);
}

static void
test_discard (Fixture *self, gconstpointer data)
{
  g_autofree char *old = g_get_current_dir ();
  int fd = lu_output_open (self->path, FALSE, NULL);

  close (fd);
  lu_output_discard (self->path);
  g_assert_false (g_file_test (self->path, G_FILE_TEST_EXISTS));
  lu_output_discard ("/dev/null");
  g_assert_true (g_file_test ("/dev/null", G_FILE_TEST_EXISTS));

  g_assert_cmpint (g_chdir (self->directory), ==, 0);
  put_file ("-", "precious");
  lu_output_discard ("-");
  assert_text ("-", "precious");
  g_assert_cmpint (g_chdir (old), ==, 0);
}

#define ADD(name, function)                                                                        \
  g_test_add ("/output/output-file/" name, Fixture, NULL, setup, function, teardown)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("new", test_new);
  ADD ("existing", test_existing);
  ADD ("symlink", test_symlink);
  ADD ("directory", test_directory);
  ADD ("special-files", test_special_files);
  ADD ("special-files-of-others", test_special_files_of_others);
  ADD ("sudo", test_sudo);
  ADD ("stdout", test_stdout);
  ADD ("terminal", test_terminal);
  ADD ("discard", test_discard);
  return g_test_run ();
}
