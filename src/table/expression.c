/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* expression.c - recognizes expressions by their shape; see rule.h.
 *
 * Operation codes: DWARF 5, 7.7.1. */

#include "table/rule.h"

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

static const LuRegisterRule other = { .kind = LU_REGISTER_RULE_OTHER };

/* breg N or bregx N, offset: nearly every expression begins with it. */
static gboolean
read_register_plus (LuCursor *cursor, LuRegisterRule *rule)
{
  guint8 op = lu_cursor_u8 (cursor);
  guint64 reg;

  if (op >= OP_BREG0 && op <= OP_BREG31)
    reg = op - OP_BREG0;
  else if (op == OP_BREGX)
    reg = lu_cursor_uleb (cursor);
  else
    return FALSE;
  rule->kind = LU_REGISTER_RULE_REGISTER_PLUS;
  rule->reg = (guint32) MIN (reg, G_MAXUINT32);
  rule->offset = lu_cursor_sleb (cursor);
  return !cursor->failed;
}

/* plus_uconst N, or lit N plus; nothing at the end of the bytes. */
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
 * after the first breg. */
static gboolean
is_plt (LuCursor cursor, const LuArch *arch, LuRegisterRule *rule)
{
  static const guint8 end[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
  LuRegisterRule pc = { 0 };
  const guint8 *rest;
  guint8 threshold;

  if (rule->reg != arch->sp || arch->has_link_register || !read_register_plus (&cursor, &pc)
      || pc.reg != arch->ra || pc.offset != 0)
    return FALSE;
  if (lu_cursor_u8 (&cursor) != OP_LIT0 + 15 || lu_cursor_u8 (&cursor) != OP_AND)
    return FALSE;
  threshold = lu_cursor_u8 (&cursor);
  rest = lu_cursor_take (&cursor, sizeof end);
  if (threshold < OP_LIT0 || threshold > OP_LIT31 || rest == NULL
      || memcmp (rest, end, sizeof end) != 0 || lu_cursor_left (&cursor) > 0)
    return FALSE;
  rule->kind = LU_REGISTER_RULE_PLT;
  rule->extra = threshold - OP_LIT0;
  return TRUE;
}

LuRegisterRule
lu_expression_recognise (LuCursor bytes, gboolean has_cfa, const LuArch *arch)
{
  LuCursor cursor = bytes;
  LuRegisterRule rule = { 0 };
  gint64 addend;

  if (!read_register_plus (&cursor, &rule))
    {
      cursor = bytes;
      if (!has_cfa || lu_cursor_left (&bytes) == 0 || !read_addend (&cursor, &addend))
        return other;
      return (LuRegisterRule){ .kind = LU_REGISTER_RULE_CFA_PLUS, .offset = addend };
    }
  if (is_plt (cursor, arch, &rule))
    return rule;
  if (lu_cursor_left (&cursor) > 0 && *cursor.at == OP_DEREF)
    {
      lu_cursor_u8 (&cursor);
      rule.kind = LU_REGISTER_RULE_DEREF_PLUS;
      return read_addend (&cursor, &rule.extra) ? rule : other;
    }
  if (!read_addend (&cursor, &addend) || __builtin_add_overflow (rule.offset, addend, &rule.offset))
    return other;
  return rule;
}
