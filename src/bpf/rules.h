/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rules.h - the dictionary of rules that all published tables share.
 *
 * Rules of a table carry ids of their own; what is published carries ids of this dictionary. A rule
 * stays as long as a published table names it, and rests (aging.h) before its id means another one.
 * All files of a large system have 5,000 different rules, most of them shared. A file may bring an
 * eighth of what is free; what does not get in is LU_RULE_COMPLEX. So a few hostile files do not
 * fill it up, and when many have, files.c makes room. Belongs to one thread. */

#pragma once

#include "bpf/aging.h"
#include "lu/bpf.h"

typedef struct
{
  struct lu_rule *rules; /* borrowed: LU_BPF_MAX_RULES, read by the program */
  LuBpfAging ids;
  guint32 *n_users;    /* owned; by id: published tables that name it */
  GHashTable *by_rule; /* owned; of rules where they lie */
  guint64 n_refused;   /* rules that were taken as complex */
} LuBpfRules;

void lu_bpf_rules_init (LuBpfRules *self, struct lu_rule *rules);
void lu_bpf_rules_clear (LuBpfRules *self);

/* The dictionary's ids of a table's rules, one user each; give them back all together. ids[0] and
 * [1] are those. Returns how many are complex for want of room. */
guint lu_bpf_rules_take (LuBpfRules *self, const struct lu_rule *rules, guint n, guint16 *ids);
void lu_bpf_rules_give_back (LuBpfRules *self, const guint16 *ids, guint n);

/* Rules that are not there for every table. */
guint lu_bpf_rules_n (const LuBpfRules *self);
/* Little is free, and little will be when what rests is. */
gboolean lu_bpf_rules_is_short (const LuBpfRules *self);
