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

/* A look-up without a key finds the same module as one with a key. */
static void
test_again (void)
{
  g_autoptr (LuModuleCache) cache = lu_module_cache_new (10);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/a", .has_inode = TRUE, .inode = 7 };
  LuMmapEvent mmap = { .path = "/a", .has_inode = TRUE, .inode = 7 };
  LuMmapEvent other;
  gboolean is_new;
  LuModule *module;

  g_assert_null (lu_module_cache_find_again (cache, &mmap));
  module = lu_module_cache_find (cache, &key, &is_new);
  g_assert_null (lu_module_cache_find_again (cache, &mmap)); /* seen once */
  g_assert_true (lu_module_cache_find (cache, &key, &is_new) == module);
  for (guint i = 0; i < 200; i++)
    g_assert_true (lu_module_cache_find_again (cache, &mmap) == module);
  mmap.inode_generation = 3; /* not known of the key */
  g_assert_true (lu_module_cache_find_again (cache, &mmap) == module);
  other = mmap;
  other.path = "/b";
  g_assert_null (lu_module_cache_find_again (cache, &other));
  other = mmap;
  other.minor = 1;
  g_assert_null (lu_module_cache_find_again (cache, &other));
  other = mmap;
  other.build_id_size = 4;
  g_assert_null (lu_module_cache_find_again (cache, &other));
  other = mmap;
  other.has_inode = FALSE;
  g_assert_null (lu_module_cache_find_again (cache, &other));
  lu_module_publish (module, LU_MODULE_GONE, NULL);
  g_assert_null (lu_module_cache_find_again (cache, &mmap));
  g_assert_nonnull (lu_module_cache_find (cache, &key, &is_new)); /* perhaps where it was */
  g_assert_true (is_new);
  g_assert_null (lu_module_cache_find_again (cache, &mmap));
}

static void
test_vdso_again (void)
{
  g_autoptr (LuModuleCache) cache = lu_module_cache_new (10);
  LuModuleKey key = { .kind = LU_MODULE_VDSO, .path = "[vdso]" };
  LuMmapEvent mmap = { .path = "[vdso]", .has_inode = TRUE, .start = 0x7ffff7fc1000 };
  LuMmapEvent low = { .path = "[vdso]", .has_inode = TRUE, .start = 0xf7fc1000 };
  LuMmapEvent other = { .path = "//anon", .has_inode = TRUE, .start = 0x7ffff7fc1000 };
  gboolean is_new;
  LuModule *module = lu_module_cache_find (cache, &key, &is_new);

  lu_module_cache_find (cache, &key, &is_new);
  g_assert_true (lu_module_cache_find_again (cache, &mmap) == module);
  g_assert_null (lu_module_cache_find_again (cache, &low));
  g_assert_null (lu_module_cache_find_again (cache, &other));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/module-cache/finds-again", test_finds_again);
  g_test_add_func ("/module-cache/again", test_again);
  g_test_add_func ("/module-cache/vdso-again", test_vdso_again);
  g_test_add_func ("/module-cache/drops-what-is-not-mapped", test_drops_what_is_not_mapped);
  g_test_add_func ("/module-cache/has-a-limit", test_has_a_limit);
  return g_test_run ();
}
