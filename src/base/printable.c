/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* printable.c - text from outside, made safe to print; see printable.h. */

#include "printable.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define MIN_WIDTH 60
/* The suffix never shortens a name below this many characters. */
#define MIN_NAME 12

static guint kept_width; /* 0: none */

void
lu_terminal_keep_width (void)
{
  kept_width = lu_terminal_width ();
}

guint
lu_terminal_width (void)
{
  struct winsize size;

  if (kept_width > 0)
    return kept_width;
  if (!isatty (STDOUT_FILENO))
    return 0;
  if (ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return MAX (size.ws_col, MIN_WIDTH);
}

char *
lu_printable (const char *text, guint width)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  GString *result = g_string_new (NULL);
  glong length = g_utf8_strlen (valid, -1);
  glong keep = width > 0 && length > (glong) width ? (glong) width - 1 : length;
  const char *at = valid;

  for (glong i = 0; i < keep; i++, at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);

      g_string_append_unichar (result, g_unichar_isprint (c) ? c : '?');
    }
  if (keep < length)
    g_string_append (result, "…");
  return g_string_free (result, FALSE);
}

char *
lu_printable_name (const char *text, gsize head, guint width)
{
  g_autofree char *name = g_strndup (text, head);
  g_autofree char *rest = lu_printable (text + head, 0);
  g_autofree char *cut = NULL;
  glong length = g_utf8_strlen (rest, -1);

  if (width == 0 || length + MIN_NAME > (glong) width)
    return lu_printable (text, width);
  cut = lu_printable (name, width - (guint) length);
  return g_strconcat (cut, rest, NULL);
}
