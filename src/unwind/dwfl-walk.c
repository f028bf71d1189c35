/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-walk.c - one walk by libdwfl, with checks; see dwfl-walk.h.
 *
 * libdwfl takes an unreadable return address for the end of the stack, and follows the frame
 * pointer without a check where there is no unwind information. So this file looks up the unwind
 * information before each step (dwfl-facts.h) and stops where there is none, and it remembers each
 * failed read, to know why libdwfl stopped. libdwfl's own verdict is not used. Where a frame
 * provider finds a caller, or the kernel has saved registers that CFI does not tell, libdwfl starts
 * again from there. */

#include "unwind/dwfl-walk.h"

#include "base/clock.h"
#include "unwind/code-facts.h"
#include "unwind/derived-step.h"
#include "unwind/frame-pointer-step.h"
#include "unwind/landing-pad.h"
#include "unwind/leaf-caller.h"

#include "lu/step.h"

/* Above the sampled stack pointer by more than this is another stack: main stacks are limited to 8
 * MiB and thread stacks are made that large by default. */
#define MAX_STACK (64u << 20)

/* The kernel puts registers and vector state (some 11 KiB with AMX) between a handler's stack and
 * the interrupted one when both are the same stack. */
#define MAX_SIGNAL_FRAME 65536u

/* Bytes below the stack pointer that a function may use without moving it. */
#define RED_ZONE 128u

/* The CPU time that one sample may take, in ns, and how often the clock is read. Real samples take
 * a microsecond for each frame. */
#define MAX_CPU_TIME     (500 * G_GINT64_CONSTANT (1000000))
#define FRAMES_PER_CLOCK 64

typedef LuDwflWalk Walk;

/* Callbacks of libdwfl */

static pid_t
next_thread (Dwfl *dwfl, void *data, void **thread_data)
{
  return 0;
}

static bool
get_thread (Dwfl *dwfl, pid_t tid, void *data, void **thread_data)
{
  *thread_data = data;
  return true;
}

/* Reads a slot that an epilogue has popped. CFI still names it: it is below the stack pointer,
 * where no copy reaches (System V ABI, processor supplement, 3.2.2: the 128 bytes there belong to
 * the function), or at a frame pointer that is the caller's again. The value is in the register. */
static bool
read_popped (const Walk *walk, guint64 address, Dwarf_Word *result)
{
  guint64 value;
  int popped;

  if (walk->stack->n_frames != 1
      || (walk->sampled_sp - address > RED_ZONE && walk->self_saved == 0))
    return false;
  popped = lu_dwfl_facts_popped_register (walk->mapping, walk->lookup, &walk->sample->regs,
                                          walk->self_saved, address);
  if (popped < 0 || !lu_arch_read_dwarf (walk->arch, &walk->sample->regs, popped, &value))
    return false;
  *result = value & lu_arch_address_mask (walk->arch);
  return true;
}

/* Takes the authentication code off a word that is a return address with one. libdwfl does not, and
 * looks for the caller at the address that it reads. Other words of the stack stay as they are. */
static void
take_code_off (const Walk *walk, Dwarf_Word *word)
{
  guint64 mask = lu_arch_address_mask (walk->arch);

  if (walk->arch->signs_return_addresses && (*word & ~mask) != 0 && (*word & mask) != 0
      && lu_dwfl_address_space_find (walk->space, (*word & mask) - 1) != NULL)
    *word &= mask;
}

static bool
read_memory (Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *data)
{
  Walk *walk = data;
  const LuSample *sample = walk->sample;
  guint word = walk->arch->word_size;
  guint64 offset;
  guint32 narrow;

  address &= lu_arch_address_mask (walk->arch);
  offset = address - walk->sampled_sp;
  walk->n_reads++;
  walk->has_failed = FALSE;
  if ((address < walk->sampled_sp || walk->self_saved != 0) && read_popped (walk, address, result))
    return true;
  walk->has_failed =
      address < walk->sampled_sp || sample->stack_size < word || offset > sample->stack_size - word;
  if (walk->has_failed)
    {
      walk->failed_address = walk->lost_address = address;
      walk->has_lost = TRUE;
      return false;
    }
  if (word == 8)
    memcpy (result, sample->stack + offset, 8);
  else
    {
      memcpy (&narrow, sample->stack + offset, 4);
      *result = narrow;
    }
  take_code_off (walk, result);
  walk->last_value = *result;
  walk->stack->stack_used = MAX (walk->stack->stack_used, offset + word);
  return true;
}

