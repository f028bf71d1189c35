/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle.c - demangles with libiberty; see demangle.h.
 *
 * Names are hostile: a short one can expand without end by referring to itself, and the library
 * does not limit it. As the library allocates nothing, a jump out of the function that receives
 * text is safe. */

#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MANGLED   4096
#define MAX_DEMANGLED 65536
/* References of D to an earlier part of the name. Each can double the length of the result. */
#define MAX_REFERENCES_OF_D 6

typedef struct
{
  GString *text;
  jmp_buf too_long;
} Output;

static void
take_text (const char *text, size_t length, void *data)
{
  Output *output = data;

  if (output->text->len + length > MAX_DEMANGLED)
    longjmp (output->too_long, 1);
  g_string_append_len (output->text, text, (gssize) length);
}

/* Tries Rust first, because its older names are C++ names with a hash at the end. */
static gboolean
demangle (const char *symbol, Output *output)
{
  if (setjmp (output->too_long) != 0)
    return FALSE;
  if (rust_demangle_callback (symbol, 0, take_text, output))
    return TRUE;
  g_string_truncate (output->text, 0);
  return cplus_demangle_v3_callback (symbol, DMGL_PARAMS | DMGL_TYPES, take_text, output);
}

char *
lu_demangle (const char *symbol)
{
  Output output;

  if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R') || strlen (symbol) > MAX_MANGLED)
    return g_strdup (symbol);
  output.text = g_string_new (NULL);
  if (demangle (symbol, &output) && output.text->len > 0)
    return g_string_free (output.text, FALSE);
  g_string_free (output.text, TRUE);
  return g_strdup (symbol);
}

static char *
demangle_d (const char *symbol)
{
  guint n = 0;

  for (const char *at = symbol; *at != 0; at++)
    n += *at == 'Q';
  return n <= MAX_REFERENCES_OF_D ? dlang_demangle (symbol, 0) : NULL;
}

/* Names of other packages look like names of C. */
static gboolean
is_of_ada (const char *symbol)
{
  static const char *const roots[] = { "_ada_", "ada__", "system__", "gnat__", "interfaces__" };

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    if (g_str_has_prefix (symbol, roots[i]))
      return TRUE;
  return FALSE;
}

char *
lu_demangle_d_or_ada (const char *symbol)
{
  char *found = NULL, *copy;

  if (strlen (symbol) > MAX_MANGLED)
    return NULL;
  if (symbol[0] == '_' && symbol[1] == 'D')
    found = demangle_d (symbol);
  else if (is_of_ada (symbol))
    found = ada_demangle (symbol, 0);
  /* The library puts symbols that it does not know in brackets. */
  copy = found != NULL && found[0] != '<' && found[0] != 0 ? g_strdup (found) : NULL;
  free (found);
  return copy;
}
