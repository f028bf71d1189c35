/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* short-name-language.c - paths from symbols of D, Ada, OCaml and Haskell; see short-name.h.
 *
 * A symbol is taken for one of a language only if C has no such names. */

#include "symbolize/demangle.h"
#include "symbolize/short-name.h"

#include <string.h>

/* "foo.bar(int).baz!(char).baz(char) const" -> "foo.bar.baz!(char).baz". NULL: brackets are open.
 */
static char *
without_parameters (const char *demangled)
{
  g_autoptr (GString) out = g_string_new (NULL);
  guint depth = 0;
  gboolean shows = TRUE;

  for (const char *at = demangled; *at != 0; at++)
    {
      if (*at == '(' && depth++ == 0)
        shows = at > demangled && at[-1] == '!';
      if (*at == ' ' && depth == 0)
        break;
      if (shows)
        g_string_append_c (out, *at);
      if (*at == ')' && depth > 0 && --depth == 0)
        shows = TRUE;
    }
  return depth == 0 && out->len > 0 ? g_string_free (g_steal_pointer (&out), FALSE) : NULL;
}

/* camlStdlib__List__map_342, camlFoo.$2b$2b_12 or camlFoo__go_3_7_code */
static char *
name_of_ocaml (const char *symbol)
{
  g_autoptr (GString) out = g_string_new (NULL);
  gboolean is_code = g_str_has_suffix (symbol, "_code");
  gsize length = strlen (symbol) - (is_code ? strlen ("_code") : 0), digits;

  for (guint i = 0; i < (is_code ? 2 : 1); i++)
    {
      for (digits = length; g_ascii_isdigit (symbol[digits - 1]); digits--)
        ;
      /* Functions without a name are told apart by their numbers. */
      if (digits < length && symbol[digits - 1] == '_' && strncmp (symbol + digits - 4, "fun", 3))
        length = digits - 1;
    }
  for (gsize i = strlen ("caml"); i < length; i++)
    if (symbol[i] == '$' && i + 2 < length && g_ascii_isxdigit (symbol[i + 1])
        && g_ascii_isxdigit (symbol[i + 2]))
      {
        g_string_append_c (out, (char) (g_ascii_xdigit_value (symbol[i + 1]) * 16
                                        + g_ascii_xdigit_value (symbol[i + 2])));
        i += 2;
      }
    else if (symbol[i] == '_' && symbol[i + 1] == '_' && i + 2 < length)
      {
        g_string_append_c (out, '.');
        i++;
      }
    else
      g_string_append_c (out, symbol[i]);
  if (strchr (out->str, '.') == NULL || out->len != strlen (out->str))
    return NULL;
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* Decodes GHC's z-encoding; FALSE: the text has none that is known here. */
static gboolean
append_unencoded (GString *out, const char *text)
{
  static const char codes[] = "za&zb|zc^zd$ze=zg>zh#zi.zl<zm-zn!zp+zq'zr\\zs/zt*zu_zv%zzz"
                              "ZL(ZR)ZM[ZN]ZC:ZZZ";

  for (; *text != 0; text++)
    if (*text != 'z' && *text != 'Z')
      g_string_append_c (out, *text);
    else
      {
        const char *code = codes;

        while (*code != 0 && (code[0] != text[0] || code[1] != text[1]))
          code += 3;
        if (*code == 0)
          return FALSE;
        g_string_append_c (out, code[2]);
        text++;
      }
  return TRUE;
}

/* Returns whether it is a path of names that begin with capitals: GHCziBase. */
static gboolean
is_haskell_module (const char *text)
{
  const char *dot = text;

  if (!g_ascii_isupper (text[0]))
    return FALSE;
  while ((dot = strstr (dot, "zi")) != NULL)
    {
      dot += 2;
      if (!g_ascii_isupper (dot[0]))
        return FALSE;
    }
  return TRUE;
}

/* base_GHCziBase_map_info, Main_zdwgo_info: one of the parts has to show that GHC encoded it. */
static char *
name_of_haskell (const char *symbol)
{
  static const char *const kinds[] = { "info", "entry", "slow", "fast", "ret", NULL };
  g_auto (GStrv) parts = g_strsplit (symbol, "_", 5);
  guint n = g_strv_length (parts);
  g_autoptr (GString) out = g_string_new (NULL);
  const char *module;

  if (n < 3 || n > 4 || !g_strv_contains (kinds, parts[n - 1]) || parts[n - 2][0] == 0)
    return NULL;
  module = parts[n - 3];
  if (!is_haskell_module (module)
      || !(strstr (module, "zi") != NULL || (n == 3 && g_str_equal (module, "Main"))
           || (n == 4 && strstr (parts[0], "zm") != NULL)))
    return NULL;
  if (!append_unencoded (out, module))
    return NULL;
  g_string_append_c (out, '.');
  if (!append_unencoded (out, parts[n - 2]))
    return NULL;
  return g_string_free (g_steal_pointer (&out), FALSE);
}

char *
lu_short_name_of_language (const char *symbol)
{
  g_autofree char *demangled = lu_demangle_d_or_ada (symbol);

  if (demangled != NULL)
    return without_parameters (demangled);
  if (g_str_has_prefix (symbol, "caml") && g_ascii_isupper (symbol[4]))
    return name_of_ocaml (symbol);
  return name_of_haskell (symbol);
}