gboolean
lu_dwfl_walk_read (LuDwflWalk *walk, guint64 address, guint64 *value)
{
  Dwarf_Word word = 0;
  bool is_read = read_memory (NULL, address, &word, walk);

  *value = word;
  return is_read;
}

/* Sets the registers of the interrupted frame. */
static bool
set_saved_registers (Dwfl_Thread *thread, const Walk *walk)
{
  const LuArch *arch = walk->arch;

  for (guint bit = 0; bit < arch->n_registers; bit++)
    if (arch->dwarf_numbers[bit] >= 0 && (walk->saved_bits >> bit & 1) != 0
        && !dwfl_thread_state_registers (thread, arch->dwarf_numbers[bit], 1,
                                         (const Dwarf_Word[]){ walk->saved[bit] }))
      return false;
  dwfl_thread_state_register_pc (thread, walk->saved[arch->perf_pc]);
  return true;
}

static bool
set_registers (Dwfl_Thread *thread, void *data)
{
  const Walk *walk = data;
  const LuArch *arch = walk->arch;
  guint64 value;

  if (walk->has_saved)
    return set_saved_registers (thread, walk);
  for (guint bit = 0; bit < arch->n_registers; bit++)
    {
      Dwarf_Word word;

      if (arch->dwarf_numbers[bit] < 0 || !lu_arch_read (&walk->sample->regs, bit, &value))
        continue;
      word = value;
      if (walk->caller.pc != 0 && bit == arch->perf_sp)
        word = walk->caller.sp;
      else if (walk->has_only_fp && arch->dwarf_numbers[bit] == arch->fp)
        word = walk->caller.fp;
      else if (walk->has_only_fp)
        continue;
      if (!dwfl_thread_state_registers (thread, arch->dwarf_numbers[bit], 1, &word))
        return false;
    }
  if (!lu_arch_read (&walk->sample->regs, arch->perf_pc, &value))
    return false;
  /* libdwfl looks up the first pc as it is; a call may be the last instruction of its row. */
  value -= walk->leaf_back;
  if (walk->caller.pc != 0)
    value = walk->caller.pc - 1;
  dwfl_thread_state_register_pc (thread, value & lu_arch_address_mask (arch));
  return true;
}

const Dwfl_Thread_Callbacks lu_dwfl_thread_callbacks = {
  .next_thread = next_thread,
  .get_thread = get_thread,
  .memory_read = read_memory,
  .set_initial_registers = set_registers,
};

/* One walk */

guint64
lu_dwfl_walk_deadline (void)
{
  return lu_thread_cpu_ns () + MAX_CPU_TIME;
}

static int
finish (Walk *walk, LuStatus status, guint64 end_pc)
{
  walk->stack->status = status;
  walk->stack->end_pc = status == LU_STATUS_COMPLETE ? 0 : end_pc;
  walk->is_finished = TRUE;
  return DWARF_CB_ABORT;
}

void
lu_dwfl_walk_finish (LuDwflWalk *walk, LuStatus status, guint64 end_pc)
{
  finish (walk, status, end_pc);
}

static guint64
last_pc (const Walk *walk)
{
  const LuStack *stack = walk->stack;

  return stack->n_frames > 0 ? stack->frames[stack->n_frames - 1].pc : 0;
}

/* Moves on to the frame of `state`. FALSE if it cannot be above the last one. A caller's frame is
 * higher on the stack, unless it was interrupted and may be anywhere, or its callee is a leaf that
 * has not moved the stack pointer. */
static gboolean
advance (Walk *walk, Dwfl_Frame *state)
{
  gboolean is_first = walk->stack->n_frames == 0;
  gboolean may_stay = walk->is_exact;
  gboolean was_signal_frame = walk->is_signal_frame;
  guint64 last_sp = walk->sp;
  Dwarf_Word sp;

  if (dwfl_frame_reg (state, walk->arch->sp, &sp) != 0)
    return FALSE;
  walk->sp = sp & lu_arch_address_mask (walk->arch);
  walk->is_exact = is_first || was_signal_frame;
  if (was_signal_frame)
    walk->is_off_copy = walk->sp - walk->sampled_sp >= walk->sample->stack_size
                        && walk->sp - last_sp > MAX_SIGNAL_FRAME;
  walk->has_failed = FALSE;
  walk->n_reads = 0;
  return walk->is_exact || walk->sp > last_sp || (walk->sp == last_sp && may_stay);
}

