/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opcodes.c - the machine of call frame instructions: a table of small handlers; see opcodes.h.
 *
 * Each handler reads its operands and changes the state; the loop looks at the cursor's sticky
 * failure and at `fault` afterwards. Operations: DWARF 5, 6.4.2 and 7.24; GNU_*: LSB Core, 10.6.2;
 * AARCH64_*: DWARF for the Arm 64-bit Architecture, 4.5. */

#include "table/opcodes.h"

#include "base/leb128.h"
#include "table/expression.h"

#include <elf.h>

typedef void (*Handler) (LuCfaRun *run);

/* Operands */

static LuPlace *
slot_of (LuCfaRun *run, guint64 reg)
{
  guint slot = LU_SLOT_OTHER;

  if (G_UNLIKELY (reg > LU_CFA_MAX_REGISTER))
    run->fault = LU_CFI_FAULT_OPERAND;
  else if (G_LIKELY (run->cie->return_column == run->arch->ra))
    slot = run->arch->slots[reg];
  else if (reg == run->cie->return_column)
    slot = LU_SLOT_RA;
  else if (reg != run->arch->ra)
    slot = run->arch->slots[reg];
  if (slot != LU_SLOT_OTHER)
    run->is_changed = TRUE;
  return &run->state.slots[slot];
}

static LuPlace *
read_slot (LuCfaRun *run)
{
  return slot_of (run, lu_cursor_uleb (&run->cursor));
}

