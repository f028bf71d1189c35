/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* python-lines.c - see python-lines.h. CPython describes the formats in Objects/lnotab_notes.txt
 * (before 3.11) and InternalDocs/code_objects.md (Objects/locations.md). */

#include "interp/python-lines.h"

#include "base/cursor.h"

/* An instruction with its argument, since 3.6: bytes. */
#define UNIT 2
/* A change of lines in 3.10 that says that the instructions are of no line. */
#define NO_LINE (-128)

/* How an entry of the table since 3.11 says its line: bits 3 to 6 of its first byte. Below
 * ONE_LINE, the line is the last one; up to ONE_LINE_LAST, it is (code - ONE_LINE) further on. */
enum
{
  ONE_LINE = 10,
  ONE_LINE_LAST = 12,
  NO_COLUMNS = 13, /* a signed number follows */
  LONG = 14,       /* the same, and three numbers for end and columns */
  NONE = 15
};

typedef struct
{
  GArray *lines;
  guint32 at;  /* byte offset of the next instruction */
  gint64 line; /* that the next change is added to */
} Decoder;

/* Says that the instructions from the next one on are of this line. */
static void
add (Decoder *self, gint64 line)
{
  LuPythonLine next = { .start = self->at,
                        .line = line > 0 && line <= G_MAXINT32 ? (guint32) line : 0 };
  LuPythonLine *last = self->lines->len > 0
                           ? &g_array_index (self->lines, LuPythonLine, self->lines->len - 1)
                           : NULL;

  if (last != NULL && last->start == next.start)
    last->line = next.line;
  else if (last == NULL || last->line != next.line)
    g_array_append_val (self->lines, next);
}

/* Pairs of how far the next line is from the last one, in bytes of instructions and in lines. */
static void
decode_deltas (Decoder *self, LuCursor *cursor, gboolean is_cut)
{
  add (self, self->line);
  while (lu_cursor_left (cursor) >= 2)
    {
      self->at += lu_cursor_u8 (cursor);
      self->line += (gint8) lu_cursor_u8 (cursor);
      add (self, self->line);
    }
  if (!is_cut)
    self->at = G_MAXUINT32; /* the last line goes on until the end */
}

/* Pairs of the size of the instructions and how far their line is from the last one. */
static void
decode_ranges (Decoder *self, LuCursor *cursor)
{
  while (lu_cursor_left (cursor) >= 2)
    {
      guint8 size = lu_cursor_u8 (cursor);
      gint8 change = (gint8) lu_cursor_u8 (cursor);

      if (change != NO_LINE)
        self->line += change;
      if (size > 0)
        add (self, change != NO_LINE ? self->line : 0);
      self->at += size;
    }
}

/* Reads a number: 6 bits in each byte, the lowest first; bit 6 says that there are more. */
static guint32
read_number (LuCursor *cursor)
{
  guint32 value = 0;
  guint8 byte;

  for (guint shift = 0; shift < 32; shift += 6)
    {
      byte = lu_cursor_u8 (cursor);
      value |= (guint32) (byte & 0x3f) << shift;
      if ((byte & 0x40) == 0)
        break;
    }
  return value;
}

/* The sign is in the lowest bit. */
static gint64
read_signed (LuCursor *cursor)
{
  guint32 value = read_number (cursor);

  return (value & 1) != 0 ? -(gint64) (value >> 1) : (gint64) (value >> 1);
}

/* Reads what follows an entry's first byte, and returns how far its line is from the last one. */
static gint64
read_change (LuCursor *cursor, guint code)
{
  gint64 change = 0;

  if (code < ONE_LINE)
    lu_cursor_take (cursor, 1);
  else if (code <= ONE_LINE_LAST)
    {
      lu_cursor_take (cursor, 2);
      change = code - ONE_LINE;
    }
  else if (code <= LONG)
    change = read_signed (cursor);
  for (guint i = 0; code == LONG && i < 3; i++)
    read_number (cursor);
  return change;
}

static void
decode_locations (Decoder *self, LuCursor *cursor)
{
  while (lu_cursor_left (cursor) > 0)
    {
      guint8 first = lu_cursor_u8 (cursor);
      guint code = first >> 3 & 15;

      self->line += read_change (cursor, code);
      if ((first & 0x80) == 0 || cursor->failed)
        return;
      add (self, code != NONE ? self->line : 0);
      self->at += ((first & 7u) + 1) * UNIT;
    }
}

GArray *
lu_python_lines_decode (const struct lu_interp_table *table, const guint8 *bytes,
                        guint32 first_line)
{
  Decoder self = { .lines = g_array_new (FALSE, FALSE, sizeof (LuPythonLine)), .line = first_line };
  LuCursor cursor;

  lu_cursor_init (&cursor, bytes, table->size);
  switch (table->format)
    {
    case LU_PYTHON_LINES_DELTAS:
      decode_deltas (&self, &cursor, table->is_cut);
      break;
    case LU_PYTHON_LINES_RANGES:
      decode_ranges (&self, &cursor);
      break;
    case LU_PYTHON_LINES_LOCATIONS:
      decode_locations (&self, &cursor);
      break;
    default:
      break;
    }
  add (&self, 0);
  return self.lines;
}

guint32
lu_python_lines_find (const GArray *lines, guint32 instr)
{
  guint low = 0, high = lines->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (lines, LuPythonLine, middle).start <= instr)
        low = middle + 1;
      else
        high = middle;
    }
  return low > 0 && instr != G_MAXUINT32 ? g_array_index (lines, LuPythonLine, low - 1).line : 0;
}
