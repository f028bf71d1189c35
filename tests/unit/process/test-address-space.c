/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-address-space.c - src/process/address-space.c: overlaps, remainders, versions; compared with
 * a byte-by-byte oracle. */

#include "process/address-space.h"

static LuModule *
module_named (const char *path)
{
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = path };

  return lu_module_new (&key);
}

static LuAddressSpace *
with (LuAddressSpace *space, guint64 start, guint64 end, guint64 offset, LuModule *module)
{
  LuMapping mapping = { .start = start, .end = end, .file_offset = offset, .module = module };
  LuAddressSpace *next =
      lu_address_space_take_with_mapping (lu_address_space_ref (space), &mapping);

  lu_address_space_unref (space);
  return next;
}

static void
test_remainders_keep_their_offsets (void)
{
  g_autoptr (LuModule) a = module_named ("/a"), b = module_named ("/b");
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();
  const LuMapping *mappings;
  guint n;

  space = with (space, 0x1000, 0x9000, 0x100000, a);
  space = with (space, 0x3000, 0x5000, 0, b);
  mappings = lu_address_space_mappings (space, &n);
  g_assert_cmpuint (n, ==, 3);
  g_assert_cmphex (mappings[0].end, ==, 0x3000);
  g_assert_cmphex (mappings[2].start, ==, 0x5000);
  g_assert_cmphex (mappings[2].file_offset, ==, 0x104000);
  g_assert_true (lu_address_space_find (space, 0x2fff)->module == a);
  g_assert_true (lu_address_space_find (space, 0x3000)->module == b);
  g_assert_true (lu_address_space_find (space, 0x5000)->module == a);
  g_assert_null (lu_address_space_find (space, 0x9000));
  g_assert_null (lu_address_space_find (space, 0xfff));
}

static void
test_older_versions_do_not_change (void)
{
  g_autoptr (LuModule) a = module_named ("/a"), b = module_named ("/b");
  LuMapping second = { .start = 0x1000, .end = 0x2000, .module = b };
  g_autoptr (LuAddressSpace) first = with (lu_address_space_new (), 0x1000, 0x2000, 0, a);
  g_autoptr (LuAddressSpace) next =
      lu_address_space_take_with_mapping (lu_address_space_ref (first), &second);
  g_autoptr (LuAddressSpace) same =
      lu_address_space_take_with_mapping (lu_address_space_ref (next), &second);

  g_assert_true (lu_address_space_find (first, 0x1800)->module == a);
  g_assert_true (lu_address_space_find (next, 0x1800)->module == b);
  g_assert_cmpuint (lu_address_space_serial (first), !=, lu_address_space_serial (next));
  g_assert_true (same == next);
}

#define PAGES 64

/* In place: every fourth one has another reference, so it must not change. */
static LuAddressSpace *
take_with (LuAddressSpace *space, guint64 start, guint64 end, guint64 offset, LuModule *module)
{
  static guint n_calls;
  LuMapping mapping = { .start = start, .end = end, .file_offset = offset, .module = module };
  g_autoptr (LuAddressSpace) other = n_calls++ % 4 == 0 ? lu_address_space_ref (space) : NULL;
  guint64 serial = lu_address_space_serial (space);
  guint n_before = 0, n_after = 0;

  lu_address_space_mappings (space, &n_before);
  space = lu_address_space_take_with_mapping (space, &mapping);
  g_assert_cmpuint (lu_address_space_serial (space), !=, serial);
  if (other != NULL)
    {
      lu_address_space_mappings (other, &n_after);
      g_assert_cmpuint (n_after, ==, n_before);
      g_assert_cmpuint (lu_address_space_serial (other), ==, serial);
    }
  return space;
}

typedef LuAddressSpace *(*WithFunc) (LuAddressSpace *space, guint64 start, guint64 end,
                                     guint64 offset, LuModule *module);

