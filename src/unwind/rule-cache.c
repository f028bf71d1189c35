/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-cache.c - compiles rules as they are needed; see rule-cache.h.
 *
 * What is kept of a module (its CIEs, and a list of FDEs where there is no search table) points
 * into its image. It is used only while a sample's space holds the module, so no reference is taken
 * and images can go when no process maps them. */

#include "unwind/rule-cache.h"

#include "table/compile.h"

#include <string.h>

/* Modules whose CFI is kept; a few KB each. When there are more, all are forgotten. */
#define MAX_MODULES 512

_Static_assert(sizeof (LuRuleSlot) == 32, "two slots to a cache line");
_Static_assert(LU_RULE_CACHE_SLOTS == 1 << (64 - 52),
               "the hash has as many bits as there are slots");

typedef struct _LuRuleCompiler
{
  GHashTable *modules; /* id -> LuCfi, owned; NULL: no tables for its architecture */
  LuCfaRun run;
} LuRuleCompiler;

static void
free_cfi (gpointer cfi)
{
  lu_cfi_free (cfi);
}

LuRuleCache *
lu_rule_cache_new (void)
{
  LuRuleCache *self = g_new0 (LuRuleCache, 1);

  self->compiler = g_new0 (LuRuleCompiler, 1);
  self->compiler->modules = g_hash_table_new_full (NULL, NULL, NULL, free_cfi);
  return self;
}

void
lu_rule_cache_free (LuRuleCache *self)
{
  g_hash_table_unref (self->compiler->modules);
  g_free (self->compiler);
  g_free (self);
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

void
lu_rule_cache_fill (LuRuleCache *self, LuRuleSlot *slot, const LuModule *module, guint64 address)
{
  LuRuleCompiler *compiler = self->compiler;
  LuCfi *cfi = find_cfi (compiler, module);

  self->n_misses++;
  slot->module = lu_module_id (module);
  slot->address = address;
  slot->go_place = (guint8) lu_image_go_place (lu_module_image (module), address);
  slot->rule = cfi != NULL ? lu_compile_at (cfi, &compiler->run, address)
                           : (struct lu_rule){ .cfa_kind = LU_CFA_COMPLEX };
}
