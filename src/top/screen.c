/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* screen.c - shows a table on the terminal, with ncurses; see screen.h.
 *
 * Signals that end the program are read from a descriptor by top.c, so only faults and SIGQUIT have
 * handlers here; ncurses has its own for SIGTSTP and SIGWINCH. */

#include "screen.h"

#include "base/error.h"

#include <glib/gi18n.h>
/* wide characters of ncurses */
#define NCURSES_WIDECHAR 1
#include <ncurses.h>
#include <signal.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define ESCAPE      27
#define ESCAPE_MS   25
#define BACKSPACE   127
#define TITLE_LINES 3 /* above the rows; one more is below them */

static struct termios before;
static char leave[256]; /* leaves the alternate screen and shows the cursor */
static SCREEN *screen;

static void
handle_fault (int number)
{
  gssize ignored = write (STDOUT_FILENO, leave, strlen (leave));

  (void) ignored;
  tcsetattr (STDIN_FILENO, TCSANOW, &before);
  raise (number); /* SA_RESETHAND: ends the process when this returns */
}

/* Notes what restores the terminal. */
static void
prepare_for_faults (void)
{
  static const char *const capabilities[] = { "sgr0", "cnorm", "rmkx", "rmcup" };
  static const int signals[] = { SIGQUIT, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
  struct sigaction action = { .sa_handler = handle_fault, .sa_flags = (int) SA_RESETHAND };

  for (guint i = 0; i < G_N_ELEMENTS (capabilities); i++)
    {
      const char *text = tigetstr (capabilities[i]);

      if (text != NULL && text != (const char *) -1)
        g_strlcat (leave, text, sizeof leave);
    }
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    sigaction (signals[i], &action, NULL);
}

gboolean
lu_screen_open (GError **error)
{
  const char *name = g_getenv ("TERM");

  tcgetattr (STDIN_FILENO, &before);
  if (name == NULL || g_str_equal (name, "dumb")
      || (screen = newterm (NULL, stdout, stdin)) == NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                   _ ("a terminal of type \"%s\" cannot show a screen; --batch 1 prints a table"),
                   name != NULL ? name : "");
      return FALSE;
    }
  prepare_for_faults ();
  raw ();
  noecho ();
  curs_set (0);
  set_escdelay (ESCAPE_MS);
  keypad (stdscr, TRUE);
  nodelay (stdscr, TRUE);
  return TRUE;
}

void
lu_screen_close (void)
{
  endwin ();
  delscreen (screen);
}

void
lu_screen_suspend (void)
{
  raise (SIGTSTP);
  clearok (stdscr, TRUE);
}

/* Writes a text in one line, as wide as the screen. */
static void
put (int y, const char *text, attr_t attributes)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree gunichar *all = g_utf8_to_ucs4_fast (valid, -1, NULL);
  g_autofree wchar_t *shown = g_new (wchar_t, (gsize) COLS + 1);
  int n = 0, width = 0;

  for (const gunichar *at = all; *at != 0; at++)
    {
      wchar_t c = wcwidth ((wchar_t) *at) < 0 ? L'?' : (wchar_t) *at;

      /* Characters without a width would be more than there is room for. */
      if (width + wcwidth (c) > COLS || n >= COLS)
        break;
      shown[n++] = c;
      width += wcwidth (c);
    }
  attrset ((int) attributes);
  mvhline (y, 0, ' ', COLS);
  mvaddnwstr (y, 0, shown, n);
  attrset (A_NORMAL);
}

guint
lu_screen_n_rows (const LuTopQuery *query)
{
  guint n = (guint) MAX (LINES - TITLE_LINES - 1, 1);

  return query->has_callers ? MAX (n / 2, 1) : n;
}

static void
draw_callers (const LuPicture *picture)
{
  int y = TITLE_LINES + (int) lu_screen_n_rows (picture->query);
  const GArray *callers = picture->table->callers;

  put (y++, callers->len > 0 ? _ ("Callers") : _ ("Nothing calls it"), A_BOLD);
  for (guint i = 0; i < callers->len && y < LINES - 1; i++)
    {
      g_autofree char *line = lu_top_line (picture->table, &g_array_index (callers, LuTopRow, i));

      put (y++, line, A_NORMAL);
    }
}

void
lu_screen_draw (const LuPicture *picture)
{
  g_autofree char *caption = lu_top_caption (picture->table, picture->query);
  g_autofree char *heading = lu_top_heading (picture->query);
  g_autofree char *title = g_strdup_printf ("live-unwinder top  %s%s", picture->title,
                                            picture->is_paused ? _ ("  PAUSED") : "");
  const GArray *rows = picture->table->rows;
  guint n = lu_screen_n_rows (picture->query);
  guint first = picture->chosen >= n ? picture->chosen - n + 1 : 0;

  erase ();
  put (0, title, A_BOLD);
  put (1, caption, A_NORMAL);
  put (2, heading, A_REVERSE);
  for (guint i = first; i < MIN (first + n, rows->len); i++)
    {
      g_autofree char *line = lu_top_line (picture->table, &g_array_index (rows, LuTopRow, i));

      put (TITLE_LINES + (int) (i - first), line, i == picture->chosen ? A_STANDOUT : A_NORMAL);
    }
  if (picture->query->has_callers)
    draw_callers (picture);
  put (LINES - 1,
       picture->message != NULL
           ? picture->message
           : _ ("q quit  f p t functions processes threads  s sort  / filter  Enter callers  Space "
                "pause  w write"),
       A_BOLD);
  refresh ();
}

static guint32
special_key (wint_t code)
{
  static const struct
  {
    wint_t code;
    guint32 key;
  } keys[] = { { KEY_UP, LU_KEY_UP },         { KEY_DOWN, LU_KEY_DOWN },
               { KEY_PPAGE, LU_KEY_PAGE_UP }, { KEY_NPAGE, LU_KEY_PAGE_DOWN },
               { KEY_HOME, LU_KEY_FIRST },    { KEY_END, LU_KEY_LAST },
               { KEY_ENTER, LU_KEY_ENTER },   { KEY_BACKSPACE, LU_KEY_BACK },
               { KEY_RESIZE, LU_KEY_RESIZE } };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (keys[i].code == code)
      return keys[i].key;
  return LU_KEY_RESIZE; /* draws again, and nothing else */
}

guint32
lu_screen_key (void)
{
  wint_t c;
  int kind = get_wch (&c);

  if (kind == ERR)
    return LU_KEY_NONE;
  if (kind == KEY_CODE_YES)
    return special_key (c);
  if (c == '\r' || c == '\n')
    return LU_KEY_ENTER;
  return c == BACKSPACE || c == '\b' || c == ESCAPE ? LU_KEY_BACK : (guint32) c;
}
