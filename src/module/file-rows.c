/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-rows.c - see file-rows.h.
 *
 * Each maker says whether a file is its own, and makes the rows. The first in the list wins: a
 * table that a linker left is better than what instructions show. */

#include "module/file-rows.h"

typedef struct
{
  gboolean (*is_wanted) (const LuImage *image, int fd);
  LuExtraRows *(*make) (const LuImage *image, int fd);
} Maker;

static const Maker makers[] = {
  { NULL, NULL },
};

static const Maker *
find_maker (const LuImage *image, int fd)
{
  for (guint i = 0; i < G_N_ELEMENTS (makers); i++)
    if (makers[i].is_wanted != NULL && makers[i].is_wanted (image, fd))
      return &makers[i];
  return NULL;
}

gboolean
lu_file_rows_are_wanted (const LuImage *image, int fd)
{
  return find_maker (image, fd) != NULL;
}

LuExtraRows *
lu_file_rows_make (const LuImage *image, int fd)
{
  const Maker *maker = find_maker (image, fd);

  return maker != NULL ? maker->make (image, fd) : NULL;
}
