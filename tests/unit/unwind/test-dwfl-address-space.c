/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-dwfl-address-space.c - libdwfl has the bias and the range of each module that the mappings
 * give it, and follows an address space from version to version.
 *
 * The files are copies of this program with other segments written into their program headers. Only
 * the sessions are checked; nothing is unwound. */

#include "unwind/dwfl-address-space.h"

#include "../../cases.h"

#include <elf.h>
#include <string.h>

static guint8 *file;
static gsize file_size;

static pid_t
no_thread (Dwfl *dwfl, void *data, void **thread_data)
{
  return 0;
}

static bool
no_registers (Dwfl_Thread *thread, void *data)
{
  return false;
}

static const Dwfl_Thread_Callbacks callbacks = { .next_thread = no_thread,
                                                 .set_initial_registers = no_registers };

typedef struct
{
  guint64 vaddr, file_offset, size, align;
  guint32 flags;
} Segment;

typedef struct
{
  const char *name;
  Segment segments[4];
  struct
  {
    guint64 start, file_offset, size;
    guint64 bias; /* wanted */
  } mappings[4];
} Layout;

static const Layout layouts[] = {
  { "pie",
    { { 0x0, 0x0, 0x600, 0x1000, PF_R }, { 0x1000, 0x1000, 0x800, 0x1000, PF_R | PF_X } },
    { { 0x555555555000, 0x1000, 0x1000, 0x555555554000 } } },
  { "fixed address, aligned to 2 MiB",
    { { 0x400000, 0x0, 0x600, 0x200000, PF_R | PF_X } },
    { { 0x400000, 0x0, 0x1000, 0 } } },
  { "prelinked",
    { { 0x3400000, 0x0, 0x600, 0x1000, PF_R }, { 0x3401000, 0x1000, 0x800, 0x1000, PF_R | PF_X } },
    { { 0x7f0000001000, 0x1000, 0x1000, 0x7f0000001000 - 0x3401000 } } },
  { "address and offset differ",
    { { 0x0, 0x0, 0x600, 0x1000, PF_R }, { 0x2a40, 0x1a40, 0x500, 0x1000, PF_R | PF_X } },
    { { 0x7f0000002000, 0x1000, 0x1000, 0x7f0000000000 } } },
  { "three executable segments",
    { { 0x1000, 0x1000, 0x800, 0x1000, PF_R | PF_X },
      { 0x200000, 0x2000, 0x800, 0x200000, PF_R | PF_X },
      { 0x600000, 0x3000, 0x800, 0x200000, PF_R | PF_X } },
    { { 0x7f0000001000, 0x1000, 0x1000, 0x7f0000000000 },
      { 0x7f0000200000, 0x2000, 0x1000, 0x7f0000000000 },
      { 0x7f0000600000, 0x3000, 0x1000, 0x7f0000000000 } } },
  { "mapping split in two",
    { { 0x0, 0x0, 0x4000, 0x1000, PF_R | PF_X } },
    { { 0x7f0000000000, 0x0, 0x1000, 0x7f0000000000 },
      { 0x7f0000001000, 0x1000, 0x3000, 0x7f0000000000 } } },
  { "alignment that is none",
    { { 0x1000, 0x1000, 0x800, 0, PF_R | PF_X } },
    { { 0x7f0000001000, 0x1000, 0x1000, 0x7f0000000000 } } },
};

static LuModule *
make_module (const Segment segments[4])
{
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/made/up" };
  g_autofree guint8 *copy = g_memdup2 (file, file_size);
  Elf64_Ehdr *header = (Elf64_Ehdr *) copy;
  Elf64_Phdr *programs = (Elf64_Phdr *) (copy + header->e_phoff);
  LuModule *module = lu_module_new (&key);
  LuImage *image;
  guint n = 0;

  for (guint i = 0; i < header->e_phnum; i++)
    {
      programs[i].p_type = n < 4 && segments[n].size > 0 ? PT_LOAD : PT_NULL;
      if (programs[i].p_type == PT_NULL)
        continue;
      programs[i].p_vaddr = segments[n].vaddr;
      programs[i].p_offset = segments[n].file_offset;
      programs[i].p_filesz = programs[i].p_memsz = segments[n].size;
      programs[i].p_align = segments[n].align;
      programs[i].p_flags = segments[n].flags;
      n++;
    }
  image = lu_image_new_from_memory (copy, file_size, NULL);
  g_assert_nonnull (image);
  lu_module_publish (module, LU_MODULE_READY, image);
  return module;
}

static LuAddressSpace *
add_mapping (LuAddressSpace *space, LuModule *module, guint64 start, guint64 size,
             guint64 file_offset)
{
  LuMapping mapping = {
    .start = start, .end = start + size, .file_offset = file_offset, .module = module
  };
  LuAddressSpace *result =
      lu_address_space_take_with_mapping (lu_address_space_ref (space), &mapping);

  lu_address_space_unref (space);
  return result;
}

