/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-file.h - opens the file a capture is written to, safely even as root in a directory of somebody else. */

#pragma once

#include <glib.h>

/* Creates `path` exclusively, mode 0600, never through a symbolic link; under sudo it belongs to the user who
 * called sudo. An existing file is refused, or with `force` replaced if it is a regular file. Devices and
 * pipes are written as they are; "-" is standard output, unless that is a terminal. Returns the descriptor or
 * -1. */
int lu_output_open (const char *path, gboolean force, GError **error);

/* Removes a regular file that was just created and into which nothing worth keeping was written. */
void lu_output_discard (const char *path);
