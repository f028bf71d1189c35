/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leb128.h - LEB128 numbers read through a cursor (DWARF 5, 7.6).
 *
 * A number of more than ten bytes fails the cursor; bits beyond the 64th are dropped, like in other
 * readers. One byte is by far the most frequent length. */

#pragma once

#include "base/cursor.h"

/* Returns the bits of a number. Sets *shift to the number of bits read, *last to the last byte. */
static inline guint64
lu_cursor_leb_bits (LuCursor *self, guint *shift, guint8 *last)
{
  guint64 value = 0;

  for (*shift = 0; *shift < 70; *shift += 7)
    {
      *last = lu_cursor_u8 (self);
      if (*shift < 64)
        value |= (guint64) (*last & 0x7f) << *shift;
      if ((*last & 0x80) == 0)
        {
          *shift += 7;
          return value;
        }
    }
  self->failed = TRUE;
  return 0;
}

static inline guint64
lu_cursor_uleb (LuCursor *self)
{
  guint shift;
  guint8 last;

  if (G_LIKELY (!self->failed && self->at < self->end && *self->at < 0x80))
    return *self->at++;
  return lu_cursor_leb_bits (self, &shift, &last);
}

static inline gint64
lu_cursor_sleb (LuCursor *self)
{
  guint shift;
  guint8 last;
  guint64 value = lu_cursor_leb_bits (self, &shift, &last);

  if (!self->failed && shift < 64 && (last & 0x40) != 0)
    value |= ~G_GUINT64_CONSTANT (0) << shift;
  return (gint64) value;
}
