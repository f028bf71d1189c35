/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.c - see code-rows.h. */

#include "code/code-rows.h"

#include "code/decoder.h"

/* Adds the functions of one kind to which other code leads, each before what the last one has led
 * to. FALSE: it was cancelled. */
static gboolean
add_leads (LuFlow *flow, const GArray *leads, LuStartKind kind)
{
  for (guint i = 0; leads != NULL && i < leads->len; i++)
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
  if (lu_flow_run (flow) && add_leads (flow, wanted->leads, LU_START_CERTAIN)
      && add_leads (flow, wanted->leads, LU_START_POINTER) && lu_flow_run_pointers (flow)
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
      g_autoptr (LuFlow) flow = NULL;

      if (range->start < end)
        return NULL;
      end = range->start + range->size;
      if (is_padding (range))
        continue;
      flow = lu_code_rows_analyse (file, range, words, wanted);
      if (flow == NULL)
        return NULL;
      lu_flow_write (flow, rows);
    }
  if (rows->rows->len == 0)
    return NULL;
  lu_extra_rows_sort_jumps (rows);
  return g_steal_pointer (&rows);
}
