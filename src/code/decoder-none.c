/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decoder-none.c - for builds without a library that decodes instructions; see decoder.h. */

#include "code/decoder.h"

gboolean
lu_decoder_load (void)
{
  return FALSE;
}

gboolean
lu_decoder_decode (const guint8 *bytes, gsize size, guint64 address, LuOp *op)
{
  return FALSE;
}
