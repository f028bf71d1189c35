/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* row-list.c - see row-list.h. */

#include "code/row-list.h"

LuRowList
lu_row_list_new (void)
{
  return (LuRowList){ .rows = g_array_new (FALSE, FALSE, sizeof (LuExtraRow)),
                      .starts = g_array_new (FALSE, FALSE, sizeof (guint64)) };
}

void
lu_row_list_clear (LuRowList *self)
{
  g_clear_pointer (&self->rows, g_array_unref);
  g_clear_pointer (&self->starts, g_array_unref);
}

/* The first of the new rows takes the place of a last one at the same address. */
void
lu_row_list_append (LuRowList *self, const GArray *rows, const GArray *starts)
{
  if (rows->len > 0 && self->rows->len > 0
      && g_array_index (self->rows, LuExtraRow, self->rows->len - 1).address
             == g_array_index (rows, LuExtraRow, 0).address)
    g_array_set_size (self->rows, self->rows->len - 1);
  g_array_append_vals (self->rows, rows->data, rows->len);
  g_array_append_vals (self->starts, starts->data, starts->len);
}

/* A way through the rows of a list. */
typedef struct
{
  const GArray *rows;
  guint next;
  guint32 rule; /* of the place that was reached */
} Walk;

static guint64
next_address (const Walk *self)
{
  return self->next < self->rows->len ? g_array_index (self->rows, LuExtraRow, self->next).address
                                      : G_MAXUINT64;
}

/* Goes on to an address, which is not below the last one. */
static void
go_to (Walk *self, guint64 address)
{
  while (self->next < self->rows->len && next_address (self) <= address)
    self->rule = g_array_index (self->rows, LuExtraRow, self->next++).rule;
}

static void
overlay_rows (LuRowList *self, const LuRowList *over, const LuRowList *under, gboolean is_equal)
{
  Walk above = { .rows = over->rows }, below = { .rows = under->rows };
  guint32 last = LU_RULE_NONE;

  while (above.next < over->rows->len || below.next < under->rows->len)
    {
      LuExtraRow row = { .address = MIN (next_address (&above), next_address (&below)) };

      go_to (&above, row.address);
      go_to (&below, row.address);
      row.rule = above.rule != LU_RULE_NONE ? above.rule : below.rule;
      if (is_equal && below.rule != LU_RULE_NONE && below.rule != row.rule)
        row.rule = LU_ROW_DISPUTED;
      if (row.rule != last)
        g_array_append_val (self->rows, row);
      last = row.rule;
    }
}

static void
overlay_starts (LuRowList *self, const LuRowList *over, const LuRowList *under)
{
  Walk above = { .rows = over->rows };
  guint next = 0;

  for (guint i = 0; i <= under->starts->len; i++)
    {
      guint64 start =
          i < under->starts->len ? g_array_index (under->starts, guint64, i) : G_MAXUINT64;
      guint first = next;

      while (next < over->starts->len && g_array_index (over->starts, guint64, next) <= start)
        next++;
      if (next > first)
        g_array_append_vals (self->starts, &g_array_index (over->starts, guint64, first),
                             next - first);
      go_to (&above, start);
      if (i < under->starts->len && above.rule == LU_RULE_NONE
          && (next == 0 || g_array_index (over->starts, guint64, next - 1) != start))
        g_array_append_val (self->starts, start);
    }
}

void
lu_row_list_overlay (LuRowList *self, const LuRowList *over, const LuRowList *under)
{
  overlay_rows (self, over, under, FALSE);
  overlay_starts (self, over, under);
}

void
lu_row_list_drop_inner_starts (LuRowList *self, const LuRowList *home)
{
  Walk own = { .rows = self->rows }, walk = { .rows = home->rows };
  guint64 *starts = (guint64 *) (gpointer) self->starts->data;
  guint next = 0, n = 0;

  for (guint i = 0; i < self->starts->len; i++)
    {
      guint64 start = starts[i];

      go_to (&own, start);
      go_to (&walk, start);
      while (next < home->starts->len && g_array_index (home->starts, guint64, next) < start)
        next++;
      if (own.rule == LU_RULE_NONE || own.rule != walk.rule
          || (next < home->starts->len && g_array_index (home->starts, guint64, next) == start))
        starts[n++] = start;
    }
  g_array_set_size (self->starts, n);
}

void
lu_row_list_unite (LuRowList *self, const LuRowList *one, const LuRowList *other)
{
  overlay_rows (self, one, other, TRUE);
  overlay_starts (self, one, other);
}

void
lu_row_list_settle (LuRowList *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      LuExtraRow *row = &g_array_index (self->rows, LuExtraRow, i);

      if (row->rule == LU_ROW_DISPUTED)
        row->rule = LU_RULE_NONE;
    }
}
