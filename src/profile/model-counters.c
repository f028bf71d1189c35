/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-counters.c - the counters of a capture in a model that keeps times; see model.h.
 *
 * A capture may define an id again or set one that it never defined: the first definition counts,
 * and other values are left out. */

#include "model-private.h"

#define MAX_COUNTERS 4096

void
lu_model_counter_clear (gpointer pointer)
{
  LuModelCounter *self = pointer;

  g_free (self->category);
  g_free (self->name);
}

/* Returns the index of a counter, or G_MAXUINT32. Values come in the order of definition, so the
 * one after the last is tried first. */
static guint32
find_counter (const LuModel *self, guint32 id, guint32 *next)
{
  for (guint k = 0; k < self->counters->len; k++)
    {
      guint32 i = (*next + k) % self->counters->len;

      if (g_array_index (self->counters, LuModelCounter, i).id == id)
        {
          *next = i + 1;
          return i;
        }
    }
  return G_MAXUINT32;
}

void
lu_model_take_counters (LuModel *self, const LuSyscapRecord *record)
{
  guint32 next = 0;

  if ((self->flags & LU_MODEL_TIMES) == 0)
    return;
  for (guint i = 0; i < record->ctrdef.n && self->counters->len < MAX_COUNTERS; i++)
    {
      const LuSyscapCounter *read = &record->ctrdef.counters[i];
      LuModelCounter counter = { .id = read->id, .is_real = read->is_real };

      if (find_counter (self, read->id, &next) != G_MAXUINT32)
        continue;
      counter.category = g_utf8_make_valid (read->category, -1);
      counter.name = g_utf8_make_valid (read->name, -1);
      g_array_append_val (self->counters, counter);
    }
}

void
lu_model_take_values (LuModel *self, const LuSyscapRecord *record)
{
  guint32 next = 0;

  if ((self->flags & LU_MODEL_TIMES) == 0)
    return;
  for (guint i = 0; i < record->ctrset.n && self->values->len < LU_MODEL_MAX_VALUES; i++)
    {
      const LuModelValue value = { .time = record->time,
                                   .counter =
                                       find_counter (self, record->ctrset.values[i].id, &next),
                                   .bits = record->ctrset.values[i].bits };

      if (value.counter != G_MAXUINT32)
        g_array_append_val (self->values, value);
    }
}
