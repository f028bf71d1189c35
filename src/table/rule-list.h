/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-list.h - the different rules of one table, each with an id.
 *
 * Used by the compiler. Ids are small and local to the table; when the list is full, further rules
 * become complex, so that no file can make it grow. */

#pragma once

#include "lu/row.h"

#include <glib.h>

#define LU_RULE_LIST_BUCKETS (2 * LU_MAX_RULES)

typedef struct
{
  struct lu_rule *rules; /* owned; rules 0 and 1 as in row.h */
  guint n;
  gboolean is_overflown;
  guint last; /* most rows repeat one of the rules just seen */
  guint n_allocated;
  guint16 buckets[LU_RULE_LIST_BUCKETS]; /* id; 0: empty */
} LuRuleList;

void lu_rule_list_init (LuRuleList *self);
void lu_rule_list_clear (LuRuleList *self);
/* Rooms for all the rules that a list can have: it does not allocate any more. */
void lu_rule_list_reserve (LuRuleList *self);
/* Forgets all rules but those that are in every list. */
void lu_rule_list_reset (LuRuleList *self);
guint lu_rule_list_intern (LuRuleList *self, const struct lu_rule *rule);
