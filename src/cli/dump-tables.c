/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dump-tables.c - prints the rows that a file compiles to; see commands.h.
 *
 * The rows come from the compiler as the engine uses it, one piece of code after another, with the
 * FDE that each piece is from. */

#include "config.h"

#include "commands.h"

#include "base/error.h"
#include "table/compile.h"
#include "table/rule.h"
#include "table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

LuImage *
lu_dump_tables_open (const char *path, GError **error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  LuImage *image;

  if (fd < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", path, g_strerror (errno));
      return NULL;
    }
  image = lu_image_open (fd, error);
  close (fd);
  if (image == NULL)
    g_prefix_error (error, "%s: ", path);
  return image;
}

LuCfi *
lu_dump_tables_cfi (LuImage *image, const char *path, GError **error)
{
  LuCfi *cfi = lu_cfi_new_for_image (image);

  if (cfi == NULL)
    {
      g_autofree char *names = lu_arch_names_with_tables ();

      g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                   _ ("%s: tables are made for 64-bit files of these architectures only: %s"), path,
                   names);
    }
  return cfi;
}

static void
print_piece (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  LuCompiler *compiler = user_data;
  const LuArch *arch = lu_cfi_arch (compiler->cfi);
  const LuRawRows *rows = &compiler->fde_rows;

  lu_compiler_run (compiler, fde, from, to);
  printf ("%#" PRIx64 "..%#" PRIx64 "  %s+%#" PRIx32 "\n", from, to,
          fde->section == LU_CFI_EH_FRAME ? ".eh_frame" : ".debug_frame", fde->offset);
  for (guint i = 0; i < rows->n; i++)
    {
      g_autofree char *text = lu_rule_to_text (&compiler->rules.rules[rows->rows[i].rule], arch);

      printf ("  %#" PRIx64 "  %s\n", rows->rows[i].address, text);
    }
}

static double
percent (guint64 part, guint64 whole)
{
  return whole > 0 ? 100. * (double) part / (double) whole : 0;
}

static void
print_share (const char *title, guint64 bytes, const LuTableStats *stats)
{
  printf (_ ("%-30s %" PRIu64 " bytes of code (%.4f %%)\n"), title, bytes,
          percent (bytes, stats->code_bytes));
}

static void
print_stats (LuCfi *cfi)
{
  g_autoptr (LuTable) table = lu_table_new (cfi);
  const LuTableStats *stats = &table->stats;

  printf ("%-30s %s\n", _ ("architecture"), lu_cfi_arch (cfi)->name);
  printf ("%-30s %u\n", _ ("FDEs"), stats->n_fdes);
  printf ("%-30s %u\n", _ ("rows"), stats->n_rows);
  printf ("%-30s %u%s\n", _ ("rules"), stats->n_rules, stats->is_overflown ? _ (" (full)") : "");
  printf ("%-30s %u\n", _ ("pages"), stats->n_pages);
  printf (_ ("%-30s %zu bytes, %.2f per row\n"), _ ("table"), stats->table_bytes,
          stats->n_rows > 0 ? (double) stats->table_bytes / stats->n_rows : 0);
  printf (_ ("%-30s %zu bytes\n"), _ ("unwind information"), lu_cfi_size (cfi));
  printf (_ ("%-30s %" PRIu64 " bytes\n"), _ ("code"), stats->code_bytes);
  print_share (_ ("complex"), stats->complex_bytes, stats);
  print_share (_ ("only as the sampled frame"), stats->leaf_bytes, stats);
  print_share (_ ("frame pointer lost"), stats->unknown_fp_bytes, stats);
  for (guint i = 1; i < LU_N_CFI_ERRORS; i++)
    if (stats->cfi_errors[i] > 0)
      printf (_ ("refused: %-21s %u\n"), lu_cfi_error_title ((LuCfiError) i), stats->cfi_errors[i]);
}

gboolean
lu_dump_tables (const char *path, gboolean stats, GError **error)
{
  g_autoptr (LuImage) image = lu_dump_tables_open (path, error);
  g_autoptr (LuCfi) cfi = image != NULL ? lu_dump_tables_cfi (image, path, error) : NULL;
  g_autoptr (LuCompiler) compiler = NULL;

  if (cfi == NULL)
    return FALSE;
  if (stats)
    {
      print_stats (cfi);
      return TRUE;
    }
  compiler = lu_compiler_new (cfi);
  lu_compiler_foreach_piece (compiler, print_piece, compiler);
  return TRUE;
}
