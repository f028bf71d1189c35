/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-cfi.c - finding entries: encodings, augmentations, lengths, search tables, overlaps, two
 * sections, and damage. */

#include "section.h"

#include "table/compile.h"
#include "table/table.h"

#include <elf.h>
#include <string.h>

#define TEXT 0x3000

static LuCfi *
new_cfi (const Section *eh_frame, const Section *debug_frame)
{
  LuCfiInput input = { .machine = EM_X86_64 };

  if (eh_frame != NULL)
    input.sections[LU_CFI_EH_FRAME] = section_bytes (eh_frame);
  input.sections[LU_CFI_EH_FRAME].text_base = TEXT;
  if (debug_frame != NULL)
    input.sections[LU_CFI_DEBUG_FRAME] = section_bytes (debug_frame);
  return lu_cfi_new (&input);
}

/* Returns the CFA's offset at an address, from the table; 0: unknown. */
static int
offset_at (const LuTable *table, guint64 address)
{
  return lu_table_find (table, address)->cfa_off;
}

static void
test_encodings (void)
{
  const struct
  {
    const char *name;
    Bytes augmentation_data; /* augmentation data of "zR" */
    Bytes head;              /* start 0x4000, size 0x20, no data */
    LuCfiError cfi_error;
  } cases[] = {
    { "absolute", BYTES (1, 0x00), BYTES (0, 0x40, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0),
      0 },
    { "udata2", BYTES (1, 0x02), BYTES (0, 0x40, 0x20, 0, 0), 0 },
    { "udata4", BYTES (1, 0x03), BYTES (0, 0x40, 0, 0, 0x20, 0, 0, 0, 0), 0 },
    { "sdata2", BYTES (1, 0x0a), BYTES (0, 0x40, 0x20, 0, 0), 0 },
    { "uleb128", BYTES (1, 0x01), BYTES (0x80, 0x80, 1, 0x20, 0), 0 },
    { "sleb128", BYTES (1, 0x09), BYTES (0x80, 0x80, 1, 0x20, 0), 0 },
    { "relative to the search table", BYTES (1, 0x33), BYTES (0, 0x40, 0, 0, 0x20, 0, 0, 0, 0), 0 },
    { "aligned", BYTES (5, 0x50, 9, 9, 9, 9),
      BYTES (0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0), 0 },
    { "indirect", BYTES (1, 0x83), BYTES (0, 0x40, 0, 0, 0x20, 0, 0, 0, 0), LU_CFI_ERROR_ENCODING },
    { "relative to text", BYTES (1, 0x23), BYTES (0, 0x10, 0, 0, 0x20, 0, 0, 0, 0), 0 },
    { "relative to a function that is not known yet", BYTES (1, 0x43),
      BYTES (0, 0x40, 0, 0, 0x20, 0, 0, 0, 0), LU_CFI_ERROR_ENCODING },
    { "omitted", BYTES (1, 0xff), BYTES (0, 0x40, 0, 0, 0x20, 0, 0, 0, 0), LU_CFI_ERROR_ENCODING },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Section) section = section_new (TRUE);
      g_autoptr (LuCfi) cfi = NULL;
      const CieSpec spec = { .augmentation_data = cases[i].augmentation_data };
      const LuFde *fdes;
      guint n;

      g_test_message ("%s", cases[i].name);
      section_add_raw_fde (section, section_add_cie (section, &spec), cases[i].head, BYTES (0));
      cfi = new_cfi (section, NULL);
      fdes = lu_cfi_fdes (cfi, LU_CFI_EH_FRAME, &n);
      g_assert_cmpuint (n, ==, cases[i].cfi_error == LU_CFI_ERROR_NONE);
      if (n == 0)
        {
          g_assert_cmpuint (lu_cfi_errors (cfi)[cases[i].cfi_error], ==, 1);
          continue;
        }
      g_assert_cmphex (fdes[0].start, ==, 0x4000);
      g_assert_cmphex (fdes[0].end, ==, 0x4020);
    }
}

