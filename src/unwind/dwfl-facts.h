/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-facts.h - what the unwind information says of a place in a module, remembered by module and
 * address.
 *
 * Used by the dwfl engine before each step, because libdwfl does not say how it ended and guesses
 * by frame pointer where there is no unwind information. All processes share the cache. */

#pragma once

#include "unwind/dwfl-space.h"

typedef struct
{
  /* COMPLETE with `is_end`: the outermost frame. COMPLETE without: libdwfl may go on. Else the
   * reason why not. */
  LuStatus status;
  gboolean is_end;
  gboolean is_signal_frame; /* the caller was interrupted, its pc is exact */
  guint8 self_saved;        /* DWARF number of a register that is found through itself; 0: none */
} LuDwflFacts;

typedef struct _LuDwflFactsCache LuDwflFactsCache;

LuDwflFactsCache *lu_dwfl_facts_cache_new (void);
void lu_dwfl_facts_cache_free (LuDwflFactsCache *self);

/* `address`: where to look up, run-time, inside the mapping. */
LuDwflFacts lu_dwfl_facts_find (LuDwflFactsCache *self, LuDwflSpace *space,
                                const LuDwflMapping *mapping, guint64 address);

/* Whether the code is what the file is entered by: nobody has called it. */
gboolean lu_dwfl_facts_is_entry (const LuDwflMapping *mapping, guint64 address);

/* Which register (DWARF number) the row of this place says is saved at `address`, though a frame
 * that runs has popped it: the slot is below the stack pointer, or it is named by a frame pointer
 * (`self_saved` of the place, or 0) that points out of the frame and so is the caller's by now. -1
 * if none, or if the row's CFA is not a register and a constant. */
int lu_dwfl_facts_popped_register (const LuDwflMapping *mapping, guint64 lookup, const LuArch *arch,
                                   const LuRegs *regs, guint self_saved, guint64 address);

/* How the row of this place computes the CFA. */
typedef enum
{
  LU_DWFL_CFA_NONE,     /* there is no row */
  LU_DWFL_CFA_ABOVE_FP, /* two words above the frame pointer, as in code that has pushed the
                           caller's and made it its own */
  LU_DWFL_CFA_OTHER,
} LuDwflCfa;
LuDwflCfa lu_dwfl_facts_cfa (const LuDwflMapping *mapping, guint64 lookup, const LuArch *arch);
