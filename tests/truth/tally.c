/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tally.c - a hash table of differences; see tally.h. */

#include "tally.h"

#include <string.h>

static const struct
{
  const char *text;
  gboolean is_wrong;
} verdicts[] = {
#define X(NAME, text, is_wrong) { text, is_wrong },
  VERDICT_LIST (X)
#undef X
};

const char *
verdict_text (Verdict verdict)
{
  return verdicts[verdict].text;
}

gboolean
verdict_is_wrong (Verdict verdict)
{
  return verdicts[verdict].is_wrong;
}

static guint
hash_difference (gconstpointer data)
{
  const Difference *self = data;

  return g_direct_hash (self->place) * 31 + self->decider * 16 + self->verdict;
}

static gboolean
equal_differences (gconstpointer left, gconstpointer right)
{
  const Difference *a = left, *b = right;

  return a->place == b->place && a->decider == b->decider && a->verdict == b->verdict;
}

void
tally_init (Tally *self, const DeciderList *deciders)
{
  *self = (Tally){ .deciders = deciders };
  self->differences = g_hash_table_new_full (hash_difference, equal_differences, g_free, NULL);
}

void
tally_clear (Tally *self)
{
  g_clear_pointer (&self->differences, g_hash_table_unref);
}

void
tally_add (Tally *self, guint decider, Verdict verdict)
{
  self->verdicts[decider][verdict]++;
}

void
tally_add_difference (Tally *self, const Difference *difference)
{
  Difference *known = g_hash_table_lookup (self->differences, difference);

  if (known == NULL)
    {
      known = g_memdup2 (difference, sizeof *difference);
      g_hash_table_add (self->differences, known);
    }
  known->n++;
  known->is_worse |= difference->is_worse;
}

guint
tally_count_worse (const Tally *self, guint decider)
{
  GHashTableIter iter;
  gpointer key;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->differences);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      const Difference *difference = key;

      n += difference->decider == decider && difference->is_worse ? 1 : 0;
    }
  return n;
}

double
tally_percent_less (const Tally *self, guint decider)
{
  return 100. * (double) self->n_less[decider] / (double) MAX (self->verdicts[0][VERDICT_RIGHT], 1);
}

static gint
compare_differences (gconstpointer left, gconstpointer right)
{
  const Difference *a = *(Difference *const *) left, *b = *(Difference *const *) right;
  gint order = strcmp (a->place->module->name, b->place->module->name);

  if (a->decider != b->decider)
    return a->decider < b->decider ? -1 : 1;
  if (order != 0)
    return order;
  if (a->place->address != b->place->address)
    return a->place->address < b->place->address ? -1 : 1;
  return (gint) a->verdict - (gint) b->verdict;
}

GPtrArray *
tally_differences (const Tally *self)
{
  GPtrArray *all = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->differences);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_ptr_array_add (all, key);
  g_ptr_array_sort (all, compare_differences);
  return all;
}

char *
difference_rule (const Difference *self, const DeciderList *deciders)
{
  gpointer rule = self->place->rules[self->decider];

  return rule != NULL ? deciders->at[self->decider]->describe (rule) : g_strdup ("none");
}
