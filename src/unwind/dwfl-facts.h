/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-facts.h - what the unwind information says about an address in a module, remembered by
 * module and address.
 *
 * The dwfl engine asks before each step, because libdwfl does not say why it ended and follows the
 * frame pointer where there is no unwind information. All processes share the cache. */

#pragma once

#include "dwfl-address-space.h"
#include "lu/frame-pointer.h"

typedef struct
{
  /* COMPLETE: libdwfl may step, or with `is_end` this is the outermost frame. Otherwise the reason
   * why it may not step. */
  LuStatus status;
  gboolean is_end;
  gboolean is_signal_frame; /* the caller was interrupted, its pc is exact */
  gboolean is_record;       /* that frame's registers are in the kernel's frame (saved_words) */
  gboolean is_landing;      /* as LU_RULE_LANDING; UNSUPPORTED_RULE: the last instructions */
  gboolean is_by_bx;        /* the CFA is BX and a constant */
  guint8 self_saved;        /* DWARF number of a register that is found through itself; 0: none */
} LuDwflFacts;

typedef struct _LuDwflFactsCache LuDwflFactsCache;

LuDwflFactsCache *lu_dwfl_facts_cache_new (void);
void lu_dwfl_facts_cache_free (LuDwflFactsCache *self);

/* Looks up a run-time address inside the mapping. */
LuDwflFacts lu_dwfl_facts_find (LuDwflFactsCache *self, LuDwflAddressSpace *space,
                                const LuDwflMapping *mapping, guint64 address);

/* Returns whether the code is the entry of the file, which has no caller. */
gboolean lu_dwfl_facts_is_entry (const LuDwflMapping *mapping, guint64 address);

/* Returns the register (DWARF number) that CFI says is saved at `address` although an epilogue has
 * popped it: the slot is below the stack pointer, or it is addressed by a frame pointer (the
 * `self_saved` register, or 0) that points out of the frame and so is the caller's by now. -1 if
 * there is none, or if the CFA is not a register and a constant. */
int lu_dwfl_facts_popped_register (const LuDwflMapping *mapping, guint64 lookup, const LuRegs *regs,
                                   guint self_saved, guint64 address);

/* Finds the stack pointer of a caller's frame after a frame-pointer step that does not tell it, on
 * architectures with a link register: the code has saved its caller's frame pointer with the return
 * address beside it, so `fp` points to that place. `sp` stays where the CFA does not need it.
 * FALSE: the code does not keep such a frame. */
gboolean lu_dwfl_facts_sp_of_record (const LuDwflMapping *mapping, guint64 lookup,
                                     const LuArch *arch, guint64 fp, guint64 *sp);

/* Returns what the unwind information says about an address, for a frame-pointer step. */
enum lu_fp_rule lu_dwfl_facts_rule (const LuDwflMapping *mapping, guint64 lookup,
                                    const LuArch *arch);

/* Returns whether CFI leaves BX as it is at this address. libdw says that it is lost where CFI does
 * not mention it: its list of registers that the ABI preserves has another one in its place. So
 * this reads the entry. */
gboolean lu_dwfl_facts_keeps_bx (const LuDwflMapping *mapping, guint64 lookup);
