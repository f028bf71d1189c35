/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-facts.h - what the code of files says: is there a call before a return address, and
 * where does a leaf have its return address?
 *
 * Each answer is kept with its module (module/call-sites.h). Any thread may ask for known answers;
 * only the worker reads files. */

#pragma once

#include "module/code-reader.h"
#include "unwind/frame-provider.h"

/* Returns the kind of call before a return address into the mapping. Reads the file if needed;
 * with `reader` NULL, says only what is known. UNKNOWN: the reader's budget is used up, or there is
 * no reader. */
LuCallKind lu_code_call (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                         const LuDwflMapping *mapping, guint64 pc);

/* Like lu_code_call(), but returns FOUND if the call leads to code near the address `to` in `code`
 * (lu_fp_is_near()) in the same file, to a procedure linkage table, unless that of the same
 * program, or through a register or memory; NONE if it does not. */
LuProviderResult lu_code_leads_to (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                                   const LuFrameCall *call);

/* Like lu_code_call(), but returns what the function says about its frame at `to` that the call,
 * a direct one within a file, leads to, or one that this ends with a jump to: FRAMED, BARE or
 * UNDECIDED (lu_function_frame_at()). UNKNOWN only without a reader: if there is no budget,
 * UNDECIDED. */
enum lu_leaf_kind lu_code_frame (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                                 const LuFrameCall *call);

/* Like lu_code_call(), but returns FOUND if the call is a direct one within a file to a function
 * that sets up a frame, has no instruction at `to`, and leads to no other function but by calls
 * (lu_function_reach()). NONE: it may have gone on to `to`. */
LuProviderResult lu_code_leads_away (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                                     const LuFrameCall *call);

/* Like lu_code_call(), but returns what the code from `pc` on shows (LuArch.leaf_of). */
LuLeaf lu_code_leaf (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                     const LuDwflMapping *mapping, guint64 pc);
/* FOUND: stacks made by hand begin at the return address `pc`. UNKNOWN: the code is not read yet.
 */
LuProviderResult lu_code_is_root (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                                  const LuDwflMapping *mapping, guint64 pc);

/* Returns whether the call before `pc` is the last instruction of its function, as CFI tells, so
 * that it never returns. Worker thread only; the CFI must be held. */
gboolean lu_code_is_last_call (const LuDwflMapping *mapping, guint64 pc);
/* Returns whether lu_code_is_last_call() was TRUE. FALSE: it was not, or nobody has asked. Any
 * thread. */
gboolean lu_code_was_last_call (const LuDwflMapping *mapping, guint64 pc);

/* Returns the module of a mapping for the code reader. */
static inline LuMappedModule
lu_code_file_of (const LuDwflMapping *mapping, gint32 pid)
{
  return (LuMappedModule){
    .module = mapping->module, .pid = pid, .start = mapping->start, .end = mapping->end
  };
}
