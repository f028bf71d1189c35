/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-linkage.c FILE - names between files; FILE is corpus/linkage/usual of tests/fuzz. */

#include "code/decoder.h"
#include "symbolize/jumps.h"
#include "symbolize/linkage.h"

#include <fcntl.h>

static const char *path;

static void
test_names (void)
{
  g_auto (LuElfFile) file = { .input = { .fd = -1 } };
  g_autoptr (LuLinkage) linkage = NULL;
  g_autoptr (GError) error = NULL;
  guint64 address = 0;

  g_assert_true (lu_elf_file_open (&file, open (path, O_RDONLY | O_CLOEXEC), &error));
  linkage = lu_linkage_new (&file, NULL);
  g_assert_cmpstr (lu_linkage_of_entry (linkage, 0x1000), ==, "other");
  g_assert_cmpstr (lu_linkage_of_slot (linkage, 0x2000), ==, "other");
  g_assert_cmpstr (lu_linkage_of_slot (linkage, 0x2008), ==, "other");
  g_assert_null (lu_linkage_of_entry (linkage, 0x1010));
  g_assert_null (lu_linkage_of_slot (linkage, 0x2010));
  g_assert_cmpint (lu_linkage_find (linkage, "other", &address), ==, LU_LINKAGE_NONE);
  g_assert_cmpint (lu_linkage_find (linkage, "mine", &address), ==, LU_LINKAGE_ONE);
  g_assert_cmphex (address, ==, 0x1100);
  g_assert_cmpint (lu_linkage_find (linkage, "both", &address), ==, LU_LINKAGE_OTHER);
  g_assert_cmpint (lu_linkage_find (linkage, "chosen", &address), ==, LU_LINKAGE_OTHER);
}

typedef struct
{
  const char *name;
  guint8 code[24];
  gsize size;
  LuJumpKind kind;
  guint64 from, target;
  guint n;
} Code;

static gboolean
add_jump (const LuJump *jump, gpointer user_data)
{
  g_array_append_vals (user_data, jump, 1);
  return TRUE;
}

static void
test_jumps (void)
{
  static const Code codes[] = {
    { "a jump out", { 0x90, 0xe9, 0xfa, 0x0f, 0, 0 }, 6, LU_JUMP_DIRECT, 0x1001, 0x2000, 1 },
    { "a branch out", { 0x0f, 0x84, 0xfa, 0x0f, 0, 0 }, 6, LU_JUMP_DIRECT, 0x1000, 0x2000, 1 },
    { "a jump within", { 0xeb, 0, 0xc3 }, 3, LU_JUMP_DIRECT, 0, 0, 0 },
    { "a call", { 0xe8, 0xfb, 0x0f, 0, 0, 0xc3 }, 6, LU_JUMP_DIRECT, 0, 0, 0 },
    { "through a word", { 0xff, 0x25, 0xfa, 0x0f, 0, 0 }, 6, LU_JUMP_SLOT, 0x1000, 0x2000, 1 },
    { "through a register", { 0xff, 0xe0 }, 2, LU_JUMP_INDIRECT, 0x1000, 0, 1 },
    { "through an object", { 0xff, 0x60, 0x18 }, 3, LU_JUMP_INDIRECT, 0x1000, 0, 1 },
    /* jmp *table(,%rax,8) */
    { "through a table", { 0xff, 0x24, 0xc5, 0, 0, 0, 1 }, 7, LU_JUMP_TABLE, 0x1000, 0, 1 },
    /* movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax */
    { "a switch",
      { 0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff, 0xe0 },
      9,
      LU_JUMP_TABLE,
      0x1007,
      0,
      1 },
    { "no code", { 0x90, 0x06 }, 2, LU_JUMP_UNKNOWN, 0x1001, 0, 1 },
  };

  if (!lu_decoder_load ())
    {
      g_test_skip ("built without Zydis");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      const LuCodePiece piece = { codes[i].code, codes[i].size, 0x1000 };
      g_autoptr (GArray) jumps = g_array_new (FALSE, FALSE, sizeof (LuJump));
      const LuJump *jump;

      g_test_message ("%s", codes[i].name);
      lu_jumps_each (&piece, add_jump, jumps);
      g_assert_cmpuint (jumps->len, ==, codes[i].n);
      if (jumps->len == 0)
        continue;
      jump = &g_array_index (jumps, LuJump, 0);
      g_assert_cmpuint (jump->kind, ==, codes[i].kind);
      g_assert_cmphex (jump->from, ==, codes[i].from);
      if (codes[i].target != 0)
        g_assert_cmphex (jump->target, ==, codes[i].target);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  path = argv[1];
  g_test_add_func ("/linkage/names", test_names);
  g_test_add_func ("/jumps/kinds", test_jumps);
  return g_test_run ();
}
