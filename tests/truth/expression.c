/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* expression.c - a stack machine for DWARF 5, 2.5, as far as call frame information uses it. */

#include "expression.h"

#define MAX_DEPTH 16

typedef struct
{
  const Expression *input;
  guint64 values[MAX_DEPTH];
  guint n;
  gboolean failed;
} Machine;

static void
push (Machine *self, guint64 value)
{
  if (self->n == MAX_DEPTH)
    self->failed = TRUE;
  else
    self->values[self->n++] = value;
}

static guint64
pop (Machine *self)
{
  if (self->n == 0)
    self->failed = TRUE;
  return self->n > 0 ? self->values[--self->n] : 0;
}

static guint64
register_value (Machine *self, guint64 number)
{
  const Registers *registers = self->input->registers;

  if (number >= N_REGISTERS || (registers->known >> number & 1) == 0)
    self->failed = TRUE;
  return self->failed ? 0 : registers->value[number];
}

static guint64
dereference (Machine *self, guint64 address)
{
  guint64 value = 0;

  if (!memory_read_word (self->input->memory, address, &value))
    self->failed = TRUE;
  return value;
}

static void
pick (Machine *self, guint64 index)
{
  if (index >= self->n)
    self->failed = TRUE;
  else
    push (self, self->values[self->n - 1 - index]);
}

static guint64
binary (Machine *self, guint8 atom, guint64 left, guint64 right)
{
  switch (atom)
    {
    case DW_OP_plus:
      return left + right;
    case DW_OP_minus:
      return left - right;
    case DW_OP_mul:
      return left * right;
    case DW_OP_and:
      return left & right;
    case DW_OP_or:
      return left | right;
    case DW_OP_shl:
      return right < 64 ? left << right : 0;
    case DW_OP_shr:
      return right < 64 ? left >> right : 0;
    case DW_OP_ge:
      return (gint64) left >= (gint64) right;
    case DW_OP_eq:
      return left == right;
    default:
      self->failed = TRUE;
      return 0;
    }
}

static void
execute (Machine *self, const Dwarf_Op *op)
{
  guint64 right;

  if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
    push (self, op->atom - DW_OP_lit0);
  else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
    push (self, register_value (self, op->atom - DW_OP_breg0) + op->number);
  else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
    push (self, register_value (self, op->atom - DW_OP_reg0));
  else if (op->atom == DW_OP_bregx)
    push (self, register_value (self, op->number) + op->number2);
  else if (op->atom == DW_OP_regx)
    push (self, register_value (self, op->number));
  else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
    push (self, op->number);
  else if (op->atom == DW_OP_plus_uconst)
    push (self, pop (self) + op->number);
  else if (op->atom == DW_OP_call_frame_cfa)
    push (self, self->input->cfa);
  else if (op->atom == DW_OP_deref)
    push (self, dereference (self, pop (self)));
  else if (op->atom == DW_OP_dup)
    pick (self, 0);
  else if (op->atom == DW_OP_over)
    pick (self, 1);
  else if (op->atom != DW_OP_stack_value)
    {
      right = pop (self);
      push (self, binary (self, op->atom, pop (self), right));
    }
}

gboolean
expression_evaluate (const Expression *self, const Dwarf_Op *ops, gsize n_ops, guint64 *value)
{
  Machine machine = { .input = self };

  for (gsize i = 0; i < n_ops && !machine.failed; i++)
    execute (&machine, &ops[i]);
  *value = pop (&machine);
  return !machine.failed;
}

gboolean
expression_is_register (const Dwarf_Op *ops, gsize n_ops)
{
  return n_ops == 1
         && (ops[0].atom == DW_OP_regx
             || (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31));
}

static void
append_operation (GString *text, const Dwarf_Op *op)
{
  if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
    g_string_append_printf (text, "reg%u%+ld", op->atom - DW_OP_breg0, (long) op->number);
  else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
    g_string_append_printf (text, "reg%u", op->atom - DW_OP_reg0);
  else if (op->atom == DW_OP_bregx)
    g_string_append_printf (text, "reg%lu%+ld", (gulong) op->number, (long) op->number2);
  else if (op->atom == DW_OP_regx)
    g_string_append_printf (text, "reg%lu", (gulong) op->number);
  else if (op->atom == DW_OP_call_frame_cfa)
    g_string_append (text, "cfa");
  else if (op->atom == DW_OP_plus_uconst)
    g_string_append_printf (text, "%+ld", (long) op->number);
  else
    g_string_append_printf (text, "op%#x", op->atom);
}

char *
expression_to_text (const Dwarf_Op *ops, gsize n_ops)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; i < n_ops; i++)
    {
      if (i > 0)
        g_string_append_c (text, ' ');
      append_operation (text, &ops[i]);
    }
  return g_string_free (text, FALSE);
}