static void
check_against_an_oracle (WithFunc func)
{
  LuModule *modules[8];
  LuModule *owner[PAGES] = { NULL };
  guint64 offset[PAGES] = { 0 };
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (42);

  for (guint i = 0; i < G_N_ELEMENTS (modules); i++)
    modules[i] = module_named ("/m");
  for (guint round = 0; round < 3000; round++)
    {
      guint start = (guint) g_rand_int_range (rand, 0, PAGES);
      guint end = (guint) g_rand_int_range (rand, (gint32) start + 1, PAGES + 1);
      LuModule *module = modules[g_rand_int_range (rand, 0, G_N_ELEMENTS (modules))];

      space = func (space, start * 4096, end * 4096, round * 1000, module);
      for (guint page = start; page < end; page++)
        {
          owner[page] = module;
          offset[page] = round * 1000 + (page - start) * 4096;
        }
      for (guint page = 0; page < PAGES; page++)
        {
          const LuMapping *found = lu_address_space_find (space, page * 4096 + 5);

          g_assert_true ((found != NULL ? found->module : NULL) == owner[page]);
          if (found != NULL)
            g_assert_cmpuint (found->file_offset + page * 4096 - found->start, ==, offset[page]);
        }
    }
  for (guint i = 0; i < G_N_ELEMENTS (modules); i++)
    lu_module_unref (modules[i]);
}

static void
test_against_an_oracle (void)
{
  check_against_an_oracle (with);
}

static void
test_in_place_against_an_oracle (void)
{
  check_against_an_oracle (take_with);
}

/* If the mapping cannot be inserted, nothing changes and it is put on top instead. */
static LuAddressSpace *
insert_or_take (LuAddressSpace *space, guint64 start, guint64 end, guint64 offset, LuModule *module)
{
  static guint n_calls;
  LuMapping mapping = { .start = start, .end = end, .file_offset = offset, .module = module };
  guint64 serial = lu_address_space_serial (space);
  gboolean is_free = TRUE;
  guint n;

  lu_address_space_mappings (space, &n);
  for (guint64 at = start; at < end; at += 4096)
    is_free = is_free && lu_address_space_find (space, at) == NULL;
  if (n > 0 && n_calls++ % 4 == 0)
    {
      g_autoptr (LuAddressSpace) other = lu_address_space_ref (space);

      g_assert_false (lu_address_space_insert (&space, &mapping));
      g_assert_true (space == other);
    }
  g_assert_true (lu_address_space_insert (&space, &mapping) == (n > 0 && is_free));
  if (n > 0 && is_free)
    {
      g_assert_cmpuint (lu_address_space_serial (space), !=, serial);
      return space;
    }
  g_assert_cmpuint (lu_address_space_serial (space), ==, serial);
  return lu_address_space_take_with_mapping (space, &mapping);
}

static void
test_insertion_against_an_oracle (void)
{
  check_against_an_oracle (insert_or_take);
}

/* A starting program maps a handful of files at scattered addresses. */
static void
test_insertion_between_others (void)
{
  static const guint64 starts[] = { 0x5000, 0x9000, 0x1000, 0x7000, 0x3000 };
  g_autoptr (LuModule) a = module_named ("/a");
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();
  const LuMapping *mappings;
  guint n;

  for (guint i = 0; i < G_N_ELEMENTS (starts); i++)
    space = insert_or_take (space, starts[i], starts[i] + 0x2000, i, a);
  mappings = lu_address_space_mappings (space, &n);
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (starts));
  for (guint i = 0; i < n; i++)
    g_assert_cmphex (mappings[i].start, ==, 0x1000 + i * 0x2000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/space/remainders keep their offsets", test_remainders_keep_their_offsets);
  g_test_add_func ("/space/older versions do not change", test_older_versions_do_not_change);
  g_test_add_func ("/space/random mappings against an oracle", test_against_an_oracle);
  g_test_add_func ("/space/the same in place", test_in_place_against_an_oracle);
  g_test_add_func ("/space/insertion against an oracle", test_insertion_against_an_oracle);
  g_test_add_func ("/space/insertion between others", test_insertion_between_others);
  return g_test_run ();
}
