/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetch-none.c - fetches nothing, in a build without debuginfod; see fetch.h. */

#include "symbolize/fetch.h"

gboolean
lu_fetch_is_built_in (void)
{
  return FALSE;
}

gboolean
lu_fetch_has_library (void)
{
  return FALSE;
}

void
lu_fetch_serve (int fd)
{
}
