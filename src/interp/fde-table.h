/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fde-table.h - where functions begin and end in a file without symbols: the search table of its
 * FDEs (.eh_frame_hdr) in the usual encoding. The file is hostile. */

#pragma once

#include "interp/language.h"

typedef struct
{
  guint64 vaddr; /* of .eh_frame_hdr, which the entries are relative to */
  guint8 *bytes; /* owned */
  guint32 n;     /* entries */
} LuFdeTable;

/* Fills in a struct of zeros. FALSE: there is no such table; clear it also then. */
gboolean lu_fde_table_read (LuFdeTable *self, const LuInterpInput *file);
void lu_fde_table_clear (LuFdeTable *self);

/* Returns the number of the last FDE that begins at the address or before it; 0 if none does. */
guint32 lu_fde_table_find (const LuFdeTable *self, guint64 address);
/* Returns where the code of an FDE begins. */
guint64 lu_fde_table_start (const LuFdeTable *self, guint32 number);
/* Reads the code of an FDE. FALSE: it is not as the table says. */
gboolean lu_fde_table_range (const LuFdeTable *self, const LuInterpInput *file, guint32 number,
                             LuInterpRange *range);
/* Reads the code of the FDE that has the address. */
gboolean lu_fde_table_range_at (const LuFdeTable *self, const LuInterpInput *file, guint64 address,
                                LuInterpRange *range);
