/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unxz-none.c - a build without liblzma: embedded symbol tables are not read; see unxz.h. */

#include "symbolize/unxz.h"

guint8 *
lu_unxz (gconstpointer bytes, gsize size, gsize limit, gsize *unpacked)
{
  return NULL;
}
