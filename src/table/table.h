/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table.h - the compiled unwind table of a whole file.
 *
 * Immutable, so any thread may read it. The bytes are those of lu/row.h, in one block that can be
 * stored or copied for BPF: the page index, a row of rule 0, the rows, the rules. */

#pragma once

#include "table/cfi.h"
#include "table/extra-rows.h"

#include <stdatomic.h>

typedef struct
{
  guint n_fdes; /* FDEs with rows */
  guint n_rows, n_rules, n_pages;
  gboolean is_overflown;    /* there were more rules than a table holds */
  guint64 code_bytes;       /* covered by these FDEs */
  guint64 complex_bytes;    /* covered by complex rules */
  guint64 leaf_bytes;       /* where a register of the sampled frame only is needed */
  guint64 unknown_fp_bytes; /* where the caller's frame pointer is unknown */
  guint64 extra_bytes;      /* covered by rows that are not from CFI */
  gboolean has_extra;       /* such rows were looked for */
  gsize table_bytes;        /* bytes of the block: index, rows, rules, functions */
  guint cfi_errors[LU_N_CFI_ERRORS];
} LuTableStats;

/* A LuFunctionJump. */
typedef struct
{
  guint32 from, to;
} LuTableJump;

#define LU_TABLE_JUMP_ANYWHERE G_MAXUINT32

typedef struct
{
  struct lu_rows rows;
  const struct lu_rule *rules;
  guint n_rows, n_rules;
  /* Functions with extra rows, as offsets from rows.base. */
  const guint32 *starts;    /* ascending */
  const LuTableJump *jumps; /* by `from` and then by `to` */
  guint n_starts, n_jumps;
  LuTableStats stats;
  gpointer memory;              /* owned; contains the block */
  atomic_int n_more_references; /* references beyond the first */
  guint64 serial;               /* no other table of this process has it; 0: it was not made here */
} LuTable;

/* Limits for compiling. */
typedef struct
{
  gsize max_bytes;          /* bytes of rows; twice as many are used for a moment */
  const gint *is_cancelled; /* atomic, checked now and then; NULL: never */
} LuTableLimits;

/* The numbers that determine the layout of a block. */
typedef struct
{
  guint64 base;
  guint32 n_pages, n_rows, n_rules, n_starts, n_jumps;
} LuTableShape;

/* Compiles everything. Never fails: code that cannot be compiled has no rows. */
LuTable *lu_table_new (LuCfi *cfi);
/* Compiles an image. Returns NULL when a limit is reached, it has no CFI, or its CFI is not in
 * memory. */
LuTable *lu_table_new_for_image (LuImage *image, const LuTableLimits *limits);
/* Like lu_table_new_for_image(), with extra rows where no FDE covers the code. The image may have
 * no CFI. */
LuTable *lu_table_new_with_rows (LuImage *image, const LuExtraRows *rows,
                                 const LuTableLimits *limits);
/* Returns whether entries were refused, so that missing rules are not final. */
gboolean lu_table_has_cfi_errors (const LuTable *self);
/* Makes a table from a stored block at `block_at` (a multiple of 16) of `memory` (g_malloc; taken,
 * and freed on failure). Checks everything that a look-up or a step relies on; returns NULL if
 * anything is wrong. Statistics that the block does not have are 0. */
LuTable *lu_table_new_from_memory (const LuTableShape *shape, gpointer memory, gsize block_at,
                                   gsize block_size);
LuTable *lu_table_ref (LuTable *self); /* any thread */
void lu_table_unref (LuTable *self);

/* Returns the bytes of a block (the base does not matter); *rules_at: where its rules begin. */
gsize lu_table_block_size (const LuTableShape *shape, gsize *rules_at);
/* Returns the block, stats.table_bytes long. */
static inline gconstpointer
lu_table_block (const LuTable *self)
{
  return self->rows.pages;
}

/* Sets `start` to where the function at an ELF address begins, as far as extra rows tell. */
gboolean lu_table_find_start (const LuTable *self, guint64 address, guint64 *start);
/* Returns whether code that is called at `target` leads to the function that begins at `start`:
 * it is that function, or jumps to it, directly or through others. start: LU_JUMP_ANYWHERE for any
 * function of another file. */
gboolean lu_table_leads_to (const LuTable *self, guint64 target, guint64 start);
/* Sets the function at `target` and those that it leads to, the nearest ones. Returns their number.
 */
#define LU_TABLE_LEADS 8
guint lu_table_find_leads (const LuTable *self, guint64 target, guint64 leads[LU_TABLE_LEADS]);

/* Returns the rule for an ELF address; never NULL. */
static inline const struct lu_rule *
lu_table_find (const LuTable *self, guint64 address)
{
  return &self->rules[lu_rows_find (&self->rows, address)];
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTable, lu_table_unref)
