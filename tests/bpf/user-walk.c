/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* user-walk.c - see user-walk.h. Before and after the walk it does what walker.bpf.c does. */

#include "walk-arch.h" /* before lu/step.h */

#include "user-walk.h"

#include "arch/arch.h"

#include <stdlib.h>

#include "../../bpf/walk-subprogram.h"

struct lu_bpf_dictionary *
user_dictionary (void)
{
  return &user_host.shared.dictionary;
}

struct lu_bpf_module *
user_modules (void)
{
  return user_host.shared.modules;
}

uint32_t *
user_add_entry (void *data, unsigned entry)
{
  if (entry >= N_USER_ENTRIES)
    return NULL;
  user_host.entries[entry] = g_malloc0 (sizeof (struct entry));
  return user_host.entries[entry]->words;
}

void
user_set_config (const struct lu_bpf_config *config)
{
  user_host.config = *config;
}

void
user_set_calls (int (*call_before) (void *data, uint64_t pc), void *data)
{
  user_host.call_before = call_before;
  user_host.data = data;
}

void
user_set_code (int (*read_code) (void *data, void *to, uint32_t size, uint64_t address), void *data)
{
  user_host.read_code = read_code;
  user_host.code_data = data;
}

static void
set_registers (const LuRegs *regs)
{
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);

  for (int i = 0; arch_place_of ((uint64_t) i) < N_REGS; i++)
    {
      guint64 value = 0;

      lu_arch_read_dwarf (arch, regs, i, &value);
      user_host.walk.regs[arch_place_of ((uint64_t) i)] = value;
    }
  lu_arch_read (regs, arch->perf_pc, &user_host.walk.regs[REG_PC]);
  lu_arch_read (regs, arch->perf_sp, &user_host.walk.regs[REG_SP]);
}

unsigned
user_walk (const struct lu_bpf_process *process, const LuSample *sample, LuStack *stack)
{
  struct walk *walk = &user_host.walk;
  int result;

  set_registers (&sample->regs);
  user_host.stack = sample->stack;
  user_host.stack_at = walk->regs[REG_SP];
  user_host.stack_size = sample->stack_size;
  walk->n_kernel = 0;
  walk->record.flags = sample->cpumode == 1 /* kernel */ ? LU_BPF_RECORD_KERNEL : 0;
  walk->process = *process;
  begin_walk (0);
  result = make_walk (&user_host.walk, 0);
  lu_stack_reset (stack);
  for (uint32_t i = 0; i < walk->at; i++)
    lu_stack_push (stack, walk->pcs[i] & LU_BPF_PC_MASK,
                   ((walk->pcs[i] & LU_BPF_PC_RETURN) != 0 ? LU_FRAME_RETURN_ADDRESS : 0)
                       | ((walk->pcs[i] & LU_BPF_PC_INFERRED) != 0 ? LU_FRAME_INFERRED : 0)
                       | ((walk->pcs[i] & LU_BPF_PC_DERIVED) != 0 ? LU_FRAME_DERIVED : 0));
  stack->status = result == NEXT_ENDED   ? LU_STATUS_COMPLETE
                  : result == NEXT_DEPTH ? LU_STATUS_DEPTH_LIMIT
                                         : LU_STATUS_UNSUPPORTED_RULE;
  return result == NEXT_ENDED   ? LU_BPF_REASON_UNWOUND
         : result == NEXT_DEPTH ? LU_BPF_REASON_DEPTH
                                : (unsigned) (result - NEXT_GIVE_UP);
}
