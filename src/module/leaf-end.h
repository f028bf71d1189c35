/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-end.h - whether a leaf without CFI uses its stack before it returns: generated loops (ORC)
 * and assembly do not.
 *
 * lu/leaf.h looks at a few instructions in a row. This follows all paths on from the leaf, with
 * branches and loops. Worker thread. */

#pragma once

#include "module/code-paths.h"
#include "module/code-reader.h"

/* Bytes of code that are looked at. */
#define LU_LEAF_WINDOW_BYTES LU_CODE_PATHS_BYTES

/* Looks at code, which is hostile, as lu_leaf_end() does. leaf: the offset of the leaf. The decoder
 * must be loaded. Any thread. */
gboolean lu_leaf_returns (const guint8 *bytes, guint size, guint leaf);

/* The code around a leaf, as far as it belongs to the mapping. */
typedef struct
{
  guint64 file_offset;   /* of the leaf */
  guint64 before, after; /* bytes that the mapping has before and from there on */
} LuLeafCode;

/* Sets *is_bare if the leaf returns, and no path from it on, within 4 KiB before and behind it and
 * 1,024 instructions, leads elsewhere, calls a function, changes the stack pointer or the frame
 * pointer, or writes by the stack pointer before: then the return address is on top, and the frame
 * pointer is the caller's. The bytes are read anew. Charged to the process; OVER_BUDGET: it may not
 * cost time now. */
LuCodeResult lu_leaf_end (LuCodeReader *reader, const LuMappedModule *mapped,
                          const LuLeafCode *code, gboolean *is_bare);
