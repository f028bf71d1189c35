/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-capture.h - prints where the time went in a capture. */

#pragma once

#include <glib.h>

/* Prints at most `limit` functions by self and by total to standard output. */
gboolean lu_report_run (const char *path, guint limit, GError **error);
