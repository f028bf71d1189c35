/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table.c FILE OUTPUT - compiles a file's table for self.c, which walks its own stack with it:
 *
 * base u64 | n_pages, n_rows, n_rules, 0 u32 | pages | rule 0, rows | rules */

#include "elf/image.h"
#include "table/table.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static GByteArray *
pack (const LuTable *table)
{
  GByteArray *out = g_byte_array_new ();
  const guint32 counts[] = { table->rows.n_pages, table->n_rows, table->n_rules, 0 };

  g_byte_array_append (out, (const guint8 *) &table->rows.base, sizeof table->rows.base);
  g_byte_array_append (out, (const guint8 *) counts, sizeof counts);
  g_byte_array_append (out, (const guint8 *) table->rows.pages, 4 * (table->rows.n_pages + 1));
  g_byte_array_append (out, (const guint8 *) (table->rows.rows - 1), 4 * (table->n_rows + 1));
  return g_byte_array_append (out, (const guint8 *) table->rules,
                              (guint) sizeof (struct lu_rule) * table->n_rules);
}

int
main (int argc, char **argv)
{
  int fd = argc == 3 ? open (argv[1], O_RDONLY | O_CLOEXEC) : -1;
  g_autoptr (GError) error = NULL;
  g_autoptr (LuImage) image = fd >= 0 ? lu_image_open (fd, &error) : NULL;
  g_autoptr (LuCfi) cfi = image != NULL ? lu_cfi_new_for_image (image) : NULL;
  g_autoptr (LuTable) table = cfi != NULL ? lu_table_new (cfi) : NULL;
  g_autoptr (GByteArray) out = NULL;

  if (table == NULL)
    {
      fprintf (stderr, "usage: table FILE OUTPUT\n");
      return 2;
    }
  out = pack (table);
  if (!g_file_set_contents (argv[2], (const char *) out->data, out->len, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  close (fd);
  return 0;
}
