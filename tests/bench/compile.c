/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compile.c FILE... - measures how fast whole files are compiled, how large tables are, and how
 * fast libdw produces the same rows. Prints one JSON line; times are the best of ROUNDS.
 *
 * Opening is not included; --no-libdw leaves libdw out, which takes minutes over a whole system. */

#include "elf/image.h"
#include "table/table.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5

typedef struct
{
  guint n_files, n_fdes;
  guint64 n_rows, n_rules, table_bytes, cfi_bytes, code_bytes, complex_bytes, leaf_bytes;
  guint64 unknown_fp_bytes;
  guint max_rules, n_cfi_errors;
  double seconds, libdw_seconds;
  guint64 libdw_rows;
} Totals;

static LuImage *
open_image (const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  LuImage *image;

  if (fd < 0)
    return NULL;
  image = lu_image_open (fd, NULL);
  close (fd);
  return image;
}

/* CPU time of this thread, in seconds. */
static double
now (void)
{
  struct timespec spec;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &spec);
  return (double) spec.tv_sec + (double) spec.tv_nsec / 1e9;
}

static double
compile_once (const LuImage *image, LuTableStats *stats)
{
  double began = now ();
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);
  g_autoptr (LuTable) table = cfi != NULL ? lu_table_new (cfi) : NULL;

  if (table == NULL)
    return -1;
  *stats = table->stats;
  return now () - began;
}

static void
walk_with_libdw (LuImage *image, Totals *totals)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);
  double began = now ();
  Dwarf_CFI *dwarf = dwarf_getcfi_elf (lu_image_elf (image, 0));
  guint n;
  const LuFde *fdes = lu_cfi_fdes (cfi, LU_CFI_EH_FRAME, &n);

  for (guint i = 0; dwarf != NULL && i < n; i++)
    for (guint64 pc = fdes[i].start; pc < fdes[i].end;)
      {
        Dwarf_Frame *frame = NULL;
        Dwarf_Addr end;

        if (dwarf_cfi_addrframe (dwarf, pc, &frame) != 0)
          break;
        dwarf_frame_info (frame, NULL, &end, NULL);
        free (frame);
        totals->libdw_rows++;
        if (end <= pc)
          break;
        pc = end;
      }
  if (dwarf != NULL)
    dwarf_cfi_end (dwarf);
  totals->libdw_seconds += now () - began;
}

static void
measure (const char *path, gboolean with_libdw, Totals *totals)
{
  g_autoptr (LuImage) image = open_image (path);
  LuTableStats stats = { 0 };
  double best = -1;

  for (guint i = 0; image != NULL && i < ROUNDS; i++)
    {
      double seconds = compile_once (image, &stats);

      if (seconds >= 0 && (best < 0 || seconds < best))
        best = seconds;
    }
  if (best < 0)
    return;
  totals->seconds += best;
  totals->n_files++;
  totals->n_fdes += stats.n_fdes;
  totals->n_rows += stats.n_rows;
  totals->n_rules += stats.n_rules;
  totals->max_rules = MAX (totals->max_rules, stats.n_rules);
  totals->table_bytes += stats.table_bytes;
  totals->code_bytes += stats.code_bytes;
  totals->complex_bytes += stats.complex_bytes;
  totals->leaf_bytes += stats.leaf_bytes;
  totals->unknown_fp_bytes += stats.unknown_fp_bytes;
  for (guint i = 0; i < LU_N_CFI_ERRORS; i++)
    totals->n_cfi_errors += stats.cfi_errors[i];
  if (with_libdw)
    walk_with_libdw (image, totals);
}

int
main (int argc, char **argv)
{
  gboolean with_libdw = TRUE;
  Totals totals = { 0 };

  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--no-libdw") == 0)
      with_libdw = FALSE;
    else
      measure (argv[i], with_libdw, &totals);
  if (totals.n_rows == 0)
    {
      fprintf (stderr, "usage: compile [--no-libdw] FILE...\n");
      return 2;
    }
  printf ("{\"files\": %u, \"fdes\": %u, \"rows\": %" G_GUINT64_FORMAT ", \"seconds\": %.6f, "
          "\"million_rows_per_second\": %.2f, \"ns_per_fde\": %.1f, \"bytes_per_row\": %.3f, "
          "\"rules_largest_file\": %u, \"faults\": %u, \"complex_percent\": %.5f, "
          "\"leaf_only_percent\": %.5f, \"unknown_fp_percent\": %.5f",
          totals.n_files, totals.n_fdes, totals.n_rows, totals.seconds,
          (double) totals.n_rows / totals.seconds / 1e6, totals.seconds * 1e9 / totals.n_fdes,
          (double) totals.table_bytes / (double) totals.n_rows, totals.max_rules,
          totals.n_cfi_errors, 100. * (double) totals.complex_bytes / (double) totals.code_bytes,
          100. * (double) totals.leaf_bytes / (double) totals.code_bytes,
          100. * (double) totals.unknown_fp_bytes / (double) totals.code_bytes);
  if (with_libdw)
    printf (", \"libdw_rows\": %" G_GUINT64_FORMAT ", \"libdw_million_rows_per_second\": %.2f",
            totals.libdw_rows, (double) totals.libdw_rows / totals.libdw_seconds / 1e6);
  printf ("}\n");
  return 0;
}
