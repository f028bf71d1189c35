/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf.h - what the code of a leaf shows about its return address. */

#pragma once

#include "arch/arch.h"

#define LU_AARCH64_LEAF_BYTES 256

/* See LuArch.leaf_of. BARE: the return address is in the link register, the stack pointer and frame
 * pointer are the caller's. POPPED: the return address is behind the number of words, and the
 * frame pointer before it. */
guint32 lu_aarch64_leaf_of (const guint8 *code);
/* See LuArch.is_plt_entry. */
gboolean lu_aarch64_is_plt_entry (const guint8 *code);
