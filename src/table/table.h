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
  gsize table_bytes;        /* of the block: index, rows and rules */
  guint faults[LU_N_CFI_FAULTS];
} LuTableStats;

typedef struct
{
  struct lu_rows rows;
  const struct lu_rule *rules;
  guint n_rows, n_rules;
  LuTableStats stats;
  gpointer memory; /* owned; the block is in it */
} LuTable;

/* What a table may cost. */
typedef struct
{
  gsize max_bytes;          /* of rows; there are twice as many for a moment */
  const gint *is_cancelled; /* atomic, looked at now and then; NULL: never */
} LuTableLimits;

/* The numbers that the layout of a block follows from. */
typedef struct
{
  guint64 base;
  guint32 n_pages, n_rows, n_rules;
} LuTableShape;

/* Compiles all of it; never fails: what cannot be compiled has no rows. */
LuTable *lu_table_new (LuCfi *cfi);
/* The same, or NULL when a limit is met. */
LuTable *lu_table_new_within (LuCfi *cfi, const LuTableLimits *limits);
/* The same of an image; NULL also if it has no tables or its CFI is not there. */
LuTable *lu_table_new_for_image (LuImage *image, const LuTableLimits *limits);
/* Some entries were refused: where it has no rule, that is not the last word. */
gboolean lu_table_has_faults (const LuTable *self);
/* A table from a block that somebody else kept, at `block_at` (a multiple of 16) of `memory`
 * (g_malloc; taken, and freed if it fails). Everything that a look-up or a step relies on is
 * checked; NULL if anything is odd. The statistics that the block does not tell are 0. */
LuTable *lu_table_new_from_memory (const LuTableShape *shape, gpointer memory, gsize block_at,
                                   gsize block_size);
void lu_table_free (LuTable *self);

/* Bytes of a block; *rules_at: where its rules begin. */
gsize lu_table_block_size (guint n_pages, guint n_rows, guint n_rules, gsize *rules_at);
/* The block, stats.table_bytes long. */
static inline gconstpointer
lu_table_block (const LuTable *self)
{
  return self->rows.pages;
}

/* The rule for an ELF address; never NULL. */
static inline const struct lu_rule *
lu_table_find (const LuTable *self, guint64 address)
{
  return &self->rules[lu_rows_find (&self->rows, address)];
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTable, lu_table_free)
