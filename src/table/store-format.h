/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-format.h - the bytes of a stored table: a header, then the block of the table as in memory.
 * docs/unwind-table.md describes them.
 *
 * Used by store.c, its tests and its fuzzer. Decoding trusts nothing: a decoded table is safe to
 * look up and to step with, whatever the bytes were. */

#pragma once

#include "base/digest.h"
#include "table/table.h"

#define LU_STORE_MAGIC "LU-TABLE"
/* Raised when these bytes mean something else. Other rows for the same file need no new version:
 * `maker` is a digest of the sources that make them, so a table that an older program has stored is
 * made anew. */
#define LU_STORE_VERSION 3

enum
{
  LU_STORE_OVERFLOWN = 1 << 0, /* LuTableStats.is_overflown */
  LU_STORE_EXTRA = 1 << 1,     /* LuTableStats.has_extra */
};

typedef struct
{
  char magic[8];
  guint32 version;
  guint32 header_size;
  guint8 checksum[LU_DIGEST_SIZE]; /* covers all bytes after it */
  guint8 identity[LU_DIGEST_SIZE]; /* digest of the compiled file */
  guint8 maker[LU_DIGEST_SIZE];    /* digest of the program that compiled it: lu_store_maker() */
  guint64 base;
  guint32 n_pages, n_rows, n_rules;
  guint32 flags;
  guint64 code_bytes, complex_bytes, leaf_bytes, unknown_fp_bytes, extra_bytes;
  guint32 n_fdes;
  guint32 n_cfi_errors;
  guint32 cfi_errors[LU_N_CFI_ERRORS];
  guint32 n_starts, n_jumps;
  guint32 reserved[3]; /* 0 */
} LuStoreHeader;

_Static_assert(sizeof (LuStoreHeader) == 256, "the block begins at a multiple of 64");

/* End of the checksum, and start of the bytes that it covers. */
#define LU_STORE_SEALED_AT (G_STRUCT_OFFSET (LuStoreHeader, checksum) + LU_DIGEST_SIZE)

/* Why stored bytes are not the requested table. */
#define LU_STORE_RESULT_LIST(X)                                                                    \
  X (LOADED, "loaded")                                                                             \
  X (MISSING, "not there")                                                                         \
  X (FOREIGN, "not a file of ours alone")                                                          \
  X (SIZE, "too short or too long")                                                                \
  X (FORMAT, "of another format")                                                                  \
  X (MAKER, "of another compiler of tables")                                                       \
  X (IDENTITY, "of another file")                                                                  \
  X (DAMAGED, "damaged")

typedef enum
{
#define X(NAME, title) LU_STORE_##NAME,
  LU_STORE_RESULT_LIST (X)
#undef X
      LU_N_STORE_RESULTS
} LuStoreResult;

/* Returns all bytes of a table's file. Owned. */
guint8 *lu_store_encode (const LuTable *table, const guint8 identity[LU_DIGEST_SIZE],
                         const guint8 maker[LU_DIGEST_SIZE], gsize *size);
/* Returns the table in the bytes of a file (g_malloc; taken), or NULL with the reason. */
LuTable *lu_store_decode (guint8 *bytes, gsize size, const guint8 identity[LU_DIGEST_SIZE],
                          const guint8 maker[LU_DIGEST_SIZE], LuStoreResult *result);
/* Corrects the checksum. `size` is at least that of a header. */
void lu_store_seal (guint8 *bytes, gsize size);
