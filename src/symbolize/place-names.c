/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* place-names.c - names for code without a symbol; see place-names.h. */

#include "symbolize/place-names.h"

#include <string.h>

#define MAX_BASE 255 /* NAME_MAX; paths in captures may be longer */
#define DELETED  " (deleted)"

char *
lu_place_name (const char *path, guint64 elf_address)
{
  const char *slash = strrchr (path, '/');
  const char *base = slash != NULL && slash[1] != 0 ? slash + 1 : path;
  gsize length = strlen (base);
  g_autofree char *start = NULL, *valid = NULL;

  if (length > strlen (DELETED) && g_str_has_suffix (base, DELETED))
    length -= strlen (DELETED);
  start = g_strndup (base, MIN (length, MAX_BASE));
  valid = g_utf8_make_valid (start, -1);
  return g_strdup_printf ("%s+0x%" G_GINT64_MODIFIER "x", valid, elf_address);
}
