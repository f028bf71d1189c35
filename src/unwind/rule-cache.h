/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-cache.h - the rule for a place in a module, compiled at first use and remembered.
 *
 * Used by the table engine. Keyed by module and ELF address, so that all processes share it; a
 * module's id is never used again, so nothing in it ever becomes wrong. Four places to a cache
 * line, the most used ones first; rules are interned, so the few hundred that matter stay close.
 * Tried: a direct-mapped cache of 4,096 places with the rule inside; cc1 missed in every fifth
 * frame. Belongs to one thread. */

#pragma once

#include "elf/go-stacks.h"
#include "lu/row.h"
#include "module/module.h"

typedef struct
{
  guint64 key;     /* 0: empty */
  guint16 rule;    /* id in the list of rules */
  guint8 go_place; /* LuGoPlace */
} LuRulePlace;

#define LU_RULE_CACHE_WAYS 4
#define LU_RULE_CACHE_BITS 13 /* of the number of sets: 512 KiB */

typedef struct
{
  LuRulePlace places[LU_RULE_CACHE_WAYS];
} LuRuleSet;

typedef struct
{
  LuRuleSet *sets;             /* owned, 64-aligned */
  const struct lu_rule *rules; /* borrowed from the compiler */
  guint64 n_misses;
  struct _LuRuleCompiler *compiler; /* private */
} LuRuleCache;

LuRuleCache *lu_rule_cache_new (void);
void lu_rule_cache_free (LuRuleCache *self);

#define LU_RULE_KEY_SHIFT 40

/* The part of a key that a module has; 0 if its places cannot be kept. */
static inline guint64
lu_rule_cache_module_key (const LuModule *module)
{
  return (guint64) lu_module_id (module) << LU_RULE_KEY_SHIFT;
}

/* As lu_rule_cache_find() where the first place of the set has another key. */
const LuRulePlace *lu_rule_cache_search (LuRuleCache *self, LuRuleSet *set, const LuModule *module,
                                         guint64 key, guint64 address);

/* What is known of an ELF address of a module that is ready; good until the next call. */
static inline const LuRulePlace *
lu_rule_cache_find (LuRuleCache *self, const LuModule *module, guint64 module_key, guint64 address)
{
  guint64 key = module_key ^ address;
  guint64 hash = key * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  LuRuleSet *set = &self->sets[hash >> (64 - LU_RULE_CACHE_BITS)];

  if (G_LIKELY (set->places[0].key == key && address >> LU_RULE_KEY_SHIFT == 0))
    return &set->places[0];
  return lu_rule_cache_search (self, set, module, key, address);
}
