/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* line-answers.c - decodes the bytes that a reader of DWARF wrote; see line-answers.h. */

#include "symbolize/line-answers.h"

#include "base/cursor.h"
#include "symbolize/demangle.h"
#include "symbolize/dwarf-lines.h"

typedef struct
{
  LuLineAnswers *owner;
  GPtrArray *texts;             /* of const char*, as read */
  GPtrArray *functions, *files; /* by text: demangled, and as a clean path; NULL: not needed yet */
} Decoder;

static const char *
text_of (const Decoder *self, guint32 number)
{
  return number > 0 && number <= self->texts->len ? g_ptr_array_index (self->texts, number - 1)
                                                  : NULL;
}

static const char *
function_of (const Decoder *self, guint32 number)
{
  const char *text = text_of (self, number);
  g_autofree char *readable = NULL;

  if (text == NULL)
    return NULL;
  if (g_ptr_array_index (self->functions, number - 1) == NULL)
    {
      readable = lu_demangle (text);
      g_ptr_array_index (self->functions, number - 1) =
          g_string_chunk_insert_const (self->owner->texts, readable);
    }
  return g_ptr_array_index (self->functions, number - 1);
}

/* Returns a file name without the ".." that compilers leave in paths. */
static const char *
file_of (const Decoder *self, guint32 number)
{
  const char *text = text_of (self, number);
  g_autofree char *clean = NULL;

  if (text == NULL || text[0] != '/')
    return text;
  if (g_ptr_array_index (self->files, number - 1) == NULL)
    {
      clean = g_canonicalize_filename (text, "/");
      g_ptr_array_index (self->files, number - 1) =
          g_string_chunk_insert_const (self->owner->texts, clean);
    }
  return g_ptr_array_index (self->files, number - 1);
}

static void
decode_text (Decoder *self, LuCursor *cursor)
{
  guint32 size = lu_cursor_u32 (cursor);
  const guint8 *bytes = lu_cursor_take (cursor, size);
  g_autofree char *text = NULL;

  if (bytes == NULL)
    return;
  text = g_utf8_make_valid ((const char *) bytes, (gssize) size);
  g_ptr_array_add (self->texts, g_string_chunk_insert_const (self->owner->texts, text));
  g_ptr_array_add (self->functions, NULL);
  g_ptr_array_add (self->files, NULL);
}

static void
decode_answer (Decoder *self, LuCursor *cursor)
{
  guint32 number = lu_cursor_u32 (cursor), n = lu_cursor_u32 (cursor);
  LuLineQuery *query;
  LuLine *lines;

  if (cursor->failed || number >= self->owner->n_numbers || n == 0 || n > LU_DWARF_MAX_LEVELS
      || lu_cursor_left (cursor) < n * 20)
    {
      cursor->failed = TRUE;
      return;
    }
  query = &self->owner->queries[self->owner->numbers[number]];
  lines = g_new0 (LuLine, n);
  g_ptr_array_add (self->owner->lines, lines);
  for (guint i = 0; i < n; i++)
    {
      lines[i].function = function_of (self, lu_cursor_u32 (cursor));
      lines[i].defined_in = file_of (self, lu_cursor_u32 (cursor));
      lines[i].defined_at = lu_cursor_u32 (cursor);
      lines[i].file = file_of (self, lu_cursor_u32 (cursor));
      lines[i].line = lu_cursor_u32 (cursor);
    }
  /* An empty answer says nothing. */
  if (n == 1 && lines[0].function == NULL && lines[0].line == 0)
    return;
  query->lines = lines;
  query->n_lines = n;
}

gboolean
lu_line_answers_decode (LuLineAnswers *self, gconstpointer bytes, gsize size)
{
  g_autoptr (GPtrArray) texts = g_ptr_array_new ();
  g_autoptr (GPtrArray) functions = g_ptr_array_new ();
  g_autoptr (GPtrArray) files = g_ptr_array_new ();
  Decoder decoder = { self, texts, functions, files };
  LuCursor cursor;

  lu_cursor_init (&cursor, bytes, size);
  while (lu_cursor_left (&cursor) > 0)
    switch (lu_cursor_u32 (&cursor))
      {
      case LU_DWARF_TEXT:
        decode_text (&decoder, &cursor);
        break;
      case LU_DWARF_ANSWER:
        decode_answer (&decoder, &cursor);
        break;
      case LU_DWARF_END:
        return lu_cursor_u32 (&cursor) != 0;
      default:
        cursor.failed = TRUE;
        break;
      }
  return TRUE;
}
