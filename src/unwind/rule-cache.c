/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule-cache.c - compiles rules as they are needed; see rule-cache.h.
 *
 * Outside the drain, the cache keeps parsed CFI of each module (CIEs, and a list of FDEs if there
 * is no search table), which points into the image. It is used only while a sample's address space
 * holds the module and the image's CFI is held, so no reference is taken, and images can go when no
 * process maps them. */

#include "unwind/rule-cache.h"

#include "base/clock.h"
#include "base/fetch.h"
#include "base/pages.h"
#include "table/compile.h"

#include <stddef.h>

/* The number of modules whose CFI is kept, a few KB each. If there are more, all are forgotten. */
#define MAX_MODULES 512
/* Limit for their CFI without a search table; a list of its entries takes about as much. */
#define MAX_LISTED_BYTES (16u << 20)
#define N_SETS           (1u << LU_RULE_CACHE_BITS)
/* Layout in memory: the sets, then the first level, in huge pages once there is much to do; then,
 * from the field `sets` on, what is used even before the first walk. */
#define PLACES_SIZE                                                                                \
  ((offsetof (LuRuleCache, sets) + LU_CACHE_LINE - 1) & ~(gsize) (LU_CACHE_LINE - 1))
#define HUGE_SIZE  (N_SETS * sizeof (LuRuleSet) + PLACES_SIZE)
#define SMALL_SIZE (sizeof (LuRuleCache) - offsetof (LuRuleCache, sets))

_Static_assert(sizeof (LuRuleSet) == 2 * LU_CACHE_LINE, "neighbours, which are fetched together");
_Static_assert(LU_MAX_RULES <= LU_RULE_ID (~G_GUINT64_CONSTANT (0)) + 1, "ids fit");
_Static_assert(LU_RULE_NO_PLACE <= LU_RULE_CALLER (~G_GUINT64_CONSTANT (0)), "indices fit");

typedef struct _LuRuleCompiler
{
  GHashTable *modules; /* id -> LuCfi, owned; NULL: no tables for its architecture. In the drain
                          there is none */
  gsize listed_bytes;  /* of their CFI without a search table */
  LuRuleList rules;
  LuCfaRun run;
} LuRuleCompiler;

static void
free_cfi (gpointer cfi)
{
  lu_cfi_free (cfi);
}

LuRuleCache *
lu_rule_cache_new (gboolean in_drain)
{
  guint8 *place = lu_pages_new (HUGE_SIZE, SMALL_SIZE);
  LuRuleCache *self = (LuRuleCache *) (gpointer) (place - offsetof (LuRuleCache, sets));

  self->sets = (LuRuleSet *) (gpointer) (place - HUGE_SIZE);
  self->place_shift = 64 - LU_RULE_FEW_PLACE_BITS;
  self->set_shift = 64 - LU_RULE_FEW_SET_BITS;
  self->counted_since = lu_monotonic_ns ();
  self->compiler = g_new0 (LuRuleCompiler, 1);
  if (!in_drain)
    self->compiler->modules = g_hash_table_new_full (NULL, NULL, NULL, free_cfi);
  lu_rule_list_init (&self->compiler->rules);
  lu_rule_list_reserve (&self->compiler->rules);
  self->rules = self->compiler->rules.rules;
  return self;
}

void
lu_rule_cache_free (LuRuleCache *self)
{
  g_clear_pointer (&self->compiler->modules, g_hash_table_unref);
  lu_rule_list_clear (&self->compiler->rules);
  g_free (self->compiler);
  lu_pages_free ((guint8 *) &self->sets, HUGE_SIZE, SMALL_SIZE);
}

gsize
lu_rule_cache_bytes (const LuRuleCache *self)
{
  gsize bytes = self->compiler->rules.n * sizeof (struct lu_rule);

  for (guint i = 0; i < G_N_ELEMENTS (self->places); i++)
    bytes += self->places[i].key != 0 ? sizeof *self->places : 0;

  for (guint i = 0; i < N_SETS; i++)
    for (guint k = 0; k < LU_RULE_CACHE_WAYS; k++)
      bytes += self->sets[i].places[k].key != 0 ? sizeof (LuRulePlace) : 0;
  return bytes;
}

