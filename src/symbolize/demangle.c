/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle.c - readable symbol names; see demangle.h.
 *
 * The demangler of the C++ run-time (__cxa_demangle, Itanium C++ ABI) is taken from libstdc++ where
 * it is installed, at run time: a program in C that records should not depend on it. */

#include "symbolize/demangle.h"

#include "symbolize/demangle-rust.h"

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

/* Cuts off the hash that older Rust symbols end in: "::h" and 16 hexadecimal digits. FALSE if there
 * is none. */
static gboolean
strip_rust_hash (char *name)
{
  gsize length = strlen (name);
  char *tail = name + length - 19;

  if (length <= 19 || strncmp (tail, "::h", 3) != 0)
    return FALSE;
  for (const char *digit = tail + 3; *digit != 0; digit++)
    if (!g_ascii_isxdigit (*digit))
      return FALSE;
  *tail = 0;
  return TRUE;
}

static const struct
{
  const char *escape, *text;
} rust_escapes[] = {
  { "$LT$", "<" }, { "$GT$", ">" }, { "$LP$", "(" }, { "$RP$", ")" }, { "$C$", "," },
  { "$BP$", "*" }, { "$RF$", "&" }, { "$SP$", "@" }, { "..", "::" },  { "_$", "$" },
};

/* A character that has no letters, "$u7e$"; moves *at behind it. */
static gunichar
take_rust_character (const char **at)
{
  char *end;
  guint64 c;

  if (strncmp (*at, "$u", 2) != 0 || !g_ascii_isxdigit ((*at)[2]))
    return 0;
  c = g_ascii_strtoull (*at + 2, &end, 16);
  if (*end != '$' || c > 0x10ffff || !g_unichar_isprint ((gunichar) c))
    return 0;
  *at = end + 1;
  return (gunichar) c;
}

/* What older Rust symbols write for characters that linkers do not take. Takes the name. */
static char *
unescape_rust (char *name)
{
  GString *result = g_string_new (NULL);

  for (const char *at = name; *at != 0;)
    {
      gunichar c = take_rust_character (&at);
      gboolean is_escape = FALSE;

      if (c != 0)
        {
          g_string_append_unichar (result, c);
          continue;
        }
      for (guint i = 0; i < G_N_ELEMENTS (rust_escapes) && !is_escape; i++)
        {
          const char *escape = rust_escapes[i].escape;

          /* an underscore in front of an escape only keeps the name from starting with "$" */
          if (!g_str_has_prefix (at, escape) || (escape[0] == '_' && at > name && at[-1] != ':'))
            continue;
          is_escape = TRUE;
          at += escape[0] == '_' ? 1 : strlen (escape);
          if (escape[0] != '_')
            g_string_append (result, rust_escapes[i].text);
        }
      if (!is_escape)
        g_string_append_c (result, *at++);
    }
  g_free (name);
  return g_string_free (result, FALSE);
}

char *
lu_demangle (const char *symbol)
{
  DemangleFunc demangle;
  int status = -1;
  char *result, *copy;

  if (strncmp (symbol, "_R", 2) == 0 && strlen (symbol) <= MAX_MANGLED)
    {
      result = lu_demangle_rust (symbol);
      return result != NULL ? result : g_strdup (symbol);
    }
  if (strncmp (symbol, "_Z", 2) != 0 || strlen (symbol) > MAX_MANGLED)
    return g_strdup (symbol);
  demangle = find_demangler ();
  result = demangle != NULL ? demangle (symbol, NULL, NULL, &status) : NULL;
  if (result == NULL || status != 0 || strlen (result) > MAX_DEMANGLED)
    copy = g_strdup (symbol);
  else
    {
      copy = g_strdup (result);
      if (strip_rust_hash (copy))
        copy = unescape_rust (copy);
    }
  free (result);
  return copy;
}
