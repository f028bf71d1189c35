/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decoder.c - decodes instructions by Zydis; see decoder.h. */

#include "code/decoder.h"

#include "base/library.h"

#include <Zydis/Zydis.h>

/* A small unsigned limit of an index. */
#define MAX_LIMIT 65535

typedef struct
{
  const ZydisDecodedInstruction *found;
  const ZydisDecodedOperand *operands; /* hidden ones included */
  guint64 address;
  LuOp *op;
} Decoding;

static struct
{
  __typeof__ (ZydisDecoderInit) *init;
  __typeof__ (ZydisDecoderDecodeFull) *decode;
  __typeof__ (ZydisRegisterGetLargestEnclosing) *enclosing;
  __typeof__ (ZydisRegisterGetId) *id;
} zydis;

static ZydisDecoder decoder;
/* The number of each of the library's general registers; others have none. */
static guint8 numbers[ZYDIS_REGISTER_MAX_VALUE + 1];

static void
fill_numbers (void)
{
  for (guint i = 0; i <= ZYDIS_REGISTER_MAX_VALUE; i++)
    {
      ZydisRegister whole = zydis.enclosing (ZYDIS_MACHINE_MODE_LONG_64, (ZydisRegister) i);
      gboolean is_general = whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15;

      numbers[i] = is_general ? (guint8) zydis.id (whole) : LU_CODE_NO_REGISTER;
    }
}

