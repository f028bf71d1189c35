/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* proc-maps.c - parses /proc/PID/maps; see proc-maps.h.
 *
 * A line is START-END PERM OFFSET MAJ:MIN INODE [spaces PATH]. All numbers but the inode are
 * hexadecimal. sscanf() would accept signs, spaces and overflow. */

#include "process/proc-maps.h"

#include "base/hex.h"

#include <string.h>
#include <sys/mman.h>

/* The longest path that the kernel prints is a page. */
#define MAX_PATH_BYTES 4096

typedef struct
{
  const char *at, *end;
  gboolean failed;
} Line;

static guint64
take_hex (Line *line)
{
  guint64 value;
  gsize n_digits = lu_hex_read_number (line->at, line->end, &value);

  line->at += n_digits;
  line->failed |= n_digits == 0;
  return value;
}

static guint64
take_decimal (Line *line)
{
  const char *begin = line->at;
  guint64 value = 0;

  for (; line->at < line->end && g_ascii_isdigit (*line->at); line->at++)
    if (!g_uint64_checked_mul (&value, value, 10)
        || !g_uint64_checked_add (&value, value, (guint64) (*line->at - '0')))
      line->failed = TRUE;
  line->failed |= line->at == begin;
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

/* seq_path() writes a newline, and nothing else here, as a backslash and three octal digits. */
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
parse_line (Line *line, LuMmapEvent *map, char path[MAX_PATH_BYTES])
{
  guint64 end;

  map->start = take_hex (line);
  take_char (line, '-');
  end = take_hex (line);
  take_char (line, ' ');
  map->prot = take_protection (line);
  take_char (line, ' ');
  map->file_offset = take_hex (line);
  take_char (line, ' ');
  map->major = (guint32) take_hex (line);
  take_char (line, ':');
  map->minor = (guint32) take_hex (line);
  take_char (line, ' ');
  map->inode = take_decimal (line);
  take_path (line, path);
  map->length = end - map->start;
  map->has_inode = map->inode != 0;
  map->path = path;
  return !line->failed && end > map->start;
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
      LuMmapEvent map = { 0 };

      if (!parse_line (&line, &map, path))
        n_skipped++;
      else if (!func (&map, user_data))
        break;
      at = newline != NULL ? newline + 1 : end;
    }
  return n_skipped;
}