static gboolean
push_frame (Walk *walk, guint64 pc)
{
  guint64 offset = walk->sp - walk->sampled_sp;
  guint32 flags = walk->is_exact ? 0 : LU_FRAME_RETURN_ADDRESS;

  if (walk->has_begun && !walk->has_saved)
    flags |= walk->is_derived ? LU_FRAME_DERIVED : LU_FRAME_INFERRED;
  walk->has_begun = FALSE;
  if (!lu_stack_push (walk->stack, pc, flags))
    return FALSE;
  if (offset <= G_MAXUINT32)
    walk->stack->frames[walk->stack->n_frames - 1].stack_offset = (guint32) offset;
  return TRUE;
}

/* Returns what CFI does not say of the last frame's function; see elf/go-stacks.h. */
static LuGoFunctionKind
go_kind (const Walk *walk)
{
  LuImage *image = lu_module_image (walk->mapping->module);

  return image != NULL ? lu_image_go_function_kind (image, walk->lookup - walk->mapping->bias)
                       : LU_GO_ORDINARY;
}

/* Returns why the bytes at this address are not in the copy. */
static LuStatus
explain_address (Walk *walk, guint64 address, guint64 *stack_needed)
{
  const LuSample *sample = walk->sample;
  guint64 offset = address - walk->sampled_sp;

  if (walk->is_off_copy)
    return LU_STATUS_OTHER_STACK;
  if (lu_dwfl_address_space_find (walk->space, address) != NULL)
    return LU_STATUS_UNREADABLE_MEMORY; /* constants in a file: not read live */
  if (address < walk->sampled_sp || offset > MAX_STACK)
    return LU_STATUS_OTHER_STACK;
  walk->is_at_absent_page =
      sample->stack_size < sample->stack_asked && offset < sample->stack_asked;
  if (walk->is_at_absent_page)
    return LU_STATUS_UNREADABLE_MEMORY;
  *stack_needed = offset + walk->arch->word_size;
  return LU_STATUS_TRUNCATED_COPY;
}

/* Answers to frame providers */

static const LuDwflMapping *
find_mapping (gpointer data, guint64 address)
{
  return lu_dwfl_address_space_find (((Walk *) data)->space, address);
}

static LuCallKind
call_before (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  Walk *walk = data;

  return lu_code_call (walk->reader, walk->pid, walk->arch, mapping, pc);
}

static LuLeaf
leaf_at (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  Walk *walk = data;

  return lu_code_leaf (walk->reader, walk->pid, walk->arch, mapping, pc);
}

/* Gives libdw the CFI of a module; COMPLETE if it has it then. */
static LuStatus
hold_cfi (Walk *walk, const LuDwflMapping *mapping)
{
  LuMappedModule file = lu_code_file_of (mapping, walk->pid);

  switch (lu_code_reader_hold_cfi (walk->reader, walk->held, &file))
    {
    case LU_CODE_READ:
      return LU_STATUS_COMPLETE;
    case LU_CODE_UNREADABLE:
      return LU_STATUS_FILE_GONE;
    case LU_CODE_OVER_BUDGET:
      break;
    }
  return LU_STATUS_OVER_BUDGET;
}

/* Finds a rule that is not from CFI. */
static gboolean
find_derived (const LuDwflMapping *mapping, guint64 lookup, struct lu_rule *rule)
{
  LuTableSlot *slot = mapping->module != NULL ? lu_module_table_slot (mapping->module) : NULL;

  return slot != NULL && lu_table_slot_is_extended (slot)
         && lu_table_slot_find (slot, lookup - mapping->bias, rule)
         && rule->cfa_kind != LU_CFA_NONE;
}

static enum lu_fp_rule
rule_at (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  Walk *walk = data;
  enum lu_fp_rule found;
  struct lu_rule rule;

  if (mapping->status == LU_STATUS_COMPLETE && hold_cfi (walk, mapping) != LU_STATUS_COMPLETE)
    return LU_FP_RULE_OTHER;
  found = lu_dwfl_facts_rule (mapping, lookup, walk->arch);
  return found == LU_FP_RULE_NONE && find_derived (mapping, lookup, &rule) ? lu_fp_rule_of (&rule)
                                                                           : found;
}

static LuProviderResult
leads_to (gpointer data, const LuFrameCall *call)
{
  Walk *walk = data;

  return lu_code_leads_to (walk->reader, walk->pid, walk->arch, call);
}

static LuProviderResult
leads_away (gpointer data, const LuFrameCall *call)
{
  Walk *walk = data;

  return lu_code_leads_away (walk->reader, walk->pid, walk->arch, call);
}

