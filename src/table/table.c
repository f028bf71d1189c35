/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table.c - compiles a whole file into its table; see table.h.
 *
 * Pieces come in order, so rows are appended as they are made and the page index grows with them:
 * nothing is sorted or merged afterwards. A row of rule 0 closes a piece unless the next one begins
 * there; a row that repeats the one before it is left out. */

#include "table/table.h"

#include "table/compile.h"

#include <string.h>

/* More pages than any program has code; a table of so many would be 4 GiB of code. */
#define MAX_PAGES 65536u
#define MAX_ROWS  (64u << 20)

typedef struct
{
  LuCompiler *compiler;
  LuTableStats *stats;
  guint32 *rows;
  gsize n_rows, n_rows_allocated;
  guint32 *pages;
  guint n_pages, n_pages_allocated; /* pages begun; pages[i] is known for i < n_pages */
  guint64 base, last_address;
  guint last_rule;
  gboolean has_base;
} Writer;

/* Rows */

static void
begin_pages (Writer *self, guint page)
{
  if (page >= self->n_pages_allocated)
    {
      self->n_pages_allocated = MAX (2 * self->n_pages_allocated, page + 16);
      self->pages = g_renew (guint32, self->pages, self->n_pages_allocated);
    }
  while (self->n_pages <= page)
    self->pages[self->n_pages++] = (guint32) self->n_rows;
}

/* The last row is replaced; what is before it may be the same as the new one. */
static guint
take_back (Writer *self)
{
  self->n_rows--;
  return self->n_rows > 0 ? self->rows[self->n_rows - 1] >> 16 : LU_RULE_NONE;
}

static void
write_row (Writer *self, guint64 address, guint rule)
{
  if (self->n_rows > 0 && self->last_address == address)
    self->last_rule = take_back (self);
  if (rule == self->last_rule || self->n_rows == MAX_ROWS)
    return;
  if (self->n_rows == self->n_rows_allocated)
    {
      self->n_rows_allocated = MAX (2 * self->n_rows_allocated, 1024);
      self->rows = g_renew (guint32, self->rows, self->n_rows_allocated);
    }
  begin_pages (self, (guint) ((address - self->base) >> LU_PAGE_SHIFT));
  self->rows[self->n_rows++] = LU_ROW (address, rule);
  self->last_address = address;
  self->last_rule = rule;
}

/* Statistics */

static void
count_code (LuTableStats *stats, const struct lu_rule *rule, guint64 bytes)
{
  if (rule->cfa_kind == LU_CFA_COMPLEX)
    stats->complex_bytes += bytes;
  else if (rule->cfa_kind == LU_CFA_REGISTER || rule->ra_kind == LU_RA_REGISTER)
    stats->leaf_bytes += bytes;
  if (lu_rule_fp_kind (rule) == LU_SAVE_UNKNOWN)
    stats->unknown_fp_bytes += bytes;
}

static void
write_piece (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  Writer *self = user_data;
  const LuRawRows *rows = &self->compiler->fde_rows;

  if (!self->has_base)
    self->base = from & ~((G_GUINT64_CONSTANT (1) << LU_PAGE_SHIFT) - 1);
  self->has_base = TRUE;
  if ((to - self->base) >> LU_PAGE_SHIFT >= MAX_PAGES)
    {
      self->stats->faults[LU_CFI_FAULT_RANGE]++;
      return;
    }
  if (lu_compiler_run (self->compiler, fde, from, to))
    self->stats->n_fdes++;
  for (guint i = 0; i < rows->n; i++)
    {
      const LuRawRow *row = &rows->rows[i];
      guint64 next = i + 1 < rows->n ? rows->rows[i + 1].address : to;

      write_row (self, row->address, row->rule);
      count_code (self->stats, &self->compiler->rules.rules[row->rule], next - row->address);
    }
  self->stats->code_bytes += to - from;
  write_row (self, to, LU_RULE_NONE);
}

/* The block: pages, a row of rule 0, rows, rules. */

static gsize
round_up (gsize value)
{
  return (value + 15) & ~(gsize) 15;
}

static void
finish (LuTable *self, Writer *writer, const LuRuleList *rules)
{
  gsize words = writer->n_pages + 1 + 1 + writer->n_rows;
  gsize rules_at = round_up (words * sizeof (guint32));
  guint8 *block = g_malloc0 (rules_at + rules->n * sizeof *rules->rules);
  guint32 *pages = (guint32 *) block;
  guint32 *rows = pages + writer->n_pages + 2;

  if (writer->n_pages > 0)
    memcpy (pages, writer->pages, writer->n_pages * sizeof *pages);
  pages[writer->n_pages] = (guint32) writer->n_rows;
  if (writer->n_rows > 0)
    memcpy (rows, writer->rows, writer->n_rows * sizeof *rows);
  memcpy (block + rules_at, rules->rules, rules->n * sizeof *rules->rules);
  self->rows = (struct lu_rows){
    .base = writer->base,
    .n_pages = writer->n_pages,
    .pages = pages,
    .rows = rows,
  };
  self->rules = (const struct lu_rule *) (block + rules_at);
  self->n_rows = (guint) writer->n_rows;
  self->n_rules = rules->n;
  self->stats.table_bytes = rules_at + rules->n * sizeof *rules->rules;
}

LuTable *
lu_table_new (LuCfi *cfi)
{
  g_autoptr (LuCompiler) compiler = lu_compiler_new (cfi);
  LuTable *self = g_new0 (LuTable, 1);
  Writer writer = { .compiler = compiler, .stats = &self->stats, .last_rule = LU_RULE_NONE };
  const guint *faults;

  lu_compiler_foreach_piece (compiler, write_piece, &writer);
  finish (self, &writer, &compiler->rules);
  faults = lu_cfi_faults (cfi);
  for (guint i = 0; i < LU_N_CFI_FAULTS; i++)
    self->stats.faults[i] += faults[i];
  self->stats.n_rows = self->n_rows;
  self->stats.n_rules = self->n_rules;
  self->stats.n_pages = self->rows.n_pages;
  self->stats.is_overflown = compiler->rules.is_overflown;
  g_free (writer.rows);
  g_free (writer.pages);
  return self;
}

void
lu_table_free (LuTable *self)
{
  g_free ((gpointer) self->rows.pages);
  g_free (self);
}
