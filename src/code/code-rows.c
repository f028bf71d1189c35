/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.c - see code-rows.h. */

#include "code/code-rows.h"

#include "code/code-file.h"
#include "code/decoder.h"

/* FALSE: it was cancelled, or is too much work. */
static gboolean
analyse (LuFlow *flow, const LuCodeFile *file, const LuCodeBytes *range)
{
  g_autoptr (GArray) words = lu_code_file_find_pointers (file, range);

  lu_flow_add_start (flow, file->headers.entry, LU_START_CERTAIN, TRUE);
  for (guint i = 0; i < file->functions->len; i++)
    lu_flow_add_start (flow, g_array_index (file->functions, guint64, i), LU_START_CERTAIN, FALSE);
  return lu_flow_run (flow) && lu_flow_run_pointers (flow) && lu_flow_run_words (flow, words)
         && lu_flow_run_gaps (flow);
}

static gint
compare_ranges (gconstpointer a, gconstpointer b)
{
  guint64 one = ((const LuCodeBytes *) a)->start, other = ((const LuCodeBytes *) b)->start;

  return one < other ? -1 : one > other;
}

LuExtraRows *
lu_code_rows_make (int fd, const gint *is_cancelled)
{
  g_autoptr (LuCodeFile) file = NULL;
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  guint64 end = 0;

  if (!lu_decoder_load ())
    return NULL;
  file = lu_code_file_read (fd, LU_CODE_MAX_BYTES);
  if (file == NULL)
    return NULL;
  g_array_sort (file->ranges, compare_ranges);
  for (guint i = 0; i < file->ranges->len; i++)
    {
      const LuCodeBytes *range = &g_array_index (file->ranges, LuCodeBytes, i);
      g_autoptr (LuFlow) flow = NULL;

      if (range->start < end)
        return NULL;
      end = range->start + range->size;
      flow = lu_flow_new (range, &file->flow_file);
      lu_flow_set_cancelled (flow, is_cancelled);
      if (!analyse (flow, file, range))
        return NULL;
      lu_flow_write (flow, rows);
    }
  return g_steal_pointer (&rows);
}