/* Returns what libdwfl itself knows about the module at an address. */
static void
check_bias (LuDwflAddressSpace *session, guint64 address, guint64 bias)
{
  const LuDwflMapping *mapping = lu_dwfl_address_space_find (session, address);
  Dwfl_Module *module = dwfl_addrmodule (lu_dwfl_address_space_dwfl (session), address);
  Dwarf_Addr dwfl_bias = 1;

  g_assert_nonnull (mapping);
  g_assert_cmpuint (mapping->status, ==, LU_STATUS_COMPLETE);
  g_assert_cmphex (mapping->bias, ==, bias);
  g_assert_true (module != NULL && module == mapping->dwfl_module);
  g_assert_nonnull (dwfl_module_getelf (module, &dwfl_bias));
  g_assert_cmphex (dwfl_bias, ==, bias);
}

static void
test_layout (gconstpointer data)
{
  const Layout *layout = data;
  g_autoptr (LuModule) module = make_module (layout->segments);
  LuAddressSpace *space = lu_address_space_new ();
  LuDwflAddressSpaces *sessions = lu_dwfl_address_spaces_new (&callbacks, NULL, 1 << 20);
  LuDwflAddressSpace *session;

  for (guint i = 0; i < 4 && layout->mappings[i].size > 0; i++)
    space = add_mapping (space, module, layout->mappings[i].start, layout->mappings[i].size,
                         layout->mappings[i].file_offset);
  session = lu_dwfl_address_spaces_get (sessions, 1, space, &lu_arch_x86_64);
  g_assert_nonnull (session);
  for (guint i = 0; i < 4 && layout->mappings[i].size > 0; i++)
    {
      guint64 start = layout->mappings[i].start, end = start + layout->mappings[i].size;

      check_bias (session, start, layout->mappings[i].bias);
      check_bias (session, end - 1, layout->mappings[i].bias);
    }
  g_assert_null (lu_dwfl_address_space_find (session, 0x1234));
  lu_address_space_unref (space);
  lu_dwfl_address_spaces_free (sessions);
}

/* Files mapped into each other's holes: a module's range comes from the mappings, not from the span
 * of the segments. */
static void
test_interleaved (void)
{
  g_autoptr (LuModule) a = make_module (layouts[4].segments);
  g_autoptr (LuModule) b = make_module (layouts[0].segments);
  LuAddressSpace *space = lu_address_space_new ();
  LuDwflAddressSpaces *sessions = lu_dwfl_address_spaces_new (&callbacks, NULL, 1 << 20);
  LuDwflAddressSpace *session;

  space = add_mapping (space, a, 0x7f0000001000, 0x1000, 0x1000);
  space = add_mapping (space, a, 0x7f0000600000, 0x1000, 0x3000);
  space = add_mapping (space, b, 0x7f0000300000, 0x1000, 0x1000);
  session = lu_dwfl_address_spaces_get (sessions, 1, space, &lu_arch_x86_64);
  check_bias (session, 0x7f0000001800, 0x7f0000000000);
  check_bias (session, 0x7f0000300800, 0x7f0000300000 - 0x1000);
  check_bias (session, 0x7f0000600800, 0x7f0000000000);
  g_assert_null (dwfl_addrmodule (lu_dwfl_address_space_dwfl (session), 0x7f0000200000));
  lu_address_space_unref (space);
  lu_dwfl_address_spaces_free (sessions);
}

/* A new version with one more mapping keeps the session and what libdwfl knows about the other
 * modules. */
