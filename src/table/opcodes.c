/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opcodes.c - executes call frame instructions with a table of small handlers; see opcodes.h.
 *
 * Each handler reads its operands and changes the state. The loop then checks the cursor's sticky
 * failure and `cfi_error`. Operations: DWARF 5, 6.4.2 and 7.24; GNU_*: LSB Core, 10.6.2;
 * *_ra_state: DWARF for the Arm 64-bit Architecture, 4.5. */

#include "table/opcodes.h"

#include "base/leb128.h"
#include "table/rule.h"

typedef void (*Handler) (LuCfaRun *run);

/* Operands. */

static LuRegisterRule *
slot_of (LuCfaRun *run, guint64 reg)
{
  guint slot = LU_SLOT_OTHER;

  if (G_UNLIKELY (reg > LU_ARCH_MAX_REGISTER))
    run->cfi_error = LU_CFI_ERROR_OPERAND;
  else if (G_LIKELY (run->program.cie->return_column == run->program.arch->ra))
    slot = run->program.arch->slots[reg];
  else if (reg == run->program.cie->return_column)
    slot = LU_SLOT_RA;
  else if (reg != run->program.arch->ra)
    slot = run->program.arch->slots[reg];
  if (slot != LU_SLOT_OTHER)
    run->is_changed = TRUE;
  return &run->state.slots[slot];
}

static LuRegisterRule *
read_slot (LuCfaRun *run)
{
  return slot_of (run, lu_cursor_uleb (&run->cursor));
}

static gint64
factored (const LuCfaRun *run, guint64 value)
{
  return (gint64) (value * (guint64) run->program.cie->data_align);
}

static gint64
read_factored (LuCfaRun *run)
{
  return factored (run, lu_cursor_uleb (&run->cursor));
}

static gint64
read_factored_signed (LuCfaRun *run)
{
  return factored (run, (guint64) lu_cursor_sleb (&run->cursor));
}

static LuRegisterRule
read_expression (LuCfaRun *run, gboolean has_cfa)
{
  guint64 size = lu_cursor_uleb (&run->cursor);
  const guint8 *bytes = lu_cursor_take (&run->cursor, size);
  LuCursor expression = { 0 };

  if (bytes == NULL)
    return (LuRegisterRule){ .kind = LU_REGISTER_RULE_OTHER };
  lu_cursor_init (&expression, bytes, size);
  return lu_expression_recognise (expression, has_cfa, run->program.arch);
}

static void
set_rule (LuRegisterRule *rule, LuRegisterRuleKind kind, gint64 offset)
{
  rule->kind = kind;
  rule->offset = offset;
}

/* Location. */

static void
move_to (LuCfaRun *run, guint64 location)
{
  if (location < run->location)
    run->cfi_error = LU_CFI_ERROR_OPERAND;
  run->location = location;
}

static void
advance (LuCfaRun *run, guint64 delta)
{
  guint64 bytes, location;

  if (__builtin_mul_overflow (delta, run->program.cie->code_align, &bytes)
      || __builtin_add_overflow (run->location, bytes, &location))
    location = G_MAXUINT64; /* beyond the end of any function */
  run->location = location;
}

static void
op_advance_loc1 (LuCfaRun *run)
{
  advance (run, lu_cursor_u8 (&run->cursor));
}

static void
op_advance_loc2 (LuCfaRun *run)
{
  advance (run, lu_cursor_u16 (&run->cursor));
}

static void
op_advance_loc4 (LuCfaRun *run)
{
  advance (run, lu_cursor_u32 (&run->cursor));
}

static void
op_advance_loc8 (LuCfaRun *run)
{
  advance (run, lu_cursor_u64 (&run->cursor));
}

static void
op_set_loc (LuCfaRun *run)
{
  guint64 location;

  if (lu_cfi_read_pointer (run->program.section, run->program.start,
                           run->program.cie->pointer_encoding, &run->cursor, &location))
    move_to (run, location);
  else
    run->cfi_error = LU_CFI_ERROR_OPERAND;
}

/* CFA. */

