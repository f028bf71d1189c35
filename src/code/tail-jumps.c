/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-jumps.c - see tail-jumps.h. */

#include "code/tail-jumps.h"

#include "code/decoder.h"

/* More than any file has; a hostile one may have millions. */
#define MAX_LEADS (1u << 18)

/* Returns whether only the return address is on the stack. The rows are those of the FDE. Compilers
 * do not say that a register has got its old value again, so that is not asked. */
static gboolean
is_balanced (const LuCompiler *compiler, guint64 address)
{
  const LuRawRows *rows = &compiler->fde_rows;
  guint i = rows->n;
  const struct lu_rule *rule;

  while (i > 0 && rows->rows[i - 1].address > address)
    i--;
  if (i == 0)
    return FALSE;
  rule = &compiler->rules.rules[rows->rows[i - 1].rule];
  return rule->cfa_kind == LU_CFA_SP && rule->cfa_off == 8 && rule->ra_kind == LU_RA_AT_CFA;
}

/* Returns where an instruction may go on in another function, or 0. */
static guint64
leaves_to (const LuOp *op, const LuFde *fde)
{
  if (op->kind == LU_OP_JUMP_INDIRECT)
    return LU_JUMP_ANYWHERE;
  if (op->kind == LU_OP_JUMP || op->kind == LU_OP_BRANCH)
    return op->target < fde->start || op->target >= fde->end ? op->target : 0;
  return 0;
}

/* Returns whether an address is in one of the ranges. */
static gboolean
is_in_gap (const GArray *gaps, guint64 address)
{
  guint n = lu_code_file_first (gaps, address + 1); /* no code is at the last address */

  return n > 0 && address < g_array_index (gaps, LuCodeRange, n - 1).end;
}

static void
note_lead (const LuTailJumps *self, const LuOp *op)
{
  LuCodeLead lead = { op->target, LU_START_CERTAIN };

  switch (op->kind)
    {
    case LU_OP_CONSTANT:
      if (!op->is_relative) /* a number, mostly */
        return;
      lead.kind = LU_START_POINTER;
      break;
    case LU_OP_CALL:
    case LU_OP_JUMP:
      break;
    default:
      return;
    }
  if (self->gaps != NULL && self->leads->len < MAX_LEADS && is_in_gap (self->gaps, op->target))
    g_array_append_val (self->leads, lead);
}

void
lu_tail_jumps_add (const LuTailJumps *self, LuCompiler *compiler, const LuFde *fde,
                   const guint8 *bytes)
{
  gboolean is_compiled = FALSE;
  LuOp op;

  for (guint64 at = fde->start; at < fde->end; at += op.size)
    {
      guint64 to;

      if (!lu_decoder_decode (bytes + (at - fde->start), fde->end - at, at, &op))
        return;
      note_lead (self, &op);
      to = leaves_to (&op, fde);
      if (to == 0)
        continue;
      if (!is_compiled && !lu_compiler_run (compiler, fde, fde->start, fde->end))
        return;
      is_compiled = TRUE;
      if (is_balanced (compiler, at))
        lu_extra_rows_add_jump (self->rows, fde->start, to);
    }
}
