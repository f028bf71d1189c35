/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-list.c - interns rules; see rule-list.h. Open addressing, at most half full. */

#include "table/rule-list.h"

#include <string.h>

static guint
hash_rule (const struct lu_rule *rule)
{
  guint64 words[2];

  memcpy (words, rule, sizeof words);
  words[0] = (words[0] ^ (words[1] * G_GUINT64_CONSTANT (0xff51afd7ed558ccd)))
             * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return (guint) (words[0] >> 32) % LU_RULE_LIST_BUCKETS;
}

static gboolean
is_same (const struct lu_rule *a, const struct lu_rule *b)
{
  return memcmp (a, b, sizeof *a) == 0;
}

static guint
add (LuRuleList *self, const struct lu_rule *rule)
{
  if (self->n == self->n_allocated)
    {
      self->n_allocated = MAX (2 * self->n_allocated,
                               1024); /* allocated at once, because this is enough for most files */
      self->rules = g_renew (struct lu_rule, self->rules, self->n_allocated);
    }
  self->rules[self->n] = *rule;
  return self->n++;
}

void
lu_rule_list_init (LuRuleList *self)
{
  static const struct lu_rule none = { .cfa_kind = LU_CFA_NONE };
  static const struct lu_rule complex_rule = { .cfa_kind = LU_CFA_COMPLEX };

  memset (self, 0, sizeof *self);
  add (self, &none);
  add (self, &complex_rule);
}

void
lu_rule_list_clear (LuRuleList *self)
{
  g_clear_pointer (&self->rules, g_free);
  self->n = self->n_allocated = 0;
}

void
lu_rule_list_reserve (LuRuleList *self)
{
  self->n_allocated = LU_MAX_RULES;
  self->rules = g_renew (struct lu_rule, self->rules, self->n_allocated);
}

void
lu_rule_list_reset (LuRuleList *self)
{
  self->n = LU_RULE_FIRST;
  self->last = LU_RULE_NONE;
  self->is_overflown = FALSE;
  memset (self->buckets, 0, sizeof self->buckets);
}

guint
lu_rule_list_intern (LuRuleList *self, const struct lu_rule *rule)
{
  guint bucket;

  if (is_same (&self->rules[self->last], rule))
    return self->last;
  if (rule->cfa_kind == LU_CFA_COMPLEX)
    return LU_RULE_COMPLEX;
  if (rule->cfa_kind == LU_CFA_NONE)
    return LU_RULE_NONE;
  for (bucket = hash_rule (rule); self->buckets[bucket] != 0;
       bucket = (bucket + 1) % LU_RULE_LIST_BUCKETS)
    if (is_same (&self->rules[self->buckets[bucket]], rule))
      return self->last = self->buckets[bucket];
  if (self->n == LU_MAX_RULES)
    {
      self->is_overflown = TRUE;
      return LU_RULE_COMPLEX;
    }
  self->last = add (self, rule);
  return self->buckets[bucket] = (guint16) self->last;
}
