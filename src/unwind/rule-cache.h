/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-cache.h - the rules of code addresses, compiled when first needed and remembered.
 *
 * Used by the walker. The key is module and ELF address, so processes share entries; a module's id
 * is never used again, so an entry never becomes wrong. An entry holds the compact form of a rule,
 * so most frames need one look at one cache line; whole rules are in a list.
 *
 * There are two levels: one entry for each hash, then eight, the most used first. The first level
 * is large, because a miss there costs more than anything else (docs/experiments.md). Belongs to
 * one thread. */

#pragma once

#include "module/module.h"
#include "compact-step.h"

typedef struct
{
  guint64 key;             /* 0: empty */
  lu_compact_rule compact; /* extra: see below */
} LuRulePlace;

/* The extra bits in the second level: the rule's id and the kind of Go function. In the first
 * level: the index of the entry of the last caller. It is mostly the same again, and the CPU
 * continues with the caller's rule before the return address has come from memory. */
#define LU_RULE_GO_SHIFT        12
#define LU_RULE_ID(compact)     (LU_COMPACT_EXTRA (compact) & ((1u << LU_RULE_GO_SHIFT) - 1))
#define LU_RULE_GO(compact)     (LU_COMPACT_EXTRA (compact) >> LU_RULE_GO_SHIFT)
#define LU_RULE_CALLER(compact) LU_COMPACT_EXTRA (compact)

#define LU_RULE_PLACE_BITS 15 /* of the number of places of the first level: 512 KiB */
#define LU_RULE_CACHE_BITS 13 /* of the number of sets of the second: 1 MiB */
#define LU_RULE_CACHE_WAYS 8

typedef struct
{
  LuRulePlace places[LU_RULE_CACHE_WAYS];
} LuRuleSet;

typedef struct
{
  LuRulePlace places[(1 << LU_RULE_PLACE_BITS) + 1]; /* the last one: LU_RULE_NO_PLACE */
  LuRuleSet *sets;                                   /* 64-aligned */
  guint place_shift, set_shift;                      /* shift a hash to an index */
  const struct lu_rule *rules;                       /* by id */
  guint64 n_misses;
  guint64 n_walks;
  guint n_filled;         /* lu_tables_filled() at the last walk */
  guint64 counted_since;  /* when the walks that decide about growing began; lu_monotonic_ns() */
  guint32 work_left;      /* of LU_RULE_CACHE_WORK, for the current walk */
  const LuModule *absent; /* a module whose CFI that walk needs and that is not there; NULL: none */
  struct _LuRuleCompiler *compiler; /* private */
} LuRuleCache;

/* in_drain: for the drain thread. The cache then uses each module's own CFI (lu_module_cfi()) and
 * never allocates. Rules that need a list of FDEs are complex and not kept, because a whole table
 * may come. */
LuRuleCache *lu_rule_cache_new (gboolean in_drain);
void lu_rule_cache_free (LuRuleCache *self);
/* Returns the bytes of entries in use and of their rules. */
gsize lu_rule_cache_bytes (const LuRuleCache *self);

/* The bytes of call frame instructions that one walk may execute. Walks through new code need about
 * 10 KB; a hostile file has 64 KB for each of a thousand frames. */
#define LU_RULE_CACHE_WORK (256u << 10)

/* After MANY walks within SOON, all of the cache is used, in huge pages (base/pages.h), for good;
 * before, only the part that the FEW_BITS address, 64 KiB. While the kernel walks nearly all
 * stacks, a walker has a few a second, and its memory must not grow over hours. Growing keeps the
 * second level. */
#define LU_RULE_CACHE_MANY     1024                                   /* a power of two */
#define LU_RULE_CACHE_SOON     (10 * G_GUINT64_CONSTANT (1000000000)) /* ns */
#define LU_RULE_FEW_PLACE_BITS 11
#define LU_RULE_FEW_SET_BITS   8
void lu_rule_cache_consider_growing (LuRuleCache *self);
/* Forgets all rules, because some may be out of date. */
void lu_rule_cache_forget (LuRuleCache *self);

