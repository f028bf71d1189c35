/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-store-pending.c - pending writes of one process become files when the next one starts, and
 * nothing else does: truncated or changed records, names that lead elsewhere, files that are not
 * ours alone. */

#include "table/store-private.h"

#include "../directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RECORD_SIZE 96 /* magic, size, name */
#define NAME_AT     16

static const char name[] = "0123-456789abcdef.table";
static const char second_name[] = "0123456789abcdef.table";

typedef struct
{
  char *directory, *pending;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  self->directory = g_dir_make_tmp ("lu-pending-XXXXXX", NULL);
  self->pending = g_build_filename (self->directory, "pending", NULL);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  directory_remove (self->directory);
  g_free (self->directory);
  g_free (self->pending);
}

static LuStore *
open_store (const Fixture *self)
{
  g_autoptr (GError) error = NULL;
  LuStore *store = lu_store_open (self->directory, LU_STORE_READ_WRITE, &error);

  g_assert_no_error (error);
  return store;
}

/* Starts the next helper, as far as the store is concerned. */
static void
take_in (const Fixture *self)
{
  g_autoptr (LuStore) store = open_store (self);
  GStatBuf info;

  g_assert_true (lu_store_open_pending (store));
  g_assert_cmpint (g_stat (self->pending, &info), ==, 0);
  g_assert_cmpint (info.st_size, ==, 0);
}

typedef struct
{
  const char *name, *bytes;
} Write;

/* Leaves the writes of one helper. */
static void
leave_all (const Fixture *self, const Write *writes, guint n)
{
  g_autoptr (LuStore) store = open_store (self);

  g_assert_true (lu_store_open_pending (store));
  for (guint i = 0; i < n; i++)
    g_assert_true (lu_store_write_file (store, writes[i].name, (const guint8 *) writes[i].bytes,
                                        strlen (writes[i].bytes)));
}

static char *
contents (const Fixture *self, const char *file)
{
  g_autofree char *path = g_build_filename (self->directory, file, NULL);
  char *bytes = NULL;

  g_file_get_contents (path, &bytes, NULL, NULL);
  return bytes;
}

