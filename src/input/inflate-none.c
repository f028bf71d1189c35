/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* inflate-none.c - replaces inflate-zstd.c in builds without libzstd: opening a compressed file
 * fails with a message that says what to do instead. */

#include "input/inflate.h"

#include "base/error.h"
#include "input/record-stream.h"

#include <glib/gi18n.h>

LuInflate *
lu_inflate_new (GError **error)
{
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
               _ ("the records are compressed and this build has no libzstd; "
                  "record without -z, or build with -Dzstd=enabled"));
  return NULL;
}

void
lu_inflate_free (LuInflate *self)
{
}

void
lu_inflate_feed (LuInflate *self, gconstpointer bytes, gsize size)
{
}

gssize
lu_inflate_fill (gpointer self, guint8 *bytes, gsize room)
{
  return LU_FILL_FAILED;
}
