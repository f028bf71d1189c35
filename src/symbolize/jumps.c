/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jumps.c - finds the jumps out of a piece of code; see jumps.h. */

#include "symbolize/jumps.h"

#include "code/decoder.h"

/* Instructions between the load from a table of distances and the jump. */
#define RECENT 8

/* The last instructions of a piece. */
typedef struct
{
  LuOp ops[RECENT];
  guint n;
} Recent;

/* Compilers jump to the sum of a table's address and a distance in it; a table of functions holds
 * addresses. */
static gboolean
is_switch (const Recent *recent, guint reg)
{
  gboolean is_sum = FALSE;

  for (guint i = 0; i < RECENT && i < recent->n; i++)
    {
      const LuOp *op = &recent->ops[(recent->n - 1 - i) % RECENT];

      if (op->kind == LU_OP_SUM && op->dst == reg)
        is_sum = TRUE;
      else if (op->kind == LU_OP_LOAD_TABLE_4 && is_sum)
        return TRUE;
      else if ((op->writes >> reg & 1) != 0 && !is_sum)
        return FALSE;
    }
  return FALSE;
}

static gboolean
is_from_table (const Recent *recent, guint reg)
{
  for (guint i = 0; i < RECENT && i < recent->n; i++)
    {
      const LuOp *op = &recent->ops[(recent->n - 1 - i) % RECENT];

      if ((op->writes >> reg & 1) != 0)
        return op->kind == LU_OP_LOAD_TABLE_8;
    }
  return FALSE;
}

static LuJumpKind
kind_of_indirect (const Recent *recent, const LuOp *op)
{
  if (op->target != 0)
    return LU_JUMP_SLOT;
  if (op->index < LU_CODE_N_REGISTERS)
    return LU_JUMP_TABLE;
  return op->src < LU_CODE_N_REGISTERS
                 && (is_switch (recent, op->src) || is_from_table (recent, op->src))
             ? LU_JUMP_TABLE
             : LU_JUMP_INDIRECT;
}

/* Fills in the kind and target of a jump; FALSE if the instruction does not leave the piece. */
static gboolean
leaves (const LuCodePiece *piece, const Recent *recent, const LuOp *op, LuJump *jump)
{
  jump->target = op->target;
  switch (op->kind)
    {
    case LU_OP_JUMP:
    case LU_OP_BRANCH:
      jump->kind = LU_JUMP_DIRECT;
      return op->target - piece->address >= piece->size;
    case LU_OP_JUMP_INDIRECT:
      jump->kind = kind_of_indirect (recent, op);
      return TRUE;
    default:
      return FALSE;
    }
}

void
lu_jumps_each (const LuCodePiece *piece, LuJumpFunc func, gpointer user_data)
{
  Recent recent = { .n = 0 };
  gboolean goes_on = TRUE;
  LuOp op;

  for (gsize at = 0; goes_on && at < piece->size; at += op.size)
    {
      LuJump jump = { .kind = LU_JUMP_UNKNOWN, .from = piece->address + at };

      if (!lu_decoder_decode (piece->bytes + at, piece->size - at, jump.from, &op))
        {
          func (&jump, user_data);
          return;
        }
      if (leaves (piece, &recent, &op, &jump))
        goes_on = func (&jump, user_data);
      recent.ops[recent.n++ % RECENT] = op;
    }
}
