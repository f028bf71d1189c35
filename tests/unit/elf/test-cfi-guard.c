/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-cfi-guard.c - which call frame instructions may reach libdw.
 *
 * Each case is the program of one FDE with a simple CIE; the section is walked, and searched
 * through a table. */

#include "elf/cfi-guard.h"

#include "../../cases.h"

#include <string.h>

#define VADDR       0x2000
#define TABLE_VADDR 0x1f00

typedef struct
{
  const char *name;
  gboolean passes;
  guint8 size;
  guint8 program[40];
} Case;

static const Case cases[] = {
  { "empty program", TRUE, 0, { 0 } },
  { "def_cfa, offset, advance, restore", TRUE, 9, { 0x0c, 7, 8, 0x90, 1, 0x44, 0xc3, 0x0e, 16 } },
  { "def_cfa_offset cut off", FALSE, 1, { 0x0e } },
  { "advance_loc4 cut off", FALSE, 4, { 0x04, 1, 2, 3 } },
  { "LEB128 without end",
    FALSE,
    12,
    { 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
  { "register 10^8", FALSE, 6, { 0x05, 0x80, 0xc2, 0xd7, 0x2f, 1 } },
  { "same_value of register 129", FALSE, 3, { 0x08, 0x81, 0x01 } },
  { "set_loc", FALSE, 9, { 0x01, 0, 0, 0, 0, 0, 0, 0, 0 } },
  { "unknown instruction", FALSE, 1, { 0x3f } },
  { "remember, restore", TRUE, 2, { 0x0a, 0x0b } },
  { "restore_state without remember", FALSE, 1, { 0x0b } },
  { "PLT expression",
    TRUE,
    13,
    { 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 } },
  { "register by expression", TRUE, 5, { 0x10, 16, 2, 0x77, 0x20 } },
  { "expression longer than its FDE", FALSE, 4, { 0x0f, 9, 0x77, 8 } },
  { "empty expression", FALSE, 2, { 0x0f, 0 } },
  { "deref_size in a register's expression", TRUE, 7, { 0x10, 6, 4, 0x77, 0, 0x94, 8 } },
  { "deref_size in a CFA expression", FALSE, 6, { 0x0f, 4, 0x77, 0, 0x94, 8 } },
  { "division", FALSE, 6, { 0x0f, 4, 0x31, 0x32, 0x1b, 0x96 } },
  { "modulo", FALSE, 6, { 0x0f, 4, 0x31, 0x32, 0x1d, 0x96 } },
  { "address", FALSE, 11, { 0x0f, 9, 0x03, 0, 0, 0, 0, 0, 0, 0, 0 } },
  { "call_frame_cfa", FALSE, 3, { 0x0f, 1, 0x9c } },
  { "jump back", FALSE, 7, { 0x0f, 5, 0x77, 8, 0x2f, 0xfb, 0xff } },
  { "jump forward", TRUE, 8, { 0x0f, 6, 0x77, 8, 0x2f, 1, 0, 0x96 } },
};

static guint
add_entry (guint8 *at, const guint8 *body, guint32 size)
{
  guint32 padded = (size + 3) & ~3u; /* nop is 0 */

  memcpy (at, &padded, 4);
  memset (at + 4, 0, padded);
  memcpy (at + 4, body, size);
  return 4 + padded;
}

/* A CIE ("zR", pcrel sdata4) and one FDE with the program; returns the offset of the FDE. */
static guint
build (LuCfiSection *section, guint8 *bytes, const guint8 *program, gsize size)
{
  static const guint8 cie[] = { 0,    0,  0, 0,    1,    'z', 'R', 0,    1,
                                0x78, 16, 1, 0x1b, 0x0c, 7,   8,   0x90, 1 };
  guint8 fde[128] = { 0 };
  guint at = add_entry (bytes, cie, sizeof cie), fde_at = at;
  guint32 back = at + 4;
  guint32 range = 0x100;

  memcpy (fde, &back, 4);
  memcpy (fde + 8, &range, 4);
  if (size > 0)
    memcpy (fde + 13, program, size);
  /* Padding would complete a truncated program, so there is none. */
  *(guint32 *) (bytes + at) = (guint32) (13 + size);
  memcpy (bytes + at + 4, fde, 13 + size);
  at += 4 + 13 + (guint) size;
  *section = (LuCfiSection){
    .bytes = bytes, .size = at, .vaddr = VADDR, .is_eh_frame = TRUE, .address_size = 8
  };
  return fde_at;
}

static void
build_table (guint8 table[20], guint32 fde_offset)
{
  static const guint8 form[] = { 1, 0x1b, 0x03, 0x3b };
  const gint32 values[] = { VADDR - TABLE_VADDR - 4, 1, 0x1000,
                            VADDR - TABLE_VADDR + (gint32) fde_offset };

  memcpy (table, form, sizeof form);
  memcpy (table + 4, values, sizeof values);
}

static void
test_case (gconstpointer data)
{
  const Case *self = data;
  guint8 bytes[256], table[20];
  LuCfiSection section;
  guint n_refused, n_fdes;
  guint fde_at = build (&section, bytes, self->program, self->size);

  build_table (table, fde_at);
  g_assert_cmpint (lu_cfi_guard_check_table (&section, table, sizeof table, TABLE_VADDR, &n_fdes),
                   ==, self->passes);
  g_assert_cmpuint (lu_cfi_guard_walk (&section, &n_refused), ==, self->passes ? 1 : 0);
  g_assert_cmpuint (n_refused, ==, self->passes ? 0 : 1);
  /* A disabled entry stays disabled for walks and tables. */
  g_assert_cmpint (lu_cfi_guard_check_table (&section, table, sizeof table, TABLE_VADDR, &n_fdes),
                   ==, self->passes);
}

static void
test_tables_that_lie (void)
{
  guint8 bytes[256], table[20];
  LuCfiSection section;
  guint n_fdes;
  guint fde_at = build (&section, bytes, NULL, 0);

  for (guint offset = 0; offset < section.size + 8; offset++)
    {
      build_table (table, offset);
      g_assert_cmpint (
          lu_cfi_guard_check_table (&section, table, sizeof table, TABLE_VADDR, &n_fdes), ==,
          offset == fde_at);
    }
  build_table (table, fde_at);
  table[8] = 2; /* one entry more than there are bytes */
  g_assert_false (lu_cfi_guard_check_table (&section, table, sizeof table, TABLE_VADDR, &n_fdes));
  build_table (table, fde_at);
  table[4] ^= 4; /* another .eh_frame */
  g_assert_false (lu_cfi_guard_check_table (&section, table, sizeof table, TABLE_VADDR, &n_fdes));
  for (gsize size = 0; size < sizeof table; size++)
    {
      build_table (table, fde_at);
      g_assert_false (lu_cfi_guard_check_table (&section, table, size, TABLE_VADDR, &n_fdes));
    }
}

static void
test_bad_cies (void)
{
  static const struct
  {
    guint8 at, value; /* in the section */
  } changes[] = {
    { 8, 2 },     /* version */
    { 9, 'e' },   /* augmentation "eR", which is unknown */
    { 10, 'Q' },  /* unknown letter */
    { 14, 0xff }, /* return address register, a long LEB128 or 255 */
    { 15, 99 },   /* augmentation longer than the CIE */
    { 16, 0x9b }, /* indirect addresses */
    { 16, 0x50 }, /* aligned addresses */
    { 17, 0x3f }, /* unknown initial instruction */
  };

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      guint8 bytes[256];
      LuCfiSection section;
      guint n_refused;

      build (&section, bytes, NULL, 0);
      bytes[changes[i].at] = changes[i].value;
      g_test_message ("byte %u", changes[i].at);
      g_assert_cmpuint (lu_cfi_guard_walk (&section, &n_refused), ==, 0);
    }
}

static void
test_cut_everywhere (void)
{
  guint8 bytes[256];
  LuCfiSection section;
  guint n_refused;
  gsize size;

  build (&section, bytes, cases[1].program, cases[1].size);
  size = section.size;
  for (gsize cut = 0; cut < size; cut++)
    {
      build (&section, bytes, cases[1].program, cases[1].size);
      section.size = cut;
      g_assert_cmpuint (lu_cfi_guard_walk (&section, &n_refused), ==, 0);
      g_assert_cmpuint (section.size, <=, cut);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/cfi-guard", cases, test_case);
  g_test_add_func ("/cfi-guard/tables-that-lie", test_tables_that_lie);
  g_test_add_func ("/cfi-guard/bad-cies", test_bad_cies);
  g_test_add_func ("/cfi-guard/cut-everywhere", test_cut_everywhere);
  return g_test_run ();
}
