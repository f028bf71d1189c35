/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rules.h - the dictionary of rules that all published tables share.
 *
 * A table has rule ids of its own; published tables have ids of this dictionary. A rule stays while
 * a published table uses it, and its id rests (deferred-reclamation.h) before it is reused. The
 * files of a large system have 5,000 different rules, most of them shared. A file may take an
 * eighth of the free ids; its other rules become LU_RULE_COMPLEX. So a few hostile files cannot
 * fill the dictionary, and if many do, files.c makes room. Belongs to one thread. */

#pragma once

#include "deferred-reclamation.h"
#include "lu/bpf.h"

typedef struct
{
  struct lu_bpf_dictionary *dictionary; /* borrowed; read by the program */
  LuBpfReclaim ids;
  guint32 *n_users;    /* owned; by id: published tables that use it */
  GHashTable *by_rule; /* owned; set of pointers to its rules */
  guint64 n_refused;   /* rules that became complex */
} LuBpfRules;

/* Returns whether the program's architecture has a link register (lu_bpf_dictionary_set()). */
gboolean lu_bpf_rules_have_link (void);

void lu_bpf_rules_init (LuBpfRules *self, struct lu_bpf_dictionary *dictionary);
void lu_bpf_rules_clear (LuBpfRules *self);

/* Takes an id for each rule of a table; they are given back all together. ids[0] and ids[1] are the
 * same in every dictionary. Rules that there is no room for become complex. */
void lu_bpf_rules_take (LuBpfRules *self, const struct lu_rule *rules, guint n, guint16 *ids);
void lu_bpf_rules_give_back (LuBpfRules *self, const guint16 *ids, guint n);

/* Returns the number of rules, without those that are always there. */
guint lu_bpf_rules_n (const LuBpfRules *self);
/* Returns whether few ids are free or resting. */
gboolean lu_bpf_rules_is_short (const LuBpfRules *self);
