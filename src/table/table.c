/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table.c - compiles a whole file into its table; see table.h.
 *
 * Code comes in order of address, so rows are appended as they are made and the page index grows
 * with them; nothing is sorted or merged afterwards. A row of rule 0 ends the code of an FDE unless
 * the next one begins there. A row that repeats the one before it is left out. */

#include "table/table.h"

#include "table/compile.h"

/* 4 GiB of code, more than any program has. */
#define MAX_PAGES (1u << 20)
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
  gsize max_rows;
  const LuExtraRows *extra; /* NULL: none */
  guint32 *extra_rules;     /* owned: id of an extra rule -> id of the table's, 0: none yet */
  guint64 done;             /* all code below is done */
  const gint *is_cancelled; /* atomic; NULL: never */
  gboolean is_stopped;      /* one of these stopped it */
} Writer;

/* Rows. */

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

/* Removes the last row, whose replacement may equal the row before it. */
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
  if (rule == self->last_rule)
    return;
  if (self->n_rows == self->max_rows)
    {
      self->is_stopped = TRUE;
      return;
    }
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

/* Statistics. */

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

/* Returns FALSE if code that ends at `to` does not fit into the table. */
static gboolean
make_base (Writer *self, guint64 from, guint64 to)
{
  if (!self->has_base)
    self->base = from & ~(guint64) (LU_PAGE_BYTES - 1);
  self->has_base = TRUE;
  return (to - self->base) >> LU_PAGE_SHIFT < MAX_PAGES;
}

static guint
extra_rule (Writer *self, guint32 id)
{
  if (id != LU_RULE_NONE && self->extra_rules[id] == LU_RULE_NONE)
    self->extra_rules[id] =
        lu_rule_list_intern (&self->compiler->rules, &self->extra->rules.rules[id]);
  return self->extra_rules[id];
}

/* Writes the extra rows of a range without an FDE. */
static void
write_extra (Writer *self, guint64 from, guint64 to)
{
  const LuExtraRows *extra = self->extra;
  gint64 first = extra != NULL ? lu_extra_rows_find (extra, from) : 0;

  for (guint i = (guint) MAX (first, 0); extra != NULL && i < extra->rows->len && !self->is_stopped;
       i++)
    {
      const LuExtraRow *row = &g_array_index (extra->rows, LuExtraRow, i);
      guint64 address = MAX (row->address, from), next = to;

      if (address >= to)
        break;
      if (i + 1 < extra->rows->len)
        next = MIN (to, (row + 1)->address);
      if (row->rule == LU_RULE_NONE && !self->has_base)
        continue;
      if (!make_base (self, address, row->rule == LU_RULE_NONE ? address : next))
        break;
      write_row (self, address, extra_rule (self, row->rule));
      if (row->rule != LU_RULE_NONE)
        self->stats->extra_bytes += next - address;
    }
}