static gboolean
load (void)
{
  const LuLibraryFunction functions[] = {
    { "ZydisDecoderInit", &zydis.init },
    { "ZydisDecoderDecodeFull", &zydis.decode },
    { "ZydisRegisterGetLargestEnclosing", &zydis.enclosing },
    { "ZydisRegisterGetId", &zydis.id },
  };
  g_autofree char *name =
      g_strdup_printf ("libZydis.so.%u.%u", (guint) ZYDIS_VERSION_MAJOR (ZYDIS_VERSION),
                       (guint) ZYDIS_VERSION_MINOR (ZYDIS_VERSION));

  if (!lu_library_load (name, functions, G_N_ELEMENTS (functions))
      || !ZYAN_SUCCESS (zydis.init (&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return FALSE;
  fill_numbers ();
  return TRUE;
}

gboolean
lu_decoder_load (void)
{
  static gsize state; /* 0: not tried; 1: not there; 2: loaded */

  if (g_once_init_enter (&state))
    g_once_init_leave (&state, load () ? 2 : 1);
  return state == 2;
}

/* Operands */

static gboolean
is_register (const ZydisDecodedOperand *operand)
{
  return operand->type == ZYDIS_OPERAND_TYPE_REGISTER
         && numbers[operand->reg.value] != LU_CODE_NO_REGISTER;
}

static gboolean
is_memory (const ZydisDecodedOperand *operand)
{
  return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.segment != ZYDIS_REGISTER_FS
         && operand->mem.segment != ZYDIS_REGISTER_GS;
}

static gboolean
is_constant (const ZydisDecodedOperand *operand)
{
  return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static guint8
number_of (const ZydisDecodedOperand *operand)
{
  return numbers[operand->reg.value];
}

/* Takes over the parts of an address. An address relative to the instruction has no base. */
static void
take_memory (Decoding *self, const ZydisDecodedOperand *operand)
{
  LuOp *op = self->op;

  op->value = operand->mem.disp.value;
  op->scale = operand->mem.scale;
  op->base = numbers[operand->mem.base];
  op->index = numbers[operand->mem.index];
  if (operand->mem.base == ZYDIS_REGISTER_RIP)
    op->target = self->address + self->found->length + (guint64) op->value;
}

static gboolean
is_relative (const ZydisDecodedOperand *operand)
{
  return operand->mem.base == ZYDIS_REGISTER_RIP;
}

/* Returns whether an address is a register and a constant. */
static gboolean
is_simple (const ZydisDecodedOperand *operand)
{
  return numbers[operand->mem.base] != LU_CODE_NO_REGISTER
         && operand->mem.index == ZYDIS_REGISTER_NONE;
}

/* Kinds of instructions */

static void
decode_move (Decoding *self)
{
  const ZydisDecodedOperand *to = &self->operands[0], *from = &self->operands[1];
  LuOp *op = self->op;

  if (is_register (to) && is_register (from))
    {
      op->kind = to->size == 64 && from->size == 64 ? LU_OP_COPY : LU_OP_COPY_32;
      if (from->size < 32)
        op->kind = LU_OP_OTHER;
      op->dst = number_of (to);
      op->src = number_of (from);
    }
  else if (is_register (to) && is_memory (from) && from->size >= 32)
    {
      take_memory (self, from);
      op->dst = number_of (to);
      if (is_simple (from))
        op->kind = from->size == 64 ? LU_OP_LOAD : LU_OP_LOAD_32;
      else if (op->index != LU_CODE_NO_REGISTER)
        op->kind = from->size == 64 ? LU_OP_LOAD_TABLE_8 : LU_OP_LOAD_TABLE_4;
    }
  else if (is_register (to) && is_constant (from) && to->size >= 32)
    {
      op->kind = LU_OP_CONSTANT;
      op->dst = number_of (to);
      op->target = to->size == 32 ? (guint32) from->imm.value.u : from->imm.value.u;
    }
  else if (is_memory (to) && is_simple (to))
    {
      op->kind = LU_OP_STORE;
      take_memory (self, to);
      if (is_register (from) && from->size == 64)
        op->src = number_of (from);
    }
}

static void
decode_extension (Decoding *self)
{
  const ZydisDecodedOperand *to = &self->operands[0], *from = &self->operands[1];
  LuOp *op = self->op;

  op->dst = number_of (to);
  if (from->size == 32)
    decode_move (self);
  if (from->size == 32 && is_register (from))
    op->kind = LU_OP_COPY_32;
  if (self->found->mnemonic == ZYDIS_MNEMONIC_MOVZX && to->size >= 32)
    {
      op->kind = LU_OP_EXTEND;
      if (is_register (from))
        op->src = number_of (from);
      else if (is_memory (from))
        {
          take_memory (self, from);
          op->target = op->scale;
        }
      op->scale = (guint8) (from->size / 8);
    }
}

static void
decode_address (Decoding *self)
{
  const ZydisDecodedOperand *to = &self->operands[0], *from = &self->operands[1];
  LuOp *op = self->op;

  if (to->size != 64)
    return;
  take_memory (self, from);
  op->dst = number_of (to);
  op->is_relative = is_relative (from);
  if (op->is_relative)
    op->kind = LU_OP_CONSTANT;
  else if (is_simple (from))
    {
      op->kind = LU_OP_COPY;
      op->src = op->base;
    }
  else if (op->base == LU_CODE_NO_REGISTER && op->index != LU_CODE_NO_REGISTER && op->value == 0)
    {
      op->kind = LU_OP_SCALE;
      op->src = op->index;
    }
}

static void
decode_sum (Decoding *self)
{
  const ZydisDecodedOperand *to = &self->operands[0], *from = &self->operands[1];
  gboolean is_minus = self->found->mnemonic == ZYDIS_MNEMONIC_SUB;
  LuOp *op = self->op;

  if (is_memory (to) && is_simple (to))
    {
      op->kind = LU_OP_STORE;
      take_memory (self, to);
    }
  if (!is_register (to) || to->size != 64)
    return;
  op->dst = number_of (to);
  if (is_constant (from))
    {
      op->kind = LU_OP_ADD;
      op->value = is_minus ? -from->imm.value.s : from->imm.value.s;
    }
  else if (is_register (from))
    {
      op->kind = is_minus ? LU_OP_DIFFERENCE : LU_OP_SUM;
      op->src = number_of (from);
    }
}

static void
decode_and (Decoding *self)
{
  const ZydisDecodedOperand *to = &self->operands[0], *from = &self->operands[1];
  LuOp *op = self->op;

  if (!is_register (to) || !is_constant (from))
    return;
  op->dst = number_of (to);
  op->value = from->imm.value.s;
  if (op->value < 0 && to->size == 64)
    op->kind = LU_OP_ALIGN;
  else if (op->value >= 0 && op->value < MAX_LIMIT && to->size >= 32)
    op->kind = LU_OP_LIMIT;
}

static void
decode_xor (Decoding *self)
{
  const ZydisDecodedOperand *to = &self->operands[0], *from = &self->operands[1];

  if (!is_register (to) || !is_register (from) || to->size < 32
      || number_of (to) != number_of (from))
    return;
  self->op->kind = LU_OP_ZERO;
  self->op->dst = number_of (to);
}

/* A comparison that is not understood has neither a register nor memory. It takes the place of the
 * one before, too. */
static void
decode_comparison (Decoding *self)
{
  const ZydisDecodedOperand *left = &self->operands[0], *right = &self->operands[1];
  LuOp *op = self->op;
  guint64 value = right->imm.value.u;

  op->kind = LU_OP_COMPARE;
  if (left->size < 32)
    value &= (G_GUINT64_CONSTANT (1) << left->size) - 1; /* the sign was extended */
  if (!is_constant (right) || value >= MAX_LIMIT)
    return;
  if (is_memory (left) && numbers[left->mem.base] != LU_CODE_NO_REGISTER)
    take_memory (self, left);
  else if (is_register (left))
    op->src = number_of (left);
  op->value = op->base != LU_CODE_NO_REGISTER ? op->value : 0;
  op->target = value;
}

static void
decode_push (Decoding *self)
{
  const ZydisDecodedOperand *from = &self->operands[0];

  if (self->found->operand_width != 64)
    return;
  self->op->kind = LU_OP_PUSH;
  if (is_register (from))
    self->op->src = number_of (from);
}

static void
decode_pop (Decoding *self)
{
  if (self->found->operand_width != 64)
    return;
  self->op->kind = LU_OP_POP;
  if (is_register (&self->operands[0]))
    self->op->dst = number_of (&self->operands[0]);
}

/* Calls, jumps and branches */
static void
decode_transfer (Decoding *self, LuOpKind direct, LuOpKind indirect)
{
  const ZydisDecodedOperand *to = &self->operands[0];
  LuOp *op = self->op;

  op->kind = (guint8) indirect;
  if (is_constant (to))
    {
      op->kind = (guint8) direct;
      op->target = self->address + self->found->length + (guint64) to->imm.value.s;
    }
  else if (is_memory (to))
    take_memory (self, to);
  else if (is_register (to))
    op->src = number_of (to);
}

static void
decode_branch (Decoding *self)
{
  decode_transfer (self, LU_OP_BRANCH, LU_OP_OTHER);
  switch (self->found->mnemonic)
    {
    case ZYDIS_MNEMONIC_JNBE:
      self->op->condition = LU_CONDITION_ABOVE;
      break;
    case ZYDIS_MNEMONIC_JNB:
      self->op->condition = LU_CONDITION_ABOVE_OR_EQUAL;
      break;
    case ZYDIS_MNEMONIC_JB:
      self->op->condition = LU_CONDITION_BELOW;
      break;
    case ZYDIS_MNEMONIC_JBE:
      self->op->condition = LU_CONDITION_BELOW_OR_EQUAL;
      break;
    default:
      break;
    }
}

/* Any instruction that writes to memory may write over a saved register. */
static void
decode_rest (Decoding *self)
{
  const ZydisDecodedOperand *to = &self->operands[0];

  if (self->found->operand_count_visible == 0 || !is_memory (to) || !is_simple (to)
      || (to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0)
    return;
  self->op->kind = LU_OP_STORE;
  take_memory (self, to);
}

static void
decode_control (Decoding *self)
{
  switch (self->found->meta.category)
    {
    case ZYDIS_CATEGORY_RET:
      self->op->kind = self->found->operand_count_visible == 0 ? LU_OP_RETURN : LU_OP_STOP;
      break;
    case ZYDIS_CATEGORY_CALL:
      decode_transfer (self, LU_OP_CALL, LU_OP_CALL_INDIRECT);
      break;
    case ZYDIS_CATEGORY_UNCOND_BR:
      decode_transfer (self, LU_OP_JUMP, LU_OP_JUMP_INDIRECT);
      break;
    case ZYDIS_CATEGORY_COND_BR:
      decode_branch (self);
      break;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
      self->op->is_padding = TRUE;
      break;
    default:
      decode_rest (self);
      break;
    }
}

static void
decode_kind (Decoding *self)
{
  switch (self->found->mnemonic)
    {
    case ZYDIS_MNEMONIC_PUSH:
      decode_push (self);
      break;
    case ZYDIS_MNEMONIC_POP:
      decode_pop (self);
      break;
    case ZYDIS_MNEMONIC_MOV:
      decode_move (self);
      break;
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_MOVZX:
      decode_extension (self);
      break;
    case ZYDIS_MNEMONIC_CDQE:
      self->op->kind = LU_OP_COPY_32;
      self->op->dst = self->op->src = 0;
      break;
    case ZYDIS_MNEMONIC_LEA:
      decode_address (self);
      break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
      decode_sum (self);
      break;
    case ZYDIS_MNEMONIC_AND:
      decode_and (self);
      break;
    case ZYDIS_MNEMONIC_XOR:
      decode_xor (self);
      break;
    case ZYDIS_MNEMONIC_CMP:
      decode_comparison (self);
      break;
    case ZYDIS_MNEMONIC_LEAVE:
      self->op->kind = LU_OP_LEAVE;
      break;
    case ZYDIS_MNEMONIC_XABORT: /* goes on; a transaction goes back to its start */
      break;
    case ZYDIS_MNEMONIC_SYSCALL:
      self->op->kind = LU_OP_SYSTEM_CALL;
      break;
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT3:
      self->op->kind = LU_OP_STOP;
      self->op->is_padding = self->found->mnemonic == ZYDIS_MNEMONIC_INT3;
      break;
    default:
      decode_control (self);
      break;
    }
}

gboolean
lu_decoder_decode (const guint8 *bytes, gsize size, guint64 address, LuOp *op)
{
  ZydisDecodedInstruction found;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  Decoding decoding = { &found, operands, address, op };

  *op = (LuOp){ .dst = LU_CODE_NO_REGISTER,
                .src = LU_CODE_NO_REGISTER,
                .base = LU_CODE_NO_REGISTER,
                .index = LU_CODE_NO_REGISTER };
  if (!ZYAN_SUCCESS (zydis.decode (&decoder, bytes, size, &found, operands)))
    return FALSE;
  op->size = found.length;
  for (guint i = 0; i < found.operand_count; i++)
    if (is_register (&operands[i]))
      {
        guint32 bit = 1u << number_of (&operands[i]);

        op->writes |= (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 ? bit : 0;
        op->reads |= (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 ? bit : 0;
      }
  decode_kind (&decoding);
  return TRUE;
}