static void
test_augmentations (void)
{
  const struct
  {
    const char *name;
    CieSpec spec;
    LuCfiError cfi_error;
  } cases[] = {
    { "signal frame", { .augmentation = "zRS" }, 0 },
    { "language data", { .augmentation = "zRL", .augmentation_data = BYTES (2, 0x1b, 0x1b) }, 0 },
    { "personality of 4 bytes",
      { .augmentation = "zPLR", .augmentation_data = BYTES (7, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b) },
      0 },
    { "personality of 8 bytes",
      { .augmentation = "zPLR",
        .augmentation_data = BYTES (11, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b, 0x1b) },
      0 },
    { "no personality", { .augmentation = "zPR", .augmentation_data = BYTES (2, 0xff, 0x1b) }, 0 },
    { "key of aarch64", { .augmentation = "zRB" }, 0 },
    { "more data than letters", { .augmentation_data = BYTES (3, 0x1b, 9, 9) }, 0 },
    { "64-bit length", { .is_wide = TRUE }, 0 },
    { "version 3", { .version = 3 }, 0 },
    { "version 4", { .version = 4 }, 0 },
    { "version 2", { .version = 2 }, LU_CFI_ERROR_VERSION },
    { "an unknown letter", { .augmentation = "zRX" }, LU_CFI_ERROR_AUGMENTATION },
    { "tagged memory of aarch64", { .augmentation = "zRBG" }, 0 },
    { "less data than letters", { .augmentation = "zRL" }, LU_CFI_ERROR_TRUNCATED },
    { "more data than bytes", { .augmentation_data = BYTES (0xff, 0x7f) }, LU_CFI_ERROR_TRUNCATED },
    { "return address elsewhere", { .return_column = 17 }, LU_CFI_ERROR_RETURN_COLUMN },
    { "an unknown initial instruction", { .program = BYTES (0x17) }, LU_CFI_ERROR_OPCODE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Section) section = section_new (TRUE);
      g_autoptr (LuCfi) cfi = NULL;
      g_autoptr (LuTable) table = NULL;
      CieSpec good = { 0 };

      g_test_message ("%s", cases[i].name);
      section_add_fde (section, section_add_cie (section, &cases[i].spec), 0x4000, 0x20, BYTES (0));
      section_add_fde (section, section_add_cie (section, &good), 0x5000, 0x20, BYTES (0x0e, 24));
      cfi = new_cfi (section, NULL);
      table = lu_table_new (cfi);
      g_assert_cmpuint (table->stats.cfi_errors[cases[i].cfi_error], ==, cases[i].cfi_error != 0);
      g_assert_cmpint (offset_at (table, 0x4000), ==, cases[i].cfi_error != 0 ? 0 : 8);
      g_assert_cmpint (offset_at (table, 0x5000), ==, 24); /* not hurt by its neighbour */
    }
}

/* Augmentation "eh" of gcc 2: 8 more bytes before the alignments, absolute pointers, no lengths. */
static void
test_oldest_form (void)
{
  const Bytes head = BYTES (0, 0x40, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0);
  static const guint8 cie[] = { 24, 0, 0, 0, 0, 0, 0, 0,    1,  'e',  'h', 0, 9,    9,
                                9,  9, 9, 9, 9, 9, 1, 0x78, 16, 0x0c, 7,   8, 0x90, 1 };
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;

  g_assert_cmpuint (cie[0] + 4, ==, sizeof cie);
  g_byte_array_append (section->bytes, cie, sizeof cie);
  section_add_raw_fde (section, 0, head, BYTES (0x0e, 24));
  cfi = new_cfi (section, NULL);
  table = lu_table_new (cfi);
  g_assert_cmpint (offset_at (table, 0x4000), ==, 24);
}

/* Code of aarch64 that keeps its return address in x15, then on the stack, then in x15 again; x30
 * does not matter there. */
static void
test_return_column (void)
{
  const CieSpec spec = { .return_column = 15, .program = BYTES (0x0c, 31, 0) };
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  LuCfiInput input = { .machine = EM_AARCH64 };
  const struct lu_rule *rule;

  section_add_fde (
      section, section_add_cie (section, &spec), 0x4000, 0x20,
      BYTES (0x9e, 2, 0x44, 0x8f, 1, 0x0e, 16, 0x44, 0xcf, 0x44, 0x8f, 1, 0x44, 0x08, 15));
  input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
  cfi = lu_cfi_new (&input);
  table = lu_table_new (cfi);
  for (guint i = 0; i < 5; i++)
    {
      rule = lu_table_find (table, 0x4000 + 4 * i);
      g_assert_cmpint (rule->ra_kind, ==, i % 2 == 1 ? LU_RA_AT_CFA : LU_RA_REGISTER);
      if (i % 2 == 1)
        g_assert_cmpint (rule->ra_off, ==, -1);
      else
        g_assert_cmpint (rule->aux, ==, 15);
    }
}

