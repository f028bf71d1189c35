/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-rule-cache.c - the limit of compilation per walk: a file whose only FDE has a program of the
 * greatest length, looked up at many places. */

#include "../table/section.h"

#include "unwind/rule-cache.h"

#include <elf.h>

#define CODE         0x400000
#define CODE_SIZE    0x100000
#define PROGRAM_SIZE 65000

static LuImage *
make_image (const Section *section)
{
  g_autoptr (GByteArray) file = section_make_file (section, EM_X86_64, 0, CODE, CODE_SIZE);

  return lu_image_new_from_memory (file->data, file->len, NULL);
}

static LuModule *
make_module (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autofree guint8 *program = g_malloc (PROGRAM_SIZE);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "long-program" };
  LuModule *module = lu_module_new (&key);
  guint cie = section_add_cie (section, &(CieSpec){ 0 });

  /* advance_loc 1, def_cfa_offset 16 or 24 */
  for (guint i = 0; i < PROGRAM_SIZE; i++)
    program[i] = i % 3 == 2 ? 16 + i / 3 % 2 * 8 : "\x41\x0e"[i % 3];
  section_add_fde (section, cie, CODE, CODE_SIZE, (Bytes){ program, PROGRAM_SIZE });
  section_add_u32 (section, 0);
  lu_module_publish (module, LU_MODULE_READY, make_image (section));
  return module;
}

static void
test_work (void)
{
  g_autoptr (LuModule) module = make_module ();
  LuRuleCache *cache = lu_rule_cache_new (FALSE);
  guint n_known = 0, n_walks = 0;

  g_assert_nonnull (lu_module_image (module));
  while (n_known < 100)
    {
      guint n_before = n_known;

      lu_rule_cache_begin (cache);
      for (n_known = 0; n_known < 100; n_known++)
        {
          LuRuleFound found = lu_rule_cache_look_up (cache, module, CODE + n_known);

          if (found.rule.cfa_kind == LU_CFA_COMPLEX)
            break;
          g_assert_cmpint (found.rule.cfa_kind, ==, LU_CFA_SP);
        }
      /* Each walk compiles some more rules, but not many. */
      g_assert_cmpuint (n_known, >, n_before);
      g_assert_cmpuint (n_known - n_before, <=, LU_RULE_CACHE_WORK / PROGRAM_SIZE + 1);
      n_walks++;
    }
  g_test_message ("%u walks", n_walks);
  g_assert_cmpuint (cache->n_misses, ==, 100);
  lu_rule_cache_free (cache);
}

static void
walk_often (LuRuleCache *cache)
{
  for (guint i = 0; i < LU_RULE_CACHE_MANY; i++)
    lu_rule_cache_begin (cache);
}

/* The cache stays small until there is much to walk, however long that takes. It keeps its rules
 * when it grows. */
static void
test_grow (void)
{
  g_autoptr (LuModule) module = make_module ();
  LuRuleCache *cache = lu_rule_cache_new (FALSE);
  guint first_shift = cache->place_shift;
  gint64 offsets[100];

  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++)
    {
      lu_rule_cache_begin (cache);
      offsets[i] = lu_rule_cache_look_up (cache, module, CODE + i).rule.cfa_off;
    }
  g_assert_cmpuint (cache->n_misses, ==, G_N_ELEMENTS (offsets));
  for (guint i = 0; i < 3; i++)
    {
      cache->counted_since -= 2 * LU_RULE_CACHE_SOON;
      walk_often (cache);
      g_assert_cmpuint (cache->place_shift, ==, first_shift);
    }
  walk_often (cache);
  g_assert_cmpuint (cache->place_shift, <, first_shift);
  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++)
    g_assert_cmpint (lu_rule_cache_look_up (cache, module, CODE + i).rule.cfa_off, ==, offsets[i]);
  g_assert_cmpuint (cache->n_misses, ==, G_N_ELEMENTS (offsets));
  lu_rule_cache_free (cache);
}

/* 20,000 entries without a search table are too many to search while the drain waits. */
static void
test_drain (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "many-entries" };
  g_autoptr (LuModule) module = lu_module_new (&key);
  LuRuleCache *hasty = lu_rule_cache_new (TRUE), *patient = lu_rule_cache_new (FALSE);
  guint cie = section_add_cie (section, &(CieSpec){ 0 });

  for (guint i = 0; i < 20000; i++)
    section_add_fde (section, cie, CODE + i * 16, 16, BYTES (0x41, 0x0e, 0x10));
  section_add_u32 (section, 0);
  lu_module_publish (module, LU_MODULE_READY, make_image (section));
  for (guint i = 0; i < 3; i++)
    {
      lu_rule_cache_begin (hasty);
      lu_rule_cache_begin (patient);
      g_assert_cmpint (lu_rule_cache_look_up (hasty, module, CODE + 4).rule.cfa_kind, ==,
                       LU_CFA_COMPLEX);
      g_assert_cmpint (lu_rule_cache_look_up (patient, module, CODE + 4).rule.cfa_off, ==, 16);
    }
  lu_rule_cache_free (hasty);
  lu_rule_cache_free (patient);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rule-cache/work", test_work);
  g_test_add_func ("/rule-cache/grow", test_grow);
  g_test_add_func ("/rule-cache/drain", test_drain);
  return g_test_run ();
}
