/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-missing.c - tells which debug files would name functions; see report-print.h.
 *
 * A report may not start programs, so the files of dpkg are read as they are. Where there is rpm,
 * dnf is given the path that packages of debug files have for a build-id. */

#include "config.h"

#include "arch/arch.h"
#include "base/fd.h"
#include "base/printable.h"
#include "report-print.h"
#include "symbolize/elf-file.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>

#define MIN_PERCENT 5
#define DPKG_LISTS  "/var/lib/dpkg/info"
/* Bytes of the list of a package's files, of which the longest have some megabytes. */
#define MAX_LIST (16u << 20)
#define SERVER   "https://debuginfod.elfutils.org"

static void
missing_free (gpointer pointer)
{
  g_free (((LuReportMissing *) pointer)->package);
  g_free (pointer);
}

static int
compare_missing (gconstpointer a, gconstpointer b)
{
  const LuReportMissing *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  return x->n > y->n ? -1 : x->n < y->n;
}

/* Returns, by module, the samples with a function that has no symbol. Each counts once for a
 * module. */
static guint64 *
count_samples (const LuModel *model)
{
  guint64 *samples = g_new0 (guint64, model->modules->len + 1);
  g_autofree guint *last = g_new0 (guint, model->modules->len + 1);

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);

      for (guint32 at = count.node; at != 0; at = lu_model_node (model, at).parent)
        {
          const LuModelFrame *frame = lu_model_frame (model, lu_model_node (model, at).frame);

          if (frame->kind != LU_CODE_USER || lu_model_function_of (model, at)->has_name
              || last[frame->module] == i + 1)
            continue;
          last[frame->module] = i + 1;
          samples[frame->module] += count.n;
        }
    }
  return samples;
}

/* Whether this very file is on this machine, outside of containers, without its debug file. */
static gboolean
lacks_debug_file (const LuModelModule *module)
{
  const char *build_id = module->id->build_id;
  struct stat info;
  lu_autofd file = lu_name_file_open (&module->mapped, 2, &info);
  lu_autofd debug = -1;

  if (file < 0 || build_id == NULL || !lu_elf_file_has_build_id (file, build_id))
    return FALSE;
  debug = lu_debug_file_open (&module->mapped, build_id, NULL, 0);
  return debug < 0;
}

/* Returns the package with the debug files of one, owned. list: "NAME.list" or "NAME:ARCH.list". */
static char *
debug_package (const char *list)
{
  g_autofree char *name = g_strndup (list, strlen (list) - strlen (".list"));
  char *architecture = strchr (name, ':');
  const char *own = lu_arch_of_abi (LU_ABI_64)->debian_name;
  g_autofree char *suffix = NULL;

  if (architecture != NULL)
    {
      suffix = g_strdup (strcmp (architecture + 1, own) != 0 ? architecture : "");
      *architecture = 0;
    }
  return g_strconcat (name, strcmp (name, "libc6") == 0 ? "-dbg" : "-dbgsym", suffix, NULL);
}

static gboolean
has_line (const char *text, const char *before, const char *line)
{
  g_autofree char *whole = g_strconcat ("\n", before, line, "\n", NULL);

  return strstr (text, whole) != NULL;
}

/* Where /lib is a link to /usr/lib, packages may have files in either. */
static gboolean
lists_file (const char *text, const char *path)
{
  return has_line (text, "", path)
         || (g_str_has_prefix (path, "/usr/") ? has_line (text, "", path + strlen ("/usr"))
                                              : has_line (text, "/usr", path));
}

