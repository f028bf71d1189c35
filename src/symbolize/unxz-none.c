/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unxz-none.c - reads no embedded symbol tables, in a build without liblzma; see unxz.h. */

#include "symbolize/unxz.h"

guint8 *
lu_unxz (gconstpointer bytes, gsize size, gsize limit, gsize *unpacked)
{
  return NULL;
}
