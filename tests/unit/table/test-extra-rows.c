/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-extra-rows.c - tables with rows that are not from CFI: where they count, what is known of
 * functions, and that both survive being stored. */

#include "section.h"
#include "table/store-format.h"

#include <elf.h>
#include <string.h>

static const struct lu_rule derived = {
  .cfa_kind = LU_CFA_SP, .cfa_off = 40, .ra_off = -1, .flags = LU_RULE_DERIVED
};
static const struct lu_rule other = {
  .cfa_kind = LU_CFA_SP, .cfa_off = 48, .ra_off = -1, .flags = LU_RULE_DERIVED
};

/* An image whose .eh_frame has one FDE for 0x4100 to 0x4140, or none. */
static LuImage *
make_image (gboolean has_cfi)
{
  g_autoptr (Section) section = section_new (TRUE);
  const CieSpec spec = { 0 };
  struct
  {
    Elf64_Ehdr head;
    Elf64_Phdr segments[1];
    Elf64_Shdr sections[3];
    char names[24];
    guint8 bytes[512];
  } file = { .head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                    EV_CURRENT },
                       .e_type = ET_DYN,
                       .e_machine = EM_X86_64,
                       .e_version = EV_CURRENT,
                       .e_ehsize = sizeof (Elf64_Ehdr),
                       .e_phentsize = sizeof (Elf64_Phdr),
                       .e_phnum = 1,
                       .e_shentsize = sizeof (Elf64_Shdr) },
             .names = "\0.eh_frame\0.shstrtab" };

  section_add_fde (section, section_add_cie (section, &spec), 0x4100, 0x40, BYTES (0x0e, 24));
  file.head.e_phoff = offsetof (__typeof__ (file), segments);
  file.segments[0] = (Elf64_Phdr){
    .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0, .p_filesz = 64, .p_memsz = 0x10000
  };
  if (has_cfi)
    {
      file.head.e_shoff = offsetof (__typeof__ (file), sections);
      file.head.e_shnum = 3;
      file.head.e_shstrndx = 2;
      file.sections[1] = (Elf64_Shdr){ .sh_name = 1,
                                       .sh_type = SHT_PROGBITS,
                                       .sh_flags = SHF_ALLOC,
                                       .sh_addr = SECTION_VADDR,
                                       .sh_offset = offsetof (__typeof__ (file), bytes),
                                       .sh_size = section->bytes->len };
      file.sections[2] = (Elf64_Shdr){ .sh_name = 11,
                                       .sh_type = SHT_STRTAB,
                                       .sh_offset = offsetof (__typeof__ (file), names),
                                       .sh_size = sizeof file.names };
      memcpy (file.bytes, section->bytes->data, section->bytes->len);
    }
  return lu_image_new_from_memory (&file, sizeof file, NULL);
}

/* Functions at 0x4000 (which jumps to 0x4180), 0x4080 (which the FDE covers in part) and 0x4180
 * (which jumps through a register). */
static LuExtraRows *
make_rows (void)
{
  LuExtraRows *rows = lu_extra_rows_new ();

  lu_extra_rows_add (rows, 0x4000, &derived);
  lu_extra_rows_add (rows, 0x4010, &other);
  lu_extra_rows_add (rows, 0x4020, NULL);
  lu_extra_rows_add (rows, 0x4080, &other);
  lu_extra_rows_add (rows, 0x4200, NULL);
  lu_extra_rows_add_start (rows, 0x4000);
  lu_extra_rows_add_start (rows, 0x4080);
  lu_extra_rows_add_start (rows, 0x4180);
  lu_extra_rows_add_jump (rows, 0x4000, 0x4180);
  lu_extra_rows_add_jump (rows, 0x4180, LU_JUMP_ANYWHERE);
  return rows;
}

static LuTable *
make_table (gboolean has_cfi)
{
  g_autoptr (LuExtraRows) rows = make_rows ();
  g_autoptr (LuImage) image = make_image (has_cfi);
  const LuTableLimits limits = { .max_bytes = 1 << 20 };

  g_assert_nonnull (image);
  return lu_table_new_with_rows (image, rows, &limits);
}

