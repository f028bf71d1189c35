/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-bounds.c - call frame information made to take long: entries that share bytes, programs of
 * megabytes, a thousand ranges of code. Each must be done in a moment; without bounds each took
 * minutes or hours. Time is CPU time of the thread. */

#include "elf/cfi-guard.h"
#include "section.h"
#include "table/compile.h"
#include "table/table.h"

#include "../../tries.h"

#include <elf.h>
#include <string.h>
#include <time.h>

#define CODE 0x400000
/* CPU time, on a shared machine; the longest of these takes 0.2 s. Sanitizers that also count lines
 * take 140 times as long for a lookup, and make fewer of them. */
#define MAX_SECONDS TEST_TRIES (10.0, 20.0)
#define N_LOOKUPS   TEST_TRIES (1000, 100)
#define N_FDES      TEST_TRIES (1000000, 200000)
#define TABLE_VADDR 0x10000

static double
seconds (void)
{
  struct timespec spec;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &spec);
  return (double) spec.tv_sec + (double) spec.tv_nsec / 1e9;
}

static void
check_time (double began, const char *what)
{
  double spent = seconds () - began;

  g_test_message ("%s: %.3f s", what, spent);
  g_assert_cmpfloat (spent, <, MAX_SECONDS);
}

static LuCfi *
make_cfi (const Section *section, const GByteArray *table)
{
  LuCfiInput input = { .machine = EM_X86_64 };

  input.sections[section->is_eh_frame ? LU_CFI_EH_FRAME : LU_CFI_DEBUG_FRAME] =
      section_bytes (section);
  if (table != NULL)
    {
      input.table = table->data;
      input.table_size = table->len;
      input.table_vaddr = TABLE_VADDR;
    }
  return lu_cfi_new (&input);
}

static void
add_word (GByteArray *bytes, guint32 word)
{
  g_byte_array_append (bytes, (const guint8 *) &word, sizeof word);
}

/* A search table of n entries that all lead to the FDE at `offset`. */
static GByteArray *
make_table (guint n, guint offset)
{
  GByteArray *table = g_byte_array_new ();

  g_byte_array_append (table, (const guint8 *) "\1\x1b\3\x3b", 4);
  add_word (table, SECTION_VADDR - (TABLE_VADDR + 4));
  add_word (table, n);
  for (guint i = 0; i < n; i++)
    {
      add_word (table, CODE - TABLE_VADDR);
      add_word (table, SECTION_VADDR + offset - TABLE_VADDR);
    }
  return table;
}

/* advance_loc 1, def_cfa_offset 16, again and again. */
static Bytes
make_program (guint8 **memory, gsize size)
{
  *memory = g_malloc (size);
  for (gsize i = 0; i < size; i++)
    (*memory)[i] = "\x41\x0e\x10"[i % 3];
  return (Bytes){ *memory, size };
}

/* Looks up one address after another in a function with a long program. */
static void
look_up (gsize program_size, const char *what)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autofree guint8 *memory = NULL;
  g_autofree LuCfaRun *run = g_new (LuCfaRun, 1);
  g_autoptr (LuCfi) cfi = NULL;
  guint cie = section_add_cie (section, &(CieSpec){ 0 });
  double began;

  section_add_fde (section, cie, CODE, 16u << 20, make_program (&memory, program_size));
  section_add_u32 (section, 0);
  cfi = make_cfi (section, NULL);
  began = seconds ();
  for (guint i = 0; i < N_LOOKUPS; i++)
    lu_compile_at (cfi, run, CODE + (10u << 20) + i);
  check_time (began, what);
}

static void
test_long_program (void)
{
  look_up (32u << 20, "places in a program of 32 MB");
  look_up (65000, "places in a program of 65 KB");
}

/* 100,000 entries of a search table for one FDE with the longest allowed program. */
static void
test_shared_fde (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (GByteArray) table = NULL;
  g_autofree guint8 *memory = NULL;
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) compiled = NULL;
  guint cie = section_add_cie (section, &(CieSpec){ 0 }), fde, n_fdes;
  LuCfiSection guarded;
  gboolean is_good;
  double began;

  fde = section_add_fde (section, cie, CODE, 1u << 20, make_program (&memory, 60000));
  section_add_u32 (section, 0);
  table = make_table (100000, fde);
  cfi = make_cfi (section, table);
  began = seconds ();
  compiled = lu_table_new (cfi);
  check_time (began, "compiling");
  guarded = (LuCfiSection){
    .bytes = section->bytes->data,
    .size = section->bytes->len,
    .vaddr = SECTION_VADDR,
    .is_eh_frame = TRUE,
    .address_size = 8,
  };
  began = seconds ();
  is_good = lu_cfi_guard_check_table (&guarded, table->data, table->len, TABLE_VADDR, &n_fdes);
  check_time (began, "guarding");
  g_assert_false (is_good);
}