static LuLeaf
frame_at (gpointer data, const LuFrameCall *call)
{
  Walk *walk = data;

  return lu_code_frame (walk->reader, walk->pid, walk->arch, call);
}

static const LuFrameOps frame_ops = {
  .find = find_mapping,
  .rule_at = rule_at,
  .call_before = call_before,
  .leads_to = leads_to,
  .leads_away = leads_away,
  .frame_at = frame_at,
  .leaf_at = leaf_at,
};

LuProviderResult
lu_dwfl_walk_check_top (LuDwflWalk *walk, guint64 offset, guint64 value)
{
  guint64 fp, sp = walk->sampled_sp, size = walk->arch->word_size;
  LuLeafWord word = { .code = walk->mapping,
                      .pc = walk->stack->frames[0].pc,
                      .offset = offset,
                      .value = value,
                      .size = walk->arch->word_size };

  if (lu_arch_read_dwarf (walk->arch, &walk->sample->regs, walk->arch->fp, &fp)
      && lu_fp_is_possible (fp &= lu_arch_address_mask (walk->arch), sp, 0, sp)
      && fp - sp + 2 * size <= walk->sample->stack_size)
    lu_dwfl_walk_read (walk, fp + size, &word.by_fp);
  return lu_leaf_caller_check (&frame_ops, walk, &word);
}

/* Returns whether dwfl.c finds the caller of this frame. */
static gboolean
is_leaf_of_file (const Walk *walk)
{
  return walk->stack->n_frames == 1 && walk->mapping->status == LU_STATUS_COMPLETE;
}

/* Makes the caller's stack pointer that of its frame, on architectures whose frame pointers do not
 * point to the ends of frames. */
static void
complete_caller (Walk *walk)
{
  LuFrameRegs *caller = &walk->caller;
  const LuDwflMapping *mapping;

  walk->has_lost_sp = walk->arch->has_link_register && !caller->has_sp;
  if (!walk->has_lost_sp)
    return;
  mapping = lu_dwfl_address_space_find (walk->space, caller->pc - 1);
  if (mapping != NULL && mapping->status == LU_STATUS_COMPLETE
      && hold_cfi (walk, mapping) == LU_STATUS_COMPLETE
      && lu_dwfl_facts_sp_of_record (mapping, caller->pc - 1, walk->arch, caller->fp, &caller->sp))
    walk->has_lost_sp = FALSE;
}

/* Finds the link register of the last frame, which calls have not changed since. */
static gboolean
has_link (const Walk *walk, guint64 *link)
{
  const LuArch *arch = walk->arch;

  if (!arch->has_link_register || !walk->is_exact)
    return FALSE;
  if (walk->stack->n_frames == 1)
    return lu_arch_read_dwarf (arch, &walk->sample->regs, arch->ra, link);
  if (!walk->has_saved || (walk->saved_bits >> lu_arch_perf_bit (arch, arch->ra) & 1) == 0)
    return FALSE;
  *link = walk->saved[lu_arch_perf_bit (arch, arch->ra)];
  return TRUE;
}

gboolean
lu_dwfl_walk_ask_providers (LuDwflWalk *walk, LuStatus status, guint64 fp)
{
  LuFrameRegs frame = { .pc = last_pc (walk),
                        .sp = walk->sp,
                        .fp = fp & lu_arch_address_mask (walk->arch) };
  LuFrameContext context = { .arch = walk->arch,
                             .sample = walk->sample,
                             .sampled_sp = walk->sampled_sp,
                             .is_exact = walk->is_exact,
                             .has_hotspot = walk->has_hotspot,
                             .state = walk->provider_state,
                             .set_up = walk->set_up,
                             .ops = &frame_ops,
                             .data = walk };

  context.has_link = has_link (walk, &context.link);
  switch (lu_frame_providers_step (&context, walk->mapping, &frame, &walk->caller))
    {
    case LU_PROVIDER_FOUND:
      walk->provider_state = context.state;
      walk->inferred_n_frames = walk->stack->n_frames;
      walk->inferred_status = status;
      walk->is_signal_frame = walk->has_lost = walk->is_derived = walk->has_saved = FALSE;
      complete_caller (walk);
      return walk->is_to_begin = walk->has_only_fp = TRUE;
    case LU_PROVIDER_BEYOND:
      status = explain_address (walk, frame.fp + walk->arch->word_size, &walk->stack->stack_needed);
      finish (walk, status, frame.pc);
      break;
    case LU_PROVIDER_UNKNOWN:
      finish (walk, LU_STATUS_OVER_BUDGET, frame.pc);
      break;
    default:
      break;
    }
  return FALSE;
}

