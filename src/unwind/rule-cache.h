/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-cache.h - the rule for a place in a module, compiled at first use and remembered.
 *
 * Used by the walker. Keyed by module and ELF address, so that all processes share it; a module's
 * id is never used again, so nothing in it ever becomes wrong. A place has its rule packed into 8
 * bytes (plain.h), so that what nearly all frames need is one look at one cache line; the whole
 * rule is in a list. Two levels: one place for each hash, then eight, the most used ones first. The
 * first is large: with 8,192 places cc1 missed in every tenth frame, and took a third longer.
 * Tried: the second alone; all of a set had to be looked at, half of that for nothing, and python
 * and cc1 took a fifth longer. Tried: one level of 4,096 places with whole rules; cc1 missed in
 * every fifth frame. Four places for each hash, half as many in all: cc1, rustc and clang went on
 * compiling for every third or fourth sample what had been pushed out; with eight, for one in a
 * thousand. Belongs to one thread.
 */

#pragma once

#include "elf/go-stacks.h"
#include "lu/row.h"
#include "module/module.h"
#include "unwind/plain.h"

typedef struct
{
  guint64 key;    /* 0: empty */
  lu_plain plain; /* extra: as said below */
} LuRulePlace;

/* Extra of a place of the second level: the rule's id, and what a Go program means by the place. In
 * the first level it is the index of the caller's place, the last time: mostly it is the same
 * again, and the CPU goes on with the caller's rule before the return address has come from memory.
 */
#define LU_RULE_GO_SHIFT      12
#define LU_RULE_ID(plain)     (LU_PLAIN_EXTRA (plain) & ((1u << LU_RULE_GO_SHIFT) - 1))
#define LU_RULE_GO(plain)     (LU_PLAIN_EXTRA (plain) >> LU_RULE_GO_SHIFT)
#define LU_RULE_CALLER(plain) LU_PLAIN_EXTRA (plain)

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
  guint place_shift, set_shift;                      /* from hashes to places and sets in use */
  const struct lu_rule *rules;                       /* by id */
  guint64 n_misses;
  guint64 n_walks;
  guint64 counted_since;  /* when the walks that decide about growing began; lu_monotonic_ns() */
  guint32 work_left;      /* of LU_RULE_CACHE_WORK, for the walk that is on its way */
  const LuModule *absent; /* a module whose CFI that walk needs and that is not there; NULL: none */
  struct _LuRuleCompiler *compiler; /* private */
} LuRuleCache;

/* in_drain: belongs to the thread that walks in the rings. It takes each module's own CFI
 * (lu_module_cfi()) and never allocates; what only a list of FDEs can say is complex, and asked for
 * again next time, as a whole table may have come. */
LuRuleCache *lu_rule_cache_new (gboolean in_drain);
void lu_rule_cache_free (LuRuleCache *self);
/* Bytes of places in use and of what was compiled for them. */
gsize lu_rule_cache_bytes (const LuRuleCache *self);

/* Bytes of call frame instructions that one walk may have executed. Walks through code never seen
 * before need some 10 KB; hostile files have 64 KB for each of a thousand frames. */
#define LU_RULE_CACHE_WORK (256u << 10)

/* With so many walks in so short a time it is used as a whole, and worth huge pages (base/pages.h),
 * for good; before, as far as the FEW_BITS say, 64 KiB. While the kernel walks nearly all stacks
 * itself, a walker has a few a second, and its memory must not grow after hours. What the second
 * level knows stays. */
#define LU_RULE_CACHE_MANY     1024                                   /* a power of two */
#define LU_RULE_CACHE_SOON     (10 * G_GUINT64_CONSTANT (1000000000)) /* ns */
#define LU_RULE_FEW_PLACE_BITS 11
#define LU_RULE_FEW_SET_BITS   8
void lu_rule_cache_consider_growing (LuRuleCache *self);

/* A walk begins. When it has had its share, rules that are not known yet are complex, but not for
 * the next walk. */
static inline void
lu_rule_cache_begin (LuRuleCache *self)
{
  self->work_left = LU_RULE_CACHE_WORK;
  self->absent = NULL;
  if (G_UNLIKELY (++self->n_walks % LU_RULE_CACHE_MANY == 0))
    lu_rule_cache_consider_growing (self);
}

#define LU_RULE_KEY_SHIFT 40

/* Whether the module's addresses below `end` (ELF) can be keys: module << 40 + address. */
static inline gboolean
lu_rule_cache_can_keep (const LuModule *module, guint64 end)
{
  return end >> LU_RULE_KEY_SHIFT == 0 && lu_module_id (module) >> (64 - LU_RULE_KEY_SHIFT) == 0;
}

/* What all keys of a module have in common. */
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

/* Where a walk begins. From there on: the place of its last frame. */
static inline LuRulePlace *
lu_rule_cache_nowhere (LuRuleCache *self)
{
  return &self->places[LU_RULE_NO_PLACE];
}

/* Fetches the key's place; nothing is read of it. */
static inline void
lu_rule_cache_expect (const LuRuleCache *self, guint64 key)
{
  __builtin_prefetch (&self->places[lu_rule_cache_index (self, key)]);
}

/* Fetches the places of its callers, two of them, as they were the last time. The CPU goes on while
 * it waits for the first one, but not for long. */
static inline void
lu_rule_cache_expect_callers (const LuRuleCache *self, guint64 key)
{
  const LuRulePlace *place = &self->places[lu_rule_cache_index (self, key)];
  const LuRulePlace *caller = &self->places[LU_RULE_CALLER (place->plain)];

  __builtin_prefetch (&self->places[LU_RULE_CALLER (caller->plain)]);
}

/* What lu_rule_cache_find_caller() does where the caller is not that of the last time. */
LuRulePlace *lu_rule_cache_find_other (LuRuleCache *self, LuRulePlace *place,
                                       const LuModule *module, guint64 key);

/* As lu_rule_cache_find_caller(), where nothing is known of what comes before. */
static inline LuRulePlace *
lu_rule_cache_find_first (LuRuleCache *self, const LuModule *module, guint64 key)
{
  LuRulePlace *place = &self->places[lu_rule_cache_index (self, key)];

  return G_LIKELY (place->key == key)
             ? place
             : lu_rule_cache_find_other (self, lu_rule_cache_nowhere (self), module, key);
}

/* The rule of the next frame. The key is one that can be kept, of a module that is ready. */
static inline lu_plain
lu_rule_cache_find_caller (LuRuleCache *self, LuRulePlace **place, const LuModule *module,
                           guint64 key)
{
  LuRulePlace *caller = &self->places[LU_RULE_CALLER ((*place)->plain)];

  if (G_UNLIKELY (caller->key != key))
    caller = lu_rule_cache_find_other (self, *place, module, key);
  *place = caller;
  return caller->plain;
}

/* What is known of a place: the rule, and what it means in a Go program. */
typedef struct
{
  struct lu_rule rule;
  LuGoPlace go_place;
} LuRuleFound;

/* Of any ELF address of a module that is ready. */
LuRuleFound lu_rule_cache_look_up (LuRuleCache *self, const LuModule *module, guint64 address);
