/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* zstd.h - sections compressed with zstd, which libelf knows only from 0.189 on; used by
 * synthetic.c. */

#pragma once

#include <glib.h>

/* Fills `out` completely; FALSE if the bytes are damaged, hold another number of bytes, or this
 * build has no libzstd. */
gboolean lu_zstd_decompress (const guint8 *bytes, gsize size, guint8 *out, gsize out_size);
