/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-uprobes.h - the addresses that the kernel's probes have replaced in the sampled thread.
 *
 * A uretprobe puts the start of a page of the kernel's ("[uprobes]") in the place of a return
 * address, for as long as the function runs. The instruction below a uprobe runs in that page, if
 * the kernel does not emulate it. The kernel keeps what was there (kernel/events/uprobes.c). */

#pragma once

#include "host.h"

/* MAX_URETPROBE_DEPTH (linux/uprobes.h) */
#define MAX_RETURN_INSTANCES 64
/* A function looks at so many; the verifier follows it once. */
#define PASSED_INSTANCES 8
/* UPROBE_XOL_SLOT_BYTES (asm/uprobes.h) is at most this. */
#define SLOT_BYTES 128
/* The start of the page pushes three registers since Linux 6.11. */
#define PUSHED_BYTES (3 * 8)

/* Returns whether the kernel can have probes, which the loader knows. Every subprogram that reads
 * such a field asks this itself, since the verifier follows each with any arguments. */
static inline int
has_probes (void)
{
  const struct task_struct *task = NULL;
  const struct mm_struct *mm = NULL;
  const struct xol_area *area = NULL;
  const struct uprobe_task *probes = NULL;
  const struct return_instance *instance = NULL;

  return bpf_core_field_exists (task->utask) && bpf_core_field_exists (mm->uprobes_state.xol_area)
         && bpf_core_field_exists (area->vaddr) && bpf_core_field_exists (probes->xol_vaddr)
         && bpf_core_field_exists (instance->orig_ret_vaddr);
}

/* Returns what the kernel knows of the thread's probes; 0: nothing, or the address is not in its
 * page. */
HOST_SUBPROGRAM uint64_t
find_probes (uint64_t address)
{
  struct task_struct *task = (struct task_struct *) bpf_get_current_task ();
  struct mm_struct *mm;
  struct xol_area *area;

  if (!has_probes ())
    return 0;
  mm = (struct mm_struct *) READ (task, mm);
  area = (struct xol_area *) READ (mm, uprobes_state.xol_area);
  if (area == NULL || address - READ (area, vaddr) >= PAGE_BYTES)
    return 0;
  return READ (task, utask);
}

/* Returns the first of some instances whose return address was in the stack at `lowest`, or up to
 * `reach` bytes above it, or the one behind them. */
HOST_SUBPROGRAM uint64_t
pass_instances (uint64_t first, uint64_t lowest, uint64_t reach)
{
  struct return_instance *instance = (struct return_instance *) first;

  if (!has_probes ())
    return 0;
  for (int i = 0; i < PASSED_INSTANCES && instance != NULL; i++)
    {
      if (READ (instance, stack) - lowest <= reach)
        break;
      instance = (struct return_instance *) READ (instance, next);
    }
  return (uint64_t) instance;
}

/* Sets pc and sp of walk->caller to what the return address there was, and behind it. FALSE: it was
 * not replaced. */
HOST_SUBPROGRAM int64_t
find_replaced (walk_ref ref, uint64_t probes, uint64_t lowest, uint64_t reach)
{
  struct walk *walk = host_walk (ref);
  struct return_instance *instance;
  uint64_t found, at;

  if (!has_probes ())
    return 0;
  found = READ ((struct uprobe_task *) probes, return_instances);
  for (int i = 0; i < MAX_RETURN_INSTANCES / PASSED_INSTANCES; i++)
    found = pass_instances (found, lowest, reach);
  instance = (struct return_instance *) found;
  at = READ (instance, stack);
  if (walk == NULL || instance == NULL || at - lowest > reach)
    return 0;
  walk->caller.pc = READ (instance, orig_ret_vaddr);
  walk->caller.sp = at + ARCH_RETURN_BYTES;
  return 1;
}

/* Returns the address of the instruction that runs at `pc` in the page; 0: it is none of the
 * program's. */
static inline uint64_t
find_instruction (uint64_t probes, uint64_t pc)
{
  const struct uprobe_task *task = (const struct uprobe_task *) probes;
  uint64_t offset = pc - READ (task, xol_vaddr);

  return READ (task, active_uprobe) != 0 && offset < SLOT_BYTES ? READ (task, vaddr) + offset : 0;
}

/* Finds the return address of a thread that runs the page's own code. That goes back by popping
 * what it has pushed, and the kernel may have forgotten the address then and put it there. Only its
 * own place counts: the one above can be that of a function which has pushed one register. */
static inline int64_t
find_return (walk_ref ref, struct walk *walk, uint64_t probes)
{
  uint64_t code = 0, place;
  int64_t depth = host_read_code (&code, sizeof code, walk->pc) == 0 ? arch_probe_depth (code) : -1;

  if (depth < 0)
    return find_replaced (ref, probes, walk->sp - ARCH_RETURN_BYTES, PUSHED_BYTES);
  place = walk->sp + (uint64_t) depth;
  if (find_replaced (ref, probes, place, 0))
    return 1;
  walk->caller.sp = place + ARCH_RETURN_BYTES;
  return host_read (&walk->caller.pc, sizeof walk->caller.pc, place) == 0;
}

/* Sets walk->caller to the place where the program would be if the next frame were not in the
 * kernel's page. FALSE: it is not there. */
HOST_SUBPROGRAM int64_t
host_leave_probe (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint64_t probes;

  if (!has_probes () || walk == NULL || (ARCH_HAS_LINK && (walk->known & LU_LOST_SP) != 0))
    return 0;
  probes = find_probes (walk->pc);
  if (probes == 0)
    return 0;
  if (walk->mark != 0)
    return find_replaced (ref, probes, walk->sp - ARCH_RETURN_BYTES, 0);
  walk->caller.sp = walk->sp;
  walk->caller.pc = find_instruction (probes, walk->pc);
  return walk->caller.pc != 0 || find_return (ref, walk, probes);
}

/* Returns whether the kernel is about to leave a uretprobe: the instruction pointer is already that
 * of the caller, and the stack pointer still that of the page's code. */
static inline int
is_leaving (walk_ref ref, const struct walk *walk, uint64_t pc)
{
  uint64_t words[ARCH_PROBE_WORDS] = { 0 };

  return host_read (words, sizeof words, walk->sp) == 0 && ARCH_ARE_PROBE_WORDS (walk->regs, words)
         && find_probes (pc) == 0;
}

/* Returns where the sampled thread is in its program. Behind a breakpoint that the kernel handles,
 * this is before it: for a short time, the registers say that it is over. It is not if the kernel
 * has already pushed a register, in the place of the first instruction of a function. Corrects the
 * stack pointer where the kernel is about to leave a uretprobe. Only threads that have hit a probe
 * are looked at, since other instructions may end like a breakpoint, too. */
HOST_SUBPROGRAM uint64_t
host_sampled_at (walk_ref ref, uint64_t pc)
{
  struct task_struct *task = (struct task_struct *) bpf_get_current_task ();
  struct walk *walk = host_walk (ref);
  uint64_t top = 0;
  uint8_t byte = 0;

  if (!ARCH_PASSES_BREAKPOINT || walk == NULL || !bpf_core_field_exists (task->utask)
      || READ (task, utask) == 0)
    return pc;
  if (is_leaving (ref, walk, pc))
    {
      walk->sp += ARCH_PROBE_WORDS * sizeof (uint64_t);
      return pc;
    }
  if (host_read_code (&byte, sizeof byte, pc - 1) != 0 || byte != ARCH_BREAKPOINT
      || host_read (&top, sizeof top, walk->sp) != 0 || ARCH_HAS_PUSHED (walk->regs, top))
    return pc;
  return pc - 1;
}