static LuRuleSet *
set_of (const LuRuleCache *self, guint64 key)
{
  return &self->sets[lu_rule_cache_hash (key) >> self->set_shift];
}

/* Returns the bytes of CFI that have to be made a list, because no search table leads to them. */
static gsize
bytes_to_list (const LuImage *image)
{
  gsize size;
  guint64 vaddr;

  return lu_image_cfi (image, LU_IMAGE_EH_FRAME_HDR, &size, &vaddr) == NULL
             ? lu_image_cfi_size (image)
             : 0;
}

static LuCfi *
find_cfi (LuRuleCompiler *compiler, const LuModule *module)
{
  gpointer key = GUINT_TO_POINTER (lu_module_id (module));
  gpointer cfi;

  if (compiler->modules == NULL)
    return lu_module_cfi (module);
  if (g_hash_table_lookup_extended (compiler->modules, key, NULL, &cfi))
    return cfi;
  compiler->listed_bytes += bytes_to_list (lu_module_image (module));
  if (g_hash_table_size (compiler->modules) >= MAX_MODULES
      || compiler->listed_bytes > MAX_LISTED_BYTES)
    {
      g_hash_table_remove_all (compiler->modules);
      compiler->listed_bytes = bytes_to_list (lu_module_image (module));
    }
  cfi = lu_cfi_new_for_image (lu_module_image (module));
  g_hash_table_insert (compiler->modules, key, cfi);
  return cfi;
}

static gboolean
is_whole (const LuRuleCache *self)
{
  return self->set_shift == 64 - LU_RULE_CACHE_BITS;
}

/* Each set becomes several consecutive ones, so all of its entries find room. */
static void
spread_sets (LuRuleCache *self)
{
  LuRuleSet few[1 << LU_RULE_FEW_SET_BITS];

  memcpy (few, self->sets, sizeof few);
  memset (self->sets, 0, sizeof few);
  for (guint i = 0; i < G_N_ELEMENTS (few); i++)
    for (guint k = 0; k < LU_RULE_CACHE_WAYS; k++)
      {
        const LuRulePlace *place = &few[i].places[k];
        LuRulePlace *to = set_of (self, place->key)->places;

        if (place->key == 0)
          continue;
        while (to->key != 0)
          to++;
        *to = *place;
      }
}

void
lu_rule_cache_consider_growing (LuRuleCache *self)
{
  guint64 began = self->counted_since;

  self->counted_since = lu_monotonic_ns ();
  if (is_whole (self) || self->counted_since - began > LU_RULE_CACHE_SOON)
    return;
  self->place_shift = 64 - LU_RULE_PLACE_BITS;
  self->set_shift = 64 - LU_RULE_CACHE_BITS;
  lu_pages_make_huge ((guint8 *) &self->sets, HUGE_SIZE);
  spread_sets (self);
}

/* Forgets everything, because the list of rules is full. */
static void
forget_all (LuRuleCache *self)
{
  memset (self->places, 0, sizeof self->places);
  memset (self->sets, 0, N_SETS * sizeof *self->sets);
  lu_rule_list_reset (&self->compiler->rules);
}

void
lu_rule_cache_forget (LuRuleCache *self)
{
  self->n_filled = lu_tables_filled ();
  forget_all (self);
}

/* Compiles the rule of one address, whose CFI is held. FALSE: complex for now. */
static gboolean
compile_rule (LuRuleCache *self, const LuModule *module, guint64 address, struct lu_rule *rule)
{
  LuRuleCompiler *compiler = self->compiler;
  LuCfi *cfi = find_cfi (compiler, module);

  if (cfi == NULL && lu_module_has_tables (module))
    self->absent = module;
  if (cfi == NULL)
    return self->absent == NULL;
  *rule = lu_compile_at (cfi, &compiler->run, address);
  self->work_left -= MIN (self->work_left, compiler->run.work);
  if (!lu_cfi_is_undecided (cfi))
    return TRUE;
  *rule = (struct lu_rule){ .cfa_kind = LU_CFA_COMPLEX };
  return FALSE;
}