static void
check_rows (const LuTable *table, gboolean has_cfi)
{
  const struct
  {
    guint64 address;
    gint32 offset; /* 0: no rule */
  } cases[] = {
    { 0x3fff, 0 },
    { 0x4000, 40 },
    { 0x400f, 40 },
    { 0x4010, 48 },
    { 0x4020, 0 },
    { 0x4080, 48 },
    { 0x40ff, 48 },
    { 0x4100, has_cfi ? 24 : 48 },
    { 0x413f, has_cfi ? 24 : 48 },
    { 0x4140, 48 },
    { 0x41ff, 48 },
    { 0x4200, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const struct lu_rule *rule = lu_table_find (table, cases[i].address);
      gboolean is_derived = cases[i].offset > 24;

      g_test_message ("%#" G_GINT64_MODIFIER "x", cases[i].address);
      g_assert_cmpint (rule->cfa_off, ==, cases[i].offset);
      g_assert_cmpint (rule->flags, ==, is_derived ? LU_RULE_DERIVED : 0);
    }
}

static void
test_rows (void)
{
  for (guint has_cfi = 0; has_cfi < 2; has_cfi++)
    {
      g_autoptr (LuTable) table = make_table (has_cfi != 0);

      g_assert_nonnull (table);
      g_assert_true (table->stats.has_extra);
      g_assert_cmpuint (table->stats.extra_bytes, ==, 0x20 + 0x180 - (has_cfi ? 0x40 : 0));
      check_rows (table, has_cfi != 0);
    }
}

static void
test_functions (void)
{
  g_autoptr (LuTable) table = make_table (FALSE);
  guint64 start = 0;

  g_assert_false (lu_table_find_start (table, 0x3fff, &start));
  g_assert_true (lu_table_find_start (table, 0x4000, &start));
  g_assert_cmphex (start, ==, 0x4000);
  g_assert_true (lu_table_find_start (table, 0x40ff, &start));
  g_assert_cmphex (start, ==, 0x4080);
  g_assert_true (lu_table_leads_to (table, 0x4080, 0x4080));
  g_assert_true (lu_table_leads_to (table, 0x4000, 0x4180));
  g_assert_true (lu_table_leads_to (table, 0x4000, 0x4080)); /* from 0x4180 anywhere */
  g_assert_false (lu_table_leads_to (table, 0x4080, 0x4000));
  g_assert_false (lu_table_leads_to (table, 0, 0x4000));
}

/* A function that jumps to many, the last of which goes on in another one. */
static void
test_many_jumps (void)
{
  const guint n = 300;
  g_autoptr (LuExtraRows) rows = make_rows ();
  g_autoptr (LuImage) image = make_image (FALSE);
  const LuTableLimits limits = { .max_bytes = 1 << 20 };
  g_autoptr (LuTable) table = NULL;

  g_array_set_size (rows->jumps, 0);
  for (guint i = 1; i <= n; i++)
    lu_extra_rows_add_jump (rows, 0x4000, 0x4000 + i);
  lu_extra_rows_add_jump (rows, 0x4000 + n, 0x4180);
  table = lu_table_new_with_rows (image, rows, &limits);
  g_assert_nonnull (table);
  g_assert_true (lu_table_leads_to (table, 0x4000, 0x4180));
  g_assert_false (lu_table_leads_to (table, 0x4000, 0x4181));
}

static void
test_stored (void)
{
  const guint8 identity[LU_DIGEST_SIZE] = { 1 }, maker[LU_DIGEST_SIZE] = { 2 };
  g_autoptr (LuTable) table = make_table (TRUE), again = NULL;
  LuStoreResult result;
  gsize size;
  guint8 *bytes = lu_store_encode (table, identity, maker, &size);

  again = lu_store_decode (bytes, size, identity, maker, &result);
  g_assert_nonnull (again);
  g_assert_true (again->stats.has_extra);
  g_assert_cmpuint (again->stats.extra_bytes, ==, table->stats.extra_bytes);
  check_rows (again, TRUE);
  g_assert_true (lu_table_leads_to (again, 0x4000, 0x4180));
  g_assert_false (lu_table_leads_to (again, 0x4080, 0x4000));
}

/* Starts that do not rise. */
static void
test_lies (void)
{
  const guint8 identity[LU_DIGEST_SIZE] = { 1 }, maker[LU_DIGEST_SIZE] = { 2 };
  g_autoptr (LuTable) table = make_table (FALSE);
  LuStoreResult result;
  gsize size;
  guint8 *bytes = lu_store_encode (table, identity, maker, &size);
  guint32 *words = (guint32 *) (gpointer) (bytes + size);

  words[-5] = words[-6]; /* two jumps follow */
  lu_store_seal (bytes, size);
  g_assert_null (lu_store_decode (bytes, size, identity, maker, &result));
  g_assert_cmpint (result, ==, LU_STORE_DAMAGED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/extra-rows/rows", test_rows);
  g_test_add_func ("/extra-rows/functions", test_functions);
  g_test_add_func ("/extra-rows/many-jumps", test_many_jumps);
  g_test_add_func ("/extra-rows/stored", test_stored);
  g_test_add_func ("/extra-rows/lies", test_lies);
  return g_test_run ();
}
