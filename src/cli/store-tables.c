/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-tables.c - fills and empties the store of unwind tables; see commands.h. */

#include "config.h"

#include "base/error.h"
#include "base/fd.h"
#include "commands.h"
#include "module/file-rows.h"
#include "table/store.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <stdio.h>

static LuStore *
open_store (char **path, GError **error)
{
  *path = lu_store_default_path ();
  if (*path != NULL)
    return lu_store_open (*path, LU_STORE_READ_WRITE, error);
  g_set_error_literal (error, LU_ERROR, LU_ERROR_FAILED,
                       _ ("there is no directory for the store: LIVE_UNWINDER_STORE is empty, or "
                          "there is no home directory"));
  return NULL;
}

/* Makes the table that a recording would make, so that it finds it in the store. */
static LuTable *
make_table (LuImage *image, LuCfi *cfi, const char *path)
{
  const LuTableLimits limits = { .max_bytes = G_MAXSIZE };
  const LuFileRowsMaker *maker = NULL;
  g_autoptr (LuExtraRows) rows = NULL;
  LuTable *table = NULL;
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  if (fd >= 0)
    maker = lu_file_rows_find_maker (image, fd);
  if (maker != NULL && lu_image_digest_code (image, fd))
    rows = lu_file_rows_make (maker, image, fd);
  lu_fd_clear (&fd);
  if (rows != NULL)
    table = lu_table_new_with_rows (image, rows, &limits);
  return table != NULL ? table : lu_table_new (cfi);
}

static gboolean
build (LuStore *store, const char *path, GError **error)
{
  g_autoptr (LuImage) image = lu_dump_tables_open (path, error);
  g_autoptr (LuCfi) cfi = image != NULL ? lu_dump_tables_cfi (image, path, error) : NULL;
  g_autoptr (LuTable) table = NULL;

  if (cfi == NULL)
    return FALSE;
  table = make_table (image, cfi, path);
  if (!lu_store_save (store, image, table))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("%s: its table cannot be stored: %s"), path,
                   g_strerror (errno));
      return FALSE;
    }
  printf (_ ("%s: %u rows, %zu bytes\n"), path, table->n_rows, table->stats.table_bytes);
  return TRUE;
}

gboolean
lu_store_tables_build (char **paths, GError **error)
{
  g_autofree char *place = NULL;
  g_autoptr (LuStore) store = open_store (&place, error);
  gboolean ok = store != NULL;

  for (guint i = 0; store != NULL && paths[i] != NULL; i++)
    ok = build (store, paths[i], ok ? error : NULL) && ok;
  return ok;
}

gboolean
lu_store_tables_prune (guint64 max_bytes, GError **error)
{
  g_autofree char *place = NULL;
  g_autoptr (LuStore) store = open_store (&place, error);
  LuStorePruned pruned;

  if (store == NULL)
    return FALSE;
  if (!lu_store_prune (store, max_bytes, &pruned))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", place, g_strerror (errno));
      return FALSE;
    }
  printf (ngettext ("%s: %u table removed (%.1f MB), %u left (%.1f MB)\n",
                    "%s: %u tables removed (%.1f MB), %u left (%.1f MB)\n", pruned.n_removed),
          place, pruned.n_removed, (double) pruned.removed_bytes / 1e6, pruned.n_files,
          (double) pruned.bytes / 1e6);
  return TRUE;
}
