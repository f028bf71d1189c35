/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-cache.c - compiles rules as they are needed; see rule-cache.h.
 *
 * What is kept of a module (its CIEs, and a list of FDEs where there is no search table) points
 * into its image. It is used only while a sample's space holds the module, so no reference is taken
 * and images can go when no process maps them. */

#include "unwind/rule-cache.h"

#include "table/compile.h"

#include <stdlib.h>
#include <string.h>

/* Modules whose CFI is kept; a few KB each. When there are more, all are forgotten. */
#define MAX_MODULES 512
#define CACHE_LINE  64
#define N_SETS      (1u << LU_RULE_CACHE_BITS)

_Static_assert(sizeof (LuRuleSet) == CACHE_LINE, "one look-up, one cache line");
_Static_assert(LU_MAX_RULES <= LU_PLAIN_ID (~G_GUINT64_CONSTANT (0)) + 1, "ids fit");

typedef struct _LuRuleCompiler
{
  GHashTable *modules; /* id -> LuCfi, owned; NULL: no tables for its architecture */
  LuRuleList rules;
  LuCfaRun run;
} LuRuleCompiler;

static void
free_cfi (gpointer cfi)
{
  lu_cfi_free (cfi);
}

/* Zeros, at the start of a cache line. */
static gpointer
allocate (gsize size)
{
  gpointer bytes = NULL;

  if (posix_memalign (&bytes, CACHE_LINE, size) != 0)
    g_error ("not enough memory");
  return memset (bytes, 0, size);
}

LuRuleCache *
lu_rule_cache_new (void)
{
  LuRuleCache *self = allocate (sizeof *self);

  self->sets = allocate (N_SETS * sizeof *self->sets);
  self->compiler = g_new0 (LuRuleCompiler, 1);
  self->compiler->modules = g_hash_table_new_full (NULL, NULL, NULL, free_cfi);
  lu_rule_list_init (&self->compiler->rules);
  self->rules = self->compiler->rules.rules;
  return self;
}

void
lu_rule_cache_free (LuRuleCache *self)
{
  g_hash_table_unref (self->compiler->modules);
  lu_rule_list_clear (&self->compiler->rules);
  g_free (self->compiler);
  free (self->sets);
  free (self);
}

gsize
lu_rule_cache_bytes (const LuRuleCache *self)
{
  gsize bytes = sizeof self->places + self->compiler->rules.n * sizeof (struct lu_rule);

  for (guint i = 0; i < N_SETS; i++)
    for (guint k = 0; k < LU_RULE_CACHE_WAYS; k++)
      bytes += self->sets[i].places[k].key != 0 ? sizeof (LuRulePlace) : 0;
  return bytes;
}

static LuCfi *
find_cfi (LuRuleCompiler *compiler, const LuModule *module)
{
  gpointer key = GUINT_TO_POINTER (lu_module_id (module));
  gpointer cfi;

  if (g_hash_table_lookup_extended (compiler->modules, key, NULL, &cfi))
    return cfi;
  if (g_hash_table_size (compiler->modules) >= MAX_MODULES)
    g_hash_table_remove_all (compiler->modules);
  cfi = lu_cfi_new_for_image (lu_module_image (module));
  g_hash_table_insert (compiler->modules, key, cfi);
  return cfi;
}

/* The list of rules is full: begins anew with nothing known. */
static void
forget_all (LuRuleCache *self)
{
  memset (self->places, 0, sizeof self->places);
  memset (self->sets, 0, N_SETS * sizeof *self->sets);
  lu_rule_list_clear (&self->compiler->rules);
  lu_rule_list_init (&self->compiler->rules);
}

void
lu_rule_cache_set_haste (LuRuleCache *self)
{
  self->is_in_haste = TRUE;
}

