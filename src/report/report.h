/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report.h - `live-unwinder report`, `diff`, `convert` and `debuginfo`, with their options. */

#pragma once

#include <glib.h>

/* Both take the arguments from the command's name on, and fail with an error message for the user.
 */
gboolean lu_report_main (int argc, char **argv, GError **error);
gboolean lu_diff_main (int argc, char **argv, GError **error);

/* Reads a capture ("-": standard input) or a file of perf and writes it as the options say. Fails
 * with LU_ERROR_INVALID for a wrong command line. */
gboolean lu_convert_main (int argc, char **argv, GError **error);

/* Copies the files that were sampled, and their debug files. FALSE without an error: it has told
 * the user. */
gboolean lu_debuginfo_main (int argc, char **argv, GError **error);
