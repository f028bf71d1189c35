/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.c - see code-rows.h. */

#include "code/code-rows.h"

#include "code/decoder.h"

/* The analysis takes about eight times as much memory as the code that it looks at, for a moment.
 */
#define MAX_PART (2u << 20)
/* The longest instruction, in bytes */
#define LONGEST 15

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
  g_autoptr (LuFlow) flow = lu_flow_new (range, &file->flow_file);
  guint64 end = range->start + range->size;
  guint first = lu_code_file_first (words, range->start);
  guint n = lu_code_file_first (words, end) - first;

  lu_flow_set_cancelled (flow, wanted->is_cancelled);
  lu_flow_add_start (flow, file->headers.entry, LU_START_CERTAIN, TRUE);
  for (guint i = lu_code_file_first (file->functions, range->start);
       i < file->functions->len && g_array_index (file->functions, guint64, i) < end; i++)
    lu_flow_add_start (flow, g_array_index (file->functions, guint64, i), LU_START_CERTAIN, FALSE);
  if (lu_flow_run (flow) && add_leads (flow, wanted->leads, range, LU_START_CERTAIN)
      && add_leads (flow, wanted->leads, range, LU_START_POINTER) && lu_flow_run_pointers (flow)
      && lu_flow_run_words (flow, (const guint64 *) words->data + first, n)
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

/* Returns whether code seems to begin at a place: padding ends there. */
static gboolean
is_behind_padding (const LuCodeBytes *range, gsize at)
{
  LuOp op;

  for (gsize size = 1; size <= LONGEST && size <= at; size++)
    if (lu_decoder_decode (range->bytes + at - size, size, range->start + at - size, &op)
        && op.is_padding && op.size == size)
      return TRUE;
  return FALSE;
}

/* Returns the first part of the code, which is small enough to be analysed at once, and ends where
 * a function does, if possible. */
static LuCodeBytes
first_part (const LuCodeBytes *range)
{
  LuCodeBytes part = { range->start, MIN (range->size, MAX_PART), range->bytes };

  if (range->size <= MAX_PART)
    return part;
  for (gsize size = MAX_PART - (range->start + MAX_PART) % 16; size > MAX_PART / 2; size -= 16)
    if (is_behind_padding (range, size))
      {
        part.size = size;
        break;
      }
  return part;
}

/* Adds the rows of a range of code, but for parts that are too much work. FALSE: it was cancelled.
 */
static gboolean
add_rows (const LuCodeFile *file, LuCodeBytes range, const GArray *words,
          const LuCodeWanted *wanted, LuExtraRows *rows)
{
  while (range.size > 0)
    {
      LuCodeBytes part = first_part (&range);
      g_autoptr (LuFlow) flow = NULL;

      range.start += part.size;
      range.bytes += part.size;
      range.size -= part.size;
      if (is_padding (&part))
        continue;
      flow = lu_code_rows_analyse (file, &part, words, wanted);
      if (flow != NULL)
        lu_flow_write (flow, rows);
      else if (wanted->is_cancelled != NULL && g_atomic_int_get (wanted->is_cancelled))
        return FALSE;
    }
  return TRUE;
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

LuExtraRows *
lu_code_rows_make (int fd, const LuCodeWanted *wanted)
{
  g_autoptr (LuCodeFile) file = NULL;
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  g_autoptr (GArray) words = NULL;
  guint64 end = 0;

  if (!lu_decoder_load ())
    return NULL;
  file = lu_code_file_read (fd, LU_CODE_MAX_BYTES, wanted->pieces);
  if (file == NULL)
    return NULL;
  words = lu_code_file_find_pointers (file);
  for (guint i = 0; i < file->ranges->len; i++)
    {
      const LuCodeBytes *range = &g_array_index (file->ranges, LuCodeBytes, i);

      if (range->start < end || !add_rows (file, *range, words, wanted, rows))
        return NULL;
      end = range->start + range->size;
    }
  if (rows->rows->len == 0)
    return NULL;
  add_jumps (file, wanted->jumps, rows);
  lu_extra_rows_sort_jumps (rows);
  return g_steal_pointer (&rows);
}
