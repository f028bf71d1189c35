/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-counters.c - the parsers of /proc/stat, meminfo, net/dev and diskstats, and of the files
 * with frequencies; others choose the names of devices in them.
 *
 * NUL bytes separate the texts of these files: those of a first reading, then those of a second. */

#include "fuzz.h"

#include "base/fd.h"
#include "capture/machine-counters.h"

#include <glib/gstdio.h>
#include <string.h>

/* Files, and before them the directories that they are in. */
static const char *const directories[] = { "net", "cpu0", "cpu0/cpufreq" };
static const char *const files[] = { "stat",
                                     "meminfo",
                                     "net/dev",
                                     "diskstats",
                                     "cpu0/cpufreq/scaling_max_freq",
                                     "cpu0/cpufreq/scaling_cur_freq" };

typedef struct
{
  const char *at, *end;
} Texts;

/* Writes the next texts into the files; those that are not there are empty. */
static void
write_files (const char *machine, Texts *texts)
{
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (machine, files[i], NULL);
      gsize left = (gsize) (texts->end - texts->at);
      const char *nul = left > 0 ? memchr (texts->at, 0, left) : NULL;
      gsize size = nul != NULL ? (gsize) (nul - texts->at) : left;
      lu_autofd fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

      g_assert_true (lu_fd_write_all (fd, texts->at, size));
      texts->at += nul != NULL ? size + 1 : size;
    }
}

static void
check (const LuMachineCounters *counters, guint n_before)
{
  guint n;
  const LuMachineCounter *all = lu_machine_counters_get (counters, &n);

  g_assert_cmpuint (n, <=, LU_MACHINE_COUNTERS_MAX);
  g_assert_cmpuint (n, >=, n_before);
  for (guint i = 0; i < n; i++)
    {
      g_assert_nonnull (memchr (all[i].name, 0, sizeof all[i].name));
      g_assert_nonnull (memchr (all[i].category, 0, sizeof all[i].category));
      g_assert_cmpint (all[i].is_real, ==, g_str_has_prefix (all[i].category, "CPU "));
      g_assert_true (!all[i].is_real || (all[i].real >= 0 && all[i].real <= 100));
    }
}

static void
read_twice (const char *machine, Texts *texts)
{
  g_autoptr (LuMachineCounters) counters = NULL;
  guint n;

  write_files (machine, texts);
  counters = lu_machine_counters_new (machine, machine, TRUE);
  check (counters, 0);
  lu_machine_counters_get (counters, &n);
  write_files (machine, texts);
  lu_machine_counters_read (counters);
  check (counters, n);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *machine = g_dir_make_tmp ("fuzz-counters-XXXXXX", NULL);
  Texts texts = { (const char *) data, (const char *) data + size };

  g_assert_nonnull (machine);
  for (guint i = 0; i < G_N_ELEMENTS (directories); i++)
    {
      g_autofree char *path = g_build_filename (machine, directories[i], NULL);

      g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
    }
  read_twice (machine, &texts);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (machine, files[i], NULL);

      g_unlink (path);
    }
  for (guint i = G_N_ELEMENTS (directories); i > 0; i--)
    {
      g_autofree char *path = g_build_filename (machine, directories[i - 1], NULL);

      g_rmdir (path);
    }
  g_rmdir (machine);
  return 0;
}