static guint
count_files (const Fixture *self)
{
  g_autoptr (GDir) dir = g_dir_open (self->directory, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
test_moved (Fixture *self, gconstpointer data)
{
  static const Write writes[] = { { name, "older" }, { second_name, "second" }, { name, "newer" } };
  g_autofree char *table = NULL, *other = NULL;

  leave_all (self, writes, G_N_ELEMENTS (writes));
  g_assert_cmpuint (count_files (self), ==, 1);
  take_in (self);
  table = contents (self, name);
  other = contents (self, second_name);
  g_assert_cmpstr (table, ==, "newer");
  g_assert_cmpstr (other, ==, "second");
  g_assert_cmpuint (count_files (self), ==, 3);
}

/* A pending table is not found before the next helper has started. */
static void
test_image (Fixture *self, gconstpointer data)
{
  int fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  g_autoptr (LuImage) image = lu_image_open (fd, NULL);
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);
  g_autoptr (LuTable) table = lu_table_new (cfi), stored = NULL;
  g_autoptr (LuStore) store = open_store (self), next = open_store (self);
  LuStorePruned pruned;
  LuStoreResult result;

  close (fd);
  g_assert_true (lu_store_open_pending (store));
  g_assert_true (lu_store_save (store, image, table));
  g_assert_null (lu_store_load (store, image, G_MAXSIZE, &result));
  g_assert_cmpint (result, ==, LU_STORE_MISSING);
  g_assert_false (lu_store_prune (store, 0, &pruned));
  g_assert_cmpint (errno, ==, EROFS);
  g_clear_pointer (&store, lu_store_free);
  g_assert_true (lu_store_open_pending (next));
  stored = lu_store_load (next, image, G_MAXSIZE, &result);
  g_assert_nonnull (stored);
  g_assert_cmpmem (lu_table_block (stored), stored->stats.table_bytes, lu_table_block (table),
                   table->stats.table_bytes);
}

static void
test_one_has_it (Fixture *self, gconstpointer data)
{
  g_autoptr (LuStore) first = open_store (self), second = open_store (self);

  g_assert_true (lu_store_open_pending (first));
  g_assert_false (lu_store_open_pending (second));
  g_clear_pointer (&first, lu_store_free);
  g_assert_true (lu_store_open_pending (second));
}

static void
test_full (Fixture *self, gconstpointer data)
{
  const gsize size = LU_STORE_PENDING_BYTES / 4;
  g_autofree guint8 *bytes = g_malloc0 (LU_STORE_PENDING_BYTES + 1);
  g_autoptr (LuStore) store = open_store (self);

  g_assert_true (lu_store_open_pending (store));
  g_assert_false (lu_store_write_file (store, name, bytes, LU_STORE_PENDING_BYTES + 1));
  g_assert_cmpint (errno, ==, EFBIG);
  for (guint i = 0; i < 3; i++)
    g_assert_true (lu_store_write_file (store, name, bytes, size));
  g_assert_false (lu_store_write_file (store, name, bytes, size));
  g_assert_cmpint (errno, ==, EFBIG);
  g_clear_pointer (&store, lu_store_free);
  take_in (self);
  g_assert_cmpuint (count_files (self), ==, 2);
}

/* Nothing is written after an incomplete record. */
static void
test_no_room (Fixture *self, gconstpointer data)
{
  guint8 bytes[100] = { 0 };
  g_autoptr (LuStore) store = open_store (self);
  struct rlimit before, limit;

  getrlimit (RLIMIT_FSIZE, &before);
  limit = before;
  limit.rlim_cur = RECORD_SIZE + 10;
  signal (SIGXFSZ, SIG_IGN);
  g_assert_true (lu_store_open_pending (store));
  setrlimit (RLIMIT_FSIZE, &limit);
  g_assert_false (lu_store_write_file (store, name, bytes, sizeof bytes));
  setrlimit (RLIMIT_FSIZE, &before);
  g_assert_false (lu_store_write_file (store, name, bytes, 1));
  g_clear_pointer (&store, lu_store_free);
  take_in (self);
  g_assert_cmpuint (count_files (self), ==, 1);
}

/* Two records, the second one changed or truncated. */
static GByteArray *
make_pending (const Fixture *self)
{
  static const Write writes[] = { { name, "first" }, { second_name, "second" } };
  GByteArray *bytes;
  char *read;
  gsize size;

  leave_all (self, writes, G_N_ELEMENTS (writes));
  g_assert_true (g_file_get_contents (self->pending, &read, &size, NULL));
  bytes = g_byte_array_new_take ((guint8 *) read, size);
  g_assert_cmpuint (size, ==, 2 * RECORD_SIZE + strlen ("first") + strlen ("second"));
  return bytes;
}

static void
put_pending (const Fixture *self, const GByteArray *bytes, gsize size)
{
  g_assert_true (
      g_file_set_contents (self->pending, (const char *) bytes->data, (gssize) size, NULL));
  g_assert_cmpint (g_chmod (self->pending, 0600), ==, 0);
}

static void
test_cut_off (Fixture *self, gconstpointer data)
{
  g_autoptr (GByteArray) bytes = make_pending (self);
  gsize first = RECORD_SIZE + strlen ("first");

  for (gsize size = 0; size < bytes->len; size++)
    {
      g_autofree char *path = g_build_filename (self->directory, name, NULL);

      put_pending (self, bytes, size);
      take_in (self);
      g_assert_cmpuint (count_files (self), ==, size < first ? 1 : 2);
      g_unlink (path);
    }
}

/* With any byte changed, the only files are the two names or others of that form. */
static void
test_changed (Fixture *self, gconstpointer data)
{
  g_autoptr (GByteArray) bytes = make_pending (self);

  for (gsize i = 0; i < bytes->len; i++)
    for (guint value = 0; value < 256; value += 15)
      {
        guint8 before = bytes->data[i];
        g_autoptr (GDir) dir = NULL;
        const char *found;

        bytes->data[i] = (guint8) value;
        put_pending (self, bytes, bytes->len);
        bytes->data[i] = before;
        take_in (self);
        dir = g_dir_open (self->directory, 0, NULL);
        while ((found = g_dir_read_name (dir)) != NULL)
          {
            g_autofree char *path = g_build_filename (self->directory, found, NULL);

            g_assert_true (g_str_equal (found, "pending") || lu_store_is_our_name (found));
            g_unlink (path);
          }
      }
}

static void
test_names (Fixture *self, gconstpointer data)
{
  static const char *const names[] = {
    "../0123.table", "/tmp/0123.table", ".new-0123", "pending", "0123", "", "..", ".table/.."
  };
  g_autofree char *outside = g_build_filename (self->directory, "../0123.table", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const Write written = { names[i], "bytes" };

      leave_all (self, &written, 1);
      take_in (self);
      g_assert_cmpuint (count_files (self), ==, 1);
      g_assert_false (g_file_test (outside, G_FILE_TEST_EXISTS));
    }
}

/* Without an end, and longer than the file. */
static void
test_hostile_fields (Fixture *self, gconstpointer data)
{
  g_autoptr (GByteArray) bytes = make_pending (self);
  const guint64 sizes[] = { 1 << 20, G_MAXUINT64, G_MAXUINT64 - RECORD_SIZE, G_MAXINT64 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      memcpy (bytes->data + 8, &sizes[i], sizeof sizes[i]);
      put_pending (self, bytes, bytes->len);
      take_in (self);
      g_assert_cmpuint (count_files (self), ==, 1);
    }
  memset (bytes->data + NAME_AT, 'a', RECORD_SIZE - NAME_AT);
  put_pending (self, bytes, bytes->len);
  take_in (self);
  g_assert_cmpuint (count_files (self), ==, 1);
}

static void
assert_not_opened (const Fixture *self)
{
  g_autoptr (LuStore) store = open_store (self);

  g_assert_false (lu_store_open_pending (store));
  g_unlink (self->pending);
}

static void
test_foreign (Fixture *self, gconstpointer data)
{
  g_autofree char *other = g_build_filename (self->directory, "other", NULL);

  g_assert_true (g_file_set_contents (other, "", 0, NULL));
  g_assert_cmpint (symlink (other, self->pending), ==, 0);
  assert_not_opened (self);
  g_assert_cmpint (link (other, self->pending), ==, 0);
  assert_not_opened (self);
  g_assert_cmpint (mkfifo (self->pending, 0600), ==, 0);
  assert_not_opened (self);
  g_assert_true (g_file_set_contents (self->pending, "", 0, NULL));
  g_assert_cmpint (g_chmod (self->pending, 0620), ==, 0);
  assert_not_opened (self);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, func) g_test_add ("/store-pending/" path, Fixture, NULL, set_up, func, tear_down)
  ADD ("moved", test_moved);
  ADD ("image", test_image);
  ADD ("one-has-it", test_one_has_it);
  ADD ("full", test_full);
  ADD ("no-room", test_no_room);
  ADD ("cut-off", test_cut_off);
  ADD ("changed", test_changed);
  ADD ("names", test_names);
  ADD ("hostile-fields", test_hostile_fields);
  ADD ("foreign", test_foreign);
  return g_test_run ();
}