static int
read_copy (void *data, uint64_t address, uint64_t *value)
{
  Walk *walk = data;
  guint64 offset = address - walk->sampled_sp;

  if (walk->sample->stack_size < sizeof *value || offset > walk->sample->stack_size - sizeof *value)
    {
      walk->failed_address = address;
      return 0;
    }
  memcpy (value, walk->sample->stack + offset, sizeof *value);
  return 1;
}

/* Returns whether a function that goes on at a landing pad has written over the last frame. */
static gboolean
is_written_over (const Walk *walk, guint64 last_sp, guint64 pc)
{
  struct lu_regs callers[2] = { { .sp = walk->sp, .pc = pc } };

  return walk->is_landing
         && lu_landing_find (walk->stack, last_sp, callers, read_copy, (void *) walk);
}

/* Verifies the step to a caller, and has libdwfl start again with it. */
static int
go_on_derived (Walk *walk, const struct lu_regs *caller)
{
  const LuDerivedStep pair = { .code = walk->mapping,
                               .lookup = walk->lookup,
                               .mapping = find_mapping (walk, caller->pc - 1),
                               .pc = caller->pc };

  switch (lu_derived_step_verify (walk->reader, walk->pid, walk->arch, &pair))
    {
    case LU_PROVIDER_FOUND:
      walk->caller = (LuFrameRegs){ .pc = caller->pc, .sp = caller->sp, .fp = caller->fp };
      walk->is_signal_frame = walk->has_lost = walk->has_saved = FALSE;
      walk->is_to_begin = walk->has_only_fp = walk->is_derived = TRUE;
      return DWARF_CB_ABORT;
    case LU_PROVIDER_UNKNOWN:
      return finish (walk, LU_STATUS_OVER_BUDGET, last_pc (walk));
    default:
      return finish (walk, lu_derived_step_status (&pair), last_pc (walk));
    }
}

static int
read_no_register (void *data, uint32_t number, uint64_t *value)
{
  return 0;
}

/* Makes a step by a row that is not from CFI. libdwfl cannot start again with an interrupted frame,
 * so a signal frame ends the stack; the table engine goes on there. */
static int
step_derived (Walk *walk, Dwfl_Frame *state, const struct lu_rule *rule)
{
  struct lu_regs regs = { .pc = last_pc (walk),
                          .sp = walk->sp,
                          .address_mask = walk->arch->address_mask,
                          .frame_kind =
                              walk->is_exact ? LU_FRAME_KIND_SAMPLED : LU_FRAME_KIND_CALLER };
  LuStatus status = LU_STATUS_UNSUPPORTED_RULE;
  int result = LU_STATUS_UNSUPPORTED_RULE;
  Dwarf_Word value;

  if (dwfl_frame_reg (state, walk->arch->fp, &value) == 0)
    {
      regs.fp = value;
      regs.known |= LU_KNOWN_FP;
    }
  if ((rule->flags & LU_RULE_SIGNAL) == 0)
    result = lu_step (&regs, rule, read_copy, read_no_register, walk);
  if (result == LU_STATUS_UNREADABLE_MEMORY)
    status = explain_address (walk, walk->failed_address, &walk->stack->stack_needed);
  else if (result == LU_STEP_CALLER && (regs.known & LU_KNOWN_FP) != 0)
    return go_on_derived (walk, &regs);
  else if (result != LU_STEP_CALLER)
    status = (LuStatus) result;
  return finish (walk, status, last_pc (walk));
}

/* Reads one of the registers that the kernel has saved at the stack pointer of a signal frame. Ends
 * the walk if it is not in the copy. */
static gboolean
read_saved (Walk *walk, guint bit)
{
  const LuArch *arch = walk->arch;
  guint number = arch->dwarf_numbers[bit] >= 0 ? (guint) arch->dwarf_numbers[bit] : bit;
  guint64 address = walk->sp + 8 * (guint64) arch->saved_words[number];

  if (lu_dwfl_walk_read (walk, address, &walk->saved[bit]))
    return TRUE;
  finish (walk, explain_address (walk, address, &walk->stack->stack_needed), last_pc (walk));
  return FALSE;
}

static int
begin_with_saved (Walk *walk)
{
  walk->saved[walk->arch->perf_pc] &= lu_arch_address_mask (walk->arch);
  walk->has_lost = FALSE;
  walk->has_saved = walk->is_to_begin = TRUE;
  return DWARF_CB_ABORT;
}

