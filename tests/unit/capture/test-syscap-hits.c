/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-syscap-hits.c - names for the addresses of a capture: kernel, states, this program itself.
 */

#include "capture/syscap-hits.h"

#include "lu/status.h"
#include "capture/syscap-format.h"
#include "capture/syscap-stack.h"
#include "capture/syscap-symbols.h"
#include "symbolize/place-names.h"

#include <link.h>
#include <string.h>

#define K    0xffffffff81000000ull
#define USER PERF_CONTEXT_USER

/* Not static, so that no optimisation renames it. */
G_NO_INLINE int lu_test_named_function (int x);

int
lu_test_named_function (int x)
{
  return x * 5 + 2;
}

static const char *
find (const GByteArray *file, gint32 pid, guint64 address)
{
  LuSyscapSymbol symbol;

  return lu_syscap_symbols_find (file, lu_syscap_symbols_count (file), pid, address, &symbol)
             ? symbol.name
             : NULL;
}

static int
find_own_code (struct dl_phdr_info *info, size_t size, void *data)
{
  LuSyscapMapping *mapping = data;

  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *header = &info->dlpi_phdr[i];
      guint64 start = info->dlpi_addr + header->p_vaddr;
      guint64 wanted = (guint64) (gsize) (*(gpointer[]){ (gpointer) lu_test_named_function });

      if (header->p_type != PT_LOAD || wanted < start || wanted >= start + header->p_memsz)
        continue;
      mapping->start = start;
      mapping->end = start + header->p_memsz;
      mapping->file_offset = header->p_offset;
      return 1;
    }
  return 0;
}

/* The files of all mappings; never freed. */
static LuFileIds *file_ids;

/* This program at another place in each of two processes. */
static LuSyscapMaps *
own_maps (guint64 moved, guint64 *address)
{
  LuSyscapMaps *maps = lu_syscap_maps_new ();
  LuSyscapMapping mapping = { .module_id = 1 };
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);
  LuSyscapMapsOutput no_output = { 0 };

  g_assert_cmpint (lu_test_named_function (1), ==, 7);
  g_assert_cmpint (dl_iterate_phdr (find_own_code, &mapping), ==, 1);
  mapping.start += moved;
  mapping.end += moved;
  mapping.file = lu_file_ids_intern (file_ids, &(LuFileId){ .path = path });
  g_assert_true (lu_syscap_maps_add (maps, &mapping, &no_output, NULL));
  lu_file_id_unref (mapping.file);
  *address = (guint64) (gsize) (*(gpointer[]){ (gpointer) lu_test_named_function }) + moved;
  return maps;
}

static void
add (LuSyscapHits *hits, gint32 pid, const LuSyscapMaps *maps, const guint64 *addresses, guint n)
{
  LuSyscapHitStack stack = { pid, 100, maps, addresses, n };

  lu_syscap_hits_add (hits, &stack);
}

