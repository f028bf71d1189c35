/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-jit-names.c - perf maps and jitdumps written by hand. */

#include "symbolize/jit-names.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int
file_of (gconstpointer bytes, gsize size)
{
  int fd = memfd_create ("jit", MFD_CLOEXEC);

  g_assert_cmpint (write (fd, bytes, size), ==, (gssize) size);
  return fd;
}

static void
assert_name (LuJitNames *names, guint64 address, guint64 time, const char *expected)
{
  LuJitName name;

  if (!lu_jit_names_find (names, address, time, &name))
    {
      g_assert_null (expected);
      return;
    }
  g_assert_cmpstr (name.name, ==, expected);
  g_assert_cmpuint (name.start, <=, address);
  g_assert_cmpuint (name.end, >, address);
  g_free (name.name);
}

static void
test_perf_map (void)
{
  static const char text[] = "1000 100 LazyCompile:~outer /a b.js:1\n"
                             "0x2000 0x10 with prefix\r\n"
                             "1040 20 inner\n"
                             "\n"
                             "nonsense\n"
                             "3000 0 empty\n"
                             "ffffffffffffffff 10 around the end\n"
                             "4000 10 \n"
                             "5000 10 not \xff text\n"
                             "6000 10 being written";
  g_autoptr (LuJitNames) names = lu_jit_names_new (NULL, NULL);

  g_assert_true (lu_jit_names_add_perf_map (names, file_of (text, strlen (text))));
  assert_name (names, 0xfff, 0, NULL);
  assert_name (names, 0x1000, 0, "LazyCompile:~outer /a b.js:1");
  assert_name (names, 0x1040, 0, "inner");
  assert_name (names, 0x1060, 0, "LazyCompile:~outer /a b.js:1");
  assert_name (names, 0x1100, 0, NULL);
  assert_name (names, 0x2008, 0, "with prefix");
  assert_name (names, 0x3000, 0, NULL);
  assert_name (names, 0x4000, 0, NULL);
  assert_name (names, 0xffffffffffffffff, 0, NULL);
  assert_name (names, 0x5000, 0, "not \xef\xbf\xbd text");
  assert_name (names, 0x6000, 0, NULL);
}

/* If two lines name one address, the later line counts. */
static void
test_replaced (void)
{
  static const char text[] = "1000 40 first\n1000 40 second\n1020 8 third\n1000 40 fourth\n";
  g_autoptr (LuJitNames) names = lu_jit_names_new (NULL, NULL);

  g_assert_true (lu_jit_names_add_perf_map (names, file_of (text, strlen (text))));
  assert_name (names, 0x1000, 0, "fourth");
  assert_name (names, 0x1022, 0, "fourth");
}

static void
put (GByteArray *bytes, guint64 value, guint size)
{
  g_byte_array_append (bytes, (const guint8 *) &value, size);
}

static void
put_load (GByteArray *bytes, guint64 time, guint64 address, guint64 code_size, const char *name)
{
  gsize name_size = strlen (name) + 1;

  put (bytes, 0, 4);
  put (bytes, 16 + 40 + name_size + code_size, 4);
  put (bytes, time, 8);
  put (bytes, 7, 4);
  put (bytes, 7, 4);
  put (bytes, address, 8);
  put (bytes, address, 8);
  put (bytes, code_size, 8);
  put (bytes, 1, 8);
  g_byte_array_append (bytes, (const guint8 *) name, (guint) name_size);
  g_byte_array_set_size (bytes, bytes->len + (guint) code_size);
}

static GByteArray *
jitdump (void)
{
  GByteArray *bytes = g_byte_array_new ();

  put (bytes, 0x4A695444, 4);
  put (bytes, 1, 4);
  put (bytes, 40, 4);
  put (bytes, 62, 4);
  put (bytes, 0, 4);
  put (bytes, 7, 4);
  put (bytes, 0, 8);
  put (bytes, 0, 8);
  put_load (bytes, 100, 0x1000, 0x40, "old");
  put_load (bytes, 200, 0x1000, 0x20, "new");
  /* a record to be skipped */
  put (bytes, 2, 4);
  put (bytes, 24, 4);
  put (bytes, 0, 8);
  put (bytes, 0, 8);
  put (bytes, 1, 4); /* MOVE */
  put (bytes, 16 + 48, 4);
  put (bytes, 300, 8);
  put (bytes, 7, 4);
  put (bytes, 7, 4);
  put (bytes, 0x9000, 8);
  put (bytes, 0x1000, 8);
  put (bytes, 0x9000, 8);
  put (bytes, 0x20, 8);
  put (bytes, 1, 8);
  return bytes;
}

static void
test_jitdump (void)
{
  g_autoptr (GByteArray) bytes = jitdump ();
  g_autoptr (LuJitNames) names = lu_jit_names_new (NULL, NULL);

  g_assert_true (lu_jit_names_add_jitdump (names, file_of (bytes->data, bytes->len)));
  assert_name (names, 0x1000, 150, "old");
  assert_name (names, 0x1000, 250, "new");
  assert_name (names, 0x1030, 250, "old");
  assert_name (names, 0x1000, 50, "old"); /* before all records: the oldest */
  assert_name (names, 0x9010, 400, "new");
}

