/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rules.c - the dictionary of rules; see rules.h.
 *
 * The hash refers to the rules in the array, so that each rule is stored once. */

#include "bpf/rules.h"

#include "arch/arch.h"

#include <string.h>

/* The ids below this one are the same in every dictionary. */
#define FIRST_ID (LU_BPF_RULE_TOP + 1)
/* One file may take this share of the free ids. */
#define FREE_SHARE  8
#define SHORT_SHARE 8 /* of all ids */

static guint
rule_hash (gconstpointer pointer)
{
  guint64 words[2];

  memcpy (words, pointer, sizeof words);
  words[0] = (words[0] ^ words[1] * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15))
             * G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
  return (guint) (words[0] >> 32);
}

static gboolean
rule_equal (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (struct lu_rule)) == 0;
}

/* The program walks 64-bit tasks of this machine. */
gboolean
lu_bpf_rules_have_link (void)
{
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);

  return arch != NULL && arch->has_link_register;
}

void
lu_bpf_rules_init (LuBpfRules *self, struct lu_bpf_dictionary *dictionary)
{
  static const struct lu_rule first[FIRST_ID] = {
    [LU_RULE_NONE] = { .cfa_kind = LU_CFA_NONE },
    [LU_RULE_COMPLEX] = { .cfa_kind = LU_CFA_COMPLEX },
    [LU_BPF_RULE_TOP] = { .cfa_kind = LU_CFA_COMPLEX, .ra_kind = LU_RA_END },
  };

  *self = (LuBpfRules){ .dictionary = dictionary };
  lu_bpf_reclaim_init (&self->ids, LU_BPF_MAX_RULES);
  lu_bpf_reclaim_take (&self->ids, FIRST_ID);
  self->n_users = g_new0 (guint32, LU_BPF_MAX_RULES);
  /* The key and the value point to the rule in the array. */
  self->by_rule = g_hash_table_new (rule_hash, rule_equal);
  for (guint i = 0; i < FIRST_ID; i++)
    lu_bpf_dictionary_set (dictionary, i, &first[i], lu_bpf_rules_have_link ());
}

void
lu_bpf_rules_clear (LuBpfRules *self)
{
  g_hash_table_unref (self->by_rule);
  g_free (self->n_users);
  lu_bpf_reclaim_clear (&self->ids);
}

/* Returns the id of a rule, adding the rule if there is room; LU_RULE_COMPLEX otherwise. */
static guint16
take_one (LuBpfRules *self, const struct lu_rule *rule, guint *n_allowed)
{
  struct lu_rule *found = g_hash_table_lookup (self->by_rule, rule);
  gint64 id;

  if (found != NULL)
    {
      self->n_users[found - self->dictionary->rules]++;
      return (guint16) (found - self->dictionary->rules);
    }
  id = *n_allowed > 0 ? lu_bpf_reclaim_take (&self->ids, 1) : -1;
  if (id < 0)
    return LU_RULE_COMPLEX;
  --*n_allowed;
  lu_bpf_dictionary_set (self->dictionary, (guint32) id, rule, lu_bpf_rules_have_link ());
  self->n_users[id] = 1;
  g_hash_table_add (self->by_rule, &self->dictionary->rules[id]);
  return (guint16) id;
}

void
lu_bpf_rules_take (LuBpfRules *self, const struct lu_rule *rules, guint n, guint16 *ids)
{
  guint n_allowed = self->ids.n_free / FREE_SHARE;

  for (guint i = 0; i < n; i++)
    {
      if (i < LU_RULE_FIRST || rules[i].cfa_kind == LU_CFA_COMPLEX)
        ids[i] = (guint16) MIN (i, LU_RULE_COMPLEX);
      else
        ids[i] = take_one (self, &rules[i], &n_allowed);
      self->n_refused += ids[i] == LU_RULE_COMPLEX && rules[i].cfa_kind != LU_CFA_COMPLEX;
    }
}

void
lu_bpf_rules_give_back (LuBpfRules *self, const guint16 *ids, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      if (ids[i] < FIRST_ID || --self->n_users[ids[i]] > 0)
        continue;
      g_hash_table_remove (self->by_rule, &self->dictionary->rules[ids[i]]);
      lu_bpf_reclaim_give_back (&self->ids, ids[i], 1);
    }
}

guint
lu_bpf_rules_n (const LuBpfRules *self)
{
  return g_hash_table_size (self->by_rule);
}

gboolean
lu_bpf_rules_is_short (const LuBpfRules *self)
{
  return self->ids.n_free + self->ids.n_gathered + self->ids.n_sealed
         < LU_BPF_MAX_RULES / SHORT_SHARE;
}
