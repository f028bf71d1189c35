/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* extra-rows.c - see extra-rows.h. */

#include "table/extra-rows.h"

LuExtraRows *
lu_extra_rows_new (void)
{
  LuExtraRows *self = g_new0 (LuExtraRows, 1);

  self->rows = g_array_new (FALSE, FALSE, sizeof (LuExtraRow));
  self->starts = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->jumps = g_array_new (FALSE, FALSE, sizeof (LuFunctionJump));
  lu_rule_list_init (&self->rules);
  return self;
}

void
lu_extra_rows_free (LuExtraRows *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_array_unref (self->starts);
  g_array_unref (self->jumps);
  lu_rule_list_clear (&self->rules);
  g_free (self);
}

void
lu_extra_rows_add (LuExtraRows *self, guint64 address, const struct lu_rule *rule)
{
  LuExtraRow row = { .address = address, .rule = LU_RULE_NONE };
  guint32 last = LU_RULE_NONE;

  if (rule != NULL)
    row.rule = lu_rule_list_intern (&self->rules, rule);
  if (self->rows->len > 0
      && g_array_index (self->rows, LuExtraRow, self->rows->len - 1).address == address)
    g_array_set_size (self->rows, self->rows->len - 1);
  if (self->rows->len > 0)
    last = g_array_index (self->rows, LuExtraRow, self->rows->len - 1).rule;
  if (row.rule != last)
    g_array_append_val (self->rows, row);
}

void
lu_extra_rows_add_start (LuExtraRows *self, guint64 address)
{
  g_array_append_val (self->starts, address);
}

void
lu_extra_rows_add_jump (LuExtraRows *self, guint64 from, guint64 to)
{
  LuFunctionJump jump = { from, to };

  g_array_append_val (self->jumps, jump);
}

static gint
compare_jumps (gconstpointer a, gconstpointer b)
{
  const LuFunctionJump *one = a, *other = b;

  if (one->from != other->from)
    return one->from < other->from ? -1 : 1;
  return one->to < other->to ? -1 : one->to > other->to;
}

void
lu_extra_rows_sort_jumps (LuExtraRows *self)
{
  LuFunctionJump *jumps = (LuFunctionJump *) (gpointer) self->jumps->data;
  guint n = 0;

  g_array_sort (self->jumps, compare_jumps);
  for (guint i = 0; i < self->jumps->len; i++)
    if (n == 0 || compare_jumps (&jumps[n - 1], &jumps[i]) != 0)
      jumps[n++] = jumps[i];
  g_array_set_size (self->jumps, n);
}

gint64
lu_extra_rows_find (const LuExtraRows *self, guint64 address)
{
  guint low = 0, high = self->rows->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->rows, LuExtraRow, middle).address <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return (gint64) low - 1;
}
