/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table.h - the compiled unwind table of a whole file.
 *
 * Made once by lu_table_new(), immutable afterwards, so any thread may read it. The bytes are those
 * of row.h, in one block that can be stored or handed to BPF as it is: the page index, a row of
 * rule 0, the rows, the rules. */

#pragma once

#include "lu/row.h"
#include "table/cfi.h"

typedef struct
{
  guint n_fdes; /* that have rows */
  guint n_rows, n_rules, n_pages;
  gboolean is_overflown;    /* there were more rules than a table holds */
  guint64 code_bytes;       /* under these FDEs */
  guint64 complex_bytes;    /* of them: complex */
  guint64 leaf_bytes;       /* need a register that only the sampled frame has */
  guint64 unknown_fp_bytes; /* the caller's frame pointer is lost there */
  gsize table_bytes;        /* index, rows and rules */
  guint faults[LU_N_CFI_FAULTS];
} LuTableStats;

typedef struct
{
  struct lu_rows rows;
  const struct lu_rule *rules;
  guint n_rows, n_rules;
  LuTableStats stats;
} LuTable;

/* Compiles all of it; never fails: what cannot be compiled has no rows. */
LuTable *lu_table_new (LuCfi *cfi);
void lu_table_free (LuTable *self);

/* The rule for an ELF address; never NULL. */
static inline const struct lu_rule *
lu_table_find (const LuTable *self, guint64 address)
{
  return &self->rules[lu_rows_find (&self->rows, address)];
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTable, lu_table_free)
