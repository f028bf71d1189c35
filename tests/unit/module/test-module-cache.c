/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-module-cache.c - src/module/module-cache.c: which modules are found again, and which are
 * dropped. */

#include "module/module-cache.h"

static LuModule *
find (LuModuleCache *cache, guint inode, gboolean *is_new)
{
  g_autofree char *path = g_strdup_printf ("/bin/file-%u", inode);
  const LuModuleKey key = {
    .kind = LU_MODULE_FILE, .path = path, .has_inode = TRUE, .major = 8, .inode = inode
  };

  return lu_module_cache_find (cache, &key, is_new);
}

static void
test_finds_again (void)
{
  g_autoptr (LuModuleCache) cache = lu_module_cache_new (10);
  gboolean is_new;
  LuModule *first = find (cache, 1, &is_new);

  g_assert_true (is_new);
  g_assert_true (find (cache, 1, &is_new) == first);
  g_assert_false (is_new);
  g_assert_true (find (cache, 2, &is_new) != first);
  g_assert_true (is_new);
}

/* Unmapped modules are dropped after a while; mapped ones stay. */
static void
test_drops_what_is_not_mapped (void)
{
  g_autoptr (LuModuleCache) cache = lu_module_cache_new (4096);
  gboolean is_new;
  LuModule *mapped = lu_module_ref (find (cache, 1, &is_new));

  for (guint i = 2; i < 1000; i++)
    find (cache, i, &is_new);
  g_assert_true (find (cache, 1, &is_new) == mapped);
  g_assert_false (is_new);
  find (cache, 999, &is_new);
  g_assert_false (is_new);
  find (cache, 2, &is_new);
  g_assert_true (is_new);
  lu_module_unref (mapped);
}

static void
test_has_a_limit (void)
{
  g_autoptr (LuModuleCache) cache = lu_module_cache_new (3);
  LuModule *mapped[4];
  gboolean is_new;

  for (guint i = 0; i < 4; i++)
    mapped[i] = lu_module_ref (find (cache, i + 1, &is_new));
  find (cache, 4, &is_new);
  g_assert_false (is_new);
  find (cache, 1, &is_new);
  g_assert_true (is_new);
  for (guint i = 0; i < 4; i++)
    lu_module_unref (mapped[i]);
}

/* A generation that is not known agrees with any; a module without a file is made anew. */
static void
test_generations (void)
{
  g_autoptr (LuModuleCache) cache = lu_module_cache_new (10);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/a", .has_inode = TRUE, .inode = 7 };
  LuModuleKey other;
  gboolean is_new;
  LuModule *module = lu_module_cache_find (cache, &key, &is_new);

  key.inode_generation = 3;
  g_assert_true (lu_module_cache_find (cache, &key, &is_new) == module);
  other = key;
  other.path = "/b";
  lu_module_cache_find (cache, &other, &is_new);
  g_assert_true (is_new);
  other = key;
  other.minor = 1;
  lu_module_cache_find (cache, &other, &is_new);
  g_assert_true (is_new);
  other = key;
  other.build_id_size = 4;
  lu_module_cache_find (cache, &other, &is_new);
  g_assert_true (is_new);
  lu_module_publish (module, LU_MODULE_GONE, NULL);
  g_assert_nonnull (lu_module_cache_find (cache, &key, &is_new)); /* perhaps where it was */
  g_assert_true (is_new);
}

static void
test_vdso (void)
{
  g_autoptr (LuModuleCache) cache = lu_module_cache_new (10);
  const LuModuleKey key = { .kind = LU_MODULE_VDSO, .path = "[vdso]" };
  const LuModuleKey low = { .kind = LU_MODULE_VDSO, .path = "[vdso]", .is_32bit = TRUE };
  gboolean is_new;
  LuModule *module = lu_module_cache_find (cache, &key, &is_new);

  g_assert_true (lu_module_cache_find (cache, &key, &is_new) == module);
  g_assert_true (lu_module_cache_find (cache, &low, &is_new) != module);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/module-cache/finds-again", test_finds_again);
  g_test_add_func ("/module-cache/generations", test_generations);
  g_test_add_func ("/module-cache/vdso", test_vdso);
  g_test_add_func ("/module-cache/drops-what-is-not-mapped", test_drops_what_is_not_mapped);
  g_test_add_func ("/module-cache/has-a-limit", test_has_a_limit);
  return g_test_run ();
}
