/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.c - see code-rows.h. */

#include "code/code-rows.h"

#include "code/decoder.h"
#include "code/row-list.h"

/* Code that is looked at at once, at most. */
#define LONGEST_PART (1u << 20)
/* A file with more rows or jumps gets none for the units that follow. Tables have hardly room for
 * them, and code can be written so that each byte of it has a row. */
#define MAX_ROWS  (2u << 20)
#define MAX_JUMPS (1u << 20)

typedef struct
{
  guint first;             /* of the parts */
  LuRowList certain, weak; /* of its own code; without memory: not done */
} Unit;

struct _LuCodeRows
{
  LuCodeWanted wanted; /* references */
  LuCodeFile *file;
  gsize unit_size;
  guint64 bare_until; /* no function seems to begin from the parts up to here */
  GArray *words;      /* lu_code_file_find_pointers() */
  GArray *parts;      /* of LuCodeBytes; the bytes are the file's */
  GArray *units;      /* of Unit */
  LuRowList away;     /* of code of other units to which functions of a unit lead */
  GArray *jumps;      /* of LuFunctionJump: of all units that are done */
  gsize n_rows;       /* that units have had, here or of other units */
  LuExtraRows *rows;  /* the rules of all units; otherwise those of a part, or all that are done */
};

static void
clear_unit (gpointer data)
{
  Unit *unit = data;

  lu_row_list_clear (&unit->certain);
  lu_row_list_clear (&unit->weak);
}

/* Adds the functions of one kind to which other code leads, each before what the last one has led
 * to. FALSE: it was cancelled. */
static gboolean
add_leads (LuFlow *flow, const GArray *leads, const LuCodeBytes *range, LuStartKind kind)
{
  guint first = leads != NULL ? lu_code_file_first (leads, range->start) : 0;
  guint end = leads != NULL ? lu_code_file_first (leads, range->start + range->size) : 0;

  for (guint i = first; i < end; i++)
    {
      const LuCodeLead *lead = &g_array_index (leads, LuCodeLead, i);

      if (lead->kind == kind && lu_flow_add_start (flow, lead->address, kind, FALSE)
          && !lu_flow_run (flow))
        return FALSE;
    }
  return TRUE;
}

LuFlow *
lu_code_rows_analyse (const LuCodeFile *file, const LuCodeBytes *range, const GArray *words,
                      const LuCodeWanted *wanted)
{
  guint at = lu_code_file_first (file->ranges, range->start + 1) - 1;
  g_autoptr (LuFlow) flow =
      lu_flow_new (&g_array_index (file->ranges, LuCodeBytes, at), &file->flow_file);
  guint64 end = range->start + range->size;
  guint first = lu_code_file_first (words, range->start);
  guint n = lu_code_file_first (words, end) - first;
  const guint64 *found = n > 0 ? &g_array_index (words, guint64, first) : NULL;

  lu_flow_set_home (flow, range);
  lu_flow_set_cancelled (flow, wanted->is_cancelled);
  lu_flow_add_start (flow, file->headers.entry, LU_START_CERTAIN, TRUE);
  for (guint i = lu_code_file_first (file->functions, range->start);
       i < file->functions->len && g_array_index (file->functions, guint64, i) < end; i++)
    lu_flow_add_start (flow, g_array_index (file->functions, guint64, i), LU_START_CERTAIN, FALSE);
  if (lu_flow_run (flow) && add_leads (flow, wanted->leads, range, LU_START_CERTAIN)
      && add_leads (flow, wanted->leads, range, LU_START_POINTER) && lu_flow_run_pointers (flow)
      && lu_flow_run_hints (flow) && lu_flow_run_tables (flow) && lu_flow_run_words (flow, found, n)
      && lu_flow_run_gaps (flow))
    return g_steal_pointer (&flow);
  return NULL;
}

/* Functions begin at multiples of up to 64 bytes. */
static gboolean
is_padding (const LuCodeBytes *range)
{
  gsize at = 0;
  LuOp op;

  while (at < range->size
         && lu_decoder_decode (range->bytes + at, range->size - at, range->start + at, &op)
         && op.is_padding)
    at += op.size;
  return at == range->size;
}

/* Returns the size of the first part of the code, which ends where a function does, if possible. A
 * function that is cut has rows in neither part. */
static gsize
choose_end (LuCodeRows *self, const LuCodeBytes *range)
{
  const LuCodeHints *hints = self->file->hints;
  gsize max = self->unit_size, middle = max - (range->start + max) % 16, size;

  for (size = middle; size > max / 2; size -= 16)
    if (lu_code_hints_is_start (hints, range, size))
      return size;
  /* Each place is looked at once. */
  size = self->bare_until > range->start ? self->bare_until - range->start : middle;
  for (size = MAX (size, middle); size < MIN (range->size, LONGEST_PART); size += 16)
    if (lu_code_hints_is_start (hints, range, size))
      return size;
  self->bare_until = range->start + size;
  if (range->size <= LONGEST_PART)
    return range->size;
  for (size = middle; size > max / 2; size -= 16)
    if (lu_code_is_behind_padding (range, size))
      return size;
  return max;
}

