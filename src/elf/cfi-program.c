/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi-program.c - checks call frame programs before libdw may execute them; see cfi-guard.h.
 *
 * Two tables have the operands of each instruction and operation. Everything else is refused. */

#include "elf/cfi-guard.h"

#include "base/leb128.h"

/* The longest program among 3.3 million FDEs is far shorter. */
#define MAX_PROGRAM    65536
#define MAX_EXPRESSION 256
#define MAX_REMEMBERED 64

/* Expressions. */

typedef enum
{
  OP_REFUSED,
  OP_PLAIN,
  OP_1,
  OP_2,
  OP_4,
  OP_8,
  OP_LEB,
  OP_LEB_LEB,
  OP_BRANCH,     /* forward only, so an expression has at most as many steps as bytes */
  OP_DEREF_SIZE, /* not allowed in a CFA expression */
} OpForm;

/* Operations of compilers and hand-written CFI. DW_OP_div, DW_OP_mod, DW_OP_addr and everything
 * that needs more than registers and memory is refused. */
static const guint8 op_forms[256] = {
  [0x06] = OP_PLAIN, /* deref */
  [0x08] = OP_1,
  [0x09] = OP_1, /* const1 */
  [0x0a] = OP_2,
  [0x0b] = OP_2, /* const2 */
  [0x0c] = OP_4,
  [0x0d] = OP_4, /* const4 */
  [0x0e] = OP_8,
  [0x0f] = OP_8, /* const8 */
  [0x10] = OP_LEB,
  [0x11] = OP_LEB,            /* constu, consts */
  [0x12 ... 0x14] = OP_PLAIN, /* dup, drop, over */
  [0x15] = OP_1,              /* pick */
  [0x16 ... 0x17] = OP_PLAIN,
  [0x19 ... 0x1a] = OP_PLAIN, /* swap, rot, abs, and */
  [0x1c] = OP_PLAIN,
  [0x1e ... 0x22] = OP_PLAIN, /* minus, mul ... plus */
  [0x23] = OP_LEB,            /* plus_uconst */
  [0x24 ... 0x27] = OP_PLAIN, /* shl, shr, shra, xor */
  [0x28] = OP_BRANCH,         /* bra */
  [0x29 ... 0x2e] = OP_PLAIN, /* eq ... ne */
  [0x2f] = OP_BRANCH,         /* skip */
  [0x30 ... 0x4f] = OP_PLAIN, /* lit */
  [0x70 ... 0x8f] = OP_LEB,   /* breg */
  [0x92] = OP_LEB_LEB,        /* bregx */
  [0x94] = OP_DEREF_SIZE,
  [0x96] = OP_PLAIN, /* nop */
};

static gboolean
check_operation (LuCursor *cursor, guint8 op, gboolean is_cfa)
{
  static const guint8 widths[] = { [OP_1] = 1, [OP_2] = 2, [OP_4] = 4, [OP_8] = 8 };

  switch ((OpForm) op_forms[op])
    {
    case OP_REFUSED:
      return FALSE;
    case OP_PLAIN:
      return TRUE;
    case OP_1:
    case OP_2:
    case OP_4:
    case OP_8:
      return lu_cursor_take (cursor, widths[op_forms[op]]) != NULL;
    case OP_LEB_LEB:
      lu_cursor_uleb (cursor);
      /* fall through */
    case OP_LEB:
      lu_cursor_uleb (cursor);
      return !cursor->failed;
    case OP_BRANCH:
      return (gint16) lu_cursor_u16 (cursor) >= 0 && !cursor->failed;
    case OP_DEREF_SIZE:
      return !is_cfa && lu_cursor_u8 (cursor) <= 8 && !cursor->failed;
    }
  return FALSE;
}

static gboolean
check_expression (LuCursor *program, gboolean is_cfa)
{
  guint64 size = lu_cursor_uleb (program);
  LuCursor cursor;
  const guint8 *bytes;

  if (size == 0 || size > MAX_EXPRESSION)
    return FALSE;
  bytes = lu_cursor_take (program, size);
  if (bytes == NULL)
    return FALSE;
  lu_cursor_init (&cursor, bytes, size);
  while (lu_cursor_left (&cursor) > 0)
    if (!check_operation (&cursor, lu_cursor_u8 (&cursor), is_cfa))
      return FALSE;
  return TRUE;
}

