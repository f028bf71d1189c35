/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* guarded.h - the part of an image's CFI that libdw may see.
 *
 * Used by image.c when libdw first needs an image, which is never for most files: the table
 * compiler reads the original bytes. CFI that passes cfi-guard.h unchanged is shared, not copied.
 */

#pragma once

#include "elf/synthetic.h"

typedef struct
{
  guint n_unsorted; /* FDEs without a search table */
  guint n_refused;  /* disabled FDEs */
} LuGuardCounts;

/* Returns `raw` itself if libdw may see all of it, otherwise a copy without the rest, or NULL if
 * there is no memory. */
LuSynthetic *lu_guarded_new (LuSynthetic *raw, LuGuardCounts *counts);
