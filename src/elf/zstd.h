/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* zstd.h - decompresses sections that use zstd, which libelf supports only since 0.189; used by
 * decompress.c. */

#pragma once

#include <glib.h>

/* Fills `out` completely. Returns FALSE if the bytes are damaged, contain another number of bytes,
 * or this build has no libzstd. */
gboolean lu_zstd_decompress (const guint8 *bytes, gsize size, guint8 *out, gsize out_size);
