/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-file.c - opens the output safely; see output-file.h.
 *
 * A file is replaced by unlink and exclusive creation, not truncated: whoever holds the old one
 * open keeps it, and what was put in its place in between makes the creation fail instead of being
 * overwritten. */

#include "output/output-file.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  gboolean is_set;
  uid_t uid;
  gid_t gid;
} SudoCaller;

static gboolean
read_id (const char *name, guint64 *id)
{
  const char *text = g_getenv (name);

  /* (uid_t) -1 means "leave it" to chown() */
  return text != NULL && g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32 - 1, id, NULL);
}

static SudoCaller
sudo_caller (void)
{
  SudoCaller caller = { FALSE, 0, 0 };
  guint64 uid, gid;

  if (geteuid () != 0 || !read_id ("SUDO_UID", &uid) || !read_id ("SUDO_GID", &gid))
    return caller;
  caller.is_set = TRUE;
  caller.uid = (uid_t) uid;
  caller.gid = (gid_t) gid;
  return caller;
}

gboolean
lu_output_sudo_caller (uid_t *uid, gid_t *gid)
{
  SudoCaller caller = sudo_caller ();

  *uid = caller.uid;
  *gid = caller.gid;
  return caller.is_set;
}

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

static int
create (const char *path, GError **error)
{
  SudoCaller caller = sudo_caller ();
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

  if (fd < 0)
    return fail_errno (path, error);
  /* Where the file system does not allow it the file stays root's, which is no reason not to
   * record. */
  if (caller.is_set && fchown (fd, caller.uid, caller.gid) != 0)
    g_debug ("%s stays with root: %s", path, g_strerror (errno));
  return fd;
}

static int
replace (const char *path, const struct stat *st, gboolean force, GError **error)
{
  SudoCaller caller = sudo_caller ();

  if (!force)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_EXISTS,
                   _ ("%s exists; use --force to replace it, or name another file with --output"),
                   path);
      return -1;
    }
  if (st->st_uid != geteuid () && !(caller.is_set && st->st_uid == caller.uid))
    {
      g_set_error (
          error, LU_ERROR, LU_ERROR_EXISTS,
          _ ("%s exists and belongs to somebody else (user id %u); it is not replaced: remove "
             "it, or name another file with --output"),
          path, (guint) st->st_uid);
      return -1;
    }
  if (unlink (path) != 0)
    return fail_errno (path, error);
  return create (path, error);
}

/* A FIFO or a character device: nothing is created or cut. */
static int
open_special (const char *path, GError **error)
{
  lu_autofd fd = open (path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
  struct stat st;

  if (fd < 0 || fstat (fd, &st) != 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("cannot open %s: %s"), path,
                   g_strerror (errno));
      return -1;
    }
  if (!(S_ISCHR (st.st_mode) || S_ISFIFO (st.st_mode)) || isatty (fd))
    {
      g_set_error (
          error, LU_ERROR, LU_ERROR_INVALID,
          _ ("%s is a terminal, or changed while it was opened; name a file with --output"), path);
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
    return _ ("a folder");
  if (S_ISBLK (mode))
    return _ ("a block device");
  return _ ("not a file");
}

int
lu_output_open (const char *path, gboolean force, GError **error)
{
  struct stat st;

  if (g_str_equal (path, "-"))
    return open_stdout (error);
  if (lstat (path, &st) != 0)
    {
      if (errno == ENOENT)
        return create (path, error);
      return fail_errno (path, error);
    }
  if (S_ISREG (st.st_mode))
    return replace (path, &st, force, error);
  if (S_ISCHR (st.st_mode) || S_ISFIFO (st.st_mode))
    return open_special (path, error);
  g_set_error (error, LU_ERROR, LU_ERROR_EXISTS, _ ("%s is %s; name a file with --output"), path,
               kind_name (st.st_mode));
  return -1;
}

void
lu_output_discard (const char *path)
{
  struct stat st;

  /* "-" was standard output, whatever else may have that name */
  if (!g_str_equal (path, "-") && lstat (path, &st) == 0 && S_ISREG (st.st_mode))
    unlink (path);
}