static void
test_nothing_usable (void)
{
  g_autoptr (GByteArray) bytes = jitdump ();
  g_autoptr (LuJitNames) names = lu_jit_names_new (NULL, NULL);

  g_assert_false (lu_jit_names_add_perf_map (names, file_of ("", 0)));
  g_assert_false (lu_jit_names_add_perf_map (names, file_of ("hello\n", 6)));
  g_assert_false (lu_jit_names_add_jitdump (names, file_of ("", 0)));
  g_assert_false (lu_jit_names_add_jitdump (names, file_of (bytes->data, 40)));
  bytes->data[0] = 0;
  g_assert_false (lu_jit_names_add_jitdump (names, file_of (bytes->data, bytes->len)));
  assert_name (names, 0x1000, 0, NULL);
}

/* A dump that is cut anywhere gives the names before the cut. */
static void
test_cut (void)
{
  g_autoptr (GByteArray) bytes = jitdump ();

  for (guint size = 0; size < bytes->len; size++)
    {
      g_autoptr (LuJitNames) names = lu_jit_names_new (NULL, NULL);
      LuJitName name;

      if (lu_jit_names_add_jitdump (names, file_of (bytes->data, size))
          && lu_jit_names_find (names, 0x1000, 150, &name))
        g_free (name.name);
    }
}

static guint64
now (void)
{
  return (guint64) g_get_monotonic_time () * 1000;
}

static gboolean
has_map (void)
{
  g_autoptr (LuJitNames) names = lu_jit_names_new (NULL, NULL);
  LuJitName name;

  lu_jit_names_add_process (names, getpid (), now (), NULL);
  if (!lu_jit_names_find (names, 0x1000, 0, &name))
    return FALSE;
  g_free (name.name);
  return TRUE;
}

static void
test_owner (void)
{
  g_autofree char *path = g_strdup_printf ("/tmp/perf-%d.map", getpid ());
  g_autofree char *other = g_strconcat (path, ".other", NULL);

  g_unlink (path);
  g_assert_false (has_map ());
  g_assert_true (g_file_set_contents (other, "1000 10 x\n", -1, NULL));
  g_assert_cmpint (symlink (other, path), ==, 0);
  g_assert_false (has_map ());
  g_unlink (path);
  g_assert_cmpint (rename (other, path), ==, 0);
  g_assert_true (has_map ());
  if (geteuid () == 0)
    {
      g_assert_cmpint (chown (path, 65534, 65534), ==, 0);
      g_assert_false (has_map ());
    }
  g_unlink (path);
}

/* A process that got its pid later has nothing to do with a sample, nor has it written a map that
 * is older than itself. */
static void
test_other_process (void)
{
  g_autofree char *path = g_strdup_printf ("/tmp/perf-%d.map", getpid ());
  g_autoptr (LuJitNames) early = lu_jit_names_new (NULL, NULL);
  g_autoptr (LuJitNames) late = lu_jit_names_new (NULL, NULL);
  const struct timespec long_ago[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

  g_assert_true (g_file_set_contents (path, "1000 10 x\n", -1, NULL));
  lu_jit_names_add_process (early, getpid (), 1, NULL);
  assert_name (early, 0x1000, 0, NULL);
  lu_jit_names_add_process (late, getpid (), now (), NULL);
  assert_name (late, 0x1000, 0, "x");
  g_assert_true (has_map ());
  g_assert_cmpint (utimensat (AT_FDCWD, path, long_ago, 0), ==, 0);
  g_assert_false (has_map ());
  g_unlink (path);
}

/* The map in /tmp and the dump that an absolute path names are found; a relative path is not used.
 */
static void
test_of_process (void)
{
  static const char text[] = "8000 40 mapped\n";
  g_autofree char *map = g_strdup_printf ("/tmp/perf-%d.map", getpid ());
  g_autofree char *directory = g_dir_make_tmp ("lu-jit-XXXXXX", NULL);
  g_autofree char *dump = g_build_filename (directory, "jit-1.dump", NULL);
  g_autoptr (GByteArray) bytes = jitdump ();
  g_autoptr (LuJitNames) both = lu_jit_names_new (NULL, NULL);
  g_autoptr (LuJitNames) only_map = lu_jit_names_new (NULL, NULL);

  g_assert_true (g_file_set_contents (map, text, -1, NULL));
  g_assert_true (g_file_set_contents (dump, (const char *) bytes->data, bytes->len, NULL));
  lu_jit_names_add_process (both, getpid (), now (), dump);
  lu_jit_names_add_process (only_map, getpid (), now (), "jit-1.dump");
  g_assert_cmpint (g_remove (map), ==, 0);
  assert_name (both, 0x8000, 0, "mapped");
  assert_name (both, 0x1000, 150, "old");
  assert_name (only_map, 0x8000, 0, "mapped");
  assert_name (only_map, 0x1000, 150, NULL);
  g_assert_cmpint (g_remove (dump), ==, 0);
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/symbolize/jit-names/perf-map", test_perf_map);
  g_test_add_func ("/symbolize/jit-names/replaced", test_replaced);
  g_test_add_func ("/symbolize/jit-names/jitdump", test_jitdump);
  g_test_add_func ("/symbolize/jit-names/nothing-usable", test_nothing_usable);
  g_test_add_func ("/symbolize/jit-names/cut", test_cut);
  g_test_add_func ("/symbolize/jit-names/owner", test_owner);
  g_test_add_func ("/symbolize/jit-names/other-process", test_other_process);
  g_test_add_func ("/symbolize/jit-names/of-process", test_of_process);
  return g_test_run ();
}