static void
define_cfa (LuCfaRun *run, guint64 reg, gint64 offset)
{
  if (reg > LU_ARCH_MAX_REGISTER)
    run->cfi_error = LU_CFI_ERROR_OPERAND;
  run->state.cfa.kind = LU_REGISTER_RULE_REGISTER_PLUS;
  run->state.cfa.reg = (guint32) reg;
  run->state.cfa.offset = offset;
  run->is_changed = TRUE;
}

static void
op_def_cfa (LuCfaRun *run)
{
  guint64 reg = lu_cursor_uleb (&run->cursor);

  define_cfa (run, reg, (gint64) lu_cursor_uleb (&run->cursor));
}

static void
op_def_cfa_sf (LuCfaRun *run)
{
  guint64 reg = lu_cursor_uleb (&run->cursor);

  define_cfa (run, reg, read_factored_signed (run));
}

/* After an expression the offset is unknown until an instruction sets it. */
static void
op_def_cfa_register (LuCfaRun *run)
{
  guint64 reg = lu_cursor_uleb (&run->cursor);
  gboolean has_offset = run->state.cfa.kind == LU_REGISTER_RULE_REGISTER_PLUS;

  define_cfa (run, reg, run->state.cfa.offset);
  if (!has_offset)
    run->state.cfa.kind = LU_REGISTER_RULE_REGISTER_ONLY;
}

/* After an expression the offset belongs to no register. GCC 14 nevertheless changes it after
 * frames whose size depends on the vector length; such code is left to another engine. */
static void
change_offset (LuCfaRun *run, gint64 offset)
{
  switch (run->state.cfa.kind)
    {
    case LU_REGISTER_RULE_REGISTER_PLUS:
    case LU_REGISTER_RULE_REGISTER_ONLY:
      define_cfa (run, run->state.cfa.reg, offset);
      break;
    case LU_REGISTER_RULE_DEREF_PLUS:
    case LU_REGISTER_RULE_PLT:
    case LU_REGISTER_RULE_OTHER:
      run->state.cfa.kind = LU_REGISTER_RULE_OTHER;
      run->is_changed = TRUE;
      break;
    default:
      run->cfi_error = LU_CFI_ERROR_OPERAND;
    }
}

static void
op_def_cfa_offset (LuCfaRun *run)
{
  change_offset (run, (gint64) lu_cursor_uleb (&run->cursor));
}

static void
op_def_cfa_offset_sf (LuCfaRun *run)
{
  change_offset (run, read_factored_signed (run));
}

static void
op_def_cfa_expression (LuCfaRun *run)
{
  run->state.cfa = read_expression (run, FALSE);
  run->is_changed = TRUE;
}

/* Registers. */

static void
op_undefined (LuCfaRun *run)
{
  set_rule (read_slot (run), LU_REGISTER_RULE_UNDEFINED, 0);
}

/* Returns the rule of a return address that has not been moved yet. */
static LuRegisterRule
unmoved_return_address (const LuArch *arch, const LuCie *cie)
{
  if (cie->return_column == arch->ra)
    return (LuRegisterRule){ .kind = LU_REGISTER_RULE_UNSPECIFIED };
  return (LuRegisterRule){ .kind = LU_REGISTER_RULE_REGISTER, .reg = cie->return_column };
}

static void
op_same_value (LuCfaRun *run)
{
  LuRegisterRule *rule = read_slot (run);

  set_rule (rule, LU_REGISTER_RULE_SAME, 0);
  if (rule == &run->state.slots[LU_SLOT_RA]
      && run->program.cie->return_column != run->program.arch->ra)
    *rule = unmoved_return_address (run->program.arch, run->program.cie);
}

/* Reads a register and an offset from the CFA, in units of the data alignment. */
static void
set_from_cfa (LuCfaRun *run, LuRegisterRuleKind kind, gint64 (*read_offset) (LuCfaRun *run))
{
  LuRegisterRule *rule = read_slot (run);

  set_rule (rule, kind, read_offset (run));
}

static void
op_offset_extended (LuCfaRun *run)
{
  set_from_cfa (run, LU_REGISTER_RULE_AT_CFA, read_factored);
}

