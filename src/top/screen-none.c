/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* screen-none.c - what screen.c does, in a build without ncurses: nothing. */

#include "screen.h"

#include "base/error.h"

#include <glib/gi18n.h>

gboolean
lu_screen_open (GError **error)
{
  g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       _ ("this build has no screen; --batch 1 prints a table"));
  return FALSE;
}

void
lu_screen_close (void)
{
}

void
lu_screen_suspend (void)
{
}

void
lu_screen_draw (const LuPicture *picture)
{
}

guint32
lu_screen_key (void)
{
  return LU_KEY_NONE;
}

guint
lu_screen_n_rows (const LuTopQuery *query)
{
  return 1;
}
