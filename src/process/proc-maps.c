/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps.c - parser of /proc/PID/maps; see proc-maps.h.
 *
 * A line: START-END PERM OFFSET MAJ:MIN INODE [spaces PATH]. Numbers are hexadecimal but for the
 * inode. Written by hand: sscanf accepts signs, spaces and overflow. */

#include "process/proc-maps.h"

#include <string.h>
#include <sys/mman.h>

/* Longest path the kernel prints is a page. */
#define MAX_PATH_BYTES 4096

typedef struct
{
  const char *at, *end;
  gboolean failed;
} Line;

static int
digit_value (char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return 16;
}

static guint64
take_number (Line *line, int base)
{
  guint64 value = 0;
  guint n_digits = 0;

  while (line->at < line->end && digit_value (*line->at) < base)
    {
      guint64 digit = (guint64) digit_value (*line->at++);

      if (value > (G_MAXUINT64 - digit) / (guint64) base)
        line->failed = TRUE;
      value = value * (guint64) base + digit;
      n_digits++;
    }
  if (n_digits == 0)
    line->failed = TRUE;
  return value;
}

static void
take_char (Line *line, char c)
{
  if (line->at < line->end && *line->at == c)
    line->at++;
  else
    line->failed = TRUE;
}

static guint32
take_protection (Line *line)
{
  guint32 prot = 0;

  if (line->end - line->at < 4)
    {
      line->failed = TRUE;
      return 0;
    }
  if (line->at[0] == 'r')
    prot |= PROT_READ;
  if (line->at[1] == 'w')
    prot |= PROT_WRITE;
  if (line->at[2] == 'x')
    prot |= PROT_EXEC;
  line->at += 4;
  return prot;
}

static gboolean
is_octal_escape (const char *at, const char *end)
{
  return end - at >= 4 && at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0'
         && at[2] <= '7' && at[3] >= '0' && at[3] <= '7';
}

/* seq_path() escapes newline (and only that, here) as a backslash and three octal digits. */
static void
take_path (Line *line, char path[MAX_PATH_BYTES])
{
  gsize n = 0;

  while (line->at < line->end && *line->at == ' ')
    line->at++;
  while (line->at < line->end && n < MAX_PATH_BYTES - 1)
    {
      if (is_octal_escape (line->at, line->end))
        {
          path[n++] =
              (char) ((line->at[1] - '0') << 6 | (line->at[2] - '0') << 3 | (line->at[3] - '0'));
          line->at += 4;
        }
      else
        path[n++] = *line->at++;
    }
  path[n] = 0;
  if (line->at < line->end || strlen (path) != n)
    line->failed = TRUE;
}

static gboolean
parse_line (Line *line, LuProcMap *map, char path[MAX_PATH_BYTES])
{
  map->start = take_number (line, 16);
  take_char (line, '-');
  map->end = take_number (line, 16);
  take_char (line, ' ');
  map->prot = take_protection (line);
  take_char (line, ' ');
  map->file_offset = take_number (line, 16);
  take_char (line, ' ');
  map->major = (guint32) take_number (line, 16);
  take_char (line, ':');
  map->minor = (guint32) take_number (line, 16);
  take_char (line, ' ');
  map->inode = take_number (line, 10);
  take_path (line, path);
  map->path = path;
  return !line->failed && map->end > map->start;
}

guint
lu_proc_maps_parse (const char *text, gsize size, LuProcMapsFunc func, gpointer user_data)
{
  const char *at = text, *end = text + size;
  char path[MAX_PATH_BYTES];
  guint n_skipped = 0;

  while (at < end)
    {
      const char *newline = memchr (at, '\n', (gsize) (end - at));
      Line line = { .at = at, .end = newline != NULL ? newline : end };
      LuProcMap map;

      if (!parse_line (&line, &map, path))
        n_skipped++;
      else if (!func (&map, user_data))
        break;
      at = newline != NULL ? newline + 1 : end;
    }
  return n_skipped;
}
