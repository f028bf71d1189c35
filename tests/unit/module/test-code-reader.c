/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-code-reader.c - reads bytes of mapped files: only of the right file, with few descriptors,
 * and within the budget. */

#include "module/code-reader.h"

#include "own-mappings.h"
#include "../directory.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

typedef struct
{
  char *path; /* owned */
  LuModule *module;
} File;

static File
new_file (const char *text, guint64 wrong_inode)
{
  File file = { 0 };
  int fd = g_file_open_tmp ("live-unwinder-XXXXXX", &file.path, NULL);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .has_inode = TRUE };
  struct stat info;

  g_assert_cmpint (write (fd, text, strlen (text)), ==, (gssize) strlen (text));
  g_assert_cmpint (fstat (fd, &info), ==, 0);
  close (fd);
  key.path = file.path;
  key.major = major (info.st_dev);
  key.minor = minor (info.st_dev);
  key.inode = info.st_ino + wrong_inode;
  file.module = lu_module_new (&key);
  lu_module_publish (file.module, LU_MODULE_BROKEN, NULL); /* no ELF file */
  return file;
}

static void
clear_file (File *file)
{
  g_unlink (file->path);
  g_free (file->path);
  lu_module_unref (file->module);
}

static LuCodeResult
read_file (LuCodeReader *reader, const File *file, guint64 offset, char *bytes, gsize size)
{
  return lu_code_reader_read (
      reader, &(LuMappedModule){ .module = file->module, .start = 0x1000, .end = 0x2000 }, offset,
      (guint8 *) bytes, size);
}

static void
test_bytes (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  File file = new_file ("0123456789", 0);
  char bytes[4] = "";

  g_assert_cmpint (read_file (reader, &file, 3, bytes, 4), ==, LU_CODE_READ);
  g_assert_cmpmem (bytes, 4, "3456", 4);
  g_assert_cmpint (read_file (reader, &file, 6, bytes, 4), ==, LU_CODE_READ);
  g_assert_cmpint (read_file (reader, &file, 7, bytes, 4), ==, LU_CODE_UNREADABLE);
  g_assert_cmpint (read_file (reader, &file, G_MAXUINT64 - 1, bytes, 4), ==, LU_CODE_UNREADABLE);
  g_assert_cmpint (read_file (reader, &file, G_MAXINT64, bytes, 4), ==, LU_CODE_UNREADABLE);
  g_assert_cmpint (read_file (reader, &file, 0, bytes, 0), ==, LU_CODE_READ);
  clear_file (&file);
}

/* Pages are kept: each file has its own, bytes of two are put together, and the end of a file stays
 * its end. 600 pages are more than are kept. */
static void
test_pages (void)
{
  const guint size = 600 * 4096 + 100;
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autofree char *upper = g_malloc0 (size + 1), *lower = g_malloc0 (size + 1);
  char *texts[] = { upper, lower };
  File files[2];
  char bytes[4096];

  for (guint i = 0; i < size; i++)
    {
      texts[0][i] = (char) ('A' + i % 23);
      texts[1][i] = (char) ('a' + i % 19);
    }
  for (guint i = 0; i < 2; i++)
    files[i] = new_file (texts[i], 0);
  for (guint round = 0; round < 2; round++)
    for (guint at = 0; at + sizeof bytes <= size; at += 4096 - 7)
      for (guint i = 0; i < 2; i++)
        {
          gsize n = at % 2 == 0 ? 16 : sizeof bytes;

          g_assert_cmpint (read_file (reader, &files[i], at, bytes, n), ==, LU_CODE_READ);
          g_assert_cmpmem (bytes, n, texts[i] + at, n);
        }
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpint (read_file (reader, &files[i], size - 8, bytes, 8), ==, LU_CODE_READ);
      g_assert_cmpint (read_file (reader, &files[i], size - 8, bytes, 9), ==, LU_CODE_UNREADABLE);
      g_assert_cmpint (read_file (reader, &files[i], size + 4096, bytes, 1), ==,
                       LU_CODE_UNREADABLE);
      clear_file (&files[i]);
    }
}

