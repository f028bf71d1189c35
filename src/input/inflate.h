/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* inflate.h - turns the COMPRESSED records of a perf.data file back into a stream of records.
 *
 * perf runs one zstd stream through all of them; a record may begin in one and end in the next. One
 * compressed record is held and inflated only as far as its bytes are requested, so a small file
 * cannot make us hold a large one. Needs libzstd; without it lu_inflate_new() fails. */

#pragma once

#include <glib.h>

typedef struct _LuInflate LuInflate;

/* Returns NULL with an error if this build cannot inflate. */
LuInflate *lu_inflate_new (GError **error);
void lu_inflate_free (LuInflate *self);

/* Copies the next compressed record. Call it only after lu_inflate_fill() returned LU_FILL_AGAIN.
 */
void lu_inflate_feed (LuInflate *self, gconstpointer bytes, gsize size);

/* Implements LuFillFunc. Returns LU_FILL_AGAIN when the next compressed record is needed. */
gssize lu_inflate_fill (gpointer self, guint8 *bytes, gsize room);
