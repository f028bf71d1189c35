/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table-copy.c - copies a table for the BPF program; see table-copy.h.
 *
 * The copy has the pages of the table, but each page has a run of rows of its own, which begins
 * with the rule at the page's first byte. Pages without a change share runs of one row by rule:
 * there are thousands of them between functions that are far apart. Runs fill pieces of memory, as
 * large as there are; the unused end of a piece is given back. */

#include "bpf/table-copy.h"

/* Words: smaller pieces are used only when there are no larger ones. */
#define PIECE_WORDS 8192
/* Runs of one row that can be shared. */
#define N_SINGLES 256

/* The range of a copy. */
typedef struct
{
  guint64 base, end;       /* ELF addresses, multiples of a page */
  const GArray *functions; /* of LuGoFunction; NULL: none */
  gboolean is_uncertain;   /* an address without a rule may have one all the same */
} Extent;

typedef struct
{
  LuBpfArena *arena;
  LuBpfCopy *copy;
  struct lu_bpf_page *index;  /* of the copy */
  guint32 piece;              /* being filled; 0: none */
  guint n_piece, n_used;      /* words */
  gsize n_left;               /* words that may still be needed */
  gboolean is_full;           /* no room */
  guint32 singles[N_SINGLES]; /* by rule: word address of a run of one row; 0: none */
  guint32 single_rules[N_SINGLES];
  guint n_run; /* of the current page */
  guint32 run[LU_BPF_MAX_RUN];
} Writer;

/* The range of a copy */

static void
include (Extent *extent, guint64 start, guint64 end)
{
  guint64 mask = LU_PAGE_BYTES - 1;

  if (end <= start || end > G_MAXUINT64 - mask)
    return;
  extent->base = MIN (extent->base, start & ~mask);
  extent->end = MAX (extent->end, (end + mask) & ~mask);
}

static Extent
find_extent (const LuTable *table, const LuImage *image)
{
  Extent extent = { .base = G_MAXUINT64, .functions = lu_image_go_functions (image) };
  const LuSegment *segments;
  guint n;

  extent.is_uncertain = lu_table_has_cfi_errors (table);
  include (&extent, table->rows.base,
           table->rows.base + ((guint64) table->rows.n_pages << LU_PAGE_SHIFT));
  for (guint i = 0; extent.functions != NULL && i < extent.functions->len; i++)
    {
      const LuGoFunction *function = &g_array_index (extent.functions, LuGoFunction, i);

      include (&extent, function->start, function->end);
    }
  segments = lu_image_segments (image, &n);
  for (guint i = 0; extent.is_uncertain && i < n; i++)
    if (segments[i].executable)
      include (&extent, segments[i].vaddr, segments[i].vaddr + segments[i].memory_size);
  if (extent.end == 0)
    extent.base = 0;
  return extent;
}

static guint64
n_pages_of (const Extent *extent)
{
  return (extent->end - extent->base) >> LU_PAGE_SHIFT;
}

static gsize
words_of_rows (const Extent *extent, const LuTable *table)
{
  gsize n = table->n_rows + n_pages_of (extent) + 1;

  /* A function adds a row at its start and one at its end. */
  n += extent->functions != NULL ? 2 * extent->functions->len : 0;
  return n + n / 128; /* lu_bpf_run_length() */
}

gsize
lu_bpf_copy_words (const LuTable *table, const LuImage *image)
{
  Extent extent = find_extent (table, image);

  if (n_pages_of (&extent) > LU_BPF_MAX_PAGES - LU_BPF_GRAIN)
    return 0;
  return 2 * n_pages_of (&extent) + words_of_rows (&extent, table) + 2 * LU_BPF_GRAIN;
}

/* Memory */

static void
add_extent (LuBpfCopy *self, guint32 address, guint n_words)
{
  LuBpfExtent extent = { .address = address, .n_words = n_words };

  g_array_append_val (self->extents, extent);
}

static void
end_piece (Writer *self)
{
  if (self->piece == 0)
    return;
  lu_bpf_arena_trim (self->arena, self->piece, self->n_piece, self->n_used);
  if (self->n_used > 0)
    add_extent (self->copy, self->piece, self->n_used);
  self->piece = 0;
}

