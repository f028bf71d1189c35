/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-facts.c - what the unwind information says about an address; see dwfl-facts.h. */

#include "unwind/dwfl-facts.h"

#include "table/compile.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

/* 64 KiB, by module and address; 85 % or more of the look-ups hit. */
#define N_SLOTS 4096

/* The largest hand-written entry code without unwind information (ld.so, static C libraries), in
 * bytes. */
#define ENTRY_SIZE 0x40

typedef struct
{
  guint64 elf_address;
  guint32 module; /* id; 0: empty */
  guint8 status;
  guint8 is_end : 1, is_signal_frame : 1, is_landing : 1, is_record : 1, is_by_bx : 1;
  guint8 self_saved;
} Slot;

_Static_assert(sizeof (Slot) == 16, "four slots to a cache line");

struct _LuDwflFactsCache
{
  Slot slots[N_SLOTS];
};

LuDwflFactsCache *
lu_dwfl_facts_cache_new (void)
{
  return g_new0 (LuDwflFactsCache, 1);
}

void
lu_dwfl_facts_cache_free (LuDwflFactsCache *self)
{
  g_free (self);
}

gboolean
lu_dwfl_facts_is_entry (const LuDwflMapping *mapping, guint64 address)
{
  LuImage *image = lu_module_image (mapping->module);
  guint64 entry = image != NULL ? lu_image_entry (image) : 0;

  /* No process starts in the vDSO; its entry is the system call stub of 32-bit programs. */
  if (lu_module_key (mapping->module)->kind == LU_MODULE_VDSO)
    return FALSE;
  return entry != 0 && address - mapping->bias >= entry
         && address - mapping->bias - entry < ENTRY_SIZE;
}

/* Finds the row of an address in .eh_frame, then in .debug_frame, like libdwfl. */
static Dwarf_Frame *
find_row (Dwfl_Module *module, guint64 address)
{
  Dwarf_Frame *frame = NULL;
  Dwarf_Addr bias;
  Dwarf_CFI *cfi = dwfl_module_eh_cfi (module, &bias);

  if (cfi != NULL && dwarf_cfi_addrframe (cfi, address - bias, &frame) == 0)
    return frame;
  cfi = dwfl_module_dwarf_cfi (module, &bias);
  if (cfi != NULL && dwarf_cfi_addrframe (cfi, address - bias, &frame) == 0)
    return frame;
  return NULL;
}

/* Returns whether the file's entry has a row. That row then says where stacks end, and code without
 * a row near the entry is another function. */
static gboolean
has_entry_row (const LuDwflMapping *mapping)
{
  LuImage *image = lu_module_image (mapping->module);
  Dwarf_Frame *frame = NULL;
  gboolean has_row;

  if (mapping->dwfl_module != NULL && image != NULL)
    frame = find_row (mapping->dwfl_module, lu_image_entry (image) + mapping->bias);
  has_row = frame != NULL;
  free (frame);
  return has_row;
}

/* Recognises "saved at *(base + n)"; libdw puts the CFA on the stack before an expression. */
static gboolean
is_saved_by (Dwarf_Frame *frame, int dwarf_register, guint base, guint64 *offset)
{
  Dwarf_Op memory[3], *ops = memory;
  size_t n_ops = 0;

  if (dwarf_frame_register (frame, dwarf_register, memory, &ops, &n_ops) != 0 || n_ops != 2
      || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_breg0 + base)
    return FALSE;
  *offset = ops[1].number;
  return TRUE;
}

/* Returns the register that is found through itself, the frame pointer of gcc's realigned frames; 0
 * if there is none. */
static guint8
find_self_saved (Dwarf_Frame *frame)
{
  guint64 offset;

  for (guint i = 1; i <= DW_OP_breg31 - DW_OP_breg0; i++)
    if (is_saved_by (frame, (int) i, i, &offset))
      return (guint8) i;
  return 0;
}

static const LuArch *
arch_of (const LuDwflMapping *mapping)
{
  LuImage *image = lu_module_image (mapping->module);

  return image != NULL ? lu_arch_of_machine (lu_image_machine (image)) : NULL;
}

/* Hand-written code of an architecture with a link register may keep its return address in a column
 * of its own, which libdw takes for undefined if the file does not mention it. */
static gboolean
is_usual_column (const LuDwflMapping *mapping, int column)
{
  const LuArch *arch = arch_of (mapping);

  return arch == NULL || !arch->has_link_register || column == arch->ra;
}

