/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-file.c - opens the output safely; see output-file.h.
 *
 * A file is replaced by unlink and exclusive creation, not truncated: processes that have the old
 * file open keep it, and if something else is put in its place meanwhile, the creation fails
 * instead of overwriting it. */

#include "output-file.h"

#include "base/caller.h"
#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>

static int
open_stdout (GError **error)
{
  int fd;

  if (isatty (STDOUT_FILENO))
    {
      g_set_error_literal (
          error, LU_ERROR, LU_ERROR_INVALID,
          _ ("standard output is a terminal; a capture is not text: redirect it, or "
             "name a file with --output"));
      return -1;
    }
  fd = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd < 0)
    g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("standard output: %s"), g_strerror (errno));
  return fd;
}

static int
fail_errno (const char *path, GError **error)
{
  int saved_errno = errno;
  LuError code = LU_ERROR_FAILED;

  if (saved_errno == EEXIST)
    code = LU_ERROR_EXISTS;
  else if (saved_errno == EACCES || saved_errno == EPERM || saved_errno == EROFS)
    code = LU_ERROR_PERMISSION;
  g_set_error (error, LU_ERROR, code, _ ("cannot create %s: %s; name another file with --output"),
               path, g_strerror (saved_errno));
  return -1;
}

/* The user who called sudo; -1 for both: nobody did. */
static void
find_owner (uid_t *uid, gid_t *gid)
{
  if (lu_caller_of_sudo (uid, gid))
    return;
  *uid = (uid_t) -1;
  *gid = (gid_t) -1;
}

static int
create (const char *path, GError **error)
{
  uid_t uid;
  gid_t gid;
  int fd;

  find_owner (&uid, &gid);
  fd = lu_create_file (AT_FDCWD, path, uid, gid);
  return fd >= 0 ? fd : fail_errno (path, error);
}

static int
replace (const char *path, const struct stat *st, gboolean force, GError **error)
{
  if (!force)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_EXISTS,
                   _ ("%s exists; use --force to replace it, or name another file with --output"),
                   path);
      return -1;
    }
  if (!lu_caller_owns (st->st_uid))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_EXISTS,
                   _ ("%s exists and belongs to another user (user id %u), so it is not replaced: "
                      "remove it, or name another file with --output"),
                   path, (guint) st->st_uid);
      return -1;
    }
  if (unlink (path) != 0)
    return fail_errno (path, error);
  return create (path, error);
}

/* Opens the FIFO or the character device that `found` (O_PATH) is; nothing is created or truncated.
 * Its owner can read what is written, so it has to be one of us, or root. */
static int
open_special (const char *path, int found, const struct stat *st, GError **error)
{
  g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", found);
  lu_autofd fd = -1;

  if (st->st_uid != 0 && !lu_caller_owns (st->st_uid))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_EXISTS,
                   _ ("%s belongs to another user (user id %u), who could read the recording; name "
                      "another file with --output"),
                   path, (guint) st->st_uid);
      return -1;
    }
  fd = open (link, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("cannot open %s: %s"), path,
                   g_strerror (errno));
      return -1;
    }
  if (isatty (fd))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                   _ ("%s is a terminal; name a file with --output"), path);
      return -1;
    }
  return lu_fd_steal (&fd);
}

static const char *
kind_name (mode_t mode)
{
  if (S_ISLNK (mode))
    return _ ("a symbolic link, which is not followed");
  if (S_ISDIR (mode))
    return _ ("a directory");
  if (S_ISBLK (mode))
    return _ ("a block device");
  return _ ("not a file");
}

int
lu_output_open (const char *path, gboolean force, GError **error)
{
  lu_autofd found = -1;
  struct stat st;

  if (g_str_equal (path, "-"))
    return open_stdout (error);
  found = open (path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (found < 0 && errno == ENOENT)
    return create (path, error);
  if (found < 0 || fstat (found, &st) != 0)
    return fail_errno (path, error);
  if (S_ISREG (st.st_mode))
    return replace (path, &st, force, error);
  if (S_ISCHR (st.st_mode) || S_ISFIFO (st.st_mode))
    return open_special (path, found, &st, error);
  g_set_error (error, LU_ERROR, LU_ERROR_EXISTS, _ ("%s is %s; name a file with --output"), path,
               kind_name (st.st_mode));
  return -1;
}

void
lu_output_discard (const char *path)
{
  struct stat st;

  /* "-" was standard output, even if a file has that name */
  if (!g_str_equal (path, "-") && lstat (path, &st) == 0 && S_ISREG (st.st_mode))
    unlink (path);
}

struct _LuOutputDirectories
{
  LuKeeper *keeper; /* borrowed */
  guint first;      /* the keeper's number of the first one */
  guint n;
  int fds[];
};

static const char *
last_component (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL ? slash + 1 : path;
}

LuOutputDirectories *
lu_output_directories_open (char *const *paths, LuKeeper *keeper, GError **error)
{
  guint n = g_strv_length ((char **) paths);
  g_autoptr (LuOutputDirectories) self = g_malloc (sizeof *self + n * sizeof self->fds[0]);
  uid_t uid;
  gid_t gid;

  find_owner (&uid, &gid);
  self->keeper = keeper;
  for (self->n = 0; self->n < n; self->n++)
    {
      g_autofree char *directory = g_path_get_dirname (paths[self->n]);
      int fd = open (directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

      if (fd < 0)
        {
          g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("cannot open %s: %s"), directory,
                       g_strerror (errno));
          return NULL;
        }
      self->fds[self->n] = fd;
      self->first = lu_keeper_add (keeper, fd, uid, gid) - self->n;
    }
  return g_steal_pointer (&self);
}

void
lu_output_directories_free (LuOutputDirectories *self)
{
  for (guint i = 0; self != NULL && i < self->n; i++)
    lu_fd_clear (&self->fds[i]);
  g_free (self);
}

gboolean
lu_output_directories_are_others (const LuOutputDirectories *self)
{
  uid_t uid;
  gid_t gid;
  gboolean are_others = lu_caller_of_sudo (&uid, &gid);
  struct stat info;

  for (guint i = 0; i < self->n; i++)
    are_others |= fstat (self->fds[i], &info) == 0 && info.st_uid != lu_caller_uid ();
  return are_others;
}

int
lu_output_directories_create (const LuOutputDirectories *self, guint number, const char *path,
                              GError **error)
{
  int fd = lu_keeper_create (self->keeper, self->first + number, last_component (path));

  return fd >= 0 ? fd : fail_errno (path, error);
}

gboolean
lu_output_directories_look (const LuOutputDirectories *self, guint number, const char *path,
                            struct stat *info)
{
  return fstatat (self->fds[number], last_component (path), info, AT_SYMLINK_NOFOLLOW) == 0;
}

gboolean
lu_output_directories_remove (const LuOutputDirectories *self, guint number, const char *path)
{
  return lu_keeper_remove (self->keeper, self->first + number, last_component (path));
}
