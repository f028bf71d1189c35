/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-look.h - the subprograms that look something up: the mapping of an address, the rule of a
 * code address.
 *
 * Tests use them to read what user space publishes. */

#pragma once

#include "host.h"

/* One call of a function halves the range of a search this often; the verifier follows the function
 * once. HALVED() of the range is left. */
#define HALVINGS  4
#define HALVED(n) (((n) + (1 << HALVINGS) - 1) >> HALVINGS)
/* Number of calls: enough for 4,096 mappings. */
#define MAPPING_CALLS 3
/* Enough for the rows of a quarter of a page. */
#define ROW_SEARCHES 2

/* Returns which of `n` mappings in the entry, from word `at` on, may hold the address: the last one
 * that does not start above it, or the first one of HALVED (n) mappings that contain it. Mappings
 * are in the lower half of all addresses; for addresses in the upper half the result may be any
 * mapping. */
static inline uint64_t
halve_mappings (const struct entry *entry, uint64_t at, uint64_t n, uint64_t address)
{
  if (entry == NULL)
    return at;
  for (uint64_t i = 0; i < HALVINGS; i++)
    {
      uint64_t half = n >> 1, middle = at + half * 8;
      const uint64_t *start;

      HOST_BOUND (middle, LU_BPF_ENTRY_WORDS - 8);
      start = (const uint64_t *) &entry->words[middle];
      at += half * 8 & ~is_negative (address - *start);
      n -= half;
    }
  return at;
}

/* Returns `bytes` if the row begins below the address, otherwise 0. */
static inline uint64_t
passed (const uint8_t *row, uint64_t below, uint64_t bytes)
{
  return is_negative (*(const uint16_t *) row - below) & bytes;
}

/* Returns the mapping that may hold the address. */
static inline const struct lu_bpf_mapping *
look_up_mapping (const struct entry *entry, uint64_t at, uint64_t n, uint64_t address)
{
  for (uint64_t i = 0; i < MAPPING_CALLS && n > 1; i++)
    {
      at = halve_mappings (entry, at, n, address);
      n = HALVED (n);
    }
  HOST_BOUND (at, LU_BPF_ENTRY_WORDS - 8);
  return (const struct lu_bpf_mapping *) &entry->words[at];
}

/* Returns the rule id of an ELF address in rows of its page. A walk waits for each step of the
 * search. So the first two look at three rows at once, which leave a quarter; two halvings leave
 * one of up to 34 rows. */
static inline uint32_t
look_up_row (const struct entry *entry, uint64_t first, uint64_t n, uint64_t address)
{
  const uint64_t row = sizeof (uint32_t), below = (address & 0xffff) + 1;
  const uint8_t *at;

  HOST_BOUND (first, LU_BPF_ENTRY_WORDS - 1);
  HOST_BOUND (n, LU_BPF_MAX_SEARCHED - 1);
  at = (const uint8_t *) &entry->words[first];
  for (uint64_t i = 0; i < ROW_SEARCHES && (i == 0 || n > 1); i++)
    {
      for (uint64_t quarters = 0; quarters < 2; quarters++)
        {
          uint64_t step = (n >> 2) * row;

          at += passed (at + step, below, step) + passed (at + 2 * step, below, step)
                + passed (at + 3 * step, below, step);
          n = (n >> 2) + (n & 3);
        }
      for (uint64_t halves = 0; halves < 2; halves++)
        {
          uint64_t step = (n >> 1) * row;

          at += passed (at + step, below, step);
          n = (n + 1) >> 1;
        }
    }
  return *(const uint32_t *) at >> 16;
}

/* Returns the module of a slot, and its table. The other fields, which are stored before the table,
 * are read after it. */
static inline const struct lu_bpf_module *
look_up_module (uint32_t slot, uint64_t *table)
{
  const struct lu_bpf_module *module;

  HOST_BOUND (slot, LU_BPF_MAX_MODULES - 1);
  module = &host_shared->modules[slot];
  HOST_NEAR (module);
  *table = *(const volatile uint64_t *) &module->table;
  HOST_AFTER (module, *table);
  return module;
}

/* Does what look_up_rule() does, without a call, which takes 8 ns on processors that must not
 * predict returns. */
