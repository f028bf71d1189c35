/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle.c - readable symbol names; see demangle.h.
 *
 * The demangler of the C++ run-time (__cxa_demangle, Itanium C++ ABI) is taken from libstdc++ where
 * it is installed, at run time: a program in C that records should not depend on it. */

#include "symbolize/demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Mangled names grow exponentially with hostile input. */
#define MAX_MANGLED   4096
#define MAX_DEMANGLED 65536

typedef char *(*DemangleFunc) (const char *mangled, char *buffer, size_t *size, int *status);

static DemangleFunc
find_demangler (void)
{
  static gsize once;
  static DemangleFunc found;

  if (g_once_init_enter (&once))
    {
      gpointer library = dlopen ("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

      if (library != NULL)
        *(gpointer *) &found = dlsym (library, "__cxa_demangle");
      g_once_init_leave (&once, 1);
    }
  return found;
}

/* Cuts off the hash that older Rust symbols end in: "::h" and 16 hexadecimal digits. */
static void
strip_rust_hash (char *name)
{
  gsize length = strlen (name);
  char *tail = name + length - 19;

  if (length <= 19 || strncmp (tail, "::h", 3) != 0)
    return;
  for (const char *digit = tail + 3; *digit != 0; digit++)
    if (!g_ascii_isxdigit (*digit))
      return;
  *tail = 0;
}

char *
lu_demangle (const char *symbol)
{
  DemangleFunc demangle;
  int status = -1;
  char *result, *copy;

  if (strncmp (symbol, "_Z", 2) != 0 || strlen (symbol) > MAX_MANGLED)
    return g_strdup (symbol);
  demangle = find_demangler ();
  result = demangle != NULL ? demangle (symbol, NULL, NULL, &status) : NULL;
  if (result == NULL || status != 0 || strlen (result) > MAX_DEMANGLED)
    copy = g_strdup (symbol);
  else
    {
      copy = g_strdup (result);
      strip_rust_hash (copy);
    }
  free (result);
  return copy;
}