/* Code of aarch64 that a procedure linkage table has jumped to, after pushing x16 and x30, as glibc
 * describes it: x30 is saved above the CFA, and 16 bytes are left out everywhere. */
static void
test_lacks_push (void)
{
  const CieSpec spec = { .return_column = 30, .program = BYTES (0x0c, 31, 0) };
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  LuCfiInput input = { .machine = EM_AARCH64 };
  guint cie = section_add_cie (section, &spec);
  LuCfaRun *run = g_new0 (LuCfaRun, 1);

  section_add_fde (section, cie, 0x4000, 0x10, BYTES (0x44, 0x11, 30, 0x7f, 0x44, 0x0e, 0xd0, 1));
  section_add_fde (section, cie, 0x4010, 0x10, BYTES (0x44, 0x0e, 16, 0x9e, 1));
  input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
  cfi = lu_cfi_new (&input);
  table = lu_table_new (cfi);
  for (guint at = 0; at < 0x20; at++)
    {
      const struct lu_rule *rule = lu_table_find (table, 0x4000 + at);
      struct lu_rule single = lu_compile_at (cfi, run, 0x4000 + at);

      g_assert_cmpint (rule->cfa_kind, ==, at < 0x10 ? LU_CFA_COMPLEX : LU_CFA_SP);
      g_assert_cmpint (single.cfa_kind, ==, rule->cfa_kind);
    }
  g_free (run);
}

/* The FDEs of a section are in any order, but found and compiled in order of address. */
static void
test_order (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  guint64 from, to;
  guint cie = section_add_cie (section, &(CieSpec){ 0 });
  LuFde fde;

  section_add_fde (section, cie, 0x5000, 0x20, BYTES (0x0e, 32));
  section_add_fde (section, cie, 0x4000, 0x20, BYTES (0x0e, 16));
  section_add_fde (section, cie, 0x4010, 0x08, BYTES (0x0e, 24));  /* inside the one above */
  section_add_fde (section, cie, 0x4fff0, 0x20, BYTES (0x0e, 40)); /* over the end of a page */
  section_add_fde (section, cie, 0x90000, 0, BYTES (0x0e, 48));    /* outside the code */
  cfi = new_cfi (section, NULL);
  table = lu_table_new (cfi);
  g_assert_cmpuint (table->stats.n_fdes, ==, 4);
  g_assert_cmpint (offset_at (table, 0x3fff), ==, 0);
  g_assert_cmpint (offset_at (table, 0x4000), ==, 16);
  g_assert_cmpint (offset_at (table, 0x400f), ==, 16);
  g_assert_cmpint (offset_at (table, 0x4010), ==, 24);
  g_assert_cmpint (offset_at (table, 0x4018), ==, 0); /* the one that starts last covers it */
  g_assert_cmpint (offset_at (table, 0x5000), ==, 32);
  g_assert_cmpint (offset_at (table, 0x5020), ==, 0);
  g_assert_cmpint (offset_at (table, 0x4ffff), ==, 40);
  g_assert_cmpint (offset_at (table, 0x50000), ==, 40);
  g_assert_cmpint (offset_at (table, 0x50010), ==, 0);
  g_assert_cmpint (offset_at (table, G_MAXUINT64), ==, 0);
  for (guint i = 1; i < LU_N_CFI_ERRORS; i++)
    g_assert_cmpuint (table->stats.cfi_errors[i], ==, 0);

  g_assert_true (lu_cfi_find (cfi, 0x400f, &fde, &from, &to));
  g_assert_cmphex (fde.start, ==, 0x4000);
  g_assert_cmphex (from, ==, 0x4000);
  g_assert_cmphex (to, ==, 0x4010);
  g_assert_false (lu_cfi_find (cfi, 0x4018, &fde, &from, &to));
  g_assert_false (lu_cfi_find (cfi, 0x3fff, &fde, &from, &to));
}