/* Returns whether a register is saved at an offset from the CFA. */
static gboolean
is_saved (Dwarf_Frame *frame, int dwarf_register)
{
  Dwarf_Op memory[3], *ops = memory;
  size_t n_ops = 0;

  return dwarf_frame_register (frame, dwarf_register, memory, &ops, &n_ops) == 0 && n_ops > 0
         && ops[0].atom == DW_OP_call_frame_cfa && ops[n_ops - 1].atom != DW_OP_stack_value;
}

/* Finds out whether the row is one of LU_RULE_LANDING. */
static void
find_landing (LuDwflFacts *facts, const LuArch *arch, Dwarf_Frame *frame)
{
  for (int i = 0; arch != NULL && i < (int) arch->n_register_names; i++)
    facts->is_landing |= arch->slots[i] == LU_SLOT_LANDING && is_saved (frame, i);
  if (facts->is_landing && !is_saved (frame, arch->fp))
    facts->status = LU_STATUS_UNSUPPORTED_RULE;
}

/* Returns whether a return address is saved above its own frame, so that the CFA is wrong (see
 * src/table/rule.c). */
static gboolean
is_above_cfa (const LuDwflMapping *mapping, const Dwarf_Op *ops, size_t n_ops)
{
  const LuArch *arch = arch_of (mapping);

  if (arch == NULL || !arch->has_link_register || n_ops == 0 || n_ops > 2
      || ops[0].atom != DW_OP_call_frame_cfa)
    return FALSE;
  return n_ops == 1 || (ops[1].atom == DW_OP_plus_uconst && (gint64) ops[1].number >= 0);
}

/* Returns whether the next instruction's row has its return address above its own frame: then this
 * one's frame lacks the same push. */
static gboolean
lacks_push (const LuDwflMapping *mapping, guint64 address)
{
  const LuArch *arch = arch_of (mapping);
  Dwarf_Frame *frame = NULL;
  Dwarf_Op memory[3], *ops = memory;
  gboolean is_above = FALSE;
  size_t n_ops = 0;

  if (arch != NULL && arch->has_link_register)
    frame = find_row (mapping->dwfl_module, address + arch->files.code_unit);
  if (frame != NULL && dwarf_frame_register (frame, arch->ra, memory, &ops, &n_ops) == 0)
    is_above = is_above_cfa (mapping, ops, n_ops);
  free (frame);
  return is_above;
}

/* Returns whether the CFA is a register and a constant. */
static gboolean
is_register_cfa (Dwarf_Frame *frame, guint64 *number, guint64 *offset)
{
  Dwarf_Op *ops;
  size_t n_ops;

  if (dwarf_frame_cfa (frame, &ops, &n_ops) != 0 || n_ops != 1)
    return FALSE;
  *number = ops[0].atom - DW_OP_breg0;
  *offset = ops[0].number;
  if (ops[0].atom == DW_OP_bregx)
    {
      *number = ops[0].number;
      *offset = ops[0].number2;
    }
  return TRUE;
}

/* Recognises "saved at CFA + n"; libdw reports the addition only if n is not 0. */
static gboolean
is_saved_at (Dwarf_Frame *frame, int dwarf_register, guint64 cfa, guint64 address)
{
  Dwarf_Op memory[3], *ops = memory;
  size_t n_ops = 0;

  if (dwarf_frame_register (frame, dwarf_register, memory, &ops, &n_ops) != 0 || n_ops == 0
      || n_ops > 2 || ops[0].atom != DW_OP_call_frame_cfa)
    return FALSE;
  if (n_ops == 1)
    return cfa == address;
  return ops[1].atom == DW_OP_plus_uconst && cfa + ops[1].number == address;
}

/* Returns whether a signal frame's row names a record of the frame pointer and the pc, which tells
 * nothing about the other interrupted registers; those are in the kernel's frame, at sp. */
static gboolean
is_record (Dwarf_Frame *frame, const LuArch *arch)
{
  guint64 number, offset;

  return arch != NULL && arch->saved_words != NULL && !arch->cfi_finds_interrupted_stack
         && is_register_cfa (frame, &number, &offset) && number == arch->fp && offset == 0
         && is_saved_at (frame, arch->fp, 0, 0)
         && is_saved_at (frame, arch->ra, 0, arch->word_size);
}

static gboolean
is_by_bx (Dwarf_Frame *frame, const LuArch *arch)
{
  guint64 number, offset;

  return arch != NULL && is_register_cfa (frame, &number, &offset) && number == arch->bx;
}

