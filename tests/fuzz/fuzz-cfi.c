/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-cfi.c - the CFI compiler. Input: a byte of choices, two bytes with the length of the search
 * table, the table, the section.
 *
 * The whole table must be well-formed, it must agree at each address with compiling the single FDE
 * there, and each FDE alone must agree with libdw. */

#include "fuzz.h"
#include "oracle.h"

#include "table/compile.h"
#include "table/rule.h"
#include "table/table.h"

#include <elf.h>
#include <string.h>

#define HEAD          3
#define TABLE_VADDR   0x10000
#define SECTION_VADDR 0x20000
#define MAX_PROBES    64

enum
{
  IS_AARCH64 = 1 << 0,
  IS_DEBUG_FRAME = 1 << 1,
};

static void
check_rows (const LuTable *table)
{
  const struct lu_rows *rows = &table->rows;
  guint rule = rows->rows[-1];

  g_assert_cmpuint (rule, ==, LU_RULE_NONE);
  g_assert_cmpuint (rows->pages[0], ==, 0);
  g_assert_cmpuint (rows->pages[rows->n_pages], ==, table->n_rows);
  for (guint page = 0; page < rows->n_pages; page++)
    {
      g_assert_cmpuint (rows->pages[page], <=, rows->pages[page + 1]);
      for (guint i = rows->pages[page]; i < rows->pages[page + 1]; i++)
        {
          if (i > rows->pages[page])
            g_assert_cmpuint (rows->rows[i] & 0xffff, >, rows->rows[i - 1] & 0xffff);
          g_assert_cmpuint (rows->rows[i] >> 16, !=, rule);
          rule = rows->rows[i] >> 16;
          g_assert_cmpuint (rule, <, table->n_rules);
        }
    }
}

/* Returns the rule that compiling only the FDE at the address gives. */
static struct lu_rule
compile_one (LuCompiler *compiler, guint64 address)
{
  const LuRawRows *rows = &compiler->fde_rows;
  guint rule = LU_RULE_NONE;
  guint64 from, to;
  LuFde fde;

  if (!lu_cfi_find (compiler->cfi, address, &fde, &from, &to))
    return compiler->rules.rules[LU_RULE_NONE];
  g_assert_cmpuint (from, <=, address);
  g_assert_cmpuint (to, >, address);
  lu_compiler_run (compiler, &fde, from, to);
  for (guint i = 0; i < rows->n && rows->rows[i].address <= address; i++)
    rule = rows->rows[i].rule;
  return compiler->rules.rules[rule];
}

static void
compare (const LuCfiInput *input, const LuTable *table)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new (input);
  g_autoptr (LuCompiler) compiler = lu_compiler_new (cfi);
  guint step = MAX (table->n_rows / MAX_PROBES, 1), page = 0;

  for (guint i = 0; i < table->n_rows; i += step)
    {
      struct lu_rule alone;
      guint64 address;

      while (table->rows.pages[page + 1] <= i)
        page++;
      address = table->rows.base + ((guint64) page << LU_PAGE_SHIFT)
                + (table->rows.rows[i] & (LU_PAGE_BYTES - 1));
      alone = compile_one (compiler, address);
      g_assert_cmpmem (&alone, sizeof alone, lu_table_find (table, address), sizeof alone);
    }
}

static void
print_rules (const LuTable *table, const LuArch *arch)
{
  for (guint i = 0; i < table->n_rules; i++)
    g_free (lu_rule_to_text (&table->rules[i], arch));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  g_autofree guint8 *head = NULL, *body = NULL;
  LuCfiInput input = { .machine = EM_X86_64 };
  LuCfiBytes *section;
  guint16 table_size;

  if (size < HEAD)
    return 0;
  memcpy (&table_size, data + 1, sizeof table_size);
  table_size = (guint16) MIN (table_size, size - HEAD);
  /* The copies have exactly the right size, so that a sanitizer sees an access beyond them. */
  head = g_memdup2 (data + HEAD, table_size);
  body = g_memdup2 (data + HEAD + table_size, size - HEAD - table_size);
  if (body == NULL)
    return 0;
  if ((data[0] & IS_AARCH64) != 0)
    input.machine = EM_AARCH64;
  section = &input.sections[(data[0] & IS_DEBUG_FRAME) != 0 ? LU_CFI_DEBUG_FRAME : LU_CFI_EH_FRAME];
  *section = (LuCfiBytes){
    .bytes = body,
    .size = size - HEAD - table_size,
    .is_eh_frame = (data[0] & IS_DEBUG_FRAME) == 0,
    .vaddr = (data[0] & IS_DEBUG_FRAME) == 0 ? SECTION_VADDR : 0,
    .data_base = TABLE_VADDR,
  };
  input.table = head;
  input.table_size = table_size;
  input.table_vaddr = TABLE_VADDR;
  cfi = lu_cfi_new (&input);
  table = lu_table_new (cfi);
  check_rows (table);
  print_rules (table, lu_cfi_arch (cfi));
  /* A whole table leaves out some things that a single FDE may have: code beyond 4 GiB, work beyond
   * the budget, one rule too many, entries that the order of the search table hides. */
  if (table->stats.cfi_errors[LU_CFI_ERROR_BUDGET] == 0
      && table->stats.cfi_errors[LU_CFI_ERROR_RANGE] == 0 && !table->stats.is_overflown
      && table_size == 0)
    compare (&input, table);
  oracle_compare (&input, (data[0] & IS_DEBUG_FRAME) != 0 ? LU_CFI_DEBUG_FRAME : LU_CFI_EH_FRAME);
  return 0;
}
