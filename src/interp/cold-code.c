/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cold-code.c - finds the part of a function that the compiler moved away; see cold-code.h.
 *
 * Bytes are looked at without decoding instructions: what looks like a jump inside another
 * instruction leads somewhere, hardly ever into code and never to one place again and again. */

#include "interp/cold-code.h"

#include "interp/fde-table.h"

#define MAX_FUNCTION (1u << 20)
/* Debian's CPython 3.11 has 379. */
#define MIN_JUMPS 8

/* Counts, for each FDE, how many jumps of the function lead behind its start. */
static void
count_jumps (const LuInterpInput *file, const LuFdeTable *table, const LuInterpRange *function,
             const guint8 *code, guint16 *n_jumps)
{
  gsize size = function->end - function->start;

  for (gsize i = 0; i + LU_ARCH_JUMP_BYTES <= size; i += file->arch->files.code_unit)
    {
      gint64 distance;
      guint64 target;
      guint32 number;

      if (!file->arch->files.looks_like_jump (code + i, &distance))
        continue;
      target = function->start + i + (guint64) distance;
      if (target >= function->start && target < function->end)
        continue;
      number = lu_fde_table_find (table, target);
      if (target > lu_fde_table_start (table, number) && n_jumps[number] < G_MAXUINT16)
        n_jumps[number]++;
    }
}

static gboolean
choose (const LuInterpInput *file, const LuFdeTable *table, const guint16 *n_jumps,
        LuInterpRange *cold)
{
  guint32 best = 0;
  guint64 n_all = 0;

  for (guint32 i = 0; i < table->n; i++)
    {
      n_all += n_jumps[i];
      if (n_jumps[i] > n_jumps[best])
        best = i;
    }
  return n_jumps[best] >= MIN_JUMPS && n_jumps[best] * 10ull >= n_all * 9
         && lu_fde_table_range (table, file, best, cold);
}

gboolean
lu_cold_code_find (const LuInterpInput *file, const LuInterpRange *function, LuInterpRange *cold)
{
  gsize size = function->end - function->start;
  g_autofree guint8 *code = NULL;
  g_autofree guint16 *n_jumps = NULL;
  LuFdeTable table = { 0 };
  gboolean is_found = FALSE;

  if (function->end <= function->start || size > MAX_FUNCTION
      || file->arch->files.looks_like_jump == NULL)
    return FALSE;
  code = g_malloc (size);
  if (lu_interp_read (file, function->start, code, size) && lu_fde_table_read (&table, file))
    {
      n_jumps = g_new0 (guint16, table.n);
      count_jumps (file, &table, function, code, n_jumps);
      is_found = choose (file, &table, n_jumps, cold);
    }
  lu_fde_table_clear (&table);
  return is_found;
}
