/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi-entry.h - reads what CIEs and FDEs have in common (DWARF 5, 6.4.1; LSB Core, 10.6). */

#pragma once

#include "base/cursor.h"

typedef struct
{
  guint64 offset, next; /* offsets of this entry and the one after it; equal for the terminator */
  guint64 id_offset;
  guint64 cie_offset; /* for an FDE */
  gboolean is_cie;
  LuCursor body; /* after the id */
} LuCfiEntry;

/* Reads the entry at an offset of a section. Returns FALSE if it is not all there. */
static inline gboolean
lu_cfi_entry_read (LuCfiEntry *self, const guint8 *section, guint64 size, gboolean is_eh_frame,
                   guint64 offset)
{
  const guint64 length_64bit = 0xffffffff;
  guint64 length, id;
  gboolean is_wide;
  const guint8 *body;
  LuCursor cursor;

  if (offset >= size)
    return FALSE;
  lu_cursor_init (&cursor, section + offset, size - offset);
  length = lu_cursor_u32 (&cursor);
  is_wide = length == length_64bit;
  if (is_wide)
    length = lu_cursor_u64 (&cursor);
  self->offset = self->next = offset;
  if (length == 0)
    return !cursor.failed;
  body = lu_cursor_take (&cursor, length);
  if (body == NULL)
    return FALSE;
  self->id_offset = (guint64) (body - section);
  self->next = self->id_offset + length;
  lu_cursor_init (&self->body, body, length);
  id = is_wide ? lu_cursor_u64 (&self->body) : lu_cursor_u32 (&self->body);
  if (is_eh_frame)
    self->is_cie = id == 0;
  else
    self->is_cie = id == (is_wide ? G_MAXUINT64 : G_MAXUINT32);
  self->cie_offset = is_eh_frame ? self->id_offset - id : id;
  return !self->body.failed;
}
