/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decide-libdw.c - executes what libdw reads in a file's CFI on real registers and memory.
 *
 * Every place has a frame of its own: after a DW_CFA_restore_state, the bounds that libdw gives for
 * a row begin where the remembered row did. A register that running code has popped has its value
 * again, although the row still names the slot, which is below the stack pointer or is found
 * through a frame pointer that points out of the frame. */

#include "decider.h"

#include "expression.h"

#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#define RED_ZONE 128

typedef struct
{
  Dwarf *dwarf;
  Dwarf_CFI *sections[2]; /* .eh_frame, .debug_frame; NULL: absent */
} Module;

static gpointer
open_module (const ModuleFile *file)
{
  Module *self = g_new0 (Module, 1);

  self->dwarf = dwarf_begin_elf (file->elf, DWARF_C_READ, NULL);
  self->sections[0] = dwarf_getcfi_elf (file->elf);
  self->sections[1] = self->dwarf != NULL ? dwarf_getcfi (self->dwarf) : NULL;
  return self;
}

static gpointer
look_up (gpointer module, guint64 address)
{
  const Module *self = module;
  Dwarf_Frame *frame = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (self->sections); i++)
    if (self->sections[i] != NULL && dwarf_cfi_addrframe (self->sections[i], address, &frame) == 0)
      return frame;
  return NULL;
}

/* `ops`: where a register is saved; `slot`: their value. */
static gboolean
is_popped (const Expression *context, const Dwarf_Op *ops, size_t n_ops, guint64 slot)
{
  const Registers *callee = context->registers;
  guint64 sp = callee->value[REGISTER_RSP], fp = callee->value[REGISTER_RBP];

  if (callee->kind == FRAME_CALLING)
    return FALSE;
  /* An expression starts with the CFA on its stack. */
  if (n_ops == 2 && ops[1].atom == DW_OP_breg6)
    return fp < sp || fp >= context->cfa;
  return slot < sp && sp - slot <= RED_ZONE;
}

/* Returns FALSE if the register is undefined or cannot be computed. */
static gboolean
caller_register (Dwarf_Frame *frame, guint number, Expression *context, guint64 *value)
{
  const Registers *callee = context->registers;
  Dwarf_Op memory[3], *ops;
  size_t n_ops;

  if (dwarf_frame_register (frame, (int) number, memory, &ops, &n_ops) != 0)
    return FALSE;
  if (n_ops == 0)
    {
      /* libdw's list of callee-saved registers has rax in place of rbx. */
      *value = callee->value[number];
      return (ops == NULL || number == REGISTER_RBX) && (callee->known >> number & 1) != 0;
    }
  if (ops[n_ops - 1].atom == DW_OP_stack_value || expression_is_register (ops, n_ops))
    return expression_evaluate (context, ops, n_ops, value);
  if (!expression_evaluate (context, ops, n_ops, value))
    return FALSE;
  if (number != REGISTER_PC && is_popped (context, ops, n_ops, *value))
    {
      *value = callee->value[number];
      return (callee->known >> number & 1) != 0;
    }
  return memory_read_word (context->memory, *value, value);
}

static gboolean
is_outermost (Dwarf_Frame *frame)
{
  Dwarf_Op memory[3], *ops;
  size_t n_ops;

  return dwarf_frame_register (frame, REGISTER_PC, memory, &ops, &n_ops) == 0 && n_ops == 0
         && ops == memory;
}

static Answer
step (gpointer rule, const Registers *callee, Memory *memory, Registers *caller)
{
  Expression context = { .registers = callee, .memory = memory };
  Dwarf_Frame *frame = rule;
  Dwarf_Op *ops;
  size_t n_ops;
  bool is_signal = false;

  if (is_outermost (frame))
    return ANSWER_OUTERMOST;
  if (dwarf_frame_cfa (frame, &ops, &n_ops) != 0 || n_ops == 0
      || !expression_evaluate (&context, ops, n_ops, &context.cfa))
    return ANSWER_FAILED;
  *caller = (Registers){ 0 };
  for (guint i = 0; i < N_REGISTERS; i++)
    if (caller_register (frame, i, &context, &caller->value[i]))
      caller->known |= 1u << i;
  dwarf_frame_info (frame, NULL, NULL, &is_signal);
  caller->kind = is_signal ? FRAME_INTERRUPTED : FRAME_CALLING;
  return (caller->known >> REGISTER_PC & 1) != 0 ? ANSWER_CALLER : ANSWER_FAILED;
}

static char *
describe_register (Dwarf_Frame *frame, guint number)
{
  Dwarf_Op memory[3], *ops;
  size_t n_ops;

  if (dwarf_frame_register (frame, (int) number, memory, &ops, &n_ops) != 0)
    return g_strdup ("?");
  if (n_ops == 0)
    return g_strdup (ops == NULL ? "same" : "undefined");
  return expression_to_text (ops, n_ops);
}

static char *
describe (gpointer rule)
{
  g_autofree char *cfa = NULL;
  g_autofree char *fp = describe_register (rule, REGISTER_RBP);
  g_autofree char *pc = describe_register (rule, REGISTER_PC);
  Dwarf_Op *ops;
  size_t n_ops;

  if (dwarf_frame_cfa (rule, &ops, &n_ops) == 0)
    cfa = expression_to_text (ops, n_ops);
  return g_strdup_printf ("cfa: %s, rbp: %s, ra: %s", cfa != NULL ? cfa : "?", fp, pc);
}

const Decider decide_libdw = {
  .name = "libdw",
  .open = open_module,
  .look_up = look_up,
  .step = step,
  .describe = describe,
};