static void
op_offset_extended_sf (LuCfaRun *run)
{
  set_from_cfa (run, LU_REGISTER_RULE_AT_CFA, read_factored_signed);
}

static void
op_negative_offset_extended (LuCfaRun *run)
{
  LuRegisterRule *rule = read_slot (run);

  set_rule (rule, LU_REGISTER_RULE_AT_CFA, (gint64) (0 - (guint64) read_factored (run)));
}

static void
op_val_offset (LuCfaRun *run)
{
  set_from_cfa (run, LU_REGISTER_RULE_CFA_PLUS, read_factored);
}

static void
op_val_offset_sf (LuCfaRun *run)
{
  set_from_cfa (run, LU_REGISTER_RULE_CFA_PLUS, read_factored_signed);
}

static void
op_register (LuCfaRun *run)
{
  LuRegisterRule *rule = read_slot (run);
  guint64 reg = lu_cursor_uleb (&run->cursor);

  if (reg > LU_ARCH_MAX_REGISTER)
    run->cfi_error = LU_CFI_ERROR_OPERAND;
  set_rule (rule, LU_REGISTER_RULE_REGISTER, 0);
  rule->reg = (guint32) reg;
}

/* The value of the expression is the address of the saved register. */
static void
op_expression (LuCfaRun *run)
{
  LuRegisterRule *rule = read_slot (run);

  *rule = read_expression (run, TRUE);
  if (rule->kind == LU_REGISTER_RULE_REGISTER_PLUS)
    rule->kind = LU_REGISTER_RULE_AT_REGISTER;
  else if (rule->kind == LU_REGISTER_RULE_CFA_PLUS)
    rule->kind = LU_REGISTER_RULE_AT_CFA;
  else
    rule->kind = LU_REGISTER_RULE_OTHER;
}

static void
op_val_expression (LuCfaRun *run)
{
  LuRegisterRule *rule = read_slot (run);

  *rule = read_expression (run, TRUE);
}

static void
restore (LuCfaRun *run, guint64 reg)
{
  LuRegisterRule *rule = slot_of (run, reg);

  *rule = run->program.cie->initial.slots[rule - run->state.slots];
}

static void
op_restore_extended (LuCfaRun *run)
{
  restore (run, lu_cursor_uleb (&run->cursor));
}

/* State. */

static void
op_remember_state (LuCfaRun *run)
{
  if (run->depth < LU_CFA_MAX_DEPTH)
    run->remembered[run->depth++] = run->state;
  else
    run->cfi_error = LU_CFI_ERROR_STATE;
}

static void
op_restore_state (LuCfaRun *run)
{
  if (run->depth > 0)
    run->state = run->remembered[--run->depth];
  else
    run->cfi_error = LU_CFI_ERROR_STATE;
  run->is_changed = TRUE;
}

static void
op_negate_ra_state (LuCfaRun *run)
{
  if (!run->program.arch->signs_return_addresses)
    run->cfi_error = LU_CFI_ERROR_OPCODE;
  run->state.is_signed = !run->state.is_signed;
  run->is_changed = TRUE;
}

/* Operands are the state (0: not signed) and the position of the signing instruction, which is only
 * needed to check a signature. */
static void
op_set_ra_state (LuCfaRun *run)
{
  if (!run->program.arch->signs_return_addresses)
    run->cfi_error = LU_CFI_ERROR_OPCODE;
  run->state.is_signed = lu_cursor_uleb (&run->cursor) != 0;
  lu_cursor_sleb (&run->cursor);
  run->is_changed = TRUE;
}

static void
op_nop (LuCfaRun *run)
{
}

/* The size of pushed arguments is for exception handlers, not for unwinding. */
static void
op_args_size (LuCfaRun *run)
{
  lu_cursor_uleb (&run->cursor);
}

static void
op_unknown (LuCfaRun *run)
{
  run->cfi_error = LU_CFI_ERROR_OPCODE;
}

