/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report.h - `live-unwinder report` and `live-unwinder diff`, with their options. */

#pragma once

#include <glib.h>

/* Both take the arguments from the command's name on, and fail with an error message for the user.
 */
gboolean lu_report_main (int argc, char **argv, GError **error);
gboolean lu_diff_main (int argc, char **argv, GError **error);