gboolean
lu_report_find_packages (const char *directory, GPtrArray *all)
{
  g_autoptr (GDir) lists = g_dir_open (directory, 0, NULL);
  const char *name;

  if (lists == NULL)
    return FALSE;
  while ((name = g_dir_read_name (lists)) != NULL)
    {
      g_autofree char *path = g_build_filename (directory, name, NULL);
      g_autofree char *text =
          g_str_has_suffix (name, ".list") ? lu_fd_read_file (path, MAX_LIST, NULL) : NULL;

      for (guint i = 0; i < all->len && text != NULL; i++)
        {
          LuReportMissing *missing = g_ptr_array_index (all, i);

          if (missing->package == NULL && lists_file (text, missing->module->id->path))
            missing->package = debug_package (name);
        }
    }
  return TRUE;
}

static gboolean
has_rpm (void)
{
  return g_file_test ("/usr/lib/sysimage/rpm", G_FILE_TEST_IS_DIR)
         || g_file_test ("/var/lib/rpm", G_FILE_TEST_IS_DIR);
}

/* Fills in the packages, and returns what has to be written before them. */
static const char *
find_packages (GPtrArray *all)
{
  gboolean is_rpm;

  if (lu_report_find_packages (DPKG_LISTS, all))
    return "apt install";
  is_rpm = has_rpm ();
  for (guint i = 0; i < all->len; i++)
    {
      LuReportMissing *missing = g_ptr_array_index (all, i);
      const char *id = missing->module->id->build_id;

      missing->package =
          is_rpm ? g_strdup_printf ("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2)
                 : g_strdup ("");
    }
  if (is_rpm)
    return "dnf --enablerepo='*debug*' install";
  return g_getenv ("DEBUGINFOD_URLS") == NULL ? "export DEBUGINFOD_URLS=" SERVER : NULL;
}

/* Returns the command that installs all packages, owned; NULL if there is none. */
static char *
make_command (const char *install, const GPtrArray *all)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GString *command = g_string_new (install);

  for (guint i = 0; i < all->len; i++)
    {
      const LuReportMissing *missing = g_ptr_array_index (all, i);

      if (missing->package[0] != 0 && g_hash_table_add (seen, missing->package))
        g_string_append_printf (command, " %s", missing->package);
    }
  return g_string_free (command, FALSE);
}

GPtrArray *
lu_report_find_missing (const LuModel *model, char **command)
{
  g_autofree guint64 *samples = count_samples (model);
  GPtrArray *all = g_ptr_array_new_with_free_func (missing_free);
  const char *install;

  *command = NULL;
  for (guint i = 0; i < model->modules->len; i++)
    {
      const LuModelModule *module = g_ptr_array_index (model->modules, i);
      LuReportMissing missing = { .module = module, .n = samples[i] };

      if (samples[i] > 0 && samples[i] * 100 >= model->n_samples * MIN_PERCENT
          && lacks_debug_file (module))
        g_ptr_array_add (all, g_memdup2 (&missing, sizeof missing));
    }
  if (all->len == 0)
    return all;
  install = find_packages (all);
  for (guint i = all->len; i > 0; i--)
    if (((LuReportMissing *) g_ptr_array_index (all, i - 1))->package == NULL)
      g_ptr_array_remove_index (all, i - 1);
  g_ptr_array_sort (all, compare_missing);
  if (install == NULL || all->len == 0)
    g_ptr_array_set_size (all, 0);
  else
    *command = make_command (install, all);
  return all;
}

void
lu_report_print_missing (const LuModel *model)
{
  g_autofree char *command = NULL;
  g_autoptr (GPtrArray) all = lu_report_find_missing (model, &command);

  if (all->len == 0)
    return;
  printf ("\n%s\n", _ ("Functions of these files have no names, in this share of the samples"));
  for (guint i = 0; i < all->len; i++)
    {
      const LuReportMissing *missing = g_ptr_array_index (all, i);
      g_autofree char *path = lu_printable (missing->module->path, 0);

      printf ("%8" G_GUINT64_FORMAT " %6.2f %%  %s\n", missing->n,
              lu_report_percent (missing->n, model->n_samples), path);
    }
  printf (_ ("This gives them names: %s\n"), command);
}
