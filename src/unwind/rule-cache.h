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
  guint8 go_place; /* LuGoPlace */
  struct lu_rule rule;
} LuRuleSlot;

#define LU_RULE_SLOT_BITS 10 /* of the number of slots: 32 KiB */

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
  LuRuleSlot slots[1 << LU_RULE_SLOT_BITS];
  LuRuleSet *sets; /* owned, 64-aligned */
  guint64 n_misses;
  guint32 work_left;                /* of LU_RULE_CACHE_WORK, for the walk that is on its way */
  struct _LuRuleCompiler *compiler; /* private */
} LuRuleCache;

LuRuleCache *lu_rule_cache_new (void);
void lu_rule_cache_free (LuRuleCache *self);
/* Bytes of places in use and of what was compiled for them. */
gsize lu_rule_cache_bytes (const LuRuleCache *self);

/* Bytes of call frame instructions that one walk may have executed. Walks through code never seen
 * before need some 10 KB; hostile files have 64 KB for each of a thousand frames. */
#define LU_RULE_CACHE_WORK (256u << 10)

/* A walk begins. When it has had its share, rules that are not known yet are complex, but not for
 * the next walk. */
static inline void
lu_rule_cache_begin (LuRuleCache *self)
{
  self->work_left = LU_RULE_CACHE_WORK;
}

#define LU_RULE_KEY_SHIFT 40

/* The part of a key that a module has; 0 if its places cannot be kept. */
static inline guint64
lu_rule_cache_module_key (const LuModule *module)
{
  return (guint64) lu_module_id (module) << LU_RULE_KEY_SHIFT;
}

/* Fills the slot from the second level, or by compiling. */
void lu_rule_cache_fill (LuRuleCache *self, LuRuleSlot *slot, const LuModule *module, guint64 key,
                         guint64 address);

static inline guint64
lu_rule_cache_hash (guint64 key)
{
  return key * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
}

/* What is known of an ELF address of a module that is ready; good until the next call. */
static inline const LuRuleSlot *
lu_rule_cache_find (LuRuleCache *self, const LuModule *module, guint64 module_key, guint64 address)
{
  guint64 key = module_key ^ address;
  LuRuleSlot *slot = &self->slots[lu_rule_cache_hash (key) >> (64 - LU_RULE_SLOT_BITS)];

  if (G_UNLIKELY (slot->key != key))
    lu_rule_cache_fill (self, slot, module, key, address);
  return slot;
}
