/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* color.c - see color.h. */

#include "config.h"

#include "color.h"

#include "base/error.h"

#include <glib/gi18n.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define HOT_PERCENT    5
#define WARM_PERCENT   0.5
#define CHANGED_POINTS 0.5

static gboolean is_colored;

/* https://no-color.org: an empty variable is as good as none. */
static gboolean
is_wanted_here (void)
{
  const char *terminal = g_getenv ("TERM"), *no_color = g_getenv ("NO_COLOR");

  return isatty (STDOUT_FILENO) && (no_color == NULL || no_color[0] == 0) && terminal != NULL
         && !g_str_equal (terminal, "dumb");
}

gboolean
lu_color_choose (const char *choice, GError **error)
{
  gboolean is_auto = choice == NULL || g_str_equal (choice, "auto");

  is_colored = is_auto ? is_wanted_here () : g_str_equal (choice, "always");
  if (is_auto || is_colored || g_str_equal (choice, "never"))
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("--color takes auto, always or never"));
  return FALSE;
}

void
lu_color_print (LuColor color, const char *format, ...)
{
  static const char *const codes[] = {
    [LU_COLOR_RED] = "\033[31m", [LU_COLOR_GREEN] = "\033[32m", [LU_COLOR_DIM] = "\033[2m"
  };
  gboolean is_plain = !is_colored || color == LU_COLOR_NONE;
  va_list arguments;

  if (!is_plain)
    fputs (codes[color], stdout);
  va_start (arguments, format);
  vprintf (format, arguments);
  va_end (arguments);
  if (!is_plain)
    fputs ("\033[m", stdout);
}

void
lu_color_print_percent (double percent)
{
  LuColor warm = percent >= WARM_PERCENT ? LU_COLOR_GREEN : LU_COLOR_NONE;

  lu_color_print (percent >= HOT_PERCENT ? LU_COLOR_RED : warm, "%6.2f %%", percent);
}

void
lu_color_print_change (double points)
{
  LuColor faster = points <= -CHANGED_POINTS ? LU_COLOR_GREEN : LU_COLOR_NONE;

  lu_color_print (points >= CHANGED_POINTS ? LU_COLOR_RED : faster, "%+8.2f pp", points);
}
