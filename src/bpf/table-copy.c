/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table-copy.c - rewrites a table for the BPF program; see table-copy.h.
 *
 * Rows come in order, so pages are written one after another. A page without a change in it has a
 * run of one row, and such runs are shared by rule: between functions far apart there are thousands
 * of them. Memory is taken in the largest pieces there are; what is left of a piece is put back. */

#include "bpf/table-copy.h"

#include "elf/go-stacks.h"

#include <string.h>

/* Of the last piece at least this much is asked for while there is a choice: 32 KiB. */
#define PIECE_WORDS 8192
/* Runs of one row that are remembered. */
#define N_SINGLES 256

typedef struct
{
  LuBpfArena *arena;
  LuBpfCopy *copy;
  guint32 *index;        /* of the copy */
  guint32 piece;         /* being filled; 0: none */
  guint n_piece, n_used; /* words */
  gsize n_left;          /* words that may still be needed */
  guint page;            /* being gathered */
  guint n_run;
  gboolean is_full;           /* no room */
  guint32 singles[N_SINGLES]; /* by rule: word address of a run of one row; 0: none */
  guint32 single_rules[N_SINGLES];
  guint32 run[LU_BPF_MAX_ROWS];
} Writer;

/* What a copy covers, and from what. */
typedef struct
{
  guint64 base, end;       /* ELF addresses, multiples of a page */
  const GArray *functions; /* of LuGoFunction; NULL: none */
  gboolean is_uncertain;   /* no rule is not the last word */
} Extent;

/* Range */

static void
include (Extent *extent, guint64 start, guint64 end)
{
  guint64 mask = LU_BPF_PAGE_BYTES - 1;

  if (end <= start || end > G_MAXUINT64 - mask)
    return;
  extent->base = MIN (extent->base, start & ~mask);
  extent->end = MAX (extent->end, (end + mask) & ~mask);
}

static void
include_rows (Extent *extent, const LuTable *table)
{
  const struct lu_rows *rows = &table->rows;
  guint64 end = rows->base + ((guint64) rows->n_pages << LU_PAGE_SHIFT);
  guint first = 0, last = rows->n_pages;

  if (table->n_rows == 0)
    return;
  while (rows->pages[first + 1] == 0)
    first++;
  while (rows->pages[last - 1] == table->n_rows)
    last--;
  /* As a rule nothing is known behind the last row. */
  if (rows->rows[table->n_rows - 1] >> 16 == LU_RULE_NONE)
    end = rows->base + ((guint64) (last - 1) << LU_PAGE_SHIFT)
          + (rows->rows[table->n_rows - 1] & 0xffff) + 1;
  include (extent, rows->base + ((guint64) first << LU_PAGE_SHIFT) + (rows->rows[0] & 0xffff), end);
}

static Extent
find_extent (const LuTable *table, const LuImage *image)
{
  Extent extent = { .base = G_MAXUINT64, .functions = lu_image_go_functions (image) };
  const LuSegment *segments;
  guint n;

  extent.is_uncertain = lu_table_has_faults (table);
  include_rows (&extent, table);
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
  return (extent->end - extent->base) >> LU_BPF_PAGE_SHIFT;
}

