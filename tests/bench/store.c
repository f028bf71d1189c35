/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store.c FILE... - measures the first and later openings of a file: opening, compiling the whole
 * table, the digest that identifies the file, storing the table, and loading it again, in a
 * temporary directory. Prints one JSON line per file; times are CPU time of the best of ROUNDS. */

#include "table/store.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 7

typedef struct
{
  double open_ms, digest_ms, compile_ms, save_ms, load_ms, look_ms;
} Times;

static double
now_ms (void)
{
  struct timespec spec;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &spec);
  return (double) spec.tv_sec * 1e3 + (double) spec.tv_nsec / 1e6;
}

static void
note (double *best, double began)
{
  double ms = now_ms () - began;

  if (*best <= 0 || ms < *best)
    *best = ms;
}

static LuImage *
open_image (const char *path, Times *times)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  double began = now_ms ();
  LuImage *image = fd >= 0 ? lu_image_open (fd, NULL) : NULL;

  note (&times->open_ms, began);
  if (fd >= 0)
    close (fd);
  return image;
}

/* Only needed where there is a store. */
static void
digest (const LuImage *image, Times *times)
{
  double began = now_ms ();
  gsize size;

  lu_image_digest (image, &size);
  note (&times->digest_ms, began);
}

/* The cost of an opening with a store: the CFI is digested and not kept. */
static void
look (const char *path, Times *times)
{
  const LuImageOpening opening = { .may_drop_cfi = TRUE };
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  double began = now_ms ();

  lu_image_unref (lu_image_open_as (fd, &opening, NULL));
  note (&times->look_ms, began);
  close (fd);
}

static LuTable *
compile (const LuImage *image, Times *times)
{
  double began = now_ms ();
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);
  LuTable *table = cfi != NULL ? lu_table_new (cfi) : NULL;

  note (&times->compile_ms, began);
  return table;
}

static gboolean
round_trip (LuStore *store, const char *path, Times *times, gsize *bytes)
{
  g_autoptr (LuImage) image = open_image (path, times);
  g_autoptr (LuTable) table = image != NULL ? compile (image, times) : NULL;
  g_autoptr (LuTable) loaded = NULL;
  LuStoreResult result;
  double began;

  if (table == NULL)
    return FALSE;
  digest (image, times);
  look (path, times);
  began = now_ms ();
  if (!lu_store_save (store, image, table))
    return FALSE;
  note (&times->save_ms, began);
  began = now_ms ();
  loaded = lu_store_load (store, image, G_MAXSIZE, &result);
  note (&times->load_ms, began);
  *bytes = table->stats.table_bytes;
  return loaded != NULL;
}

int
main (int argc, char **argv)
{
  g_autofree char *directory = g_dir_make_tmp ("lu-bench-XXXXXX", NULL);
  g_autoptr (LuStore) store = lu_store_open (directory, LU_STORE_READ_WRITE, NULL);
  LuStorePruned pruned;
  int code = argc > 1 ? 0 : 2;

  for (int i = 1; i < argc; i++)
    {
      Times times = { 0 };
      gboolean ok = TRUE;
      gsize bytes = 0;

      for (guint k = 0; ok && k < ROUNDS; k++)
        ok = round_trip (store, argv[i], &times, &bytes);
      if (ok)
        printf ("{\"file\": \"%s\", \"table_bytes\": %zu, \"open_ms\": %.3f, \"digest_ms\": %.3f, "
                "\"compile_ms\": %.3f, \"save_ms\": %.3f, \"load_ms\": %.3f, \"look_ms\": %.3f, "
                "\"first_ms\": %.3f, \"second_ms\": %.3f}\n",
                argv[i], bytes, times.open_ms, times.digest_ms, times.compile_ms, times.save_ms,
                times.load_ms, times.look_ms, times.look_ms + times.open_ms + times.compile_ms,
                times.look_ms + times.load_ms);
      else
        code = 1;
    }
  if (code == 2)
    fprintf (stderr, "usage: store FILE...\n");
  lu_store_prune (store, 0, &pruned);
  g_rmdir (directory);
  return code;
}
