/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-syscap-counters.c - counters of a machine that is a directory, and their frames. */

#include "base/fd.h"
#include "capture/machine-counters.h"
#include "capture/syscap-counters.h"
#include "capture/syscap-frames.h"
#include "capture/syscap-reader.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#define SECOND G_GUINT64_CONSTANT (1000000000)

static char *
new_machine (void)
{
  char *directory = g_dir_make_tmp ("counters-XXXXXX", NULL);

  g_assert_nonnull (directory);
  return directory;
}

/* Writes a file of the machine. Files are open already when they change. */
static void
set_file (const char *machine, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (machine, name, NULL);
  g_autofree char *directory = g_path_get_dirname (path);
  lu_autofd fd = -1;

  g_assert_cmpint (g_mkdir_with_parents (directory, 0700), ==, 0);
  fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  g_assert_true (lu_fd_write_all (fd, text, strlen (text)));
}

static void
remove_machine (const char *machine)
{
  g_autofree char *command = g_strdup_printf ("rm -r '%s'", machine);

  g_assert_true (g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL));
}

static double
value_of (const LuMachineCounters *counters, const char *category, const char *name)
{
  guint n;
  const LuMachineCounter *all = lu_machine_counters_get (counters, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (all[i].category, category) == 0 && strcmp (all[i].name, name) == 0)
      return all[i].is_real ? all[i].real : (double) all[i].integer;
  return -1;
}

static void
test_machine (void)
{
  g_autofree char *machine = new_machine ();
  g_autoptr (LuMachineCounters) counters = NULL;

  set_file (machine, "stat",
            "cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0 0 0\n"
            "cpu1 0 0 0 100 0 0 0 0 0 0\nintr 5\n");
  set_file (machine, "meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable:  400 kB\n");
  set_file (machine, "net/dev",
            "Inter-|  Receive\n face |bytes\n  lo: 7 1 0 0 0 0 0 0 9 1 0\n"
            "eth0:1000 1 0 0 0 0 0 0 500 1 0\nidle: 0 0 0 0 0 0 0 0 0 0\n");
  set_file (machine, "diskstats",
            "   8       0 sda 10 0 0 0 20 0 0 0\n   7 0 loop0 0 0 0 0 0 0 0\n");
  set_file (machine, "cpu0/cpufreq/scaling_max_freq", "4000000\n");
  set_file (machine, "cpu0/cpufreq/scaling_cur_freq", "1000000\n");
  counters = lu_machine_counters_new (machine, machine, TRUE);
  set_file (machine, "stat",
            "cpu  130 0 0 170 0 0 0 0 0 0\ncpu0 125 0 0 25 0 0 0 0 0 0\n"
            "cpu1 5 0 0 125 20 0 0 0 0 0\nintr 5\n");
  set_file (machine, "diskstats", "   8       0 sda 13 0 0 0 20 0 0 0\n");
  lu_machine_counters_read (counters);
  g_assert_cmpfloat (value_of (counters, "CPU Percent", "Combined"), ==, 30);
  g_assert_cmpfloat (value_of (counters, "CPU Percent", "Total CPU 0"), ==, 50);
  g_assert_cmpfloat (value_of (counters, "CPU Percent", "Total CPU 1"), ==, 10);
  g_assert_cmpfloat (value_of (counters, "CPU Frequency", "CPU 0"), ==, 25);
  g_assert_cmpfloat (value_of (counters, "Memory", "Used"), ==, 600 * 1024);
  g_assert_cmpfloat (value_of (counters, "Memory", "Free"), ==, 100 * 1024);
  g_assert_cmpfloat (value_of (counters, "Network", "RX Bytes (eth0)"), ==, 1000);
  g_assert_cmpfloat (value_of (counters, "Network", "TX Bytes"), ==, 509);
  g_assert_cmpfloat (value_of (counters, "Network", "RX Bytes (idle)"), ==, -1);
  g_assert_cmpfloat (value_of (counters, "Disk", "Total Reads (sda)"), ==, 3);
  g_assert_cmpfloat (value_of (counters, "Disk", "Total Writes (sda)"), ==, 0);
  g_assert_cmpfloat (value_of (counters, "Disk", "Total Reads (loop0)"), ==, -1);
  remove_machine (machine);
}