/* The whole table's rule, or one compiled for this address alone. FALSE: not now. */
static gboolean
make_rule (LuRuleCache *self, const LuModule *module, guint64 address, struct lu_rule *rule)
{
  LuRuleCompiler *compiler = self->compiler;
  LuCfi *cfi;

  if (self->work_left == 0)
    return FALSE;
  if (lu_module_find_rule (module, address, rule))
    return TRUE;
  cfi = find_cfi (compiler, module);
  self->n_misses++;
  lu_module_note_miss (module);
  *rule = (struct lu_rule){ .cfa_kind = LU_CFA_COMPLEX };
  if (cfi == NULL)
    return TRUE;
  if (self->is_in_haste && lu_cfi_unlisted_bytes (cfi) > LU_RULE_CACHE_WORK)
    return FALSE;
  *rule = lu_compile_at (cfi, &compiler->run, address);
  self->work_left -= MIN (self->work_left, compiler->run.work);
  return TRUE;
}

static LuGoPlace
go_place (const LuModule *module, guint64 address)
{
  return lu_image_go_place (lu_module_image (module), address);
}

static LuRulePlace
compile (LuRuleCache *self, const LuModule *module, guint64 key)
{
  LuRuleList *rules = &self->compiler->rules;
  guint64 address = key - lu_rule_cache_module_key (module);
  LuGoPlace go = go_place (module, address);
  struct lu_rule rule;
  lu_plain plain;

  if (!make_rule (self, module, address, &rule)) /* without a key: not to be kept */
    return (LuRulePlace){ .plain = (guint64) LU_RULE_COMPLEX << LU_PLAIN_ID_SHIFT };
  plain = go == LU_GO_ORDINARY ? lu_plain_make (&rule) : 0;
  if (rules->n == LU_MAX_RULES)
    forget_all (self);
  plain |= (guint64) lu_rule_list_intern (rules, &rule) << LU_PLAIN_ID_SHIFT;
  plain |= (guint64) go << LU_PLAIN_GO_SHIFT;
  self->rules = rules->rules;
  return (LuRulePlace){ .key = key, .plain = plain };
}

/* The place in the second level; one that is found moves a step to the front. */
static LuRulePlace
find_place (LuRuleCache *self, const LuModule *module, guint64 key)
{
  LuRulePlace *places = self->sets[lu_rule_cache_hash (key) >> (64 - LU_RULE_CACHE_BITS)].places;
  LuRulePlace place;

  for (guint i = 0; i < LU_RULE_CACHE_WAYS; i++)
    if (places[i].key == key)
      {
        place = places[i];
        if (i > 0)
          {
            places[i] = places[i - 1];
            places[i - 1] = place;
          }
        return place;
      }
  place = compile (self, module, key);
  if (place.key == 0)
    return place;
  /* In the middle: what is asked for once must not push out what is asked for again and again. */
  memmove (&places[2], &places[1], (LU_RULE_CACHE_WAYS - 2) * sizeof *places);
  places[1] = place;
  return place;
}

void
lu_rule_cache_fill (LuRuleCache *self, LuRulePlace *place, const LuModule *module, guint64 key)
{
  *place = find_place (self, module, key);
}

/* At an address too high for a key. */
static LuRuleFound
look_up_unkept (LuRuleCache *self, const LuModule *module, guint64 address)
{
  LuRuleFound found = { .rule = { .cfa_kind = LU_CFA_COMPLEX },
                        .go_place = go_place (module, address) };

  make_rule (self, module, address, &found.rule);
  return found;
}

LuRuleFound
lu_rule_cache_look_up (LuRuleCache *self, const LuModule *module, guint64 address)
{
  lu_plain plain;

  if (!lu_rule_cache_can_keep (module, address))
    return look_up_unkept (self, module, address);
  plain = lu_rule_cache_find (self, module, lu_rule_cache_module_key (module) + address);
  return (LuRuleFound){ .rule = self->rules[LU_PLAIN_ID (plain)], .go_place = LU_PLAIN_GO (plain) };
}
