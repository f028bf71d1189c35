/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-directories.c - see output-directories.h. */

#include "output-directories.h"

#include "base/error.h"
#include "base/fd.h"
#include "output-file.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>

struct _LuOutputDirectories
{
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
lu_output_directories_open (char *const *paths, GError **error)
{
  guint n = g_strv_length ((char **) paths);
  g_autoptr (LuOutputDirectories) self = g_malloc (sizeof *self + n * sizeof self->fds[0]);

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

int
lu_output_directories_create (const LuOutputDirectories *self, guint number, const char *path,
                              GError **error)
{
  return lu_output_create_at (self->fds[number], last_component (path), path, error);
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
  return unlinkat (self->fds[number], last_component (path), 0) == 0;
}