static void
test_strange_files (void)
{
  static const char *const texts[] = { "",
                                       "\n\n\n",
                                       "cpu",
                                       "cpu \ncpu99999999999999999999 1 2 3",
                                       "cpu 1 2 3 4 5 6 7 8\ncpu 0 0 0 0 0 0 0 0",
                                       ":::",
                                       "a:b:c",
                                       "MemTotal: 99999999999999999999 kB\nMemAvailable: 1",
                                       "1 2 x 18446744073709551615 1 1 1 18446744073709551615",
                                       "\xff\xfe: 1 2 3 4 5 6 7 8 9" };
  g_autofree char *machine = new_machine ();
  g_autoptr (GString) many = g_string_new (NULL);

  for (guint i = 0; i < 3000; i++)
    g_string_append_printf (many, "if%u: %u 0 0 0 0 0 0 0 1\n", i, i + 1);
  for (guint i = 0; i <= G_N_ELEMENTS (texts); i++)
    {
      const char *text = i < G_N_ELEMENTS (texts) ? texts[i] : many->str;
      g_autoptr (LuMachineCounters) counters = NULL;
      guint n;

      set_file (machine, "stat", text);
      set_file (machine, "meminfo", text);
      set_file (machine, "net/dev", text);
      set_file (machine, "diskstats", text);
      counters = lu_machine_counters_new (machine, machine, TRUE);
      lu_machine_counters_read (counters);
      lu_machine_counters_get (counters, &n);
      g_assert_cmpuint (n, <=, LU_MACHINE_COUNTERS_MAX);
    }
  remove_machine (machine);
}

/* Returns a value of the last CTRSET of a capture, by category and name; NAN: there is none. */
static double
read_value (int fd, const char *category, const char *name)
{
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;
  guint32 id = 0;
  gboolean is_real = FALSE;
  double found = (double) NAN;

  g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
  reader = lu_syscap_reader_new (dup (fd), NULL);
  while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    {
      for (guint i = 0; record.type == LU_SYSCAP_CTRDEF && i < record.ctrdef.n; i++)
        if (strcmp (record.ctrdef.counters[i].category, category) == 0
            && strcmp (record.ctrdef.counters[i].name, name) == 0)
          {
            id = record.ctrdef.counters[i].id;
            is_real = record.ctrdef.counters[i].is_real;
          }
      for (guint i = 0; record.type == LU_SYSCAP_CTRSET && i < record.ctrset.n; i++)
        if (record.ctrset.values[i].id == id)
          {
            guint64 bits = record.ctrset.values[i].bits;

            found = (double) bits;
            if (is_real)
              memcpy (&found, &bits, sizeof found);
          }
    }
  return found;
}

/* Copies a capture as "convert" does. */
static int
copy (int fd)
{
  int to = memfd_create ("copy", MFD_CLOEXEC);
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (dup (to));
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;

  g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
  reader = lu_syscap_reader_new (dup (fd), NULL);
  g_assert_true (lu_syscap_writer_header (writer, 1, 0, NULL));
  while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    g_assert_true (lu_syscap_copy_frame (writer, &record, NULL));
  g_assert_true (lu_syscap_writer_finish (writer, 1, NULL));
  return to;
}

static void
test_frames (void)
{
  g_autofree char *machine = new_machine ();
  g_autoptr (LuSyscapCounters) counters = NULL;
  lu_autofd fd = memfd_create ("counters", MFD_CLOEXEC), copied = -1;
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (dup (fd));

  g_assert_true (lu_syscap_writer_header (writer, SECOND, 0, NULL));
  set_file (machine, "meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
  counters = lu_syscap_counters_new_for (machine, machine, TRUE);
  g_assert_true (lu_syscap_counters_write (counters, writer, SECOND, NULL));
  for (guint i = 0; i < 300; i++)
    lu_syscap_counters_add_sample (counters);
  lu_syscap_counters_take_log (counters, "12 samples lost");
  lu_syscap_counters_take_log (counters, "the kernel throttled events");
  g_assert_true (lu_syscap_counters_write (counters, writer, SECOND + SECOND / 2, NULL));
  g_assert_cmpuint (lu_syscap_writer_size (writer), ==, sizeof (LuSyscapHeader)); /* too early */
  g_assert_true (lu_syscap_counters_write (counters, writer, 3 * SECOND, NULL));
  set_file (machine, "meminfo", "MemTotal: 1000 kB\nMemAvailable: 300 kB\nShmem: 5 kB\n");
  for (guint i = 0; i < 70; i++)
    lu_syscap_counters_add_sample (counters);
  g_assert_true (lu_syscap_counters_write (counters, writer, 4 * SECOND, NULL));
  g_assert_true (lu_syscap_writer_finish (writer, 5 * SECOND, NULL));
  copied = copy (fd);
  for (guint i = 0; i < 2; i++)
    {
      int file = i == 0 ? fd : copied;

      g_assert_cmpfloat (read_value (file, "Memory", "Used"), ==, 700 * 1024);
      g_assert_cmpfloat (read_value (file, "Memory", "Shmem"), ==, 5 * 1024);
      g_assert_cmpfloat (read_value (file, "live-unwinder", "Samples per Second"), ==, 70);
      g_assert_cmpfloat (read_value (file, "live-unwinder", "Lost Samples"), ==, 12);
    }
  g_assert_true (lu_syscap_counters_write (NULL, writer, 9 * SECOND, NULL));
  remove_machine (machine);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/capture/counters/machine", test_machine);
  g_test_add_func ("/capture/counters/strange-files", test_strange_files);
  g_test_add_func ("/capture/counters/frames", test_frames);
  return g_test_run ();
}
