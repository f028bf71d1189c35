/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* zstd-none.c - replaces zstd.c in builds without libzstd. */

#include "elf/zstd.h"

gboolean
lu_zstd_decompress (const guint8 *bytes, gsize size, guint8 *out, gsize out_size)
{
  return FALSE;
}
