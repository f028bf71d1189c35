/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps.h - reads mappings from the text of /proc/PID/maps.
 *
 * The text comes from the kernel, but the process chooses the paths in it. A line that does not
 * parse is skipped and counted. */

#pragma once

#include "lu/event.h"

#include <glib.h>

/* The length is not 0. The path has no octal escapes of the kernel (\012), is "" if there is none,
 * and is valid during the call. Returns FALSE to stop. */
typedef gboolean (*LuProcMapsFunc) (const LuMmapEvent *map, gpointer user_data);

/* Calls `func` for each line of `text`, which need not end in NUL. Returns the number of skipped
 * lines. */
guint lu_proc_maps_parse (const char *text, gsize size, LuProcMapsFunc func, gpointer user_data);