static LuDwflFacts
ask_libdw (const LuDwflMapping *mapping, guint64 address)
{
  LuDwflFacts facts = { .status = LU_STATUS_COMPLETE };
  Dwarf_Frame *frame =
      mapping->dwfl_module != NULL ? find_row (mapping->dwfl_module, address) : NULL;
  Dwarf_Op memory[3], *ops = memory;
  bool is_signal_frame = false;
  size_t n_ops = 0;
  int return_address;

  if (frame == NULL)
    {
      facts.is_end = lu_dwfl_facts_is_entry (mapping, address) && !has_entry_row (mapping);
      facts.status = facts.is_end ? LU_STATUS_COMPLETE : LU_STATUS_NO_UNWIND_INFO;
      return facts;
    }
  return_address = dwarf_frame_info (frame, NULL, NULL, &is_signal_frame);
  facts.is_signal_frame = is_signal_frame;
  facts.is_record = is_signal_frame && is_record (frame, arch_of (mapping));
  if (return_address < 0 || !is_usual_column (mapping, return_address)
      || dwarf_frame_register (frame, return_address, memory, &ops, &n_ops) != 0)
    facts.status = LU_STATUS_UNSUPPORTED_RULE;
  else
    facts.is_end = n_ops == 0 && ops == memory; /* "undefined", see libdw.h */
  if (!is_signal_frame
      && (is_above_cfa (mapping, ops, n_ops) || (n_ops == 0 && lacks_push (mapping, address))))
    facts.status = LU_STATUS_UNSUPPORTED_RULE;
  facts.self_saved = find_self_saved (frame);
  facts.is_by_bx = is_by_bx (frame, arch_of (mapping));
  if (!is_signal_frame)
    find_landing (&facts, arch_of (mapping), frame);
  free (frame);
  return facts;
}

LuDwflFacts
lu_dwfl_facts_find (LuDwflFactsCache *self, LuDwflAddressSpace *space, const LuDwflMapping *mapping,
                    guint64 address)
{
  guint64 elf_address = address - mapping->bias;
  guint32 module = lu_module_id (mapping->module);
  guint64 hash = (elf_address ^ ((guint64) module << 40)) * 0x9e3779b97f4a7c15ull;
  Slot *slot = &self->slots[hash >> 52];
  LuDwflFacts facts;

  if (mapping->status != LU_STATUS_COMPLETE)
    return (LuDwflFacts){ .status = mapping->status };
  lu_dwfl_address_space_touch (space, mapping, elf_address);
  if (slot->module == module && slot->elf_address == elf_address)
    return (LuDwflFacts){ .status = (LuStatus) slot->status,
                          .is_end = slot->is_end,
                          .is_signal_frame = slot->is_signal_frame,
                          .is_landing = slot->is_landing,
                          .is_record = slot->is_record,
                          .is_by_bx = slot->is_by_bx,
                          .self_saved = slot->self_saved };
  facts = ask_libdw (mapping, address);
  *slot = (Slot){ .elf_address = elf_address,
                  .module = module,
                  .status = (guint8) facts.status,
                  .is_end = facts.is_end != FALSE,
                  .is_signal_frame = facts.is_signal_frame != FALSE,
                  .is_landing = facts.is_landing != FALSE,
                  .is_record = facts.is_record != FALSE,
                  .is_by_bx = facts.is_by_bx != FALSE,
                  .self_saved = facts.self_saved };
  return facts;
}

/* Computes a CFA that is a register and a constant; FALSE for others. */
static gboolean
cfa_from_register (Dwarf_Frame *frame, const LuArch *arch, const LuRegs *regs, guint64 *cfa)
{
  guint64 number, offset;

  if (!is_register_cfa (frame, &number, &offset))
    return FALSE;
  if (number > DW_OP_breg31 - DW_OP_breg0 || !lu_arch_read_dwarf (arch, regs, (int) number, cfa))
    return FALSE;
  *cfa += offset;
  return TRUE;
}

typedef struct
{
  Dwarf_Frame *frame;
  guint64 cfa, sp, fp;
  guint self_saved;
} Popped;

static gboolean
is_popped (const Popped *self, int dwarf_register, guint64 address)
{
  guint64 offset;

  if (address < self->sp && is_saved_at (self->frame, dwarf_register, self->cfa, address))
    return TRUE;
  return self->self_saved != 0 && (self->fp < self->sp || self->fp >= self->cfa)
         && is_saved_by (self->frame, dwarf_register, self->self_saved, &offset)
         && self->fp + offset == address;
}

