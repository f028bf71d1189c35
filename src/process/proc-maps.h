/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps.h - reads mappings from /proc/PID/maps: as text, or by an ioctl on newer kernels.
 *
 * The text comes from the kernel, but the process chooses the paths in it. A line that does not
 * parse is skipped and counted. */

#pragma once

#include "base/proc-maps-request.h"
#include "lu/event.h"

#include <glib.h>

/* The length is not 0. The path has no octal escapes of the kernel (\012), is "" if there is none,
 * and is valid during the call. Returns FALSE to stop. */
typedef gboolean (*LuProcMapsFunc) (const LuMmapEvent *map, gpointer user_data);

/* Calls `func` for each line of `text`, which need not end in NUL. Returns the number of skipped
 * lines. */
guint lu_proc_maps_parse (const char *text, gsize size, LuProcMapsFunc func, gpointer user_data);

/* Calls `func` for each executable mapping. `fd` is /proc/PID/maps, borrowed. Returns FALSE if the
 * kernel has no such ioctl (before 6.11) or failed for some mapping; read the text then. */
gboolean lu_proc_maps_query (int fd, LuProcMapsFunc func, gpointer user_data);
