/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* own-mappings.h - whether a test may open its own mappings. */

#pragma once

#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

/* Returns whether we may open a mapped file through /proc/PID/map_files. */
static inline gboolean
can_open_mappings (gpointer at, gsize size)
{
  g_autofree char *path =
      g_strdup_printf ("/proc/self/map_files/%" G_GINTPTR_MODIFIER "x-%" G_GINTPTR_MODIFIER "x",
                       (gintptr) at, (gintptr) at + (gintptr) size);
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  if (fd >= 0)
    close (fd);
  return fd >= 0;
}