static void
begin_piece (Writer *self, guint n_words)
{
  guint most = (guint) MIN (MAX (self->n_left, n_words), LU_BPF_ENTRY_WORDS);
  guint least = MIN (most, MAX (n_words, PIECE_WORDS));

  end_piece (self);
  self->n_used = 0;
  self->piece = lu_bpf_arena_take_some (self->arena, least, most, &self->n_piece);
  if (self->piece == 0)
    self->piece = lu_bpf_arena_take_some (self->arena, n_words, most, &self->n_piece);
  self->is_full = self->piece == 0;
}

/* Returns the word address of the run, 0: no room. */
static guint32
write_run (Writer *self, const guint32 *rows, guint n)
{
  guint32 address;

  if (self->piece == 0 || self->n_used + n > self->n_piece)
    begin_piece (self, n);
  if (self->is_full)
    return 0;
  address = self->piece + self->n_used;
  memcpy (lu_bpf_arena_words (self->arena, self->piece) + self->n_used, rows, n * sizeof *rows);
  self->n_used += n;
  self->n_left -= MIN (self->n_left, n);
  return address;
}

/* Pages */

/* Begins the page at `address`, where `rule` holds, and adds the table's rows. Returns the rule at
 * its end. A large program has half a million rows, and nearly all of them change the rule. */
static guint32
gather_rows (Writer *self, const LuTable *table, guint64 address, guint32 rule)
{
  const struct lu_rows *rows = &table->rows;
  const guint16 *ids = self->copy->ids;
  guint64 page = (address - rows->base) >> LU_PAGE_SHIFT;
  guint32 *run = self->run, i, end, n = 1;

  self->n_run = 1;
  if (address < rows->base || page >= rows->n_pages)
    {
      run[0] = LU_ROW (address, ids[LU_RULE_NONE]);
      return ids[LU_RULE_NONE];
    }
  i = rows->pages[page];
  end = rows->pages[page + 1];
  if (i < end && (rows->rows[i] & (LU_PAGE_BYTES - 1)) == 0)
    rule = ids[rows->rows[i++] >> 16];
  run[0] = LU_ROW (address, rule);
  for (; i < end; i++)
    {
      guint32 id = ids[rows->rows[i] >> 16];

      run[n] = LU_ROW (rows->rows[i], id);
      n += id != rule;
      rule = id;
    }
  self->n_run = n;
  return rule;
}

/* Lays a function with a rule of its own over the rows of the page at `address`. */
static void
lay_over (Writer *self, guint64 address, const LuGoFunction *function, guint32 rule)
{
  guint64 start = MAX (function->start, address) - address;
  guint64 end = MIN (function->end, address + LU_PAGE_BYTES) - address;
  guint32 rows[LU_BPF_MAX_ROWS], after = 0;
  guint n_before = 0, i = 0;

  if (function->end <= address || start >= LU_PAGE_BYTES)
    return;
  memcpy (rows, self->run, self->n_run * sizeof *rows);
  for (; i < self->n_run && (rows[i] & (LU_PAGE_BYTES - 1)) <= end; i++)
    {
      n_before += (rows[i] & (LU_PAGE_BYTES - 1)) < start;
      after = rows[i] >> 16;
    }
  self->run[n_before++] = LU_ROW (address + start, rule);
  if (end < LU_PAGE_BYTES)
    self->run[n_before++] = LU_ROW (address + end, after);
  memcpy (self->run + n_before, rows + i, (self->n_run - i) * sizeof *rows);
  self->n_run += n_before - i;
}

static guint32
write_single (Writer *self)
{
  guint32 rule = self->run[0] >> 16;
  guint at = rule % N_SINGLES;

  if (self->singles[at] == 0 || self->single_rules[at] != rule)
    {
      self->singles[at] = write_run (self, self->run, 1);
      self->single_rules[at] = rule;
    }
  return self->singles[at];
}

static struct lu_bpf_page
write_page (Writer *self)
{
  guint n = lu_bpf_run_length (self->n_run);
  guint32 address;

  for (guint i = self->n_run; i < n; i++)
    self->run[i] = self->run[i - 1];
  address = n == 1 ? write_single (self) : write_run (self, self->run, n);
  return lu_bpf_page_make (address, self->run, self->n_run);
}

/* Copies */

