/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* landing-pad.h - the callers of libgcc's functions that go on at the landing pad of an exception.
 *
 * Before such a function jumps (uw_install_context() in libgcc's unwind-dw2.c), it copies what the
 * callees of the catching frame have saved over what it has saved itself, the return address last;
 * then it puts the landing pad where the catching frame's return address was. Its frame holds two
 * contexts (struct _Unwind_Context): its own caller's, which keeps the return address, and the
 * catching frame's. A context has the addresses of the words that have 17 registers, by DWARF
 * number, the last for the return address; a word that is not in use; the stack pointer after the
 * return; the address to go on at. */

#pragma once

#include "lu/stack.h"
#include "lu/step.h"

#include <glib.h>

/* Looks at the last frame of the stack, which is one of those, with the stack pointer `sp`.
 * callers[0] is what CFI says. TRUE: the frame goes on at the landing pad, which callers[1] is set
 * to. FALSE: callers[0] is right, but FP and BX may be those of the catching frame; then they are
 * marked as not known, and callers[1] is set, too. */
gboolean lu_landing_find (const LuStack *stack, guint64 sp, struct lu_regs callers[2],
                          lu_read_fn read, void *data);