/* Has libdwfl start again with the registers of the interrupted frame. The two that CFI would need
 * come first, as in lu_step(). */
static int
go_on_interrupted (Walk *walk)
{
  const LuArch *arch = walk->arch;

  if (!read_saved (walk, arch->perf_sp) || !read_saved (walk, arch->perf_pc))
    return DWARF_CB_ABORT;
  for (guint bit = 0; bit < arch->n_registers; bit++)
    if (!read_saved (walk, bit))
      return DWARF_CB_ABORT;
  walk->saved_bits = G_MAXUINT64;
  return begin_with_saved (walk);
}

/* Goes on from the function that handlers of Go return to, above which is the kernel's frame. Its
 * address has no call before it. */
static int
go_on_from_restorer (Walk *walk)
{
  LuStack *stack = walk->stack;

  if (walk->arch->kernel_frame == NULL)
    return finish (walk, LU_STATUS_UNSUPPORTED_RULE, last_pc (walk));
  stack->frames[stack->n_frames - 1].flags &= ~LU_FRAME_RETURN_ADDRESS;
  walk->is_signal_frame = TRUE;
  return go_on_interrupted (walk);
}

/* Applies what the last frame's Go function says about its caller. TRUE: libdwfl cannot go on. */
static gboolean
apply_go (Walk *walk, guint64 pc)
{
  LuGoFunctionKind kind = go_kind (walk);
  LuStatus status;

  walk->is_preempting = kind == LU_GO_PREEMPT;
  if (lu_go_stack_ends (kind, !walk->is_exact, &status))
    finish (walk, status, pc);
  else if (kind == LU_GO_RESTORER && !walk->is_exact)
    go_on_from_restorer (walk);
  else
    return FALSE;
  return TRUE;
}

static void
save (Walk *walk, guint bit, guint64 value)
{
  walk->saved[bit] = value;
  walk->saved_bits |= G_GUINT64_CONSTANT (1) << bit;
}

/* Has libdwfl start again with the caller of runtime.asyncPreempt: a handler of Go has put the call
 * before the instruction that it interrupted, and libdwfl would look for a call before that. With a
 * link register, that of the interrupted function is on top of what the handler has pushed; most
 * functions do not need it, so the frame is there without it, too. */
static int
go_on_preempted (Walk *walk, Dwfl_Frame *state, guint64 pc, guint64 last_sp)
{
  const LuArch *arch = walk->arch;
  guint64 link;
  Dwarf_Word fp;

  if (walk->sp < last_sp) /* CFI does not say where its last instruction jumps to */
    return finish (walk, LU_STATUS_UNSUPPORTED_RULE, last_pc (walk));
  walk->saved_bits = 0;
  if (arch->has_link_register && lu_dwfl_walk_read (walk, walk->sp, &link))
    save (walk, lu_arch_perf_bit (arch, arch->ra), link);
  if (dwfl_frame_reg (state, arch->fp, &fp) == 0)
    save (walk, lu_arch_perf_bit (arch, arch->fp), fp);
  save (walk, arch->perf_sp, walk->sp + arch->files.go_preempt_bytes);
  save (walk, arch->perf_pc, pc);
  return begin_with_saved (walk);
}

/* Ends the walk if stacks made by hand begin at this return address. */
static gboolean
is_root (Walk *walk, guint64 pc)
{
  LuProviderResult result =
      walk->is_exact ? LU_PROVIDER_NONE
                     : lu_code_is_root (walk->reader, walk->pid, walk->arch, walk->mapping, pc);

  if (result == LU_PROVIDER_NONE)
    return FALSE;
  finish (walk, result == LU_PROVIDER_FOUND ? LU_STATUS_COMPLETE : LU_STATUS_OVER_BUDGET, pc);
  return TRUE;
}

/* Finds a rule that is not from CFI, or asks for such rules, which come later. */
static gboolean
find_derived_or_ask (const Walk *walk, struct lu_rule *rule)
{
  LuMappedModule file;

  if (find_derived (walk->mapping, walk->lookup, rule))
    return TRUE;
  if (walk->mapping->status != LU_STATUS_COMPLETE)
    return FALSE;
  file = lu_code_file_of (walk->mapping, walk->pid);
  return lu_code_reader_fill_gaps (walk->reader, &file, walk->lookup - walk->mapping->bias)
         && find_derived (walk->mapping, walk->lookup, rule);
}