/* Returns the first part of the code, which is small enough to be analysed at once. */
static LuCodeBytes
first_part (LuCodeRows *self, const LuCodeBytes *range)
{
  LuCodeBytes part = { range->start, range->size, range->bytes };

  if (range->size > self->unit_size)
    part.size = choose_end (self, range);
  return part;
}

static gsize
choose_unit_size (const LuCodeRows *self)
{
  guint64 size = 0;

  for (guint i = 0; i < self->file->ranges->len; i++)
    size += g_array_index (self->file->ranges, LuCodeBytes, i).size;
  return size <= LU_CODE_WHOLE ? LU_CODE_WHOLE : LU_CODE_UNIT;
}

/* Cuts the code into parts and units. FALSE: ranges overlap. */
static gboolean
cut (LuCodeRows *self)
{
  guint64 end = 0;
  gsize size = self->unit_size;

  for (guint i = 0; i < self->file->ranges->len; i++)
    {
      LuCodeBytes range = g_array_index (self->file->ranges, LuCodeBytes, i);

      if (range.start < end)
        return FALSE;
      end = range.start + range.size;
      while (range.size > 0)
        {
          LuCodeBytes part = first_part (self, &range);
          Unit unit = { .first = self->parts->len };

          if (size + part.size > self->unit_size)
            {
              g_array_append_val (self->units, unit);
              size = 0;
            }
          size += part.size;
          g_array_append_val (self->parts, part);
          range.start += part.size;
          range.bytes += part.size;
          range.size -= part.size;
        }
    }
  return TRUE;
}

static guint
end_of_unit (const LuCodeRows *self, guint unit)
{
  return unit + 1 < self->units->len ? g_array_index (self->units, Unit, unit + 1).first
                                     : self->parts->len;
}

/* Removes everything but the rules. */
static void
empty (LuExtraRows *rows)
{
  g_array_set_size (rows->rows, 0);
  g_array_set_size (rows->starts, 0);
  g_array_set_size (rows->jumps, 0);
}

/* Has some of the rows of a part written, and adds them. */
static void
take_rows (LuCodeRows *self, LuFlow *flow, LuFlowRows which, LuRowList *to)
{
  empty (self->rows);
  lu_flow_write (flow, which, self->rows);
  self->n_rows += self->rows->rows->len;
  lu_row_list_append (to, self->rows->rows, self->rows->starts);
  g_array_append_vals (self->jumps, self->rows->jumps->data, self->rows->jumps->len);
}

/* Units that do not agree about code elsewhere: the one that leads there by a branch that is never
 * taken is wrong, and nothing tells which one that is. */
static void
take_away_rows (LuCodeRows *self, LuFlow *flow)
{
  LuRowList found = lu_row_list_new (), both;

  take_rows (self, flow, LU_FLOW_AWAY, &found);
  if (found.rows->len > 0)
    {
      both = lu_row_list_new ();
      lu_row_list_unite (&both, &self->away, &found);
      lu_row_list_clear (&self->away);
      self->away = both;
    }
  lu_row_list_clear (&found);
}

static gboolean
is_full (const LuCodeRows *self)
{
  return self->n_rows >= MAX_ROWS || self->jumps->len >= MAX_JUMPS;
}

gboolean
lu_code_rows_run_unit (LuCodeRows *self, guint number)
{
  Unit *unit = &g_array_index (self->units, Unit, number);
  LuRowList certain, weak;
  gboolean is_cancelled = FALSE;

  if (unit->certain.rows != NULL)
    return TRUE;
  certain = lu_row_list_new ();
  weak = lu_row_list_new ();
  for (guint i = unit->first; i < end_of_unit (self, number) && !is_cancelled; i++)
    {
      const LuCodeBytes *part = &g_array_index (self->parts, LuCodeBytes, i);
      g_autoptr (LuFlow) flow = NULL;

      if (is_full (self) || is_padding (part))
        continue;
      flow = lu_code_rows_analyse (self->file, part, self->words, &self->wanted);
      if (flow != NULL)
        {
          take_rows (self, flow, LU_FLOW_CERTAIN, &certain);
          take_rows (self, flow, LU_FLOW_WEAK, &weak);
          take_away_rows (self, flow);
        }
      else
        is_cancelled =
            self->wanted.is_cancelled != NULL && g_atomic_int_get (self->wanted.is_cancelled);
    }
  if (is_cancelled)
    {
      lu_row_list_clear (&certain);
      lu_row_list_clear (&weak);
      return FALSE;
    }
  unit->certain = certain;
  unit->weak = weak;
  return TRUE;
}

guint
lu_code_rows_n_units (const LuCodeRows *self)
{
  return self->units->len;
}

guint
lu_code_rows_find_unit (const LuCodeRows *self, guint64 address)
{
  guint part = lu_code_file_first (self->parts, address + 1); /* no code is at the last address */
  guint low = 0, high = self->units->len;

  if (part == 0
      || address - g_array_index (self->parts, LuCodeBytes, part - 1).start
             >= g_array_index (self->parts, LuCodeBytes, part - 1).size)
    return self->units->len;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->units, Unit, middle).first < part)
        low = middle + 1;
      else
        high = middle;
    }
  return low - 1;
}

