/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps.h - what /proc/PID/maps says: parser of its text, and the kernel's answers instead of
 * it.
 *
 * The text comes from the kernel, but paths in it are chosen by whoever is looked at: a line that
 * does not parse is skipped and counted. */

#pragma once

#include "process/proc-maps-request.h"

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

/* Calls `func` for each executable mapping; fd: of /proc/PID/maps, borrowed. FALSE: the kernel has
 * no answers (before 6.11), or not for all mappings; read the text. */
gboolean lu_proc_maps_query (int fd, LuProcMapsFunc func, gpointer user_data);
