/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-proc-maps.c - src/process/proc-maps.c: good lines, unusual paths, wrong lines. */

#include "process/proc-maps.h"

#include <string.h>
#include <sys/mman.h>

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/proc-maps/a line", test_a_line);
  g_test_add_func ("/proc-maps/paths", test_paths);
  g_test_add_func ("/proc-maps/bad lines are skipped", test_bad_lines_are_skipped);
  g_test_add_func ("/proc-maps/a path that is too long", test_path_too_long);
  g_test_add_func ("/proc-maps/of ourselves", test_of_ourselves);
  return g_test_run ();
}
