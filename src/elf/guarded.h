/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* guarded.h - the part of an image's CFI that libdw may see.
 *
 * Used by image.c when libdw first needs an image, which for most files is never: the table
 * compiler reads the bytes as they are. What passes cfi-guard.h untouched is shared, not copied. */

#pragma once

#include "elf/synthetic.h"

typedef struct
{
  guint n_unsorted; /* FDEs that no search table leads to */
  guint n_refused;  /* FDEs that were disabled */
} LuGuardCounts;

/* `raw` itself if libdw may see all of it, else a copy without the rest; NULL when there is no
 * memory. */
LuSynthetic *lu_guarded_new (LuSynthetic *raw, LuGuardCounts *counts);
