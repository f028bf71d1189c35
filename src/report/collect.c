/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* collect.c - copies the sampled files and their debug files to a directory; see report.h.
 *
 * A process without rights reads the recording and copies files, but it may not create directories.
 * So all of .build-id/00 to ff are there before it starts, and the empty ones are removed after it.
 */

#include "config.h"

#include "report.h"

#include "base/error.h"
#include "base/fd.h"
#include "capture/output-file.h"
#include "replay.h"
#include "rights.h"
#include "symbolize/elf-file.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/wait.h>

#define COPY_SIZE (256u << 10)

/* Copies an open file to .build-id in the directory, unless it is there. */
static gboolean
copy (const LuElfFile *from, const char *directory, const char *id, const char *suffix,
      GError **error)
{
  g_autofree char *path = g_strdup_printf ("%s/.build-id/%.2s/%s%s", directory, id, id + 2, suffix);
  g_autofree guint8 *bytes = g_malloc (COPY_SIZE);
  lu_autofd fd = g_file_test (path, G_FILE_TEST_EXISTS) ? -1 : lu_output_open (path, FALSE, error);
  gboolean ok = TRUE;

  if (fd < 0)
    return error == NULL || *error == NULL;
  for (guint64 at = 0; ok && at < from->input.size; at += COPY_SIZE)
    {
      gsize n = (gsize) MIN (COPY_SIZE, from->input.size - at);

      ok = lu_elf_input_read (&from->input, at, bytes, n) && lu_fd_write_all (fd, bytes, n);
    }
  if (ok && fchmod (fd, 0644) == 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", path, g_strerror (errno));
  lu_output_discard (path);
  return FALSE;
}

/* Copies a sampled file and its debug file. *n_files counts those that are here. */
static gboolean
collect_file (const LuNameFile *file, const char *directory, guint *n_files, GError **error)
{
  LuElfFile program, debug;
  gboolean is_no_elf, ok;
  guint candidate = 0;

  if (file->id->build_id == NULL || strlen (file->id->build_id) <= 2
      || !lu_elf_file_open_mapped (&program, file, &is_no_elf))
    return TRUE;
  *n_files += 1;
  ok = copy (&program, directory, program.build_id, "", error);
  if (ok && lu_elf_file_open_debug (&debug, &program, file, &candidate))
    {
      ok = copy (&debug, directory, program.build_id, ".debug", error);
      lu_elf_file_clear (&debug);
    }
  lu_elf_file_clear (&program);
  return ok;
}

static gboolean
collect (const char *capture, const char *directory, GError **error)
{
  g_autoptr (LuModel) model = lu_replay_load (capture, 0, NULL, error);
  g_autofree gboolean *is_sampled = NULL;
  guint n_sampled = 0, n_files = 0;

  if (model == NULL)
    return FALSE;
  is_sampled = g_new0 (gboolean, model->modules->len + 1);
  for (guint i = 0; i < model->frames->len; i++)
    if (lu_model_frame (model, i)->kind == LU_CODE_USER)
      is_sampled[lu_model_frame (model, i)->module] = TRUE;
  for (guint i = 0; i < model->modules->len; i++)
    {
      const LuModelModule *module = g_ptr_array_index (model->modules, i);

      if (!is_sampled[i])
        continue;
      n_sampled++;
      if (!collect_file (&module->mapped, directory, &n_files, error))
        return FALSE;
    }
  printf (_ ("%u of %u sampled files are here, and now with their debug files in %s\n"), n_files,
          n_sampled, directory);
  return TRUE;
}

/* Creates (or removes, if they are empty) the directories of a tree by build-id. */
static gboolean
change_tree (const char *directory, gboolean creates)
{
  gboolean ok = TRUE;

  for (guint i = 0; i < 256; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/.build-id/%02x", directory, i);

      if (creates)
        ok = g_mkdir_with_parents (path, 0755) == 0 && ok;
      else
        g_rmdir (path);
    }
  return ok;
}

/* Runs in a process of its own; returns its exit status. */
static int
run_collector (const char *capture, const char *directory)
{
  g_autoptr (GError) error = NULL;

  lu_report_give_up_rights (directory, lu_replay_is_perf_data (capture));
  if (collect (capture, directory, &error))
    return fflush (stdout);
  fprintf (stderr, "live-unwinder: %s\n", error->message);
  return 1;
}

gboolean
lu_debuginfo_main (int argc, char **argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (
      _ ("collect FILE DIRECTORY - the debug files of a recording, for debuginfod"));
  int status;
  pid_t child;

  if (!g_option_context_parse (context, &argc, &argv, error))
    return FALSE;
  if (argc != 4 || !g_str_equal (argv[1], "collect"))
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                           _ ("Usage: live-unwinder debuginfo collect FILE DIRECTORY"));
      return FALSE;
    }
  if (!change_tree (argv[3], TRUE))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", argv[3], g_strerror (errno));
      return FALSE;
    }
  child = fork ();
  if (child == 0)
    _exit (run_collector (argv[2], argv[3]));
  while (child > 0 && waitpid (child, &status, 0) < 0 && errno == EINTR)
    ;
  change_tree (argv[3], FALSE);
  return child > 0 && WIFEXITED (status) && WEXITSTATUS (status) == 0;
}