static const Handler handlers[64] = {
  [0x00] = op_nop,
  [0x01] = op_set_loc,
  [0x02] = op_advance_loc1,
  [0x03] = op_advance_loc2,
  [0x04] = op_advance_loc4,
  [0x05] = op_offset_extended,
  [0x06] = op_restore_extended,
  [0x07] = op_undefined,
  [0x08] = op_same_value,
  [0x09] = op_register,
  [0x0a] = op_remember_state,
  [0x0b] = op_restore_state,
  [0x0c] = op_def_cfa,
  [0x0d] = op_def_cfa_register,
  [0x0e] = op_def_cfa_offset,
  [0x0f] = op_def_cfa_expression,
  [0x10] = op_expression,
  [0x11] = op_offset_extended_sf,
  [0x12] = op_def_cfa_sf,
  [0x13] = op_def_cfa_offset_sf,
  [0x14] = op_val_offset,
  [0x15] = op_val_offset_sf,
  [0x16] = op_val_expression,
  [0x17 ... 0x1c] = op_unknown,
  [0x1d] = op_advance_loc8, /* MIPS_advance_loc8 */
  [0x1e ... 0x2a] = op_unknown,
  [0x2b] = op_set_ra_state,    /* set_ra_state */
  [0x2c] = op_negate_ra_state, /* negate_ra_state_with_pc */
  [0x2d] = op_negate_ra_state, /* negate_ra_state; elsewhere GNU_window_save of SPARC */
  [0x2e] = op_args_size,
  [0x2f] = op_negative_offset_extended,
  [0x30 ... 0x3f] = op_unknown,
};

/* The loop. */

static inline void
execute (LuCfaRun *run)
{
  guint8 opcode = lu_cursor_u8 (&run->cursor);
  LuRegisterRule *rule;

  switch (opcode >> 6)
    {
    case 0:
      handlers[opcode](run);
      break;
    case 1:
      advance (run, opcode & 0x3f);
      break;
    case 2:
      rule = slot_of (run, opcode & 0x3f);
      set_rule (rule, LU_REGISTER_RULE_AT_CFA, read_factored (run));
      break;
    default:
      restore (run, opcode & 0x3f);
    }
}

gboolean
lu_cfa_run_next (LuCfaRun *self)
{
  if (self->is_done)
    return FALSE;
  self->row_start = self->location;
  while (lu_cursor_left (&self->cursor) > 0 && self->location < self->program.end)
    {
      execute (self);
      if (G_UNLIKELY (self->cursor.failed || self->cfi_error != LU_CFI_ERROR_NONE))
        break;
      if (self->location == self->row_start)
        continue;
      if (self->is_changed)
        {
          self->is_changed = FALSE;
          return TRUE;
        }
      self->row_start = self->location;
    }
  self->is_done = TRUE;
  if (self->cursor.failed && self->cfi_error == LU_CFI_ERROR_NONE)
    self->cfi_error = LU_CFI_ERROR_TRUNCATED;
  return self->cfi_error == LU_CFI_ERROR_NONE && self->is_changed
         && self->row_start < self->program.end;
}

void
lu_cfa_run_start (LuCfaRun *self, const LuCfaProgram *program)
{
  self->program = *program;
  self->state = program->cie->initial;
  self->cursor = program->instructions;
  self->location = self->row_start = program->start;
  self->is_changed = TRUE;
  self->is_done = FALSE;
  self->cfi_error = LU_CFI_ERROR_NONE;
  self->depth = 0;
}

void
lu_cfa_run_initial (LuCfaRun *self, const LuCfiBytes *section, const LuArch *arch, LuCie *cie)
{
  if (cie->cfi_error != LU_CFI_ERROR_NONE)
    return;
  cie->initial.slots[LU_SLOT_RA] = unmoved_return_address (arch, cie);
  lu_cfa_run_start (self, &(LuCfaProgram){ .section = section,
                                           .arch = arch,
                                           .cie = cie,
                                           .instructions = cie->program,
                                           .end = G_MAXUINT64 });
  while (lu_cfa_run_next (self))
    ;
  cie->cfi_error = self->cfi_error;
  cie->initial = self->state;
}
