/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* instructions.c - see instructions.h. */

#include "symbolize/instructions.h"

#include "base/cursor.h"

static void
instruction_clear (gpointer pointer)
{
  g_free (((LuInstruction *) pointer)->text);
}

GArray *
lu_instructions_decode (gconstpointer bytes, gsize size, guint64 start, guint64 end)
{
  GArray *instructions = g_array_new (FALSE, FALSE, sizeof (LuInstruction));
  LuCursor cursor;

  g_array_set_clear_func (instructions, instruction_clear);
  lu_cursor_init (&cursor, bytes, size);
  while (lu_cursor_left (&cursor) > 0)
    {
      LuInstruction found = { .address = lu_cursor_u64 (&cursor), .size = lu_cursor_u32 (&cursor) };
      guint32 length = lu_cursor_u32 (&cursor);
      const guint8 *text = lu_cursor_take (&cursor, length);

      if (cursor.failed || found.address != start || found.size == 0
          || found.size > MIN (LU_MAX_INSTRUCTION, end - start))
        break;
      found.text = g_strchomp (g_utf8_make_valid ((const char *) text, (gssize) length));
      g_array_append_val (instructions, found);
      start += found.size;
    }
  return instructions;
}