static void
test_names (void)
{
  static const char kallsyms_text[] = "ffffffff81000000 t do_work\nffffffff81000100 t other\n";
  g_autoptr (LuKallsyms) kallsyms = lu_kallsyms_parse (kallsyms_text, strlen (kallsyms_text), NULL);
  g_autoptr (LuSyscapHits) hits = lu_syscap_hits_new (FALSE);
  guint64 here, there, truncated = LU_SYNTHETIC_BASE + LU_STATUS_TRUNCATED_COPY;
  g_autoptr (LuSyscapMaps) maps = own_maps (0, &here);
  g_autoptr (LuSyscapMaps) moved = own_maps (1 << 30, &there);
  LuSyscapHitsResult result;
  g_autoptr (GByteArray) file = NULL;

  for (guint i = 0; i < 3; i++)
    {
      add (hits, 7, maps, (guint64[]){ PERF_CONTEXT_KERNEL, K + 8, USER, here + 1, truncated }, 5);
      add (hits, 8, moved, (guint64[]){ USER, there, 0x10, LU_SYSCAP_LEFT_OUT }, 4);
      add (hits, 9, NULL, (guint64[]){ USER, here }, 2);
    }
  file = lu_syscap_hits_name (hits, kallsyms, NULL, NULL, &result);
  g_assert_cmpuint (result.n_addresses, ==, 7);
  g_assert_cmpuint (result.n_named, ==, 5);
  g_assert_cmpuint (result.n_left_out, ==, 0);
  g_assert_cmpstr (find (file, 7, here), ==, "lu_test_named_function");
  g_assert_cmpstr (find (file, 7, K), ==, "do_work");
  g_assert_null (find (file, 7, K + 0x100));
  g_assert_null (find (file, 8, K));
  g_assert_cmpstr (find (file, 7, truncated), ==, "[truncated stack copy]");
  g_assert_cmpstr (find (file, 8, there), ==, "lu_test_named_function");
  g_assert_cmpstr (find (file, 8, LU_SYSCAP_LEFT_OUT), ==, LU_SYSCAP_LEFT_OUT_NAME);
  g_assert_null (find (file, 8, here));
  g_assert_cmpstr (find (file, 8, 0x10), ==, LU_PLACE_NOWHERE);
  g_assert_cmpstr (find (file, 9, here), ==, LU_PLACE_NOWHERE);
}

static gboolean
no (guint done, guint total, gpointer user_data)
{
  g_assert_cmpuint (done, ==, 0);
  g_assert_cmpuint (total, ==, 1);
  return FALSE;
}

static void
test_skipped (void)
{
  g_autoptr (LuSyscapHits) hits = lu_syscap_hits_new (FALSE);
  guint64 here;
  g_autoptr (LuSyscapMaps) maps = own_maps (0, &here);
  LuSyscapHitsResult result;
  g_autoptr (GByteArray) file = NULL;

  add (hits, 7, maps, (guint64[]){ USER, here }, 2);
  file = lu_syscap_hits_name (hits, NULL, no, NULL, &result);
  g_assert_true (result.is_skipped);
  g_assert_cmpuint (result.n_named, ==, 0);
  g_assert_true (g_str_has_prefix (find (file, 7, here), "test-syscap-hits+0x"));
}

/* Stacks whose outer frames are those of the one before, or of another process. */
static void
test_stacks_that_share_frames (void)
{
  static const struct
  {
    gint32 pid;
    guint64 addresses[5];
    guint n, n_different; /* so far */
  } stacks[] = {
    { 1, { USER, 0x10, 0x20, 0x30, 0x40 }, 5, 4 },
    { 1, { USER, 0x11, 0x20, 0x30, 0x40 }, 5, 5 },
    { 2, { USER, 0x11, 0x20, 0x30, 0x40 }, 5, 9 },
    { 2, { USER, 0x30, 0x40 }, 3, 9 },
    { 2, { USER, 0x12, 0x20, 0x30, 0x40 }, 5, 10 },
    { 1, { USER, 0x10, 0x20, 0x31, 0x40 }, 5, 11 },
    { 1, { K }, 1, 12 },
    { 1, { 0 }, 0, 12 },
    { 1, { USER, 0x13 }, 2, 13 },
  };

  for (guint n = 1; n <= G_N_ELEMENTS (stacks); n++)
    {
      g_autoptr (LuSyscapHits) hits = lu_syscap_hits_new (FALSE);
      g_autoptr (GByteArray) file = NULL;
      LuSyscapHitsResult result;

      for (guint i = 0; i < n; i++)
        add (hits, stacks[i].pid, NULL, stacks[i].addresses, stacks[i].n);
      file = lu_syscap_hits_name (hits, NULL, NULL, NULL, &result);
      g_assert_cmpuint (result.n_addresses, ==, stacks[n - 1].n_different);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  file_ids = lu_file_ids_new ();
  g_test_add_func ("/output/syscap-hits/names", test_names);
  g_test_add_func ("/output/syscap-hits/skipped", test_skipped);
  g_test_add_func ("/output/syscap-hits/stacks-that-share-frames", test_stacks_that_share_frames);
  return g_test_run ();
}
