/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-store.c - decodes stored tables. Input: the bytes of a stored file. They are decoded
 * unchanged, and again with the file and maker that they name and a correct checksum. A resulting
 * table must find the rule of each of its rows, must not mislead a step, and must encode to the
 * same bytes. */

#include "fuzz.h"

#include "lu/step.h"
#include "table/store-format.h"

#include <string.h>

#define MAX_ROWS_ASKED 4096

static int
read_stack (void *data, uint64_t address, uint64_t *value)
{
  *value = address;
  return address % 3 != 0;
}

static int
read_sampled (void *data, uint32_t number, uint64_t *value)
{
  *value = number;
  return number < 17;
}

/* The rows of a page, one after another. */
static guint32
find_slowly (const LuTable *table, guint64 address)
{
  const struct lu_rows *rows = &table->rows;
  guint64 page = (address - rows->base) >> LU_PAGE_SHIFT;
  guint32 found = LU_RULE_NONE;

  if (address < rows->base || page >= rows->n_pages)
    return LU_RULE_NONE;
  if (rows->pages[page] > 0)
    found = rows->rows[rows->pages[page] - 1] >> 16;
  for (guint32 i = rows->pages[page]; i < rows->pages[page + 1]; i++)
    if ((rows->rows[i] & 0xffff) <= (address & 0xffff))
      found = rows->rows[i] >> 16;
  return found;
}

static void
check_place (const LuTable *table, guint64 address)
{
  guint32 rule = lu_rows_find (&table->rows, address);
  struct lu_regs regs = { .pc = address, .sp = 64, .fp = 128, .known = LU_KNOWN_FP };

  g_assert_cmpuint (rule, ==, find_slowly (table, address));
  g_assert_cmpuint (rule, <, table->n_rules);
  regs.address_mask = G_MAXUINT64;
  lu_step (&regs, &table->rules[rule], read_stack, read_sampled, NULL);
}

static void
check_table (const LuTable *table)
{
  const struct lu_rows *rows = &table->rows;
  guint n = 0;

  check_place (table, rows->base - 1);
  check_place (table, rows->base + ((guint64) rows->n_pages << LU_PAGE_SHIFT));
  for (guint page = 0; page < rows->n_pages && n < MAX_ROWS_ASKED; page++, n++)
    {
      guint64 start = rows->base + ((guint64) page << LU_PAGE_SHIFT);

      check_place (table, start);
      for (guint32 i = rows->pages[page]; i < rows->pages[page + 1] && n < MAX_ROWS_ASKED; i++, n++)
        {
          check_place (table, start + (rows->rows[i] & (LU_PAGE_BYTES - 1)));
          check_place (table, start + (rows->rows[i] & (LU_PAGE_BYTES - 1)) - 1);
        }
    }
}

/* Only bytes that the format does not use may differ. */
static void
check_bytes (const LuTable *table, const guint8 *bytes, gsize size)
{
  LuStoreHeader wanted, header;
  g_autofree guint8 *again = NULL;
  gsize again_size;

  memcpy (&wanted, bytes, sizeof wanted);
  again = lu_store_encode (table, wanted.identity, wanted.maker, &again_size);
  memcpy (&header, again, sizeof header);
  g_assert_cmpuint (again_size, ==, size);
  g_assert_cmpmem (again + sizeof header, size - sizeof header, bytes + sizeof header,
                   size - sizeof header);
  wanted.flags &= LU_STORE_OVERFLOWN;
  memcpy (wanted.checksum, header.checksum, sizeof wanted.checksum);
  memset (wanted.reserved, 0, sizeof wanted.reserved);
  g_assert_cmpmem (&header, sizeof header, &wanted, sizeof wanted);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree guint8 *bytes = NULL;
  const guint8 nobody[LU_DIGEST_SIZE] = { 0 };
  LuStoreHeader header = { 0 };
  LuStoreResult result;
  LuTable *table;

  lu_table_unref (lu_store_decode (g_memdup2 (data, size), size, nobody, nobody, &result));
  g_assert_cmpint (result, !=, LU_STORE_MISSING);
  if (size < sizeof header)
    {
      g_assert_cmpint (result, ==, LU_STORE_SIZE);
      return 0;
    }
  bytes = g_memdup2 (data, size);
  memcpy (&header, bytes, sizeof header);
  header.n_cfi_errors = LU_N_CFI_ERRORS;
  memcpy (bytes, &header, sizeof header);
  lu_store_seal (bytes, size);
  table = lu_store_decode (g_memdup2 (bytes, size), size, header.identity, header.maker, &result);
  g_assert_true ((table != NULL) == (result == LU_STORE_LOADED));
  if (table != NULL)
    {
      check_table (table);
      check_bytes (table, bytes, size);
      lu_table_unref (table);
    }
  return 0;
}