/* 2,000 FDEs, each with a CIE of its own. The CIEs have 8 MB of instructions and overlap, 16 bytes
 * apart, before the FDEs. */
static void
test_shared_cies (void)
{
  const guint n = 2000, cie_size = 8u << 20;
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (LuCfi) cfi = NULL;
  LuCfiInput input = { .machine = EM_X86_64 };
  double began;
  guint n_fdes;

  for (guint i = 0; i < n; i++)
    {
      add_word (bytes, cie_size);
      add_word (bytes, 0);
      /* version, no letters, factors 1 and -8, column 16; absolute pointers */
      g_byte_array_append (bytes, (const guint8[]){ 1, 0, 1, 0x78, 16, 0, 0, 0 }, 8);
    }
  g_byte_array_set_size (bytes, cie_size + 4);
  memset (bytes->data + n * 16, 0, cie_size + 4 - n * 16); /* DW_CFA_nop */
  for (guint i = 0; i < n; i++)
    {
      guint64 range[] = { CODE + i * 16, 16 };

      add_word (bytes, 4 + sizeof range);
      add_word (bytes, bytes->len - i * 16);
      g_byte_array_append (bytes, (const guint8 *) range, sizeof range);
    }
  add_word (bytes, 0);
  input.sections[LU_CFI_EH_FRAME] = (LuCfiBytes){
    .bytes = bytes->data,
    .size = bytes->len,
    .vaddr = SECTION_VADDR,
    .is_eh_frame = TRUE,
  };
  cfi = lu_cfi_new (&input);
  began = seconds ();
  lu_cfi_fdes (cfi, LU_CFI_EH_FRAME, &n_fdes);
  check_time (began, "2000 CIEs of 8 MB");
  g_assert_cmpuint (lu_cfi_errors (cfi)[LU_CFI_ERROR_BUDGET], >, 0);
}

/* A million FDEs on a thousand ranges of code. */
static void
test_many_ranges (void)
{
  const guint n_ranges = 1000, n_fdes = N_FDES;
  g_autoptr (Section) section = section_new (TRUE);
  g_autofree LuCodeRange *ranges = g_new (LuCodeRange, n_ranges);
  LuCfiInput input = { .machine = EM_X86_64, .ranges = ranges, .n_ranges = n_ranges };
  g_autoptr (LuCfi) cfi = NULL;
  guint cie = section_add_cie (section, &(CieSpec){ 0 }), n;
  double began;

  for (guint i = 0; i < n_ranges; i++)
    ranges[i] = (LuCodeRange){ CODE + (n_ranges - i) * 0x1000, CODE + (n_ranges - i + 1) * 0x1000 };
  for (guint i = 0; i < n_fdes; i++)
    section_add_fde (section, cie, CODE + 0x1000, 0x10, BYTES (0));
  section_add_u32 (section, 0);
  input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
  cfi = lu_cfi_new (&input);
  began = seconds ();
  lu_cfi_fdes (cfi, LU_CFI_EH_FRAME, &n);
  check_time (began, "a million FDEs on a thousand ranges");
  g_assert_cmpuint (n, ==, n_fdes);
}

/* A million FDEs at one address, each with a program as long as its bytes allow. */
static void
test_overlap (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  guint cie = section_add_cie (section, &(CieSpec){ 0 });
  double began;

  for (guint i = 0; i < N_FDES; i++)
    section_add_fde (section, cie, CODE + (i & 0xffff), 0x100000, BYTES (0x41, 0x0e, 0x10));
  section_add_u32 (section, 0);
  cfi = make_cfi (section, NULL);
  began = seconds ();
  table = lu_table_new (cfi);
  check_time (began, "a million FDEs that overlap");
  g_assert_cmpuint (table->rows.n_pages, <=, (2u << 20) / LU_PAGE_BYTES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bounds/long-program", test_long_program);
  g_test_add_func ("/bounds/shared-fde", test_shared_fde);
  g_test_add_func ("/bounds/shared-cies", test_shared_cies);
  g_test_add_func ("/bounds/many-ranges", test_many_ranges);
  g_test_add_func ("/bounds/overlap", test_overlap);
  return g_test_run ();
}
