/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* directory.h - a directory that a test created for itself, or one of the kernel's. */

#pragma once

#include <glib.h>
#include <glib/gstdio.h>

/* Returns the number of its entries: of /proc/self/fd, that of descriptors and one. */
static inline guint
directory_count (const char *directory)
{
  g_autoptr (GDir) dir = g_dir_open (directory, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

/* Removes the directory and the files in it; it must contain nothing else. */
static inline void
directory_remove (const char *directory)
{
  g_autoptr (GDir) dir = g_dir_open (directory, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (directory, name, NULL);

      g_assert_cmpint (g_remove (path), ==, 0);
    }
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}