static void
note_bx (Walk *walk, Dwfl_Frame *state)
{
  Dwarf_Word value;

  if (dwfl_frame_reg (state, walk->arch->bx, &value) != 0)
    return;
  walk->bx.value = value;
  walk->bx.n_frames = walk->stack->n_frames;
}

/* Returns whether the frames below the last one have left BX to it, although libdw says that it is
 * lost. */
static gboolean
has_kept_bx (const Walk *walk)
{
  const LuStack *stack = walk->stack;
  guint i = walk->bx.n_frames;

  if (i == 0 || i == stack->n_frames)
    return FALSE;
  for (; i < stack->n_frames; i++)
    {
      const LuFrame *callee = &stack->frames[i - 1];
      guint back = i == 1 ? walk->leaf_back : (callee->flags & LU_FRAME_RETURN_ADDRESS) != 0;
      guint64 lookup = callee->pc - back;
      const LuDwflMapping *mapping = lu_dwfl_address_space_find (walk->space, lookup);

      if (mapping == NULL || !lu_dwfl_facts_keeps_bx (mapping, lookup))
        return FALSE;
    }
  return TRUE;
}

/* Has libdwfl start again with the last frame, and BX. */
static int
begin_with_bx (Walk *walk, Dwfl_Frame *state)
{
  const LuArch *arch = walk->arch;
  Dwarf_Word value;

  walk->saved_bits = 0;
  for (guint bit = 0; bit < arch->n_registers; bit++)
    if (arch->dwarf_numbers[bit] >= 0
        && dwfl_frame_reg (state, (guint) arch->dwarf_numbers[bit], &value) == 0)
      save (walk, bit, value);
  save (walk, lu_arch_perf_bit (arch, arch->bx), walk->bx.value);
  save (walk, arch->perf_pc, walk->lookup);
  walk->has_saved = walk->is_to_begin = walk->bx.is_again = TRUE;
  return DWARF_CB_ABORT;
}

/* Returns whether libdwfl visits the last frame again. */
static gboolean
is_again (Walk *walk)
{
  gboolean was_again = walk->bx.is_again;

  walk->bx.is_again = FALSE;
  if (was_again)
    walk->has_begun = FALSE;
  return was_again;
}

/* Has libdwfl step from the last frame. */
static int
leave_frame (Walk *walk, Dwfl_Frame *state, const LuDwflFacts *facts)
{
  walk->is_signal_frame = facts->is_signal_frame || walk->is_preempting;
  walk->is_landing = facts->is_landing;
  walk->self_saved = facts->self_saved;
  if (facts->is_by_bx && has_kept_bx (walk))
    return begin_with_bx (walk, state);
  return facts->is_record ? go_on_interrupted (walk) : DWARF_CB_OK;
}

static int
visit_frame (Dwfl_Frame *state, void *data)
{
  Walk *walk = data;
  guint64 last_sp = walk->sp;
  struct lu_rule rule;
  LuDwflFacts facts;
  LuStatus status;
  Dwarf_Addr pc;
  Dwarf_Word fp;

  if (is_again (walk))
    return DWARF_CB_OK;
  if (!dwfl_frame_pc (state, &pc, NULL) || !advance (walk, state))
    return finish (walk, LU_STATUS_BAD_RETURN_ADDRESS, last_pc (walk));
  if (walk->is_preempting && !walk->has_begun)
    return go_on_preempted (walk, state, pc, last_sp);
  /* libdwfl would look for the interrupted function in the wrong place. */
  if (is_written_over (walk, last_sp, pc)
      || (walk->is_signal_frame && !walk->has_begun && !walk->arch->cfi_finds_interrupted_stack))
    return finish (walk, LU_STATUS_UNSUPPORTED_RULE, last_pc (walk));
  walk->is_landing = FALSE;
  if (walk->has_begun && !walk->has_saved)
    pc = walk->caller.pc;
  walk->lookup = walk->is_exact ? pc : pc - 1;
  if (walk->stack->n_frames == 0)
    pc += walk->leaf_back;
  walk->mapping = lu_dwfl_address_space_find (walk->space, walk->lookup);
  /* A caller must be code. */
  if (walk->mapping == NULL && walk->stack->n_frames > 0)
    return finish (walk, LU_STATUS_BAD_RETURN_ADDRESS, last_pc (walk));
  if (!push_frame (walk, pc))
    return finish (walk, LU_STATUS_DEPTH_LIMIT, last_pc (walk));
  if (walk->mapping == NULL)
    return finish (walk, LU_STATUS_NO_MAPPING, pc);
  note_bx (walk, state);
  if (walk->stack->n_frames % FRAMES_PER_CLOCK == 0 && lu_thread_cpu_ns () > walk->deadline)
    return finish (walk, LU_STATUS_OVER_BUDGET, pc);

  if (apply_go (walk, pc))
    return DWARF_CB_ABORT;

  status = walk->mapping->status == LU_STATUS_COMPLETE ? hold_cfi (walk, walk->mapping)
                                                       : LU_STATUS_COMPLETE;
  if (status != LU_STATUS_COMPLETE)
    return finish (walk, status, pc);

  facts = lu_dwfl_facts_find (walk->facts, walk->space, walk->mapping, walk->lookup);
  if (facts.status == LU_STATUS_NO_UNWIND_INFO && walk->mapping->status == LU_STATUS_COMPLETE
      && is_root (walk, pc))
    return DWARF_CB_ABORT;
  if (facts.status == LU_STATUS_NO_UNWIND_INFO && find_derived_or_ask (walk, &rule))
    return step_derived (walk, state, &rule);
  if (facts.status != LU_STATUS_COMPLETE && !is_leaf_of_file (walk) && !facts.is_landing
      && dwfl_frame_reg (state, walk->arch->fp, &fp) == 0
      && lu_dwfl_walk_ask_providers (walk, facts.status, fp))
    return DWARF_CB_ABORT;
  if (facts.status != LU_STATUS_COMPLETE || facts.is_end)
    return walk->is_finished ? DWARF_CB_ABORT : finish (walk, facts.status, pc);
  if (walk->has_lost_sp)
    return finish (walk, LU_STATUS_UNSUPPORTED_RULE, pc);
  return leave_frame (walk, state, &facts);
}