/* Finds the rule in the module's table, or compiles it. FALSE: complex for now. */
static gboolean
make_rule (LuRuleCache *self, const LuModule *module, guint64 address, struct lu_rule *rule)
{
  LuImage *image;
  gboolean is_known;

  if (lu_module_find_rule (module, address, rule))
    return TRUE;
  *rule = (struct lu_rule){ .cfa_kind = LU_CFA_COMPLEX };
  if (self->work_left == 0)
    return FALSE;
  self->n_misses++;
  lu_module_note_miss (module);
  image = lu_module_image (module);
  if (!lu_image_hold_cfi (image))
    {
      self->absent = module;
      return FALSE;
    }
  is_known = compile_rule (self, module, address, rule);
  lu_image_release_cfi (image);
  return is_known;
}

static LuGoFunctionKind
go_kind (const LuModule *module, guint64 address)
{
  return lu_image_go_function_kind (lu_module_image (module), address);
}

/* Returns an entry for the second level; one without a key must not be kept. */
static LuRulePlace
compile (LuRuleCache *self, const LuModule *module, guint64 key)
{
  LuRuleList *rules = &self->compiler->rules;
  guint64 address = key - lu_rule_cache_module_key (module);
  LuGoFunctionKind go = go_kind (module, address);
  struct lu_rule rule;
  gboolean is_known = make_rule (self, module, address, &rule);
  lu_compact_rule compact = go == LU_GO_ORDINARY ? lu_compact_make (&rule) : 0;

  if (rules->n == LU_MAX_RULES)
    forget_all (self);
  compact |= (guint64) lu_rule_list_intern (rules, &rule) << LU_COMPACT_EXTRA_SHIFT;
  compact |= (guint64) go << (LU_COMPACT_EXTRA_SHIFT + LU_RULE_GO_SHIFT);
  return (LuRulePlace){ .key = is_known ? key : 0, .compact = compact };
}

/* Returns an entry of the second level, and moves it one step to the front if it was there. */
static LuRulePlace
find_place (LuRuleCache *self, const LuModule *module, guint64 key)
{
  LuRulePlace *places = set_of (self, key)->places;
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
  /* Do not put it in front: an address that is seen once must not push out those that are seen
   * often. */
  memmove (&places[2], &places[1], (LU_RULE_CACHE_WAYS - 2) * sizeof *places);
  places[1] = place;
  return place;
}

static void
set_caller (LuRulePlace *place, guint caller)
{
  place->compact =
      (place->compact & ~LU_COMPACT_EXTRA_MASK) | (guint64) caller << LU_COMPACT_EXTRA_SHIFT;
}

LuRulePlace *
lu_rule_cache_find_other (LuRuleCache *self, LuRulePlace *place, const LuModule *module,
                          guint64 key)
{
  guint index = lu_rule_cache_index (self, key);
  LuRulePlace *caller = &self->places[index];

  if (caller->key != key)
    {
      *caller = find_place (self, module, key);
      set_caller (caller, index);
    }
  set_caller (place, index);
  return caller;
}

LuRuleFound
lu_rule_cache_look_up (LuRuleCache *self, const LuModule *module, guint64 address)
{
  LuRuleFound found;
  lu_compact_rule compact;

  if (!lu_rule_cache_can_keep (module, address))
    {
      make_rule (self, module, address, &found.rule);
      found.go_kind = go_kind (module, address);
      return found;
    }
  compact = find_place (self, module, lu_rule_cache_module_key (module) + address).compact;
  return (LuRuleFound){ .rule = self->rules[LU_RULE_ID (compact)],
                        .go_kind = LU_RULE_GO (compact) };
}