/* Starts a walk. When its work is used up, unknown rules are complex until the next walk. */
static inline void
lu_rule_cache_begin (LuRuleCache *self)
{
  self->work_left = LU_RULE_CACHE_WORK;
  self->absent = NULL;
  if (G_UNLIKELY (self->n_filled != lu_tables_filled ()))
    lu_rule_cache_forget (self);
  if (G_UNLIKELY (++self->n_walks % LU_RULE_CACHE_MANY == 0))
    lu_rule_cache_consider_growing (self);
}

#define LU_RULE_KEY_SHIFT 40

/* Returns whether the module's ELF addresses below `end` can be keys: module << 40 + address. */
static inline gboolean
lu_rule_cache_can_keep (const LuModule *module, guint64 end)
{
  return end >> LU_RULE_KEY_SHIFT == 0 && lu_module_id (module) >> (64 - LU_RULE_KEY_SHIFT) == 0;
}

/* Returns the part of a key that all addresses of a module share. */
static inline guint64
lu_rule_cache_module_key (const LuModule *module)
{
  return (guint64) lu_module_id (module) << LU_RULE_KEY_SHIFT;
}

static inline guint64
lu_rule_cache_hash (guint64 key)
{
  return key * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
}

static inline guint
lu_rule_cache_index (const LuRuleCache *self, guint64 key)
{
  return (guint) (lu_rule_cache_hash (key) >> self->place_shift);
}

#define LU_RULE_NO_PLACE (1u << LU_RULE_PLACE_BITS)

/* Returns the entry to start a walk with. */
static inline LuRulePlace *
lu_rule_cache_nowhere (LuRuleCache *self)
{
  return &self->places[LU_RULE_NO_PLACE];
}

/* Prefetches the entry of a key without reading it. */
static inline void
lu_rule_cache_expect (const LuRuleCache *self, guint64 key)
{
  __builtin_prefetch (&self->places[lu_rule_cache_index (self, key)]);
}

/* Prefetches the entries of the last two callers. The CPU runs ahead while it waits for the first,
 * but not far. */
static inline void
lu_rule_cache_expect_callers (const LuRuleCache *self, guint64 key)
{
  const LuRulePlace *place = &self->places[lu_rule_cache_index (self, key)];
  const LuRulePlace *caller = &self->places[LU_RULE_CALLER (place->compact)];

  __builtin_prefetch (&self->places[LU_RULE_CALLER (caller->compact)]);
}

/* The slow part of lu_rule_cache_find_caller(): another caller than the last time. */
LuRulePlace *lu_rule_cache_find_other (LuRuleCache *self, LuRulePlace *place,
                                       const LuModule *module, guint64 key);

/* Returns the entry of a walk's first frame, under the conditions of lu_rule_cache_find_caller().
 */
static inline LuRulePlace *
lu_rule_cache_find_first (LuRuleCache *self, const LuModule *module, guint64 key)
{
  LuRulePlace *place = &self->places[lu_rule_cache_index (self, key)];

  return G_LIKELY (place->key == key)
             ? place
             : lu_rule_cache_find_other (self, lu_rule_cache_nowhere (self), module, key);
}

/* Returns the rule of the next frame and moves `place` to its entry. The key can be kept, and its
 * module is ready. */
static inline lu_compact_rule
lu_rule_cache_find_caller (LuRuleCache *self, LuRulePlace **place, const LuModule *module,
                           guint64 key)
{
  LuRulePlace *caller = &self->places[LU_RULE_CALLER ((*place)->compact)];

  if (G_UNLIKELY (caller->key != key))
    caller = lu_rule_cache_find_other (self, *place, module, key);
  *place = caller;
  return caller->compact;
}

/* A rule, and the kind of Go function that it is for. */
typedef struct
{
  struct lu_rule rule;
  LuGoFunctionKind go_kind;
} LuRuleFound;

/* Looks up any ELF address of a module that is ready. */
LuRuleFound lu_rule_cache_look_up (LuRuleCache *self, const LuModule *module, guint64 address);