/* The end of a file is not kept: it may move. */
static void
test_growing (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  File file = new_file ("0123456789", 0);
  char bytes[4];
  int fd;

  g_assert_cmpint (read_file (reader, &file, 8, bytes, 4), ==, LU_CODE_UNREADABLE);
  fd = open (file.path, O_WRONLY | O_APPEND);
  g_assert_cmpint (write (fd, "abc", 3), ==, 3);
  close (fd);
  g_assert_cmpint (read_file (reader, &file, 8, bytes, 4), ==, LU_CODE_READ);
  g_assert_cmpmem (bytes, 4, "89ab", 4);
  clear_file (&file);
}

static void
test_another_file (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  File file = new_file ("0123456789", 1), gone = new_file ("0123456789", 0);
  char bytes[4];

  g_assert_cmpint (read_file (reader, &file, 3, bytes, 4), ==, LU_CODE_UNREADABLE);
  g_unlink (gone.path);
  g_assert_cmpint (read_file (reader, &gone, 3, bytes, 4), ==, LU_CODE_UNREADABLE);
  clear_file (&file);
  clear_file (&gone);
}

/* A deleted file can be read through a process that maps it, but not through another process. */
static void
test_another_process (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  File file = new_file ("0123456789", 0);
  guint64 size = (guint64) sysconf (_SC_PAGESIZE), start;
  LuMappedModule elsewhere = { .module = file.module }, here;
  guint8 bytes[4];
  int fd = open (file.path, O_RDONLY | O_CLOEXEC);
  gpointer mapping = mmap (NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

  g_assert_true (mapping != MAP_FAILED);
  start = (guint64) (guintptr) mapping;
  elsewhere.start = start;
  elsewhere.end = start + size;
  here = elsewhere;
  here.pid = getpid ();
  close (fd);
  g_unlink (file.path);
  if (!can_open_mappings (mapping, size))
    {
      g_test_skip ("no permission to open /proc/PID/map_files");
      munmap (mapping, size);
      clear_file (&file);
      return;
    }
  g_assert_cmpint (lu_code_reader_read (reader, &elsewhere, 3, bytes, 4), ==, LU_CODE_UNREADABLE);
  g_assert_cmpint (lu_code_reader_read (reader, &here, 3, bytes, 4), ==, LU_CODE_READ);
  g_assert_cmpmem (bytes, 4, "3456", 4);
  g_assert_cmpint (lu_code_reader_read (reader, &elsewhere, 3, bytes, 4), ==, LU_CODE_READ);
  munmap (mapping, size);
  clear_file (&file);
}

static void
test_few_descriptors (void)
{
  LuCodeReader *reader = lu_code_reader_new ();
  guint before = directory_count ("/proc/self/fd");
  File files[12];
  char byte;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    files[i] = new_file ("x", 0);
  for (guint i = 0; i < 3 * G_N_ELEMENTS (files); i++)
    {
      g_assert_cmpint (read_file (reader, &files[i % G_N_ELEMENTS (files)], 0, &byte, 1), ==,
                       LU_CODE_READ);
      g_assert_cmpuint (directory_count ("/proc/self/fd"), <=, before + 8);
    }
  lu_code_reader_free (reader);
  g_assert_cmpuint (directory_count ("/proc/self/fd"), ==, before);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    clear_file (&files[i]);
}

/* Reads as often as possible for some time; returns how many reads succeeded. */
static guint
ask_for (LuCodeReader *reader, File *files, guint n_files, gint64 us)
{
  gint64 end = g_get_monotonic_time () + us;
  guint n = 0;
  char byte;

  for (guint i = 0; g_get_monotonic_time () < end; i++)
    {
      LuCodeResult result = read_file (reader, &files[i % n_files], 0, &byte, 1);

      g_assert_cmpint (result, !=, LU_CODE_UNREADABLE);
      n += result == LU_CODE_READ;
    }
  return n;
}

/* Reads until no more is allowed; returns how many reads succeeded. */
static guint
use_up (LuCodeReader *reader, const File *file)
{
  guint n = 0;
  char byte;

  while (n < G_USEC_PER_SEC && read_file (reader, file, 0, &byte, 1) == LU_CODE_READ)
    n++;
  return n;
}

static void
test_budget (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  gint64 begin = g_get_monotonic_time ();
  File files[5];
  guint n;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    files[i] = new_file ("x", 0);
  /* A program reads more when it starts than it may read in each second. */
  n = use_up (reader, files);
  g_assert_cmpuint (n, >=, 8 * 20000);
  g_assert_cmpuint (n, <=,
                    (9 + (guint) ((g_get_monotonic_time () - begin) / G_USEC_PER_SEC)) * 20000);
  /* 1.5 seconds touch at most three seconds of the clock. */
  n = ask_for (reader, files, 1, G_USEC_PER_SEC * 3 / 2);
  g_assert_cmpuint (n, >, 1000);
  g_assert_cmpuint (n, <=, 3 * 20000);
  /* Each file replaces an older one. */
  n = ask_for (reader, files, 5, G_USEC_PER_SEC * 3 / 2);
  g_assert_cmpuint (n, <=, 3 * 20000);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    clear_file (&files[i]);
}

/* More reads and files than a second, or any few of them, may have. */
static void
test_no_budget (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  File files[5];
  char byte;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    files[i] = new_file ("x", 0);
  lu_code_reader_set_limited (reader, FALSE);
  for (guint i = 0; i < 100000; i++)
    g_assert_cmpint (read_file (reader, &files[0], 0, &byte, 1), ==, LU_CODE_READ);
  for (guint i = 0; i < 2000; i++)
    g_assert_cmpint (read_file (reader, &files[i % G_N_ELEMENTS (files)], 0, &byte, 1), ==,
                     LU_CODE_READ);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    clear_file (&files[i]);
}

/* Dropped CFI is read again from the file, if that is still there and unchanged. */
static void
test_cfi (void)
{
  LuCodeReader *reader = lu_code_reader_new ();
  g_autoptr (GPtrArray) held = lu_held_cfi_new ();
  g_autofree char *bytes = NULL;
  const LuImageOpening opening = { .may_drop_cfi = TRUE };
  File file = new_file ("", 0);
  LuModule *module = lu_module_new (lu_module_key (file.module));
  gsize size;
  int fd;

  g_assert_true (g_file_get_contents ("/proc/self/exe", &bytes, &size, NULL));
  fd = open (file.path, O_RDWR | O_CLOEXEC);
  g_assert_cmpint (write (fd, bytes, size), ==, (gssize) size);
  lu_module_publish (module, LU_MODULE_READY, lu_image_open_as (fd, &opening, NULL));
  g_assert_null (lu_module_cfi (module));
  g_assert_cmpint (lu_code_reader_hold_cfi (reader, held, &(LuMappedModule){ .module = module }),
                   ==, LU_CODE_READ);
  g_assert_cmpint (lu_code_reader_hold_cfi (reader, held, &(LuMappedModule){ .module = module }),
                   ==, LU_CODE_READ);
  g_assert_cmpuint (held->len, ==, 1);
  g_assert_true ((lu_module_cfi (module) != NULL) == lu_module_has_tables (module));
  g_assert_false (lu_image_drop_cfi (lu_module_image (module)));
  g_ptr_array_set_size (held, 0);
  g_assert_true (lu_image_drop_cfi (lu_module_image (module)));
  g_assert_cmpint (ftruncate (fd, 100), ==, 0);
  close (fd);
  g_assert_cmpint (lu_code_reader_hold_cfi (reader, held, &(LuMappedModule){ .module = module }),
                   ==, LU_CODE_UNREADABLE);
  g_unlink (file.path);
  lu_code_reader_free (reader);
  reader = lu_code_reader_new (); /* the new reader has no open file */
  g_assert_cmpint (lu_code_reader_hold_cfi (reader, held, &(LuMappedModule){ .module = module }),
                   ==, LU_CODE_UNREADABLE);
  g_assert_cmpuint (held->len, ==, 0);
  lu_code_reader_free (reader);
  lu_module_unref (module);
  clear_file (&file);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/code-reader/bytes of a file", test_bytes);
  g_test_add_func ("/code-reader/pages", test_pages);
  g_test_add_func ("/code-reader/a file that grows", test_growing);
  g_test_add_func ("/code-reader/another file, or none", test_another_file);
  g_test_add_func ("/code-reader/through another process", test_another_process);
  g_test_add_func ("/code-reader/few descriptors", test_few_descriptors);
  g_test_add_func ("/code-reader/a budget", test_budget);
  g_test_add_func ("/code-reader/no budget", test_no_budget);
  g_test_add_func ("/code-reader/cfi that went", test_cfi);
  return g_test_run ();
}