static gsize
words_of_rows (const Extent *extent, const LuTable *table)
{
  gsize n = table->n_rows + n_pages_of (extent) + 1;

  return extent->functions != NULL ? n + 2 * extent->functions->len : n;
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
end_piece (Writer *self)
{
  LuBpfExtent extent = { .address = self->piece, .n_words = self->n_used };

  if (self->piece == 0)
    return;
  lu_bpf_arena_trim (self->arena, self->piece, self->n_piece, self->n_used);
  if (self->n_used > 0)
    g_array_append_val (self->copy->extents, extent);
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

/* Writes a run; its word address, 0: no room. */
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

static void
end_page (Writer *self)
{
  struct lu_bpf_page page = { .n_rows = self->n_run };
  guint32 rule = self->run[self->n_run - 1] >> 16;

  page.rows = self->n_run == 1 ? write_single (self) : write_run (self, self->run, self->n_run);
  if (!self->is_full)
    memcpy (self->index + 2 * self->page, &page, sizeof page);
  self->page++;
  self->n_run = 1;
  self->run[0] = LU_ROW (self->copy->base + ((guint64) self->page << LU_BPF_PAGE_SHIFT), rule);
}

static void
put_row (Writer *self, guint64 address, guint32 rule)
{
  guint page = (guint) ((address - self->copy->base) >> LU_BPF_PAGE_SHIFT);
  guint32 row = LU_ROW (address, rule);

  while (self->page < page && !self->is_full)
    end_page (self);
  if (self->is_full)
    return;
  if ((self->run[self->n_run - 1] & 0xffff) == (row & 0xffff))
    self->run[self->n_run - 1] = row;
  else if (self->run[self->n_run - 1] >> 16 != rule)
    self->run[self->n_run++] = row;
}

/* Of the rows, those below `end`, which are in the page that is being gathered; returns how many. A
 * large program has half a million rows, and nearly all of them differ in their rule from the one
 * before. */
static guint
gather_rows (Writer *self, const guint32 *rows, guint n, guint32 end, const guint16 *ids)
{
  guint32 *run = self->run;
  guint n_run = self->n_run, i = 0;
  guint32 last = run[n_run - 1] >> 16;

  /* The first one may be where the page begins, with the rule from before. */
  if ((rows[0] & 0xffff) == (run[n_run - 1] & 0xffff))
    {
      last = ids[rows[0] >> 16];
      run[n_run - 1] = LU_ROW (rows[0], last);
      i++;
    }
  for (; i < n && (rows[i] & 0xffff) < end; i++)
    {
      guint32 id = ids[rows[i] >> 16];

      run[n_run] = LU_ROW (rows[i], id);
      n_run += id != last;
      last = id;
    }
  self->n_run = n_run;
  return i;
}

/* The same as put_row() for the rows of a page of the table, which begins at `start`. */
static void
put_plain_rows (Writer *self, guint64 start, const guint32 *rows, guint n, const guint16 *ids)
{
  for (guint i = 0; i < n;)
    {
      guint32 low = rows[i] & 0xffff;
      guint page = (guint) ((start + low - self->copy->base) >> LU_BPF_PAGE_SHIFT);

      while (self->page < page && !self->is_full)
        end_page (self);
      if (self->is_full)
        return;
      i += gather_rows (self, rows + i, n - i, (low | (LU_BPF_PAGE_BYTES - 1)) + 1, ids);
    }
}

/* Rows, with the functions of Go laid over them */

static gint
compare_addresses (gconstpointer a, gconstpointer b)
{
  guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return x < y ? -1 : x > y;
}

static void
add_edge (GArray *edges, const Extent *extent, guint64 address)
{
  if (address >= extent->base && address < extent->end)
    g_array_append_val (edges, address);
}

/* Where rules change because of functions; sorted. */
static GArray *
find_edges (const Extent *extent)
{
  GArray *edges = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; extent->functions != NULL && i < extent->functions->len; i++)
    {
      const LuGoFunction *function = &g_array_index (extent->functions, LuGoFunction, i);

      add_edge (edges, extent, function->start);
      add_edge (edges, extent, function->end);
    }
  g_array_sort (edges, compare_addresses);
  return edges;
}

static guint32
effective_rule (const Extent *extent, guint64 address, guint32 rule)
{
  if (extent->functions == NULL)
    return rule;
  switch (lu_go_functions_find (extent->functions, address))
    {
    case LU_GO_TOP:
      return LU_BPF_RULE_TOP;
    case LU_GO_SWITCH:
      return LU_RULE_COMPLEX;
    case LU_GO_ORDINARY:
      break;
    }
  return rule;
}

static void
put_all_plain (Writer *self, const LuTable *table, const guint16 *ids)
{
  const struct lu_rows *rows = &table->rows;

  for (guint page = 0; page < rows->n_pages && !self->is_full; page++)
    put_plain_rows (self, rows->base + ((guint64) page << LU_PAGE_SHIFT),
                    rows->rows + rows->pages[page], rows->pages[page + 1] - rows->pages[page], ids);
}

static void
put_rows (Writer *self, const Extent *extent, const LuTable *table, const guint16 *ids)
{
  g_autoptr (GArray) edges = find_edges (extent);
  const struct lu_rows *rows = &table->rows;
  guint32 rule = ids[LU_RULE_NONE];
  guint edge = 0;

  for (guint page = 0; page < rows->n_pages && !self->is_full; page++)
    for (guint i = rows->pages[page]; i < rows->pages[page + 1]; i++)
      {
        guint64 address = rows->base + ((guint64) page << LU_PAGE_SHIFT) + (rows->rows[i] & 0xffff);

        for (; edge < edges->len && g_array_index (edges, guint64, edge) <= address; edge++)
          {
            guint64 at = g_array_index (edges, guint64, edge);

            put_row (self, at, effective_rule (extent, at, rule));
          }
        rule = ids[rows->rows[i] >> 16];
        put_row (self, address, effective_rule (extent, address, rule));
      }
  for (; edge < edges->len; edge++)
    {
      guint64 at = g_array_index (edges, guint64, edge);

      put_row (self, at, effective_rule (extent, at, rule));
    }
}

/* Copies */

static void
add_extent (LuBpfCopy *self, guint32 address, guint n_words)
{
  LuBpfExtent extent = { .address = address, .n_words = n_words };

  g_array_append_val (self->extents, extent);
}

static void
write_pages (LuBpfCopy *self, const Extent *extent, const LuTable *table, LuBpfArena *arena,
             gboolean *is_full)
{
  g_autofree Writer *writer = g_new0 (Writer, 1);
  guint32 first = self->ids[LU_RULE_NONE];

  writer->arena = arena;
  writer->copy = self;
  writer->index = lu_bpf_arena_words (arena, self->index);
  writer->n_left = words_of_rows (extent, table);
  writer->n_run = 1;
  writer->run[0] = LU_ROW (self->base, effective_rule (extent, self->base, first));
  if (extent->functions == NULL)
    put_all_plain (writer, table, self->ids);
  else
    put_rows (writer, extent, table, self->ids);
  while (writer->page < self->n_pages && !writer->is_full)
    end_page (writer);
  end_piece (writer);
  *is_full = writer->is_full;
}

static void
copy_clear (LuBpfCopy *self, LuBpfRules *rules)
{
  lu_bpf_rules_give_back (rules, self->ids, self->n_ids);
  g_array_unref (self->extents);
  g_free (self->ids);
  g_free (self);
}

/* Nobody has seen it. */
static void
undo (LuBpfCopy *self, LuBpfArena *arena, LuBpfRules *rules)
{
  for (guint i = 0; i < self->extents->len; i++)
    {
      const LuBpfExtent *extent = &g_array_index (self->extents, LuBpfExtent, i);

      lu_bpf_arena_trim (arena, extent->address, extent->n_words, 0);
    }
  copy_clear (self, rules);
}

LuBpfCopy *
lu_bpf_copy_new (const LuTable *table, const LuImage *image, LuBpfArena *arena, LuBpfRules *rules)
{
  Extent extent = find_extent (table, image);
  guint n_index = (guint) MAX (2 * n_pages_of (&extent), 1);
  guint32 index = lu_bpf_arena_take (arena, n_index);
  gboolean is_full = FALSE;
  LuBpfCopy *self;

  if (index == 0)
    return NULL;
  self = g_new0 (LuBpfCopy, 1);
  self->base = extent.base;
  self->index = index;
  self->n_pages = (guint) n_pages_of (&extent);
  self->extents = g_array_new (FALSE, FALSE, sizeof (LuBpfExtent));
  add_extent (self, index, n_index);
  self->n_ids = table->n_rules;
  self->ids = g_new (guint16, table->n_rules);
  lu_bpf_rules_take (rules, table->rules, table->n_rules, self->ids);
  if (extent.is_uncertain)
    self->ids[LU_RULE_NONE] = LU_RULE_COMPLEX;
  write_pages (self, &extent, table, arena, &is_full);
  if (is_full)
    {
      undo (self, arena, rules);
      return NULL;
    }
  for (guint i = 0; i < self->extents->len; i++)
    self->bytes += g_array_index (self->extents, LuBpfExtent, i).n_words * sizeof (guint32);
  return self;
}

void
lu_bpf_copy_free (LuBpfCopy *self, LuBpfArena *arena, LuBpfRules *rules)
{
  for (guint i = 0; i < self->extents->len; i++)
    {
      const LuBpfExtent *extent = &g_array_index (self->extents, LuBpfExtent, i);

      lu_bpf_arena_give_back (arena, extent->address, extent->n_words);
    }
  copy_clear (self, rules);
}
