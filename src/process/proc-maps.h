/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps.h - parser of the text of /proc/PID/maps.
 *
 * The text comes from the kernel, but paths in it are chosen by whoever is looked at: a line that
 * does not parse is skipped and counted. */

#pragma once

#include <glib.h>

typedef struct
{
  guint64 start, end; /* end > start */
  guint64 file_offset;
  guint32 prot; /* PROT_* */
  guint32 major, minor;
  guint64 inode;
  const char
      *path; /* octal escapes of the kernel (\012) undone; "" if there is none; valid in the call */
} LuProcMap;

/* Return FALSE to stop. */
typedef gboolean (*LuProcMapsFunc) (const LuProcMap *map, gpointer user_data);

/* Calls `func` for each line of `text` (need not end in NUL). Returns the number of lines it had to
 * skip. */
guint lu_proc_maps_parse (const char *text, gsize size, LuProcMapsFunc func, gpointer user_data);
