/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* function-frame.h - where a function has its return address at one of its instructions, and
 * whether it has an instruction at all, as its code shows from its start on.
 *
 * For code without CFI in files that are too large for rows (file-rows.h). All paths from the start
 * are followed (code/flow.h), within LU_FUNCTION_WINDOW bytes, and into the functions that it ends
 * with a jump to. The bytes are hostile; the work is bounded, and charged to the process. Worker
 * thread. */

#pragma once

#include "lu/leaf.h"
#include "module/code-reader.h"

/* Bytes of code that are looked at, from where a function begins. */
#define LU_FUNCTION_WINDOW (64u << 10)

/* Looks at the function that begins at the ELF address `start`, and at those that it jumps to,
 * for the one that has an instruction at the ELF address `address`. FRAMED: the frame pointer leads
 * to the caller's and to the return address; BARE: that is on top of the stack, and the frame
 * pointer is the caller's; UNDECIDED: neither, or it is not known; UNKNOWN: the budget is used up.
 */
enum lu_leaf_kind lu_function_frame_at (LuCodeReader *reader, const LuMappedModule *mapped,
                                        guint64 start, guint64 address);

/* Where the paths of a function lead. */
typedef enum
{
  LU_REACH_ANYWHERE,  /* not known, whatever the address is */
  LU_REACH_HERE,      /* perhaps to the address */
  LU_REACH_ELSEWHERE, /* it sets up a frame, all end with a return, none comes to the address */
} LuReach;

/* Follows all paths of the function that begins at the ELF address `start`, past calls, to see
 * whether one comes to the ELF address `address`. ANYWHERE if there is a jump through a register or
 * memory, or to code that is not within 4 KiB behind `start`, or an instruction that ends the
 * program, or if there are more than 256 instructions, or none that sets up a frame pointer. HERE
 * without following them if the address is within these 4 KiB, and no function with a frame pointer
 * ends before it. So few instructions cost as little as a read, and are not charged. *reach is set
 * if the code was READ. */
LuCodeResult lu_function_reach (LuCodeReader *reader, const LuMappedModule *mapped, guint64 start,
                                guint64 address, LuReach *reach);
