/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* screen.h - shows a table on the terminal, with ncurses. Main thread. */

#pragma once

#include "rows.h"

/* Keys that are no characters. */
enum
{
  LU_KEY_NONE = 0x110000,
  LU_KEY_UP,
  LU_KEY_DOWN,
  LU_KEY_PAGE_UP,
  LU_KEY_PAGE_DOWN,
  LU_KEY_FIRST,
  LU_KEY_LAST,
  LU_KEY_ENTER,
  LU_KEY_BACK,
  LU_KEY_RESIZE,
};

/* Texts are borrowed; unprintable characters are replaced when they are shown. */
typedef struct
{
  const char *title;
  const LuTopTable *table;
  const LuTopQuery *query;
  guint chosen; /* index of a row */
  gboolean is_paused;
  const char *message; /* instead of the keys; NULL: none */
} LuPicture;

/* Takes standard input and output, which are a terminal. FALSE with an error if that cannot move a
 * cursor. Whatever ends the process then, even a fault, the terminal is restored. */
gboolean lu_screen_open (GError **error);
void lu_screen_close (void);
/* Stops the process as Ctrl-Z does; returns when it goes on. */
void lu_screen_suspend (void);
void lu_screen_draw (const LuPicture *picture);
/* Returns the next character or key; LU_KEY_NONE: none was pressed. Does not wait. */
guint32 lu_screen_key (void);
/* Returns how many rows there is room for. */
guint lu_screen_n_rows (const LuTopQuery *query);

/* Returns the heading of a table, and a line of it, without its end; owned by the caller. */
char *lu_top_heading (const LuTopQuery *query);
char *lu_top_line (const LuTopTable *table, const LuTopRow *row);
/* Returns what the table shows of which samples; owned by the caller. */
char *lu_top_caption (const LuTopTable *table, const LuTopQuery *query);
