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

/* Returns the i-th last instruction, or NULL. */
static const LuOp *
recent_op (const Recent *recent, guint i)
{
  return i < RECENT && i < recent->n ? &recent->ops[(recent->n - 1 - i) % RECENT] : NULL;
}

/* Compilers jump to the sum of a table's address and a distance in it; a table of functions holds
 * addresses. */
static gboolean
is_switch (const Recent *recent, guint reg)
{
  gboolean is_sum = FALSE;
  const LuOp *op;

  for (guint i = 0; (op = recent_op (recent, i)) != NULL; i++)
    {
      if (op->kind == LU_OP_SUM && op->dst == reg)
        is_sum = TRUE;
      else if (op->kind == LU_OP_LOAD_TABLE_4 && is_sum)
        return TRUE;
      else if ((op->writes >> reg & 1) != 0 && !is_sum)
        return FALSE;
    }
  return FALSE;
}

/* Returns the index of the last instruction that writes to a register, from the i-th last on;
 * RECENT if there is none. */
static guint
find_writer (const Recent *recent, guint i, guint reg)
{
  const LuOp *op;

  for (; (op = recent_op (recent, i)) != NULL; i++)
    if ((op->writes >> reg & 1) != 0)
      return i;
  return RECENT;
}

/* Returns the address of the table that an instruction loads from, or 0. before: the index of the
 * instruction before it. */
static guint64
find_table (const Recent *recent, const LuOp *load, guint before)
{
  const LuOp *base;

  if (load->base >= LU_CODE_N_REGISTERS)
    return (guint64) load->value;
  base = recent_op (recent, find_writer (recent, before, load->base));
  return base != NULL && base->kind == LU_OP_CONSTANT && base->is_relative
             ? base->target + (guint64) load->value
             : 0;
}

/* Fills in a jump through a pointer. */
static void
describe_indirect (const Recent *recent, const LuOp *op, LuJump *jump)
{
  const LuOp *load;
  guint i;

  jump->kind = op->target != 0 ? LU_JUMP_SLOT : LU_JUMP_INDIRECT;
  if (op->target != 0)
    return;
  if (op->index < LU_CODE_N_REGISTERS)
    {
      jump->kind = LU_JUMP_TABLE;
      jump->target = find_table (recent, op, 0);
      return;
    }
  if (op->src >= LU_CODE_N_REGISTERS)
    return;
  i = find_writer (recent, 0, op->src);
  load = recent_op (recent, i);
  if (load != NULL && load->kind == LU_OP_LOAD_TABLE_8)
    {
      jump->kind = LU_JUMP_TABLE;
      jump->target = find_table (recent, load, i + 1);
    }
  else if (is_switch (recent, op->src))
    jump->kind = LU_JUMP_TABLE;
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
      describe_indirect (recent, op, jump);
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
