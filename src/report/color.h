/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* color.h - the colors of what is printed, as Git and perf use them.
 *
 * They are sequences of ECMA-48 and take no columns. */

#pragma once

#include <glib.h>

#define LU_COLOR_HELP   N_ ("Print in color; auto (default): on a terminal, unless NO_COLOR is set")
#define LU_COLOR_CHOICE "auto|always|never"

typedef enum
{
  LU_COLOR_NONE,
  LU_COLOR_RED,   /* hot, or slower */
  LU_COLOR_GREEN, /* warm, or faster */
  LU_COLOR_DIM,   /* the kernel's */
} LuColor;

/* Decides whether there are colors; NULL: auto. Fails if it is no choice. Call this before the
 * pager starts. */
gboolean lu_color_choose (const char *choice, GError **error);
/* Prints to standard output, in the color if there are colors. */
void lu_color_print (LuColor color, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Prints a share of all samples in seven columns: from 5 % on it is red, from 0.5 % on green, as
 * in perf. */
void lu_color_print_percent (double percent);
/* Prints the change of a share in eleven columns: red if it grew by 0.5 points or more, green if
 * it shrank so. */
void lu_color_print_change (double points);