/* .eh_frame comes first; .debug_frame fills the gaps, in several ranges if necessary. */
static void
test_two_sections (void)
{
  g_autoptr (Section) eh_frame = section_new (TRUE), debug_frame = section_new (FALSE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  guint64 from, to;
  guint cie = section_add_cie (eh_frame, &(CieSpec){ 0 });
  LuFde fde;

  section_add_fde (eh_frame, cie, 0x4010, 0x10, BYTES (0x0e, 16));
  section_add_fde (eh_frame, cie, 0x4030, 0x10, BYTES (0x0e, 24));
  cie = section_add_cie (debug_frame, &(CieSpec){ 0 });
  section_add_fde (debug_frame, cie, 0x4000, 0x60, BYTES (0x0e, 32, 0x02, 0x48, 0x0e, 40));
  section_add_fde (debug_frame, cie, 0x4070, 0x10, BYTES (0x0e, 48));
  cfi = new_cfi (eh_frame, debug_frame);
  table = lu_table_new (cfi);
  for (guint64 address = 0x4000; address < 0x4080; address++)
    {
      int want = address < 0x4010   ? 32
                 : address < 0x4020 ? 16
                 : address < 0x4030 ? 32
                 : address < 0x4040 ? 24
                 : address < 0x4048 ? 32
                 : address < 0x4060 ? 40
                 : address < 0x4070 ? 0
                                    : 48;

      g_assert_cmpint (offset_at (table, address), ==, want);
      g_assert_cmpint (lu_cfi_find (cfi, address, &fde, &from, &to), ==, want != 0);
    }
  g_assert_true (lu_cfi_find (cfi, 0x4025, &fde, &from, &to));
  g_assert_cmphex (from, <=, 0x4025);
  g_assert_cmphex (to, ==, 0x4030);
}

/* With a search table, an FDE that is not in it is not found. */
static void
test_search_table (void)
{
  g_autoptr (Section) section = section_new (TRUE), table_bytes = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL, without = NULL;
  g_autoptr (LuTable) table = NULL;
  const guint32 table_vaddr = SECTION_VADDR - 0x1000;
  LuCfiInput input = { .machine = EM_X86_64 };
  guint64 from, to;
  guint cie = section_add_cie (section, &(CieSpec){ 0 });
  guint first = section_add_fde (section, cie, 0x4000, 0x20, BYTES (0x0e, 16));
  guint second = section_add_fde (section, cie, 0x5000, 0x20, BYTES (0x0e, 24));
  LuFde fde;

  section_add_fde (section, cie, 0x6000, 0x20, BYTES (0x0e, 32));
  section_add_u32 (table_bytes, 0x3b031b01);
  section_add_u32 (table_bytes, 0x1000 - 4);
  section_add_u32 (table_bytes, 2);
  section_add_u32 (table_bytes, 0x4000 - table_vaddr);
  section_add_u32 (table_bytes, 0x1000 + first);
  section_add_u32 (table_bytes, 0x5000 - table_vaddr);
  section_add_u32 (table_bytes, 0x1000 + second);
  input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
  input.table = table_bytes->bytes->data;
  input.table_size = table_bytes->bytes->len;
  input.table_vaddr = table_vaddr;
  cfi = lu_cfi_new (&input);
  g_assert_true (lu_cfi_find (cfi, 0x5010, &fde, &from, &to));
  g_assert_cmphex (fde.offset, ==, second);
  g_assert_true (lu_cfi_find (cfi, 0x4000, &fde, &from, &to));
  g_assert_cmphex (to, ==, 0x4020);
  g_assert_false (lu_cfi_find (cfi, 0x6000, &fde, &from, &to));
  g_assert_false (lu_cfi_find (cfi, 0x3fff, &fde, &from, &to));
  table = lu_table_new (cfi);
  g_assert_cmpint (offset_at (table, 0x401f), ==, 16);
  g_assert_cmpint (offset_at (table, 0x6000), ==, 0);
  /* With a wrong count there is no search table, so all entries are read. */
  table_bytes->bytes->data[8] = 3;
  without = lu_cfi_new (&input);
  g_assert_true (lu_cfi_find (without, 0x6000, &fde, &from, &to));
}

/* A truncated section keeps its complete entries. */
static void
test_truncation (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  guint cie = section_add_cie (section, &(CieSpec){ 0 });
  guint ends[3];

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      section_add_fde (section, cie, 0x4000 + i * 0x20, 0x20, BYTES (0x0e, 16, 0x41, 0x0e, 24));
      ends[i] = section->bytes->len;
    }
  for (guint size = section->bytes->len; size > 0; size--)
    {
      g_autoptr (LuCfi) cfi = NULL;
      g_autofree guint8 *copy = g_memdup2 (section->bytes->data, size);
      LuCfiInput input = { .machine = EM_X86_64 };
      guint n, want = 0;

      input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
      input.sections[LU_CFI_EH_FRAME].bytes = copy;
      input.sections[LU_CFI_EH_FRAME].size = size;
      cfi = lu_cfi_new (&input);
      for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
        want += ends[i] <= size;
      lu_cfi_fdes (cfi, LU_CFI_EH_FRAME, &n);
      g_assert_cmpuint (n, ==, want);
    }
}