static inline __attribute__ ((always_inline)) int64_t
look_up_rule_here (uint32_t slot, uint64_t address)
{
  const struct lu_bpf_module *module;
  const struct entry *entry;
  struct lu_bpf_page found;
  uint64_t table, page, index, first, n;
  uint32_t run;

  module = look_up_module (slot, &table);
  page = (address - module->base) >> LU_PAGE_SHIFT;
  if (table == 0)
    return -1;
  if (address < module->base || page >= table >> 32)
    return LU_RULE_NONE;
  entry = host_entry (LU_BPF_ENTRY_OF (table));
  if (entry == NULL)
    return -1;
  index = LU_BPF_AT_OF (table) + 2 * page;
  HOST_BOUND (index, LU_BPF_ENTRY_WORDS - 2);
  found = *(const struct lu_bpf_page *) &entry->words[index];
  run = lu_bpf_page_run (found);
  if (LU_BPF_ENTRY_OF (run) != LU_BPF_ENTRY_OF (table))
    entry = host_entry (LU_BPF_ENTRY_OF (run));
  if (entry == NULL || run == 0)
    return -1;
  first = lu_bpf_page_rows (found, address, &n);
  return look_up_row (entry, LU_BPF_AT_OF (run) + first, n, address);
}

/* Returns the rule id of an ELF address of the slot's file; -1 if the table or memory for it is
 * gone. */
HOST_SUBPROGRAM int64_t
look_up_rule (uint32_t slot, uint64_t address)
{
  return look_up_rule_here (slot, address);
}

/* Sets bits of "use"; writes only if they change. */
static inline void
note_use (uint32_t slot, uint8_t bits)
{
  uint8_t *use = host_shared->use;

  HOST_BOUND (slot, LU_BPF_MAX_MODULES - 1);
  if ((use[slot] & bits) != bits)
    use[slot] |= bits;
}

/* Copies the published facts about the place whose slot is set. Returns 0 or the next subprogram.
 */
static inline int64_t
complete_place (struct visited_mapping *place)
{
  uint32_t slot = place->module;
  uint64_t key;

  HOST_BOUND (slot, LU_BPF_MAX_MODULES - 1);
  key = host_shared->modules[slot].key;
  if (key == 0 && place->kind == LU_BPF_MAPPING_TABLE)
    {
      note_use (slot, LU_BPF_WANTED);
      return GIVE_UP (NO_TABLE);
    }
  place->to_key = key - place->bias;
  place->rules_size = place->kind == LU_BPF_MAPPING_TABLE ? place->size : 0;
  return 0;
}

/* Notes a place that the next walk may come to, too. `mapping`: words after the first one. */
static inline void
note_place (struct touched *touched, uint32_t slot, uint32_t mapping)
{
  uint32_t n = touched->n_places++;

  HOST_BOUND (n, N_TOUCHED_PLACES - 1);
  touched->modules[n] = (uint16_t) slot;
  touched->mappings[n] = mapping;
}

/* Sets walk->found to the mapping that holds the address. Returns 0 or the next subprogram. */
HOST_SUBPROGRAM int64_t
find_place (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  const struct lu_bpf_mapping *mapping;
  const struct entry *entry;
  struct visited_mapping *place;
  uint32_t word;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  word = walk->process.mappings;
  entry = host_entry (LU_BPF_ENTRY_OF (word));
  if (entry == NULL)
    return GIVE_UP (INTERNAL);
  mapping = look_up_mapping (entry, LU_BPF_AT_OF (word), walk->process.n_mappings, address);
  place = &walk->found;
  place->start = mapping->start;
  place->size = mapping->end - mapping->start;
  if (address - place->start >= place->size)
    return GIVE_UP (NO_MAPPING);
  note_place (&walk->touched, mapping->module,
              (uint32_t) (((uint64_t) mapping - (uint64_t) entry) / sizeof (uint32_t))
                  - LU_BPF_AT_OF (word));
  place->bias = mapping->bias;
  place->kind = mapping->kind;
  place->module = mapping->module;
  return complete_place (place);
}

/* Sets walk->found in the same way, from the kernel's own mappings. */
static inline int64_t
find_vma_place (walk_ref ref, struct walk *walk, uint64_t address)
{
  return host_find_vma (ref, address) ? complete_place (&walk->found) : GIVE_UP (NO_MAPPING);
}