static gint64
factored (const LuCfaRun *run, guint64 value)
{
  return (gint64) (value * (guint64) run->cie->data_align);
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

static LuPlace
read_expression (LuCfaRun *run, gboolean has_cfa)
{
  guint64 size = lu_cursor_uleb (&run->cursor);
  const guint8 *bytes = lu_cursor_take (&run->cursor, size);
  LuCursor expression = { 0 };

  if (bytes == NULL)
    return (LuPlace){ .kind = LU_PLACE_OTHER };
  lu_cursor_init (&expression, bytes, size);
  return lu_expression_recognise (expression, has_cfa, run->arch);
}

static void
set_place (LuPlace *place, LuPlaceKind kind, gint64 offset)
{
  place->kind = kind;
  place->offset = offset;
}

/* Location */

static void
move_to (LuCfaRun *run, guint64 location)
{
  if (location < run->location)
    run->fault = LU_CFI_FAULT_OPERAND;
  run->location = location;
}

static void
advance (LuCfaRun *run, guint64 delta)
{
  guint64 bytes, location;

  if (__builtin_mul_overflow (delta, run->cie->code_align, &bytes)
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

  if (lu_cfi_read_pointer (run->section, run->start, run->cie->pointer_encoding, &run->cursor,
                           &location))
    move_to (run, location);
  else
    run->fault = LU_CFI_FAULT_OPERAND;
}

/* CFA */

static void
define_cfa (LuCfaRun *run, guint64 reg, gint64 offset)
{
  if (reg > LU_CFA_MAX_REGISTER)
    run->fault = LU_CFI_FAULT_OPERAND;
  run->state.cfa.kind = LU_PLACE_REGISTER_PLUS;
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

/* After an expression the offset is not known until an instruction says it. */
static void
op_def_cfa_register (LuCfaRun *run)
{
  guint64 reg = lu_cursor_uleb (&run->cursor);
  gboolean has_offset = run->state.cfa.kind == LU_PLACE_REGISTER_PLUS;

  define_cfa (run, reg, run->state.cfa.offset);
  if (!has_offset)
    run->state.cfa.kind = LU_PLACE_REGISTER_ONLY;
}

/* After an expression there is no register that the offset could belong to, but GCC 14 writes that
 * behind frames whose size depends on the vector length: what it means is left to others. */
static void
change_offset (LuCfaRun *run, gint64 offset)
{
  switch (run->state.cfa.kind)
    {
    case LU_PLACE_REGISTER_PLUS:
    case LU_PLACE_REGISTER_ONLY:
      define_cfa (run, run->state.cfa.reg, offset);
      break;
    case LU_PLACE_DEREF_PLUS:
    case LU_PLACE_PLT:
    case LU_PLACE_OTHER:
      run->state.cfa.kind = LU_PLACE_OTHER;
      run->is_changed = TRUE;
      break;
    default:
      run->fault = LU_CFI_FAULT_OPERAND;
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

/* Registers */

static void
op_undefined (LuCfaRun *run)
{
  set_place (read_slot (run), LU_PLACE_UNDEFINED, 0);
}

/* The return address that nobody has moved yet. */
static LuPlace
unmoved_return_address (const LuTableArch *arch, const LuCie *cie)
{
  if (cie->return_column == arch->ra)
    return (LuPlace){ .kind = LU_PLACE_UNSPECIFIED };
  return (LuPlace){ .kind = LU_PLACE_REGISTER, .reg = cie->return_column };
}

static void
op_same_value (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  set_place (place, LU_PLACE_SAME, 0);
  if (place == &run->state.slots[LU_SLOT_RA] && run->cie->return_column != run->arch->ra)
    *place = unmoved_return_address (run->arch, run->cie);
}

static void
op_offset_extended (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  set_place (place, LU_PLACE_AT_CFA, read_factored (run));
}

static void
op_offset_extended_sf (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  set_place (place, LU_PLACE_AT_CFA, read_factored_signed (run));
}

static void
op_negative_offset_extended (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  set_place (place, LU_PLACE_AT_CFA, (gint64) (0 - (guint64) read_factored (run)));
}

static void
op_val_offset (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  set_place (place, LU_PLACE_CFA_PLUS, read_factored (run));
}

static void
op_val_offset_sf (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  set_place (place, LU_PLACE_CFA_PLUS, read_factored_signed (run));
}

static void
op_register (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);
  guint64 reg = lu_cursor_uleb (&run->cursor);

  if (reg > LU_CFA_MAX_REGISTER)
    run->fault = LU_CFI_FAULT_OPERAND;
  set_place (place, LU_PLACE_REGISTER, 0);
  place->reg = (guint32) reg;
}

/* The expression's value is the address of the saved register. */
static void
op_expression (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  *place = read_expression (run, TRUE);
  if (place->kind == LU_PLACE_REGISTER_PLUS)
    place->kind = LU_PLACE_AT_REGISTER;
  else if (place->kind == LU_PLACE_CFA_PLUS)
    place->kind = LU_PLACE_AT_CFA;
  else
    place->kind = LU_PLACE_OTHER;
}

static void
op_val_expression (LuCfaRun *run)
{
  LuPlace *place = read_slot (run);

  *place = read_expression (run, TRUE);
}

static void
restore (LuCfaRun *run, guint64 reg)
{
  LuPlace *place = slot_of (run, reg);

  *place = run->cie->initial.slots[place - run->state.slots];
}

static void
op_restore_extended (LuCfaRun *run)
{
  restore (run, lu_cursor_uleb (&run->cursor));
}

/* State */

static void
op_remember_state (LuCfaRun *run)
{
  if (run->depth < LU_CFA_MAX_DEPTH)
    run->remembered[run->depth++] = run->state;
  else
    run->fault = LU_CFI_FAULT_STATE;
}

static void
op_restore_state (LuCfaRun *run)
{
  if (run->depth > 0)
    run->state = run->remembered[--run->depth];
  else
    run->fault = LU_CFI_FAULT_STATE;
  run->is_changed = TRUE;
}

static void
op_negate_ra_state (LuCfaRun *run)
{
  if (run->arch->machine != EM_AARCH64)
    run->fault = LU_CFI_FAULT_OPCODE;
  run->state.is_signed = !run->state.is_signed;
  run->is_changed = TRUE;
}

/* The state (0: not signed) and where the signing instruction is, which only checking a signature
 * needs. */
static void
op_set_ra_state (LuCfaRun *run)
{
  if (run->arch->machine != EM_AARCH64)
    run->fault = LU_CFI_FAULT_OPCODE;
  run->state.is_signed = lu_cursor_uleb (&run->cursor) != 0;
  lu_cursor_sleb (&run->cursor);
  run->is_changed = TRUE;
}

static void
op_nop (LuCfaRun *run)
{
}

/* Bytes of arguments pushed: for exception handlers, not for unwinding. */
static void
op_args_size (LuCfaRun *run)
{
  lu_cursor_uleb (&run->cursor);
}

static void
op_unknown (LuCfaRun *run)
{
  run->fault = LU_CFI_FAULT_OPCODE;
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
  [0x2b] = op_set_ra_state,    /* AARCH64_set_ra_state */
  [0x2c] = op_negate_ra_state, /* AARCH64_negate_ra_state_with_pc */
  [0x2d] = op_negate_ra_state, /* AARCH64_negate_ra_state; elsewhere GNU_window_save of SPARC */
  [0x2e] = op_args_size,
  [0x2f] = op_negative_offset_extended,
  [0x30 ... 0x3f] = op_unknown,
};

/* The loop */

static inline void
execute (LuCfaRun *run)
{
  guint8 opcode = lu_cursor_u8 (&run->cursor);
  LuPlace *place;

  switch (opcode >> 6)
    {
    case 0:
      handlers[opcode](run);
      break;
    case 1:
      advance (run, opcode & 0x3f);
      break;
    case 2:
      place = slot_of (run, opcode & 0x3f);
      set_place (place, LU_PLACE_AT_CFA, read_factored (run));
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
  while (lu_cursor_left (&self->cursor) > 0 && self->location < self->end)
    {
      execute (self);
      if (G_UNLIKELY (self->cursor.failed || self->fault != LU_CFI_FAULT_NONE))
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
  if (self->cursor.failed && self->fault == LU_CFI_FAULT_NONE)
    self->fault = LU_CFI_FAULT_TRUNCATED;
  return self->fault == LU_CFI_FAULT_NONE && self->is_changed && self->row_start < self->end;
}

void
lu_cfa_run_start (LuCfaRun *self, const LuCfiBytes *section, const LuTableArch *arch,
                  const LuCie *cie, LuCursor program, guint64 start, guint64 end)
{
  self->section = section;
  self->arch = arch;
  self->cie = cie;
  self->state = cie->initial;
  self->cursor = program;
  self->location = self->row_start = self->start = start;
  self->end = end;
  self->is_changed = TRUE;
  self->is_done = FALSE;
  self->fault = LU_CFI_FAULT_NONE;
  self->depth = 0;
}

void
lu_cfa_run_initial (LuCfaRun *self, const LuCfiBytes *section, const LuTableArch *arch, LuCie *cie)
{
  if (cie->fault != LU_CFI_FAULT_NONE)
    return;
  cie->initial.slots[LU_SLOT_RA] = unmoved_return_address (arch, cie);
  lu_cfa_run_start (self, section, arch, cie, cie->program, 0, G_MAXUINT64);
  while (lu_cfa_run_next (self))
    ;
  cie->fault = self->fault;
  cie->initial = self->state;
}