/* FALSE: there is no room. */
static gboolean
write_pages (LuBpfCopy *self, const Extent *extent, const LuTable *table, LuBpfArena *arena)
{
  const GArray *functions = extent->functions;
  g_autofree Writer *writer = g_new0 (Writer, 1);
  guint32 rule = self->ids[LU_RULE_NONE];

  writer->arena = arena;
  writer->copy = self;
  writer->index = (struct lu_bpf_page *) lu_bpf_arena_words (arena, self->index);
  writer->n_left = words_of_rows (extent, table);
  for (guint page = 0; page < self->n_pages && !writer->is_full; page++)
    {
      guint64 address = self->base + ((guint64) page << LU_PAGE_SHIFT);

      rule = gather_rows (writer, table, address, rule);
      /* Where functions overlap the first one counts. */
      for (guint i = functions != NULL ? functions->len : 0; i-- > 0;)
        lay_over (writer, address, &g_array_index (functions, LuGoFunction, i),
                  self->ids[table->n_rules + i]);
      writer->index[page] = write_page (writer);
    }
  end_piece (writer);
  return !writer->is_full;
}

/* was_published: walks may still read the memory. */
static void
drop_copy (LuBpfCopy *self, LuBpfArena *arena, LuBpfRules *rules, gboolean was_published)
{
  for (guint i = 0; i < self->extents->len; i++)
    {
      const LuBpfExtent *extent = &g_array_index (self->extents, LuBpfExtent, i);

      if (was_published)
        lu_bpf_arena_give_back (arena, extent->address, extent->n_words);
      else
        lu_bpf_arena_trim (arena, extent->address, extent->n_words, 0);
    }
  lu_bpf_rules_give_back (rules, self->ids, self->n_ids);
  g_array_unref (self->extents);
  g_free (self->ids);
  g_free (self);
}

/* Takes ids for the rules of the table, and behind them for those of the functions. */
static void
take_rules (LuBpfCopy *self, const LuTable *table, const GArray *functions, LuBpfRules *rules)
{
  guint n_functions = functions != NULL ? functions->len : 0;
  g_autofree struct lu_rule *all = g_new0 (struct lu_rule, table->n_rules + n_functions);

  memcpy (all, table->rules, table->n_rules * sizeof *all);
  for (guint i = 0; i < n_functions; i++)
    {
      const LuGoFunction *function = &g_array_index (functions, LuGoFunction, i);
      struct lu_rule *rule = &all[table->n_rules + i];

      *rule = function->rule;
      if (rule->cfa_kind == LU_CFA_NONE)
        rule->cfa_kind = LU_CFA_COMPLEX;
    }
  self->n_ids = table->n_rules + n_functions;
  self->ids = g_new (guint16, self->n_ids);
  lu_bpf_rules_take (rules, all, self->n_ids, self->ids);
  for (guint i = 0; i < n_functions; i++)
    {
      LuGoFunctionKind kind = g_array_index (functions, LuGoFunction, i).kind;

      if (kind == LU_GO_TOP || kind == LU_GO_LEAVE)
        self->ids[table->n_rules + i] = LU_BPF_RULE_TOP;
    }
}

LuBpfCopy *
lu_bpf_copy_new (const LuTable *table, const LuImage *image, LuBpfArena *arena, LuBpfRules *rules)
{
  Extent extent = find_extent (table, image);
  guint n_index = (guint) MAX (2 * n_pages_of (&extent), 1);
  guint32 index = lu_bpf_arena_take (arena, n_index);
  LuBpfCopy *self;

  if (index == 0)
    return NULL;
  self = g_new0 (LuBpfCopy, 1);
  self->base = extent.base;
  self->index = index;
  self->n_pages = (guint) n_pages_of (&extent);
  self->extents = g_array_new (FALSE, FALSE, sizeof (LuBpfExtent));
  add_extent (self, index, n_index);
  take_rules (self, table, extent.functions, rules);
  if (extent.is_uncertain)
    self->ids[LU_RULE_NONE] = LU_RULE_COMPLEX;
  if (!write_pages (self, &extent, table, arena))
    {
      drop_copy (self, arena, rules, FALSE);
      return NULL;
    }
  for (guint i = 0; i < self->extents->len; i++)
    self->bytes += g_array_index (self->extents, LuBpfExtent, i).n_words * sizeof (guint32);
  return self;
}

void
lu_bpf_copy_free (LuBpfCopy *self, LuBpfArena *arena, LuBpfRules *rules)
{
  drop_copy (self, arena, rules, TRUE);
}