/* Returns whether a return address of 0 ends the stack (is_end() in walk-frame.c). */
static gboolean
is_end (const Walk *walk)
{
  return lu_dwfl_facts_is_entry (walk->mapping, walk->lookup)
         || (!walk->is_exact && walk->mapping->status == LU_STATUS_COMPLETE
             && lu_code_is_last_call (walk->mapping, walk->lookup + 1));
}

/* Returns whether the sampled link register, which no step has read from the stack, is 0 at the
 * entry of a program, whose first instruction has no caller. */
static gboolean
is_without_link (const Walk *walk)
{
  const LuArch *arch = walk->arch;
  guint64 link;

  return arch->has_link_register && walk->stack->n_frames == 1 && walk->n_reads == 0
         && lu_arch_read_dwarf (arch, &walk->sample->regs, arch->ra, &link) && link == 0
         && lu_dwfl_facts_is_entry (walk->mapping, walk->lookup);
}

/* Returns why libdwfl found no caller although there is a rule. */
static LuStatus
explain_end (Walk *walk, guint64 *stack_needed)
{
  if (walk->has_failed)
    return explain_address (walk, walk->failed_address, stack_needed);
  if (walk->n_reads > 0 && (walk->last_value & lu_arch_address_mask (walk->arch)) == 0)
    return is_end (walk) ? LU_STATUS_COMPLETE : LU_STATUS_BAD_RETURN_ADDRESS;
  if (is_without_link (walk))
    return LU_STATUS_COMPLETE;
  /* The rule needs a register that was saved in unreadable memory. */
  if (walk->has_lost)
    return explain_address (walk, walk->lost_address, stack_needed);
  return LU_STATUS_UNSUPPORTED_RULE;
}

/* The last inferred caller was wrong: ends the stack before it. */
static void
take_step_back (Walk *walk)
{
  LuStack *stack = walk->stack;

  stack->n_frames = walk->inferred_n_frames;
  stack->stack_needed = 0;
  finish (walk, walk->inferred_status, last_pc (walk));
}

void
lu_dwfl_walk_run (LuDwflWalk *walk)
{
  LuStack *stack = walk->stack;

  do
    {
      walk->has_begun = walk->is_to_begin;
      walk->is_to_begin = FALSE;
      dwfl_getthread_frames (lu_dwfl_address_space_dwfl (walk->space), 1, visit_frame, walk);
    }
  while (walk->is_to_begin);
  if (!walk->is_finished && stack->n_frames == 0) /* a register is missing */
    finish (walk, LU_STATUS_UNSUPPORTED_ABI, 0);
  else if (!walk->is_finished)
    finish (walk, explain_end (walk, &stack->stack_needed), last_pc (walk));
  if (walk->inferred_n_frames > 0
      && lu_fp_step_is_refuted_by (stack->status, walk->is_at_absent_page))
    take_step_back (walk);
}
