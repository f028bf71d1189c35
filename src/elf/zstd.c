/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* zstd.c - decompresses with libzstd; see zstd.h. */

#include "elf/zstd.h"

#include <zstd.h>

gboolean
lu_zstd_decompress (const guint8 *bytes, gsize size, guint8 *out, gsize out_size)
{
  return ZSTD_decompress (out, out_size, bytes, size) == out_size;
}