/* Code outside the file's segments, and tables with one rule too many. */
static void
test_limits (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  const LuCodeRange range = { 0x4000, 0x4000 + 16 * (LU_MAX_RULES + 10) };
  LuCfiInput input = { .machine = EM_X86_64, .ranges = &range, .n_ranges = 1 };
  guint cie = section_add_cie (section, &(CieSpec){ 0 });

  for (guint i = 0; i < LU_MAX_RULES + 10; i++)
    {
      guint8 program[] = { 0x0e, 0x80 | (i & 0x7f), (guint8) (i >> 7) };

      section_add_fde (section, cie, range.start + 16 * i, 16, (Bytes){ program, sizeof program });
    }
  section_add_fde (section, cie, range.end - 8, 16, BYTES (0));
  input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
  cfi = lu_cfi_new (&input);
  table = lu_table_new (cfi);
  g_assert_cmpuint (table->n_rules, ==, LU_MAX_RULES);
  g_assert_true (table->stats.is_overflown);
  g_assert_cmpuint (table->stats.cfi_errors[LU_CFI_ERROR_RANGE], ==, 1);
  g_assert_cmpint (offset_at (table, range.start + 16 * 100), ==, 100);
  g_assert_cmpuint (lu_table_find (table, range.end - 1)->cfa_kind, ==, LU_CFA_COMPLEX);
  g_assert_null (lu_cfi_new (&(LuCfiInput){ .machine = EM_386 }));
}

/* Compares random rows with a linear search. */
static void
test_find_row (void)
{
  enum
  {
    N_PAGES = 5,
    N_ROWS = 300
  };
  guint32 words[N_ROWS + 1] = { 0 }, pages[N_PAGES + 1] = { 0 };
  guint64 addresses[N_ROWS];
  struct lu_rows rows = { .base = 0x30000, .n_pages = N_PAGES, .pages = pages, .rows = words + 1 };
  guint64 address = rows.base + 77;
  guint last = 0;

  for (guint i = 0; i < N_ROWS; i++)
    {
      addresses[i] = address;
      words[i + 1] = LU_ROW (address, i + 2);
      for (guint page = (guint) ((address - rows.base) >> LU_PAGE_SHIFT) + 1; page <= N_PAGES;
           page++)
        pages[page]++;
      /* Page 2 stays empty. */
      address += i == 150 ? 2 * LU_PAGE_BYTES - 128 : (guint) g_test_rand_int_range (1, 32);
      if (address >= rows.base + N_PAGES * LU_PAGE_BYTES)
        address = rows.base + N_PAGES * LU_PAGE_BYTES - 1 - (N_ROWS - i);
    }
  for (address = rows.base; address < rows.base + N_PAGES * LU_PAGE_BYTES; address++)
    {
      while (last < N_ROWS && addresses[last] <= address)
        last++;
      g_assert_cmpuint (lu_rows_find (&rows, address), ==, last > 0 ? last + 1 : 0);
    }
  g_assert_cmpuint (lu_rows_find (&rows, rows.base - 1), ==, LU_RULE_NONE);
  g_assert_cmpuint (lu_rows_find (&rows, address), ==, LU_RULE_NONE);
  g_assert_cmpuint (lu_rows_find (&(struct lu_rows){ 0 }, 0), ==, LU_RULE_NONE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cfi/encodings", test_encodings);
  g_test_add_func ("/cfi/augmentations", test_augmentations);
  g_test_add_func ("/cfi/oldest-form", test_oldest_form);
  g_test_add_func ("/cfi/return-column", test_return_column);
  g_test_add_func ("/cfi/lacks-push", test_lacks_push);
  g_test_add_func ("/cfi/order", test_order);
  g_test_add_func ("/cfi/two-sections", test_two_sections);
  g_test_add_func ("/cfi/search-table", test_search_table);
  g_test_add_func ("/cfi/truncation", test_truncation);
  g_test_add_func ("/cfi/limits", test_limits);
  g_test_add_func ("/cfi/find-row", test_find_row);
  return g_test_run ();
}
