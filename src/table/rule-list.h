/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-list.h - the distinct rules of one table, each with an id.
 *
 * Used by the compiler. Ids are small and local to the table. When the list is full, further rules
 * become complex, so no file can make it grow. */

#pragma once

#include "lu/row.h"

#include <glib.h>

#define LU_RULE_LIST_BUCKETS (2 * LU_MAX_RULES)

typedef struct
{
  struct lu_rule *rules; /* owned; rules 0 and 1 as in row.h */
  guint n;
  gboolean is_overflown;
  guint last; /* most rows repeat one of the most recent rules */
  guint n_allocated;
  guint16 buckets[LU_RULE_LIST_BUCKETS]; /* id; 0: empty */
} LuRuleList;

void lu_rule_list_init (LuRuleList *self);
void lu_rule_list_clear (LuRuleList *self);
/* Allocates memory for the maximum number of rules, so that nothing is allocated later. */
void lu_rule_list_reserve (LuRuleList *self);
/* Removes all rules except those in every list. */
void lu_rule_list_reset (LuRuleList *self);
guint lu_rule_list_intern (LuRuleList *self, const struct lu_rule *rule);