int
lu_dwfl_facts_popped_register (const LuDwflMapping *mapping, guint64 lookup, const LuRegs *regs,
                               guint self_saved, guint64 address)
{
  const LuArch *arch = lu_arch_of_regs (regs);
  Popped popped = { .frame = find_row (mapping->dwfl_module, lookup), .self_saved = self_saved };
  int found = -1;

  if (popped.frame == NULL)
    return -1;
  if (self_saved != 0 && !lu_arch_read_dwarf (arch, regs, (int) self_saved, &popped.fp))
    popped.self_saved = 0;
  if (lu_arch_read (regs, arch->perf_sp, &popped.sp)
      && cfa_from_register (popped.frame, arch, regs, &popped.cfa))
    for (guint bit = 0; bit < arch->n_registers && found < 0; bit++)
      if (arch->dwarf_numbers[bit] >= 0 && is_popped (&popped, arch->dwarf_numbers[bit], address))
        found = arch->dwarf_numbers[bit];
  free (popped.frame);
  return found;
}

/* Recognises "saved at CFA + n" with n not 0. */
static gboolean
is_saved_below (Dwarf_Frame *frame, int dwarf_register, guint64 *offset)
{
  Dwarf_Op memory[3], *ops = memory;
  size_t n_ops = 0;

  if (dwarf_frame_register (frame, dwarf_register, memory, &ops, &n_ops) != 0 || n_ops != 2
      || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_plus_uconst)
    return FALSE;
  *offset = ops[1].number;
  return TRUE;
}

gboolean
lu_dwfl_facts_sp_of_record (const LuDwflMapping *mapping, guint64 lookup, const LuArch *arch,
                            guint64 fp, guint64 *sp)
{
  Dwarf_Frame *frame =
      mapping->dwfl_module != NULL ? find_row (mapping->dwfl_module, lookup) : NULL;
  guint64 number, offset, fp_at, ra_at;
  gboolean is_found =
      frame != NULL && is_register_cfa (frame, &number, &offset)
      && is_saved_below (frame, arch->fp, &fp_at) && is_saved_below (frame, arch->ra, &ra_at)
      && ra_at == fp_at + arch->word_size && (number == arch->sp || number == arch->fp);

  free (frame);
  if (is_found && number == arch->sp)
    *sp = fp - fp_at - offset;
  return is_found;
}

enum lu_fp_rule
lu_dwfl_facts_rule (const LuDwflMapping *mapping, guint64 lookup, const LuArch *arch)
{
  Dwarf_Frame *frame =
      mapping->dwfl_module != NULL ? find_row (mapping->dwfl_module, lookup) : NULL;
  enum lu_fp_rule rule = frame != NULL ? LU_FP_RULE_OTHER : LU_FP_RULE_NONE;
  guint distance = 2u * arch->word_size;
  Dwarf_Op *ops;
  size_t n_ops = 0;

  if (frame != NULL && dwarf_frame_cfa (frame, &ops, &n_ops) == 0 && n_ops == 1
      && ((ops[0].atom == DW_OP_breg0 + arch->fp && ops[0].number == distance)
          || (ops[0].atom == DW_OP_bregx && ops[0].number == arch->fp
              && ops[0].number2 == distance)))
    rule = LU_FP_RULE_BY_FP;
  else if (n_ops == 2 && ops[0].atom == DW_OP_breg0 + arch->fp && ops[1].atom == DW_OP_deref)
    rule = LU_FP_RULE_REALIGNED;
  free (frame);
  return rule;
}

gboolean
lu_dwfl_facts_keeps_bx (const LuDwflMapping *mapping, guint64 lookup)
{
  LuImage *image = lu_module_image (mapping->module);
  g_autoptr (LuCfi) cfi = image != NULL ? lu_cfi_new_for_look_ups (image) : NULL;
  g_autofree LuCfaRun *run = g_new (LuCfaRun, 1);
  struct lu_rule rule;

  if (cfi == NULL)
    return FALSE;
  rule = lu_compile_at (cfi, run, lookup - mapping->bias);
  return rule.cfa_kind != LU_CFA_NONE && rule.cfa_kind != LU_CFA_COMPLEX
         && lu_rule_bx_kind (&rule) == LU_SAVE_SAME;
}