/* Returns the address of the next frame. */
static inline uint64_t
walk_lookup (const struct walk *walk)
{
  return walk->pc - (walk->mark >> 63);
}

/* Notes an interpreter whose code the walk has come to. */
static inline void
note_interpreter (struct walk *walk)
{
  const uint8_t *interp_of = host_shared->interp_of;
  uint32_t slot = walk->place.module, interp;

  if (!HOST_READS_INTERPRETERS)
    return;
  HOST_NEAR (interp_of);
  HOST_BOUND (slot, LU_BPF_MAX_MODULES - 1);
  interp = interp_of[slot];
  if (interp == 0)
    return;
  if ((interp & LU_BPF_INTERP_TASKS) != 0)
    {
      walk->interp_tasks = interp & ~LU_BPF_INTERP_TASKS;
      return;
    }
  walk->interp = interp;
  walk->interp_bias = walk->place.bias;
}

/* Goes on where the program would be without the kernel's probes. Returns the result if the next
 * frame is not where one led. */
static inline int64_t
leave_probe (walk_ref ref, struct walk *walk, int64_t result)
{
  if (!host_leave_probe (ref))
    return result;
  if (walk->caller.sp != walk->sp)
    {
      walk->frame_kind = LU_FRAME_KIND_CALLER;
      walk->mark = LU_BPF_PC_RETURN;
    }
  walk->pc = walk->caller.pc;
  walk->sp = walk->caller.sp;
  return NEXT_ON;
}

/* Sets walk->place to the mapping of the next frame, where walk->before may be. Returns 0 or the
 * next subprogram. */
static inline int64_t
change_place (walk_ref ref, struct walk *walk)
{
  uint64_t lookup = walk_lookup (walk);
  int64_t result = 0;

  if (lookup - walk->place.start >= walk->place.size)
    {
      struct visited_mapping place = walk->place;

      walk->place = walk->before;
      walk->before = place;
    }
  if (lookup - walk->place.start >= walk->place.size)
    {
      result = walk->by_vmas != 0 ? find_vma_place (ref, walk, lookup) : find_place (ref, lookup);
      if (result != 0)
        return result;
      walk->place = walk->found;
      if (walk->place.kind == LU_BPF_MAPPING_TABLE)
        note_use (walk->place.module, LU_BPF_USED);
      note_interpreter (walk);
    }
  return walk->place.kind == LU_BPF_MAPPING_OPAQUE ? GIVE_UP (OPAQUE) : 0;
}

HOST_SUBPROGRAM int64_t
walk_mapping (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  int64_t result;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  result = change_place (ref, walk);
  HOST_FORGET (walk, result);
  if (result != 0)
    return leave_probe (ref, walk, result);
  return walk->place.kind == LU_BPF_MAPPING_TABLE ? NEXT_ON : NEXT_FP_STEP;
}

/* Finds the rule of an address in walk->place, whose file has a table: remembers it, or, if it is
 * not compact or is remembered and does not do, leaves it to the subprogram for rare rules. */
HOST_SUBPROGRAM int64_t
walk_rule (walk_ref ref, uint64_t lookup)
{
  struct walk *walk = host_walk (ref);
  struct remembered *remembered;
  uint64_t compact, key, place;
  uint32_t slot;
  int64_t id;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  slot = walk->place.module;
  walk->failed_ea = lookup - walk->place.bias;
  walk->n_missed++;
  id = look_up_rule_here (slot, walk->failed_ea);
  HOST_FORGET (walk, id);
  if (id < 0)
    {
      note_use (slot, LU_BPF_WANTED);
      return GIVE_UP (NO_TABLE);
    }
  HOST_BOUND (id, LU_BPF_MAX_RULES - 1);
  compact = host_shared->dictionary.compact[id];
  key = lookup + walk->place.to_key;
  place = remembered_at (key);
  HOST_BOUND (place, (1 << REMEMBERED_BITS) - 1);
  remembered = &walk->remembered.rules[place];
  if (compact == 0 || remembered->key == key || (ARCH_HAS_LINK && (walk->known & LU_LOST_SP) != 0))
    {
      walk->rule = host_shared->dictionary.rules[id];
      return walk->rule.cfa_kind == LU_CFA_NONE ? NEXT_FP_STEP : NEXT_RARE;
    }
  remembered->key = key;
  remembered->rule = compact;
  return NEXT_ON;
}
