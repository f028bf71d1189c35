/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-proc-maps.c - src/process/proc-maps.c: good lines, unusual paths, wrong lines. */

#include "process/proc-maps.h"

#include "base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct
{
  guint n;
  LuMmapEvent last;
  char path[4096];
} Seen;

static gboolean
keep (const LuMmapEvent *map, gpointer user_data)
{
  Seen *seen = user_data;

  seen->n++;
  seen->last = *map;
  g_strlcpy (seen->path, map->path, sizeof seen->path);
  return TRUE;
}

static void
test_a_line (void)
{
  const char *text = "7f0010000000-7f0010021000 r-xp 00022000 fe:01 1835 "
                     "                    /usr/lib/libc.so.6\n";
  Seen seen = { 0 };

  g_assert_cmpuint (lu_proc_maps_parse (text, strlen (text), keep, &seen), ==, 0);
  g_assert_cmpuint (seen.n, ==, 1);
  g_assert_cmphex (seen.last.start, ==, 0x7f0010000000);
  g_assert_cmphex (seen.last.start + seen.last.length, ==, 0x7f0010021000);
  g_assert_cmphex (seen.last.file_offset, ==, 0x22000);
  g_assert_cmpuint (seen.last.prot, ==, PROT_READ | PROT_EXEC);
  g_assert_cmpuint (seen.last.major, ==, 0xfe);
  g_assert_cmpuint (seen.last.minor, ==, 1);
  g_assert_cmpuint (seen.last.inode, ==, 1835);
  g_assert_cmpstr (seen.path, ==, "/usr/lib/libc.so.6");
}

static void
test_paths (void)
{
  static const struct
  {
    const char *text, *path;
  } cases[] = {
    { "1000-2000 r-xp 00000000 00:00 0 \n", "" },
    { "1000-2000 r-xp 00000000 00:00 0 [vdso]", "[vdso]" },
    { "1000-2000 r-xp 00000000 08:01 5 /tmp/a b (deleted)\n", "/tmp/a b (deleted)" },
    { "1000-2000 r-xp 00000000 08:01 5 /tmp/new\\012line\n", "/tmp/new\nline" },
    { "1000-2000 r-xp 00000000 08:01 5 /tmp/back\\slash\n", "/tmp/back\\slash" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Seen seen = { 0 };

      g_assert_cmpuint (lu_proc_maps_parse (cases[i].text, strlen (cases[i].text), keep, &seen), ==,
                        0);
      g_assert_cmpstr (seen.path, ==, cases[i].path);
    }
}

static void
test_bad_lines_are_skipped (void)
{
  static const char *const cases[] = {
    "2000-1000 r-xp 00000000 00:00 0 /backward\n",
    "1000-1000 r-xp 00000000 00:00 0 /empty\n",
    "11112222333344445-2000 r-xp 00000000 00:00 0 /overflow\n",
    "1000 2000 r-xp 00000000 00:00 0\n",
    "1000-2000 r-x\n",
    "-2000 r-xp 00000000 00:00 0\n",
    "1000-2000 r-xp 00000000 00:00 99999999999999999999 /inode\n",
    "garbage\n",
    "\n",
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text =
          g_strconcat (cases[i], "3000-4000 r-xp 00000000 00:00 0 /good\n", NULL);
      Seen seen = { 0 };

      g_assert_cmpuint (lu_proc_maps_parse (text, strlen (text), keep, &seen), ==, 1);
      g_assert_cmpuint (seen.n, ==, 1);
      g_assert_cmpstr (seen.path, ==, "/good");
    }
}

static void
test_path_too_long (void)
{
  g_autofree char *path = g_strnfill (5000, 'x');
  g_autofree char *text = g_strconcat ("1000-2000 r-xp 0 0:0 1 /", path, "\n", NULL);
  Seen seen = { 0 };

  g_assert_cmpuint (lu_proc_maps_parse (text, strlen (text), keep, &seen), ==, 1);
  g_assert_cmpuint (seen.n, ==, 0);
}

static void
test_of_ourselves (void)
{
  g_autofree char *text = NULL;
  gsize size;
  Seen seen = { 0 };

  g_assert_true (g_file_get_contents ("/proc/self/maps", &text, &size, NULL));
  g_assert_cmpuint (lu_proc_maps_parse (text, size, keep, &seen), ==, 0);
  g_assert_cmpuint (seen.n, >, 5);
}

/* Lists executable mappings, one per line. */
static gboolean
list (const LuMmapEvent *map, gpointer user_data)
{
  if (map->prot & PROT_EXEC && strcmp (map->path, "[vsyscall]") != 0)
    g_string_append_printf (user_data,
                            "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x %u %" G_GINT64_MODIFIER
                            "x %u:%u %" G_GUINT64_FORMAT " %s\n",
                            map->start, map->start + map->length, map->prot, map->file_offset,
                            map->major, map->minor, map->inode, map->path);
  return TRUE;
}

static gboolean
stop (const LuMmapEvent *map, gpointer user_data)
{
  ++*(guint *) user_data;
  return FALSE;
}

static void
test_process_info (void)
{
  g_autoptr (GString) asked = g_string_new (NULL), parsed = g_string_new (NULL);
  lu_autofd fd = open ("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  gsize page = (gsize) sysconf (_SC_PAGESIZE);
  gpointer code = mmap (NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_autofree char *text = NULL;
  gsize size;
  guint n = 0;

  g_assert_true (code != MAP_FAILED);
  text = lu_fd_read_file ("/proc/self/maps", 1u << 20, &size);
  if (!lu_proc_maps_query (fd, list, asked))
    g_test_skip ("the kernel does not answer (before Linux 6.11)");
  else
    {
      lu_proc_maps_parse (text, size, list, parsed);
      g_assert_cmpstr (asked->str, ==, parsed->str);
      g_assert_true (lu_proc_maps_query (fd, stop, &n));
      g_assert_cmpuint (n, ==, 1);
    }
  munmap (code, page);
}

/* Not /proc/PID/maps, or not open: the text has to be read. */
static void
test_process_info_in_vain (void)
{
  lu_autofd fd = open ("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  guint n = 0;

  g_assert_false (lu_proc_maps_query (fd, stop, &n));
  g_assert_false (lu_proc_maps_query (-1, stop, &n));
  g_assert_cmpuint (n, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/proc-maps/a line", test_a_line);
  g_test_add_func ("/proc-maps/paths", test_paths);
  g_test_add_func ("/proc-maps/bad lines are skipped", test_bad_lines_are_skipped);
  g_test_add_func ("/proc-maps/a path that is too long", test_path_too_long);
  g_test_add_func ("/proc-maps/of ourselves", test_of_ourselves);
  g_test_add_func ("/proc-maps/asking for them", test_process_info);
  g_test_add_func ("/proc-maps/asking in vain", test_process_info_in_vain);
  return g_test_run ();
}
