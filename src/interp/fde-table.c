/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fde-table.c - the search table of .eh_frame_hdr (Linux Standard Base 5.0, 10.6.2); see
 * fde-table.h. */

#include "interp/fde-table.h"

#include "base/cursor.h"
#include "elf/eh-frame.h"

#include <string.h>

#define MAX_TABLE (16u << 20)
#define HEAD      12
/* pc-relative pointer, 32-bit count, entries relative to the table */
#define VERSION_AND_ENCODINGS 0x3b031b01u

gboolean
lu_fde_table_read (LuFdeTable *self, const LuInterpInput *file)
{
  LuElfPart part, eh_frame;
  LuCursor cursor;

  lu_elf_find_eh_frame (file->headers, file->input, &part, &eh_frame);
  if (part.size < HEAD || part.size > MAX_TABLE || part.size > file->input->size)
    return FALSE;
  self->bytes = g_malloc (part.size);
  self->vaddr = part.vaddr;
  if (!lu_elf_input_read (file->input, part.file_offset, self->bytes, part.size))
    return FALSE;
  lu_cursor_init (&cursor, self->bytes, part.size);
  if (lu_cursor_u32 (&cursor) != VERSION_AND_ENCODINGS)
    return FALSE;
  lu_cursor_u32 (&cursor);
  self->n = MIN (lu_cursor_u32 (&cursor), (guint32) ((part.size - HEAD) / 8));
  return self->n > 0;
}

void
lu_fde_table_clear (LuFdeTable *self)
{
  g_free (self->bytes);
}

/* word 0: where the FDE's code begins; 1: where the FDE is. */
static guint64
entry (const LuFdeTable *self, guint32 i, guint word)
{
  gint32 value;

  memcpy (&value, self->bytes + HEAD + i * sizeof (guint64) + word * sizeof value, sizeof value);
  return self->vaddr + (guint64) (gint64) value;
}

guint64
lu_fde_table_start (const LuFdeTable *self, guint32 number)
{
  return entry (self, number, 0);
}

guint32
lu_fde_table_find (const LuFdeTable *self, guint64 address)
{
  guint32 low = 0, high = self->n;

  while (high - low > 1)
    {
      guint32 middle = low + (high - low) / 2;

      if (entry (self, middle, 0) <= address)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* An FDE in its usual encoding: length, CIE, start and size in 32 bits each. */
gboolean
lu_fde_table_range (const LuFdeTable *self, const LuInterpInput *file, guint32 number,
                    LuInterpRange *range)
{
  guint64 address = entry (self, number, 1);
  gint32 words[4];

  if (!lu_interp_read (file, address, words, sizeof words))
    return FALSE;
  range->start = address + 8 + (guint64) (gint64) words[2];
  range->end = range->start + (guint32) words[3];
  return range->start == entry (self, number, 0) && range->end > range->start;
}

gboolean
lu_fde_table_range_at (const LuFdeTable *self, const LuInterpInput *file, guint64 address,
                       LuInterpRange *range)
{
  return lu_fde_table_range (self, file, lu_fde_table_find (self, address), range)
         && address >= range->start && address < range->end;
}
