/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-keeper.c - src/sandbox/keeper.c: files are made in open directories and nowhere else, with
 * the process and without it, also by a recorder that may not make any. */

#include "sandbox/keeper.h"
#include "sandbox/sandbox.h"

#include "base/fd.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

typedef struct
{
  char *path;
  int directory;
  LuKeeper *keeper;
} Fixture;

static void
set_up (Fixture *self, gconstpointer has_process)
{
  self->path = g_dir_make_tmp ("test-keeper-XXXXXX", NULL);
  g_assert_nonnull (self->path);
  self->directory = open (self->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  self->keeper = lu_keeper_new ();
  g_assert_cmpuint (lu_keeper_add (self->keeper, open ("/", O_PATH | O_CLOEXEC), (uid_t) -1, 0), ==,
                    0);
  g_assert_cmpuint (lu_keeper_add (self->keeper, self->directory, (uid_t) -1, (gid_t) -1), ==, 1);
  if (GPOINTER_TO_INT (has_process) != 0)
    g_assert_true (lu_keeper_start (self->keeper, FALSE));
}

static void
tear_down (Fixture *self, gconstpointer has_process)
{
  lu_keeper_free (self->keeper);
  lu_fd_clear (&self->directory);
  g_assert_cmpint (g_rmdir (self->path), ==, 0);
  g_free (self->path);
}

static void
test_requests (Fixture *self, gconstpointer has_process)
{
  int fd = lu_keeper_create (self->keeper, 1, "a");
  struct stat info;

  g_assert_cmpint (fd, >, STDERR_FILENO);
  g_assert_cmpint (write (fd, "text", 4), ==, 4);
  g_assert_cmpint (fstat (fd, &info), ==, 0);
  g_assert_cmpuint (info.st_mode, ==, S_IFREG | 0600);
  g_assert_cmpint (lu_keeper_create (self->keeper, 1, "a"), ==, -1);
  g_assert_cmpint (errno, ==, EEXIST);
  g_assert_cmpint (futimens (fd, (struct timespec[]){ { .tv_sec = 1 }, { .tv_sec = 1 } }), ==, 0);
  g_assert_true (lu_keeper_rename (self->keeper, 1, "a", "b"));
  g_assert_true (lu_keeper_touch (self->keeper, 1, "b"));
  g_assert_cmpint (fstat (fd, &info), ==, 0);
  g_assert_cmpint (info.st_mtim.tv_sec, >, 1);
  g_assert_cmpint (info.st_size, ==, 4);
  g_assert_false (lu_keeper_remove (self->keeper, 1, "a"));
  g_assert_cmpint (errno, ==, ENOENT);
  g_assert_true (lu_keeper_remove (self->keeper, 1, "b"));
  close (fd);
}

static void
test_refused (Fixture *self, gconstpointer has_process)
{
  static const char *const names[] = { "../a", "/tmp/test-keeper-a", "a/b" };
  g_autofree char *longest = g_strnfill (LU_KEEPER_MAX_NAME, 'a');

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_assert_cmpint (lu_keeper_create (self->keeper, 1, names[i]), ==, -1);
      g_assert_cmpint (errno, ==, EINVAL);
      g_assert_false (lu_keeper_rename (self->keeper, 1, "a", names[i]));
      g_assert_cmpint (errno, ==, EINVAL);
    }
  g_assert_false (lu_keeper_remove (self->keeper, 1, ".."));
  g_assert_false (lu_keeper_remove (self->keeper, 2, "a"));
  g_assert_cmpint (errno, ==, EINVAL);
  g_assert_cmpint (lu_keeper_create (self->keeper, 1, longest), ==, -1);
  g_assert_cmpint (errno, ==, ENAMETOOLONG);
}

/* 77: there is no sandbox. */
static int
be_recorder (Fixture *self)
{
  g_autofree char *path = g_build_filename (self->path, "b", NULL);
  int fd;

  lu_sandbox_choose_user ();
  lu_sandbox_leave_root ();
  if (!lu_sandbox_drop_capabilities (0, NULL) || !lu_sandbox_restrict_recorder (NULL))
    return 77;
  if (open (path, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 || unlink (path) == 0)
    return 1;
  fd = lu_keeper_create (self->keeper, 1, "a");
  return fd < 0                                     ? 2
         : write (fd, "text", 4) != 4               ? 3
         : !lu_keeper_remove (self->keeper, 1, "a") ? 4
                                                    : 0;
}

static void
test_recorder (Fixture *self, gconstpointer has_process)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    _exit (be_recorder (self));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  if (WEXITSTATUS (status) == 77)
    g_test_skip ("no sandbox here");
  else
    g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, has_process, func)                                                               \
  g_test_add (path, Fixture, GINT_TO_POINTER (has_process), set_up, func, tear_down)
  ADD ("/sandbox/keeper/requests", TRUE, test_requests);
  ADD ("/sandbox/keeper/requests-here", FALSE, test_requests);
  ADD ("/sandbox/keeper/refused", TRUE, test_refused);
  ADD ("/sandbox/keeper/refused-here", FALSE, test_refused);
  ADD ("/sandbox/keeper/recorder", TRUE, test_recorder);
  return g_test_run ();
}
