/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* evaluate.c - evaluates libdw's answers; see evaluate.h. Operations: DWARF 5, 2.5. */

#include "evaluate.h"

#include <dwarf.h>

#define STACK_AREA G_GUINT64_CONSTANT (0x700000000000)
#define MAX_DEPTH  16

static guint64
mix (guint64 value)
{
  value ^= value >> 33;
  value *= G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
  value ^= value >> 33;
  value *= G_GUINT64_CONSTANT (0xc4ceb9fe1a85ec53);
  return value ^ value >> 33;
}

/* 16 MiB above the stack pointer, or more: above any frame. */
static guint64
invent_address (guint64 seed)
{
  return STACK_AREA + (16u << 20) + (mix (seed) & 0xffffff8);
}

guint64
world_read (const World *self, guint64 address)
{
  return invent_address (self->seed * 31 + address);
}

void
world_init (World *self, guint64 seed, guint sp_number, guint pc_number, guint64 pc)
{
  self->seed = mix (seed);
  self->pc = pc;
  for (guint i = 0; i < N_REGISTERS; i++)
    self->registers[i] = invent_address (self->seed + i);
  self->registers[sp_number] = STACK_AREA + (mix (self->seed) & 0xffff8);
  if (pc_number < N_REGISTERS)
    self->registers[pc_number] = pc;
}

typedef struct
{
  guint64 values[MAX_DEPTH];
  guint n;
  gboolean failed;
} Stack;

static void
push (Stack *stack, guint64 value)
{
  if (stack->n == MAX_DEPTH)
    stack->failed = TRUE;
  else
    stack->values[stack->n++] = value;
}

static guint64
pop (Stack *stack)
{
  if (stack->n == 0)
    stack->failed = TRUE;
  return stack->n > 0 ? stack->values[--stack->n] : 0;
}

static guint64
register_value (const World *self, Stack *stack, guint64 number)
{
  if (number >= N_REGISTERS)
    stack->failed = TRUE;
  return number < N_REGISTERS ? self->registers[number] : 0;
}

static void
binary (Stack *stack, guint8 atom)
{
  guint64 right = pop (stack), left = pop (stack);

  switch (atom)
    {
    case DW_OP_plus:
      push (stack, left + right);
      break;
    case DW_OP_minus:
      push (stack, left - right);
      break;
    case DW_OP_mul:
      push (stack, left * right);
      break;
    case DW_OP_and:
      push (stack, left & right);
      break;
    case DW_OP_or:
      push (stack, left | right);
      break;
    case DW_OP_shl:
      push (stack, left << (right & 63));
      break;
    case DW_OP_ge:
      push (stack, (gint64) left >= (gint64) right);
      break;
    default:
      stack->failed = TRUE;
    }
}

static void
step (const World *self, const Dwarf_Op *op, guint64 cfa, Stack *stack)
{
  if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
    push (stack, op->atom - DW_OP_lit0);
  else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
    push (stack, register_value (self, stack, op->atom - DW_OP_breg0) + op->number);
  else if (op->atom == DW_OP_bregx)
    push (stack, register_value (self, stack, op->number) + op->number2);
  else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
    push (stack, op->number);
  else if (op->atom == DW_OP_plus_uconst)
    push (stack, pop (stack) + op->number);
  else if (op->atom == DW_OP_call_frame_cfa)
    push (stack, cfa);
  else if (op->atom == DW_OP_deref)
    push (stack, world_read (self, pop (stack)));
  else if (op->atom == DW_OP_dup)
    {
      push (stack, pop (stack));
      push (stack, stack->n > 0 ? stack->values[stack->n - 1] : 0);
    }
  else
    binary (stack, op->atom);
}

gboolean
world_evaluate (const World *self, const Dwarf_Op *ops, size_t n_ops, guint64 cfa, guint64 *value)
{
  Stack stack = { 0 };

  for (size_t i = 0; i < n_ops && !stack.failed; i++)
    step (self, &ops[i], cfa, &stack);
  *value = pop (&stack);
  return !stack.failed;
}

gboolean
world_cfa (const World *self, Dwarf_Frame *frame, guint64 *cfa)
{
  Dwarf_Op *ops;
  size_t n_ops;

  return dwarf_frame_cfa (frame, &ops, &n_ops) == 0 && n_ops > 0
         && world_evaluate (self, ops, n_ops, 0, cfa);
}

FrameValue
world_caller_register (const World *self, Dwarf_Frame *frame, guint number, guint64 cfa,
                       guint64 *value)
{
  Dwarf_Op memory[3], *ops;
  size_t n_ops;
  gboolean is_value;

  if (dwarf_frame_register (frame, (int) number, memory, &ops, &n_ops) != 0)
    return FRAME_FAILED;
  if (n_ops == 0)
    {
      *value = self->registers[number];
      return ops == NULL ? FRAME_VALUE : FRAME_UNDEFINED;
    }
  if (n_ops == 1
      && (ops[0].atom == DW_OP_regx || (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)))
    {
      guint64 other = ops[0].atom == DW_OP_regx ? ops[0].number : ops[0].atom - DW_OP_reg0;

      *value = other < N_REGISTERS ? self->registers[other] : 0;
      return other < N_REGISTERS ? FRAME_VALUE : FRAME_FAILED;
    }
  is_value = ops[n_ops - 1].atom == DW_OP_stack_value;
  if (!world_evaluate (self, ops, n_ops - (is_value ? 1 : 0), cfa, value))
    return FRAME_FAILED;
  if (!is_value)
    *value = world_read (self, *value);
  return FRAME_VALUE;
}

static int
read_memory (void *data, uint64_t address, uint64_t *value)
{
  *value = world_read (data, address);
  return 1;
}

static int
read_register (void *data, uint32_t number, uint64_t *value)
{
  const World *self = data;

  *value = number < N_REGISTERS ? self->registers[number] : 0;
  return number < N_REGISTERS;
}

gboolean
world_is_for_leaf (const struct lu_rule *rule)
{
  return rule->cfa_kind == LU_CFA_REGISTER || rule->ra_kind == LU_RA_LINK
         || rule->ra_kind == LU_RA_REGISTER;
}

int
world_step (const World *self, const LuArch *arch, const struct lu_rule *rule, struct lu_regs *regs)
{
  *regs = (struct lu_regs){
    .pc = self->pc,
    .sp = self->registers[arch->sp],
    .fp = self->registers[arch->fp],
    .bx = arch->bx < N_REGISTERS ? self->registers[arch->bx] : 0,
    .link = self->registers[arch->ra],
    .address_mask = G_MAXUINT64,
    .known = LU_KNOWN_FP | LU_KNOWN_BX | LU_KNOWN_LINK,
    .frame_kind = world_is_for_leaf (rule) ? LU_FRAME_KIND_SAMPLED : LU_FRAME_KIND_CALLER,
  };
  return lu_step (regs, rule, read_memory, read_register, (void *) self);
}

gboolean
is_outermost (Dwarf_Frame *frame)
{
  int return_column = dwarf_frame_info (frame, NULL, NULL, NULL);
  Dwarf_Op memory[3], *ops;
  size_t n_ops;

  return dwarf_frame_register (frame, return_column, memory, &ops, &n_ops) == 0 && n_ops == 0
         && ops == memory;
}
