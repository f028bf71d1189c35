/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle-none.c - shows names as they are, in a build without libiberty; see demangle.h. */

#include "symbolize/demangle.h"

char *
lu_demangle (const char *symbol)
{
  return g_strdup (symbol);
}

char *
lu_demangle_d_or_ada (const char *symbol)
{
  return NULL;
}