static void
write_piece (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  Writer *self = user_data;
  const LuRawRows *rows = &self->compiler->fde_rows;

  if (self->is_cancelled != NULL && g_atomic_int_get (self->is_cancelled))
    self->is_stopped = TRUE;
  if (self->is_stopped)
    return;
  write_extra (self, self->done, from);
  self->done = MAX (self->done, to);
  if (!make_base (self, from, to))
    {
      self->stats->cfi_errors[LU_CFI_ERROR_RANGE]++;
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

/* The block consists of pages, a row of rule 0, rows, rules, starts and jumps of functions. */

gsize
lu_table_block_size (const LuTableShape *shape, gsize *rules_at)
{
  gsize words = (gsize) shape->n_pages + 1 + 1 + shape->n_rows;

  *rules_at = (words * sizeof (guint32) + 15) & ~(gsize) 15;
  return *rules_at + shape->n_rules * sizeof (struct lu_rule) + shape->n_starts * sizeof (guint32)
         + shape->n_jumps * sizeof (LuTableJump);
}

static guint64
next_serial (void)
{
  static atomic_uint_least64_t last_serial;

  return atomic_fetch_add_explicit (&last_serial, 1, memory_order_relaxed) + 1;
}

/* Sets everything that follows from the shape and the place of the block. */
static void
attach (LuTable *self, const LuTableShape *shape, const guint8 *block)
{
  gsize rules_at;

  self->serial = next_serial ();
  self->stats.table_bytes = lu_table_block_size (shape, &rules_at);
  self->stats.n_rows = self->n_rows = shape->n_rows;
  self->stats.n_rules = self->n_rules = shape->n_rules;
  self->stats.n_pages = self->rows.n_pages = shape->n_pages;
  self->n_starts = shape->n_starts;
  self->n_jumps = shape->n_jumps;
  self->rows.base = shape->base;
  self->rows.pages = (const guint32 *) block;
  self->rows.rows = self->rows.pages + self->rows.n_pages + 2;
  self->rules = (const struct lu_rule *) (block + rules_at);
  self->starts = (const guint32 *) (self->rules + self->n_rules);
  self->jumps = (const LuTableJump *) (self->starts + self->n_starts);
}

/* Functions */

static guint32
offset_in (const LuTable *self, guint64 address)
{
  return (guint32) MIN (address - self->rows.base, LU_TABLE_JUMP_ANYWHERE);
}

static gboolean
is_in_reach (guint64 base, guint64 address)
{
  return address >= base && address - base < LU_TABLE_JUMP_ANYWHERE;
}

static gboolean
is_jump_in_reach (guint64 base, const LuFunctionJump *jump)
{
  return is_in_reach (base, jump->from)
         && (jump->to == LU_JUMP_ANYWHERE || is_in_reach (base, jump->to));
}

static void
count_functions (LuTableShape *shape, const LuExtraRows *extra)
{
  for (guint i = 0; i < extra->starts->len; i++)
    shape->n_starts += is_in_reach (shape->base, g_array_index (extra->starts, guint64, i));
  for (guint i = 0; i < extra->jumps->len; i++)
    shape->n_jumps +=
        is_jump_in_reach (shape->base, &g_array_index (extra->jumps, LuFunctionJump, i));
}

/* `starts` and `jumps` are the table's own. */
static void
fill_functions (const LuTable *self, const LuExtraRows *extra, guint32 *starts, LuTableJump *jumps)
{
  for (guint i = 0; i < extra->starts->len; i++)
    {
      guint64 start = g_array_index (extra->starts, guint64, i);

      if (is_in_reach (self->rows.base, start))
        *starts++ = offset_in (self, start);
    }
  for (guint i = 0; i < extra->jumps->len; i++)
    {
      const LuFunctionJump *jump = &g_array_index (extra->jumps, LuFunctionJump, i);

      if (is_jump_in_reach (self->rows.base, jump))
        *jumps++ = (LuTableJump){ offset_in (self, jump->from), offset_in (self, jump->to) };
    }
}

gboolean
lu_table_find_start (const LuTable *self, guint64 address, guint64 *start)
{
  guint low = 0, high = self->n_starts;

  if (!is_in_reach (self->rows.base, address))
    return FALSE;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (self->starts[middle] <= offset_in (self, address))
        low = middle + 1;
      else
        high = middle;
    }
  if (low > 0)
    *start = self->rows.base + self->starts[low - 1];
  return low > 0;
}

/* Returns the index of the first jump from a function. */
static guint
find_jumps (const LuTable *self, guint32 from)
{
  guint low = 0, high = self->n_jumps;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (self->jumps[middle].from < from)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* The most functions that a chain of jumps is followed through. */
#define MAX_CHAIN 512

/* Follows the jumps from the function found[0], nearest functions first, up to `wanted` or a jump
 * anywhere. Returns whether it came there; *n: how many functions it has found, at most `max`. */
static gboolean
follow_jumps (const LuTable *self, guint32 wanted, guint32 *found, guint max, guint *n)
{
  *n = 1;
  for (guint i = 0; i < *n; i++)
    for (guint k = find_jumps (self, found[i]);
         k < self->n_jumps && self->jumps[k].from == found[i]; k++)
      {
        guint32 to = self->jumps[k].to;
        guint known = 0;

        if (to == LU_TABLE_JUMP_ANYWHERE || to == wanted)
          return TRUE;
        while (*n < max && known < *n && found[known] != to)
          known++;
        if (known == *n) /* there is room */
          found[(*n)++] = to;
      }
  return FALSE;
}

gboolean
lu_table_leads_to (const LuTable *self, guint64 target, guint64 start)
{
  guint32 found[MAX_CHAIN];
  guint n;

  if (target == start)
    return TRUE;
  if (!is_in_reach (self->rows.base, target)
      || (start != LU_JUMP_ANYWHERE && !is_in_reach (self->rows.base, start)))
    return FALSE;
  found[0] = offset_in (self, target);
  return follow_jumps (self, offset_in (self, start), found, MAX_CHAIN, &n);
}

guint
lu_table_find_leads (const LuTable *self, guint64 target, guint64 leads[LU_TABLE_LEADS])
{
  guint32 found[LU_TABLE_LEADS];
  guint n;

  if (!is_in_reach (self->rows.base, target))
    return 0;
  found[0] = offset_in (self, target);
  follow_jumps (self, LU_TABLE_JUMP_ANYWHERE, found, LU_TABLE_LEADS, &n);
  for (guint i = 0; i < n; i++)
    leads[i] = self->rows.base + found[i];
  return n;
}

static void
fill_block (const LuTable *self, const Writer *writer, const LuRuleList *rules, guint8 *block)
{
  guint32 *pages = (guint32 *) block;
  guint32 *rows = pages + writer->n_pages + 2;
  struct lu_rule *own_rules = (struct lu_rule *) (block + ((guint8 *) self->rules - block));
  guint32 *starts = (guint32 *) (own_rules + rules->n);

  if (writer->n_pages > 0)
    memcpy (pages, writer->pages, writer->n_pages * sizeof *pages);
  pages[writer->n_pages] = (guint32) writer->n_rows;
  rows[-1] = LU_RULE_NONE;
  if (writer->n_rows > 0)
    memcpy (rows, writer->rows, writer->n_rows * sizeof *rows);
  memset (rows + writer->n_rows, 0,
          (gsize) ((guint8 *) own_rules - (guint8 *) (rows + writer->n_rows)));
  memcpy (own_rules, rules->rules, rules->n * sizeof *rules->rules);
  if (writer->extra != NULL)
    fill_functions (self, writer->extra, starts, (LuTableJump *) (starts + self->n_starts));
}

static void
finish (LuTable *self, Writer *writer, const LuRuleList *rules)
{
  LuTableShape shape = { .base = writer->base,
                         .n_pages = writer->n_pages,
                         .n_rows = (guint32) writer->n_rows,
                         .n_rules = rules->n };
  gsize rules_at, size;
  guint8 *block;

  if (writer->extra != NULL)
    count_functions (&shape, writer->extra);
  size = lu_table_block_size (&shape, &rules_at);
  block = g_malloc (size);
  self->memory = block;
  attach (self, &shape, block);
  fill_block (self, writer, rules, block);
}
/* cfi, extra: NULL for none. */
static LuTable *
new_within (LuCfi *cfi, const LuExtraRows *extra, const LuTableLimits *limits)
{
  g_autoptr (LuCompiler) compiler = lu_compiler_new (cfi);
  g_autoptr (LuTable) self = g_new0 (LuTable, 1);
  Writer writer = { .compiler = compiler,
                    .stats = &self->stats,
                    .last_rule = LU_RULE_NONE,
                    .max_rows = MAX_ROWS,
                    .extra = extra };
  const guint *cfi_errors = cfi != NULL ? lu_cfi_errors (cfi) : NULL;

  if (extra != NULL)
    writer.extra_rules = g_new0 (guint32, extra->rules.n);
  if (limits != NULL)
    {
      writer.max_rows = MIN (MAX_ROWS, limits->max_bytes / sizeof (guint32));
      writer.is_cancelled = limits->is_cancelled;
    }
  if (cfi != NULL)
    lu_compiler_foreach_piece (compiler, write_piece, &writer);
  write_extra (&writer, writer.done, G_MAXUINT64);
  if (!writer.is_stopped || limits == NULL)
    finish (self, &writer, &compiler->rules);
  g_free (writer.rows);
  g_free (writer.pages);
  g_free (writer.extra_rules);
  if (self->memory == NULL)
    return NULL;
  self->stats.has_extra = extra != NULL;
  for (guint i = 0; cfi != NULL && i < LU_N_CFI_ERRORS; i++)
    self->stats.cfi_errors[i] += cfi_errors[i];
  self->stats.is_overflown = compiler->rules.is_overflown;
  return g_steal_pointer (&self);
}

LuTable *
lu_table_new (LuCfi *cfi)
{
  return new_within (cfi, NULL, NULL);
}

LuTable *
lu_table_new_for_image (LuImage *image, const LuTableLimits *limits)
{
  LuTable *self = NULL;
  LuCfi *cfi;

  if (!lu_image_hold_cfi (image))
    return NULL;
  cfi = lu_cfi_new_for_image (image);
  if (cfi != NULL)
    self = new_within (cfi, NULL, limits);
  lu_cfi_free (cfi);
  lu_image_release_cfi (image);
  return self;
}

LuTable *
lu_table_new_with_rows (LuImage *image, const LuExtraRows *rows, const LuTableLimits *limits)
{
  gboolean is_held = lu_image_hold_cfi (image);
  LuCfi *cfi = is_held ? lu_cfi_new_for_image (image) : NULL;
  LuTable *self = NULL;

  if (cfi != NULL || lu_image_cfi_size (image) == 0)
    self = new_within (cfi, rows, limits);
  lu_cfi_free (cfi);
  if (is_held)
    lu_image_release_cfi (image);
  return self;
}

gboolean
lu_table_has_cfi_errors (const LuTable *self)
{
  for (guint i = 0; i < LU_N_CFI_ERRORS; i++)
    if (self->stats.cfi_errors[i] > 0)
      return TRUE;
  return FALSE;
}

/* Tables from memory. */

static gboolean
are_pages_sound (const LuTable *self)
{
  const struct lu_rows *rows = &self->rows;

  if ((rows->base & (LU_PAGE_BYTES - 1)) != 0
      || rows->base > G_MAXUINT64 - ((guint64) rows->n_pages << LU_PAGE_SHIFT)
      || rows->pages[0] != 0 || rows->pages[rows->n_pages] != self->n_rows || rows->rows[-1] != 0)
    return FALSE;
  for (guint i = 0; i < rows->n_pages; i++)
    if (rows->pages[i] > rows->pages[i + 1])
      return FALSE;
  return TRUE;
}

/* Several rows at once. The numbers have 16 bits, so signs do not matter. */
typedef gint32 RowVector __attribute__ ((vector_size (16)));
#define N_VECTOR (sizeof (RowVector) / sizeof (guint32))

/* The bits of an address that are the same for all rows of a page. */
#define PAGE_MASK (0xffff & ~(LU_PAGE_BYTES - 1))

/* Returns whether the page, which begins at `start`, has at least one row, and each row is in the
 * page, lies above the one before it, and has one of the rules. */
static gboolean
are_page_rows_sound (const guint32 *rows, guint32 n, guint64 start, gint32 last_rule)
{
  gint32 page = (gint32) (start & PAGE_MASK);
  RowVector wrong = { (gint32) (rows[0] >> 16) > last_rule
                      || (gint32) (rows[0] & PAGE_MASK) != page };
  guint32 i = 1;

  for (; i + N_VECTOR <= n; i += N_VECTOR)
    {
      RowVector now, before;

      memcpy (&now, rows + i, sizeof now);
      memcpy (&before, rows + i - 1, sizeof before);
      wrong |= (now & 0xffff) <= (before & 0xffff);
      wrong |= (now & (gint32) PAGE_MASK) != page;
      wrong |= (now >> 16 & 0xffff) > last_rule;
    }
  for (; i < n; i++)
    wrong[0] |= (rows[i] & 0xffff) <= (rows[i - 1] & 0xffff)
                || (gint32) (rows[i] & PAGE_MASK) != page || (gint32) (rows[i] >> 16) > last_rule;
  return (wrong[0] | wrong[1] | wrong[2] | wrong[3]) == 0;
}

/* Requires sound pages. */
static gboolean
are_rows_sound (const LuTable *self)
{
  const struct lu_rows *rows = &self->rows;

  for (guint page = 0; page < rows->n_pages; page++)
    {
      guint32 first = rows->pages[page], n = rows->pages[page + 1] - first;

      guint64 start = rows->base + ((guint64) page << LU_PAGE_SHIFT);

      if (n > 0 && !are_page_rows_sound (rows->rows + first, n, start, (gint32) self->n_rules - 1))
        return FALSE;
    }
  return TRUE;
}

static gboolean
are_rules_sound (const LuTable *self)
{
  for (guint i = 0; i < self->n_rules; i++)
    {
      const struct lu_rule *rule = &self->rules[i];

      if (rule->cfa_kind >= LU_N_CFA_KINDS || lu_rule_fp_kind (rule) > LU_SAVE_UNKNOWN
          || lu_rule_bx_kind (rule) > LU_SAVE_UNKNOWN || rule->ra_kind > LU_RA_REGISTER
          || rule->flags > LU_RULE_ALL_FLAGS)
        return FALSE;
    }
  return self->rules[LU_RULE_NONE].cfa_kind == LU_CFA_NONE
         && self->rules[LU_RULE_COMPLEX].cfa_kind == LU_CFA_COMPLEX;
}

static gboolean
are_functions_sound (const LuTable *self)
{
  for (guint i = 1; i < self->n_starts; i++)
    if (self->starts[i - 1] >= self->starts[i])
      return FALSE;
  for (guint i = 1; i < self->n_jumps; i++)
    if (self->jumps[i - 1].from > self->jumps[i].from)
      return FALSE;
  return TRUE;
}

LuTable *
lu_table_new_from_memory (const LuTableShape *shape, gpointer memory, gsize block_at,
                          gsize block_size)
{
  g_autoptr (LuTable) self = g_new0 (LuTable, 1);
  gsize rules_at;

  self->memory = memory;
  if (shape->n_pages > MAX_PAGES || shape->n_rows > MAX_ROWS || shape->n_rules > LU_MAX_RULES
      || shape->n_rules < LU_RULE_FIRST || lu_table_block_size (shape, &rules_at) != block_size)
    return NULL;
  attach (self, shape, (const guint8 *) memory + block_at);
  if (!are_pages_sound (self) || !are_rows_sound (self) || !are_rules_sound (self)
      || !are_functions_sound (self))
    return NULL;
  return g_steal_pointer (&self);
}

LuTable *
lu_table_ref (LuTable *self)
{
  atomic_fetch_add_explicit (&self->n_more_references, 1, memory_order_relaxed);
  return self;
}

void
lu_table_unref (LuTable *self)
{
  if (self == NULL
      || atomic_fetch_sub_explicit (&self->n_more_references, 1, memory_order_acq_rel) > 0)
    return;
  g_free (self->memory);
  g_free (self);
}
