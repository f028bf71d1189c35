/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decide-table.c - the compiled table of a whole file, the rule that is compiled for one place
 * alone as the table engine does it, and the one step function (row.h, step.h). */

#include "decider.h"

#include "elf/image.h"
#include "lu/step.h"
#include "table/compile.h"
#include "table/rule.h"
#include "table/table.h"

typedef struct
{
  LuImage *image;
  LuCfi *cfi;
  LuTable *table;
} Module;

static gpointer
open_module (const ModuleFile *file)
{
  LuImage *image = file->fd >= 0 ? lu_image_open (file->fd, NULL)
                                 : lu_image_new_from_memory (file->bytes, file->size, NULL);
  LuCfi *cfi = image != NULL ? lu_cfi_new_for_image (image) : NULL;
  Module *self;

  if (cfi == NULL)
    return NULL;
  self = g_new0 (Module, 1);
  self->image = image;
  self->cfi = cfi;
  self->table = lu_table_new (cfi);
  return self;
}

static gpointer
look_up (gpointer module, guint64 address)
{
  const Module *self = module;

  return (gpointer) lu_table_find (self->table, address);
}

static gpointer
look_up_alone (gpointer module, guint64 address)
{
  static LuCfaRun run;
  const Module *self = module;
  struct lu_rule rule = lu_compile_at (self->cfi, &run, address);

  return g_memdup2 (&rule, sizeof rule);
}

typedef struct
{
  const Registers *callee;
  Memory *memory;
} Input;

static int
read_memory (void *data, uint64_t address, uint64_t *value)
{
  const Input *input = data;

  return memory_read_word (input->memory, address, value);
}

static int
read_sampled (void *data, uint32_t number, uint64_t *value)
{
  const Input *input = data;

  if (number >= N_REGISTERS || (input->callee->known & 1u << number) == 0)
    return 0;
  *value = input->callee->value[number];
  return 1;
}

static const guint8 frame_kinds[] = {
  [FRAME_RUNNING] = LU_FRAME_KIND_SAMPLED,
  [FRAME_INTERRUPTED] = LU_FRAME_KIND_INTERRUPTED,
  [FRAME_CALLING] = LU_FRAME_KIND_CALLER,
};

static Answer
answer_for (int result)
{
  switch (result)
    {
    case LU_STEP_CALLER:
      return ANSWER_CALLER;
    case LU_STATUS_COMPLETE:
      return ANSWER_OUTERMOST;
    case LU_STATUS_NO_UNWIND_INFO:
      return ANSWER_NOTHING;
    case LU_STATUS_UNSUPPORTED_RULE:
      return ANSWER_UNSUPPORTED;
    default:
      return ANSWER_FAILED;
    }
}

static Answer
step (gpointer rule, const Registers *callee, Memory *memory, Registers *caller)
{
  Input input = { callee, memory };
  struct lu_regs regs = {
    .pc = callee->value[REGISTER_PC],
    .sp = callee->value[REGISTER_RSP],
    .fp = callee->value[REGISTER_RBP],
    .bx = callee->value[REGISTER_RBX],
    .ucontext = callee->ucontext,
    .address_mask = G_MAXUINT64,
    .known = (callee->known >> REGISTER_RBP & 1 ? LU_KNOWN_FP : 0)
             | (callee->known >> REGISTER_RBX & 1 ? LU_KNOWN_BX : 0),
    .frame_kind = frame_kinds[callee->kind],
    .saved_words = lu_arch_x86_64.saved_words,
  };
  Answer answer = answer_for (lu_step (&regs, rule, read_memory, read_sampled, &input));

  *caller = (Registers){
    .known = 1u << REGISTER_PC | 1u << REGISTER_RSP,
    .kind = regs.frame_kind == LU_FRAME_KIND_INTERRUPTED ? FRAME_INTERRUPTED : FRAME_CALLING,
    .ucontext = regs.ucontext,
  };
  caller->value[REGISTER_PC] = regs.pc;
  caller->value[REGISTER_RSP] = regs.sp;
  caller->value[REGISTER_RBP] = regs.fp;
  caller->value[REGISTER_RBX] = regs.bx;
  caller->known |= (regs.known & LU_KNOWN_FP) != 0 ? 1u << REGISTER_RBP : 0;
  caller->known |= (regs.known & LU_KNOWN_BX) != 0 ? 1u << REGISTER_RBX : 0;
  return answer;
}

static char *
describe (gpointer rule)
{
  return lu_rule_to_text (rule, lu_arch_with_tables (EM_X86_64));
}

const Decider decide_table = {
  .name = "table",
  .open = open_module,
  .look_up = look_up,
  .step = step,
  .describe = describe,
};

const Decider decide_alone = {
  .name = "alone",
  .open = open_module,
  .look_up = look_up_alone,
  .step = step,
  .describe = describe,
};
