/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-format.c - encodes tables as bytes and decodes them; see store-format.h. */

#include "table/store-format.h"

static void
fill_header (LuStoreHeader *header, const LuTable *table)
{
  const LuTableStats *stats = &table->stats;

  *header = (LuStoreHeader){
    .version = LU_STORE_VERSION,
    .header_size = sizeof *header,
    .base = table->rows.base,
    .n_pages = table->rows.n_pages,
    .n_rows = table->n_rows,
    .n_rules = table->n_rules,
    .n_starts = table->n_starts,
    .n_jumps = table->n_jumps,
    .flags =
        (stats->is_overflown ? LU_STORE_OVERFLOWN : 0) | (stats->has_extra ? LU_STORE_EXTRA : 0),
    .extra_bytes = stats->extra_bytes,
    .code_bytes = stats->code_bytes,
    .complex_bytes = stats->complex_bytes,
    .leaf_bytes = stats->leaf_bytes,
    .unknown_fp_bytes = stats->unknown_fp_bytes,
    .n_fdes = stats->n_fdes,
    .n_cfi_errors = LU_N_CFI_ERRORS,
  };
  memcpy (header->magic, LU_STORE_MAGIC, sizeof header->magic);
  for (guint i = 0; i < LU_N_CFI_ERRORS; i++)
    header->cfi_errors[i] = stats->cfi_errors[i];
}

void
lu_store_seal (guint8 *bytes, gsize size)
{
  lu_digest (bytes + LU_STORE_SEALED_AT, size - LU_STORE_SEALED_AT,
             bytes + G_STRUCT_OFFSET (LuStoreHeader, checksum));
}

guint8 *
lu_store_encode (const LuTable *table, const guint8 identity[LU_DIGEST_SIZE],
                 const guint8 maker[LU_DIGEST_SIZE], gsize *size)
{
  LuStoreHeader header;
  guint8 *bytes;

  fill_header (&header, table);
  memcpy (header.identity, identity, sizeof header.identity);
  memcpy (header.maker, maker, sizeof header.maker);
  *size = sizeof header + table->stats.table_bytes;
  bytes = g_malloc (*size);
  memcpy (bytes, &header, sizeof header);
  memcpy (bytes + sizeof header, lu_table_block (table), table->stats.table_bytes);
  lu_store_seal (bytes, *size);
  return bytes;
}

static LuStoreResult
check (const LuStoreHeader *header, const guint8 *bytes, gsize size, const guint8 *identity,
       const guint8 *maker)
{
  guint8 checksum[LU_DIGEST_SIZE];

  if (memcmp (header->magic, LU_STORE_MAGIC, sizeof header->magic) != 0
      || header->version != LU_STORE_VERSION || header->header_size != sizeof *header)
    return LU_STORE_FORMAT;
  /* Comparing these is cheaper than computing the checksum, so it comes first. */
  if (memcmp (header->maker, maker, sizeof header->maker) != 0)
    return LU_STORE_MAKER;
  if (memcmp (header->identity, identity, sizeof header->identity) != 0)
    return LU_STORE_IDENTITY;
  lu_digest (bytes + LU_STORE_SEALED_AT, size - LU_STORE_SEALED_AT, checksum);
  if (memcmp (checksum, header->checksum, sizeof checksum) != 0
      || header->n_cfi_errors != LU_N_CFI_ERRORS)
    return LU_STORE_DAMAGED;
  return LU_STORE_LOADED;
}

static void
take_stats (LuTableStats *stats, const LuStoreHeader *header)
{
  stats->is_overflown = (header->flags & LU_STORE_OVERFLOWN) != 0;
  stats->has_extra = (header->flags & LU_STORE_EXTRA) != 0;
  stats->extra_bytes = header->extra_bytes;
  stats->code_bytes = header->code_bytes;
  stats->complex_bytes = header->complex_bytes;
  stats->leaf_bytes = header->leaf_bytes;
  stats->unknown_fp_bytes = header->unknown_fp_bytes;
  stats->n_fdes = header->n_fdes;
  for (guint i = 0; i < LU_N_CFI_ERRORS; i++)
    stats->cfi_errors[i] = header->cfi_errors[i];
}

LuTable *
lu_store_decode (guint8 *bytes_taken, gsize size, const guint8 identity[LU_DIGEST_SIZE],
                 const guint8 maker[LU_DIGEST_SIZE], LuStoreResult *result)
{
  g_autofree guint8 *bytes = bytes_taken;
  LuStoreHeader header;
  LuTableShape shape;
  LuTable *table;

  *result = LU_STORE_SIZE;
  if (size < sizeof header)
    return NULL;
  memcpy (&header, bytes, sizeof header);
  *result = check (&header, bytes, size, identity, maker);
  if (*result != LU_STORE_LOADED)
    return NULL;
  shape = (LuTableShape){
    .base = header.base,
    .n_pages = header.n_pages,
    .n_rows = header.n_rows,
    .n_rules = header.n_rules,
    .n_starts = header.n_starts,
    .n_jumps = header.n_jumps,
  };
  table = lu_table_new_from_memory (&shape, g_steal_pointer (&bytes), sizeof header,
                                    size - sizeof header);
  if (table == NULL)
    *result = LU_STORE_DAMAGED;
  else
    take_stats (&table->stats, &header);
  return table;
}