static void
test_versions (void)
{
  g_autoptr (LuModule) a = make_module (layouts[0].segments);
  g_autoptr (LuModule) b = make_module (layouts[0].segments);
  LuAddressSpace *first = add_mapping (lu_address_space_new (), a, 0x555555555000, 0x1000, 0x1000);
  LuAddressSpace *second =
      add_mapping (lu_address_space_ref (first), b, 0x7f0000001000, 0x1000, 0x1000);
  LuAddressSpace *third =
      add_mapping (lu_address_space_ref (second), b, 0x555555555000, 0x1000, 0x1000);
  LuDwflAddressSpaces *sessions = lu_dwfl_address_spaces_new (&callbacks, NULL, 1 << 20);
  LuDwflAddressSpace *session = lu_dwfl_address_spaces_get (sessions, 1, first, &lu_arch_x86_64);
  Dwfl_Module *module = lu_dwfl_address_space_find (session, 0x555555555000)->dwfl_module;

  check_bias (session, 0x555555555000, 0x555555554000);
  g_assert_true (lu_dwfl_address_spaces_get (sessions, 1, second, &lu_arch_x86_64) == session);
  g_assert_true (lu_dwfl_address_space_find (session, 0x555555555000)->dwfl_module == module);
  check_bias (session, 0x7f0000001000, 0x7f0000000000);
  g_assert_true (lu_dwfl_address_spaces_get (sessions, 1, third, &lu_arch_x86_64) == session);
  check_bias (session, 0x555555555000, 0x555555554000);
  g_assert_true (lu_dwfl_address_space_find (session, 0x555555555000)->module == b);

  /* A child of the process still has this version, so it needs no session of its own; its exec
   * leaves this one unchanged. */
  g_assert_true (lu_dwfl_address_spaces_get (sessions, 2, third, &lu_arch_x86_64) == session);
  g_assert_true (lu_dwfl_address_spaces_get (sessions, 2, first, &lu_arch_x86_64) != session);
  g_assert_true (lu_dwfl_address_spaces_get (sessions, 1, third, &lu_arch_x86_64) == session);
  lu_address_space_unref (first);
  lu_address_space_unref (second);
  lu_address_space_unref (third);
  lu_dwfl_address_spaces_free (sessions);
}

/* There are more processes than sessions, and a budget that holds none of them. */
static void
test_many_processes (void)
{
  g_autoptr (LuModule) module = make_module (layouts[0].segments);
  LuDwflAddressSpaces *sessions = lu_dwfl_address_spaces_new (&callbacks, NULL, 0);

  for (gint32 pid = 1; pid < 600; pid++)
    {
      LuAddressSpace *space =
          add_mapping (lu_address_space_new (), module, 0x555555555000 + (guint64) pid * 0x10000,
                       0x1000, 0x1000);
      LuDwflAddressSpace *session =
          lu_dwfl_address_spaces_get (sessions, pid, space, &lu_arch_x86_64);

      g_assert_nonnull (session);
      check_bias (session, 0x555555555000 + (guint64) pid * 0x10000,
                  0x555555554000 + (guint64) pid * 0x10000);
      lu_address_space_unref (space);
    }
  lu_dwfl_address_spaces_free (sessions);
}

/* libdwfl searches all modules whenever it is given a new one. */
static void
test_many_modules (void)
{
  const guint64 base = 0x7f0000000000, distance = 0x10000, n = 3000;
  g_autoptr (LuModule) module = make_module (layouts[0].segments);
  LuAddressSpace *space = lu_address_space_new ();
  LuDwflAddressSpaces *sessions = lu_dwfl_address_spaces_new (&callbacks, NULL, 1 << 20);
  LuDwflAddressSpace *session;

  for (guint64 i = 0; i < n; i++)
    space = add_mapping (space, module, base + i * distance, 0x1000, 0x1000);
  session = lu_dwfl_address_spaces_get (sessions, 1, space, &lu_arch_x86_64);
  check_bias (session, base, base - 0x1000);
  check_bias (session, base + 2047 * distance, base + 2047 * distance - 0x1000);
  for (guint64 i = 2048; i < n; i++)
    g_assert_cmpuint (lu_dwfl_address_space_find (session, base + i * distance)->status, ==,
                      LU_STATUS_OVER_BUDGET);
  lu_address_space_unref (space);
  lu_dwfl_address_spaces_free (sessions);
}

static void
test_other_architecture (void)
{
  g_autoptr (LuModule) module = make_module (layouts[0].segments);
  LuAddressSpace *space = add_mapping (lu_address_space_new (), module, 0x56555000, 0x1000, 0x1000);
  LuDwflAddressSpaces *sessions = lu_dwfl_address_spaces_new (&callbacks, NULL, 1 << 20);
  LuDwflAddressSpace *session = lu_dwfl_address_spaces_get (sessions, 1, space, &lu_arch_i386);

  g_assert_nonnull (session);
  g_assert_cmpuint (lu_dwfl_address_space_find (session, 0x56555000)->status, ==,
                    LU_STATUS_UNSUPPORTED_ABI);
  lu_address_space_unref (space);
  lu_dwfl_address_spaces_free (sessions);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_true (g_file_get_contents ("/proc/self/exe", (char **) &file, &file_size, NULL));
  TEST_ADD_CASES ("/dwfl-space/bias", layouts, test_layout);
  g_test_add_func ("/dwfl-space/interleaved", test_interleaved);
  g_test_add_func ("/dwfl-space/versions", test_versions);
  g_test_add_func ("/dwfl-space/many-processes", test_many_processes);
  g_test_add_func ("/dwfl-space/many-modules", test_many_modules);
  g_test_add_func ("/dwfl-space/other-architecture", test_other_architecture);
  return g_test_run ();
}
