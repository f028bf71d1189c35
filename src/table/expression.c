/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* expression.c - recognises expressions by their shape; see expression.h.
 *
 * Operation codes: DWARF 5, 7.7.1. */

#include "table/expression.h"

#include "base/leb128.h"

enum
{
  OP_DEREF = 0x06,
  OP_AND = 0x1a,
  OP_PLUS = 0x22,
  OP_PLUS_UCONST = 0x23,
  OP_SHL = 0x24,
  OP_GE = 0x2a,
  OP_LIT0 = 0x30,
  OP_LIT31 = 0x4f,
  OP_BREG0 = 0x70,
  OP_BREG31 = 0x8f,
  OP_BREGX = 0x92,
};

static const LuPlace other = { .kind = LU_PLACE_OTHER };

/* breg N or bregx N, offset: what nearly every expression begins with. */
static gboolean
read_register_plus (LuCursor *cursor, LuPlace *place)
{
  guint8 op = lu_cursor_u8 (cursor);
  guint64 reg;

  if (op >= OP_BREG0 && op <= OP_BREG31)
    reg = op - OP_BREG0;
  else if (op == OP_BREGX)
    reg = lu_cursor_uleb (cursor);
  else
    return FALSE;
  place->kind = LU_PLACE_REGISTER_PLUS;
  place->reg = (guint32) MIN (reg, G_MAXUINT32);
  place->offset = lu_cursor_sleb (cursor);
  return !cursor->failed;
}

/* plus_uconst N, or lit N plus; at the end of the bytes: nothing. */
static gboolean
read_addend (LuCursor *cursor, gint64 *value)
{
  guint8 op;

  *value = 0;
  if (lu_cursor_left (cursor) == 0)
    return !cursor->failed;
  op = lu_cursor_u8 (cursor);
  if (op == OP_PLUS_UCONST)
    *value = (gint64) lu_cursor_uleb (cursor);
  else if (op >= OP_LIT0 && op <= OP_LIT31 && lu_cursor_u8 (cursor) == OP_PLUS)
    *value = op - OP_LIT0;
  else
    return FALSE;
  return !cursor->failed && lu_cursor_left (cursor) == 0;
}

/* sp + n + (((rip & 15) >= threshold) << 3), as linkers write it for a lazy PLT. The cursor is
 * behind the first breg. */
static gboolean
is_plt (LuCursor cursor, const LuTableArch *arch, LuPlace *place)
{
  static const guint8 end[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
  LuPlace pc = { 0 };
  const guint8 *rest;
  guint8 threshold;

  if (place->reg != arch->sp || arch->has_link_register || !read_register_plus (&cursor, &pc)
      || pc.reg != arch->ra || pc.offset != 0)
    return FALSE;
  if (lu_cursor_u8 (&cursor) != OP_LIT0 + 15 || lu_cursor_u8 (&cursor) != OP_AND)
    return FALSE;
  threshold = lu_cursor_u8 (&cursor);
  rest = lu_cursor_take (&cursor, sizeof end);
  if (threshold < OP_LIT0 || threshold > OP_LIT31 || rest == NULL
      || memcmp (rest, end, sizeof end) != 0 || lu_cursor_left (&cursor) > 0)
    return FALSE;
  place->kind = LU_PLACE_PLT;
  place->extra = threshold - OP_LIT0;
  return TRUE;
}

LuPlace
lu_expression_recognise (LuCursor bytes, gboolean has_cfa, const LuTableArch *arch)
{
  LuCursor cursor = bytes;
  LuPlace place = { 0 };
  gint64 addend;

  if (!read_register_plus (&cursor, &place))
    {
      cursor = bytes;
      if (!has_cfa || lu_cursor_left (&bytes) == 0 || !read_addend (&cursor, &addend))
        return other;
      return (LuPlace){ .kind = LU_PLACE_CFA_PLUS, .offset = addend };
    }
  if (is_plt (cursor, arch, &place))
    return place;
  if (lu_cursor_left (&cursor) > 0 && *cursor.at == OP_DEREF)
    {
      lu_cursor_u8 (&cursor);
      place.kind = LU_PLACE_DEREF_PLUS;
      return read_addend (&cursor, &place.extra) ? place : other;
    }
  if (!read_addend (&cursor, &addend)
      || __builtin_add_overflow (place.offset, addend, &place.offset))
    return other;
  return place;
}