/* Call frame instructions. */

typedef enum
{
  CFA_REFUSED,
  CFA_PLAIN,
  CFA_ADVANCE_1,
  CFA_ADVANCE_2,
  CFA_ADVANCE_4,
  CFA_REG,
  CFA_REG_LEB,
  CFA_REG_REG,
  CFA_LEB,
  CFA_CFA_EXPRESSION,
  CFA_REG_EXPRESSION,
  CFA_REMEMBER,
  CFA_RESTORE_STATE,
} CfaForm;

/* DW_CFA_set_loc (0x01) and the MIPS form of advance (0x1d) are refused, because no tool emits
 * them. */
static const guint8 cfa_forms[64] = {
  [0x00] = CFA_PLAIN,
  [0x02] = CFA_ADVANCE_1,
  [0x03] = CFA_ADVANCE_2,
  [0x04] = CFA_ADVANCE_4,
  [0x05] = CFA_REG_LEB, /* offset_extended */
  [0x06 ... 0x08] = CFA_REG,
  [0x09] = CFA_REG_REG,
  [0x0a] = CFA_REMEMBER,
  [0x0b] = CFA_RESTORE_STATE,
  [0x0c] = CFA_REG_LEB, /* def_cfa */
  [0x0d] = CFA_REG,
  [0x0e] = CFA_LEB,
  [0x0f] = CFA_CFA_EXPRESSION,
  [0x10] = CFA_REG_EXPRESSION,
  [0x11] = CFA_REG_LEB,
  [0x12] = CFA_REG_LEB,
  [0x13] = CFA_LEB,
  [0x14 ... 0x15] = CFA_REG_LEB, /* val_offset */
  [0x16] = CFA_REG_EXPRESSION,
  [0x2d] = CFA_PLAIN, /* return address signed */
  [0x2e] = CFA_LEB,   /* GNU_args_size */
  [0x2f] = CFA_REG_LEB,
};

static gboolean
check_register (LuCursor *cursor)
{
  return lu_cursor_uleb (cursor) <= LU_CFI_MAX_REGISTER && !cursor->failed;
}

static gboolean
check_instruction (LuCursor *cursor, CfaForm form, guint *n_remembered)
{
  switch (form)
    {
    case CFA_REFUSED:
      return FALSE;
    case CFA_PLAIN:
      return TRUE;
    case CFA_ADVANCE_1:
      return lu_cursor_take (cursor, 1) != NULL;
    case CFA_ADVANCE_2:
      return lu_cursor_take (cursor, 2) != NULL;
    case CFA_ADVANCE_4:
      return lu_cursor_take (cursor, 4) != NULL;
    case CFA_REG:
      return check_register (cursor);
    case CFA_REG_REG:
      return check_register (cursor) && check_register (cursor);
    case CFA_REG_LEB:
      if (!check_register (cursor))
        return FALSE;
      /* fall through */
    case CFA_LEB:
      lu_cursor_uleb (cursor);
      return !cursor->failed;
    case CFA_CFA_EXPRESSION:
      return check_expression (cursor, TRUE);
    case CFA_REG_EXPRESSION:
      return check_register (cursor) && check_expression (cursor, FALSE);
    case CFA_REMEMBER:
      return ++*n_remembered <= MAX_REMEMBERED;
    case CFA_RESTORE_STATE:
      return (*n_remembered)-- > 0;
    }
  return FALSE;
}

gboolean
lu_cfi_check_program (LuCursor *cursor)
{
  guint n_remembered = 0;

  if (cursor->failed || lu_cursor_left (cursor) > MAX_PROGRAM)
    return FALSE;
  while (lu_cursor_left (cursor) > 0)
    {
      guint8 opcode = lu_cursor_u8 (cursor);

      switch (opcode >> 6)
        {
        case 1: /* advance_loc */
        case 3: /* restore */
          break;
        case 2: /* offset */
          lu_cursor_uleb (cursor);
          break;
        default:
          if (!check_instruction (cursor, (CfaForm) cfa_forms[opcode], &n_remembered))
            return FALSE;
        }
    }
  return !cursor->failed;
}