const GArray *
lu_code_rows_parts (const LuCodeRows *self)
{
  return self->parts;
}

/* Adds the jumps of other code. Entries of a procedure linkage table may lead anywhere. */
static void
add_jumps (const LuCodeFile *file, const GArray *jumps, LuExtraRows *rows)
{
  const LuFlowFile *flow_file = &file->flow_file;

  for (guint i = 0; jumps != NULL && i < jumps->len; i++)
    {
      LuFunctionJump jump = g_array_index (jumps, LuFunctionJump, i);

      if (jump.to != LU_JUMP_ANYWHERE && flow_file->linkage_at (flow_file->data, jump.to) != 0)
        jump.to = LU_JUMP_ANYWHERE;
      g_array_append_val (rows->jumps, jump);
    }
}

const LuExtraRows *
lu_code_rows_collect (LuCodeRows *self)
{
  LuRowList certain = lu_row_list_new (), weak = lu_row_list_new (), better = lu_row_list_new ();
  LuRowList all = { .rows = self->rows->rows, .starts = self->rows->starts };

  empty (self->rows);
  for (guint i = 0; i < self->units->len; i++)
    {
      const Unit *unit = &g_array_index (self->units, Unit, i);

      if (unit->certain.rows == NULL)
        continue;
      lu_row_list_append (&certain, unit->certain.rows, unit->certain.starts);
      lu_row_list_append (&weak, unit->weak.rows, unit->weak.starts);
    }
  lu_row_list_drop_inner_starts (&self->away, &weak);
  lu_row_list_overlay (&better, &certain, &self->away);
  lu_row_list_clear (&certain);
  lu_row_list_overlay (&all, &better, &weak);
  lu_row_list_settle (&all);
  lu_row_list_clear (&weak);
  lu_row_list_clear (&better);
  if (self->rows->rows->len == 0)
    return NULL;
  g_array_append_vals (self->rows->jumps, self->jumps->data, self->jumps->len);
  add_jumps (self->file, self->wanted.jumps, self->rows);
  lu_extra_rows_sort_jumps (self->rows);
  return self->rows;
}

static GArray *
ref_array (GArray *array)
{
  return array != NULL ? g_array_ref (array) : NULL;
}

/* unit_size: 0: as the size of the code asks. */
static LuCodeRows *
rows_new (int fd, const LuCodeWanted *wanted, gsize unit_size)
{
  g_autoptr (LuCodeRows) self = g_new0 (LuCodeRows, 1);

  self->wanted = *wanted;
  self->wanted.pieces = ref_array (wanted->pieces);
  self->wanted.leads = ref_array (wanted->leads);
  self->wanted.jumps = ref_array (wanted->jumps);
  self->parts = g_array_new (FALSE, FALSE, sizeof (LuCodeBytes));
  self->units = g_array_new (FALSE, FALSE, sizeof (Unit));
  g_array_set_clear_func (self->units, clear_unit);
  self->away = lu_row_list_new ();
  self->jumps = g_array_new (FALSE, FALSE, sizeof (LuFunctionJump));
  self->rows = lu_extra_rows_new ();
  if (!lu_decoder_load ())
    return NULL;
  self->file = lu_code_file_read (
      fd, wanted->max_bytes != 0 ? wanted->max_bytes : LU_CODE_MAX_BYTES, wanted->pieces);
  if (self->file == NULL)
    return NULL;
  self->unit_size = unit_size != 0 ? unit_size : choose_unit_size (self);
  if (!cut (self))
    return NULL;
  self->words = lu_code_file_find_pointers (self->file);
  return g_steal_pointer (&self);
}

LuCodeRows *
lu_code_rows_new (int fd, const LuCodeWanted *wanted)
{
  return rows_new (fd, wanted, 0);
}

void
lu_code_rows_free (LuCodeRows *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->wanted.pieces, g_array_unref);
  g_clear_pointer (&self->wanted.leads, g_array_unref);
  g_clear_pointer (&self->wanted.jumps, g_array_unref);
  g_clear_pointer (&self->words, g_array_unref);
  g_array_unref (self->parts);
  g_array_unref (self->units);
  lu_row_list_clear (&self->away);
  g_array_unref (self->jumps);
  lu_extra_rows_free (self->rows);
  lu_code_file_free (self->file);
  g_free (self);
}

LuExtraRows *
lu_code_rows_make (int fd, const LuCodeWanted *wanted)
{
  g_autoptr (LuCodeRows) self = rows_new (fd, wanted, LU_CODE_WHOLE);

  if (self == NULL)
    return NULL;
  for (guint i = 0; i < self->units->len; i++)
    if (!lu_code_rows_run_unit (self, i))
      return NULL;
  return lu_code_rows_collect (self) != NULL ? g_steal_pointer (&self->rows) : NULL;
}
