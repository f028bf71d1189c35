/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* printable.h - text from outside, made safe to print on a terminal. */

#pragma once

#include <glib.h>

/* Replaces unprintable characters by "?" and cuts the text to `width` characters (0: does not cut
 * it). Returns a new string. */
char *lu_printable (const char *text, guint width);
/* Does the same, but cuts only the name in the first `head` bytes of the text. Returns a new
 * string. */
char *lu_printable_name (const char *text, gsize head, guint width);
/* Returns the terminal's columns, or 0 if standard output is not a terminal. */
guint lu_terminal_width (void);
/* Keeps the width of now, because something between will write to the terminal. */
void lu_terminal_keep_width (void);
