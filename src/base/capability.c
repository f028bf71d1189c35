/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* capability.c - reads capabilities from /proc; see capability.h. */

#include "capability.h"

#include "fd.h"

#include <string.h>

guint64
lu_status_mask (const char *field)
{
  g_autofree char *text = lu_fd_read_file ("/proc/self/status", 8192, NULL);
  g_autofree char *start = g_strdup_printf ("\n%s:", field);
  const char *line = text != NULL ? strstr (text, start) : NULL;

  return line != NULL ? g_ascii_strtoull (line + strlen (start), NULL, 16) : 0;
}
