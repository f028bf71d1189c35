/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-cache.h - the rule for a place in a module, compiled at first use and remembered.
 *
 * Used by the table engine. Direct-mapped and keyed by module and ELF address, so that all
 * processes share it; a module's id is never used again, so nothing in it ever becomes wrong.
 * Belongs to one thread. */

#pragma once

#include "elf/go-stacks.h"
#include "lu/row.h"
#include "module/module.h"

typedef struct
{
  guint64 address; /* ELF address */
  guint32 module;  /* id; 0: empty */
  guint8 go_place; /* LuGoPlace */
  struct lu_rule rule;
} LuRuleSlot;

#define LU_RULE_CACHE_SLOTS 4096 /* 128 KiB; more slots hit hardly more */

typedef struct
{
  LuRuleSlot slots[LU_RULE_CACHE_SLOTS];
  guint64 n_misses;
  struct _LuRuleCompiler *compiler; /* private */
} LuRuleCache;

LuRuleCache *lu_rule_cache_new (void);
void lu_rule_cache_free (LuRuleCache *self);

/* Fills the slot for an address of a module that is ready. */
void lu_rule_cache_fill (LuRuleCache *self, LuRuleSlot *slot, const LuModule *module,
                         guint64 address);

/* The slot for an address of a module that is ready; good until the next call. */
static inline const LuRuleSlot *
lu_rule_cache_find (LuRuleCache *self, const LuModule *module, guint32 id, guint64 address)
{
  guint64 hash = (address ^ ((guint64) id << 40)) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  LuRuleSlot *slot = &self->slots[hash >> 52];

  if (G_UNLIKELY (slot->address != address || slot->module != id))
    lu_rule_cache_fill (self, slot, module, address);
  return slot;
}
