/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-short-name.c - arbitrary symbols, demangled or not: a name stays one, does not grow, and is
 * valid text if the symbol was. */

#include "fuzz.h"
#include "symbolize/demangle.h"
#include "symbolize/short-name.h"

#include <string.h>

/* The most by which a name of D or Ada is longer than its symbol is not checked. */
static void
check (const char *full)
{
  g_autofree char *of_language = lu_short_name_of_language (full);
  g_autofree char *name = lu_short_name (full);

  g_assert_true (name[0] != 0 || full[0] == 0);
  if (of_language == NULL)
    g_assert_cmpuint (strlen (name), <=, strlen (full));
  if (of_language == NULL && g_utf8_validate (full, -1, NULL))
    g_assert_true (g_utf8_validate (name, -1, NULL));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *symbol = g_strndup ((const char *) data, size);
  g_autofree char *full = lu_demangle (symbol);

  check (symbol);
  check (full);
  return 0;
}
