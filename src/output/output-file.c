/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-file.c - opens the file a capture is written to; see output-file.h. */

#include "output/output-file.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
fail (GError **error, int code, const char *path, const char *reason)
{
  g_set_error (error, LU_ERROR, code, "%s: %s", path, reason);
  return -1;
}

static int
open_standard_output (GError **error)
{
  int fd;

  if (isatty (STDOUT_FILENO))
    return fail (error, LU_ERROR_INVALID, "-",
                 "a capture is not for a terminal; redirect standard output or give --output FILE");
  fd = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  return fd >= 0 ? fd : fail (error, LU_ERROR_FAILED, "-", g_strerror (errno));
}

static gboolean
read_id (const char *variable, guint *id)
{
  const char *text = g_getenv (variable);
  guint64 value;

  if (text == NULL || !g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT - 1, &value, NULL))
    return FALSE;
  *id = (guint) value;
  return TRUE;
}

/* Who calls sudo wants to own what it leaves. Best effort: the file is as good without. */
static void
give_to_caller (int fd)
{
  guint uid, gid;

  if (geteuid () == 0 && read_id ("SUDO_UID", &uid) && read_id ("SUDO_GID", &gid)
      && fchown (fd, uid, gid) < 0)
    g_debug ("fchown: %s", g_strerror (errno));
}

static int
create (const char *path)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

  if (fd >= 0)
    give_to_caller (fd);
  return fd;
}

/* What is there already: a device or a pipe is used, a file is replaced if that is wanted. */
static int
open_existing (const char *path, gboolean force, GError **error)
{
  struct stat status;
  int fd;

  if (lstat (path, &status) < 0)
    return fail (error, LU_ERROR_FAILED, path, g_strerror (errno));
  if (S_ISLNK (status.st_mode))
    return fail (error, LU_ERROR_EXISTS, path, "is a symbolic link; captures are not written through one");
  if (S_ISCHR (status.st_mode) || S_ISFIFO (status.st_mode))
    {
      fd = open (path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
      return fd >= 0 ? fd : fail (error, LU_ERROR_FAILED, path, g_strerror (errno));
    }
  if (!S_ISREG (status.st_mode))
    return fail (error, LU_ERROR_EXISTS, path, "exists and is not a file");
  if (!force)
    return fail (error, LU_ERROR_EXISTS, path, "exists; use --force to overwrite it, or --output FILE");
  /* A new file instead of the old one's contents: whoever reads the old one keeps it. */
  if (unlink (path) < 0)
    return fail (error, LU_ERROR_FAILED, path, g_strerror (errno));
  fd = create (path);
  return fd >= 0 ? fd : fail (error, LU_ERROR_FAILED, path, g_strerror (errno));
}

int
lu_output_open (const char *path, gboolean force, GError **error)
{
  int fd;

  if (strcmp (path, "-") == 0)
    return open_standard_output (error);
  fd = create (path);
  if (fd >= 0)
    return fd;
  if (errno == EEXIST)
    return open_existing (path, force, error);
  return fail (error, LU_ERROR_FAILED, path, g_strerror (errno));
}

void
lu_output_discard (const char *path)
{
  struct stat status;

  if (lstat (path, &status) == 0 && S_ISREG (status.st_mode))
    unlink (path);
}
