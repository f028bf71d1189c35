/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* alone.c - walks by rows and rules; see alone.h. Compiled freestanding. */

#include "alone.h"

#include "lu/step.h"

static int
read_stack (void *data, uint64_t address, uint64_t *value)
{
  const struct alone_sample *sample = data;
  uint64_t offset = address - sample->sp;

  if (sample->stack_size < 8 || offset > sample->stack_size - 8)
    return 0;
  __builtin_memcpy (value, sample->stack + offset, 8);
  return 1;
}

static int
read_register (void *data, uint32_t number, uint64_t *value)
{
  const struct alone_sample *sample = data;

  *value = number < 17 ? sample->registers[number] : 0;
  return number < 17;
}

static const struct alone_mapping *
find_mapping (const struct alone_sample *sample, uint64_t address)
{
  for (uint32_t i = 0; i < sample->n_mappings; i++)
    if (address >= sample->mappings[i].start && address < sample->mappings[i].end)
      return &sample->mappings[i];
  return 0;
}

/* Hand-written entry code has no rules, and it has no caller. */
#define ENTRY_SIZE 0x40

int
alone_walk (const struct alone_sample *sample, struct alone_stack *stack)
{
  struct lu_regs regs = {
    .pc = sample->pc,
    .sp = sample->sp,
    .fp = sample->registers[6],
    .bx = sample->registers[3],
    .address_mask = ~(uint64_t) 0,
    .known = LU_KNOWN_FP | LU_KNOWN_BX,
  };

  for (stack->n = 0; stack->n < ALONE_MAX_FRAMES;)
    {
      int is_exact = regs.frame_kind != LU_FRAME_KIND_CALLER;
      uint64_t address = regs.pc - !is_exact;
      const struct alone_mapping *mapping = find_mapping (sample, address);
      const struct lu_rule *rule;
      int result;

      if (!mapping)
        return 0;
      stack->pcs[stack->n] = regs.pc;
      stack->is_exact[stack->n++] = (uint8_t) is_exact;
      if (!mapping->rules)
        return 0;
      rule = &mapping->rules[lu_rows_find (&mapping->rows, address - mapping->bias)];
      result = lu_step (&regs, rule, read_stack, read_register, (void *) sample);
      if (result == LU_STATUS_NO_UNWIND_INFO && mapping->entry != 0)
        return address - mapping->entry < ENTRY_SIZE;
      if (result != LU_STEP_CALLER)
        return result == LU_STATUS_COMPLETE;
    }
  return 0;
}
