/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* convert.h - `live-unwinder convert`: converts a recording to another format. */

#pragma once

#include <glib.h>

/* Reads a capture ("-": standard input) or a file of perf and writes it as the options say. Fails
 * with LU_ERROR_INVALID for a wrong command line. */
gboolean lu_convert_main (int argc, char **argv, GError **error);
