/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-store.c - stored tables are loaded unchanged, and nothing else is: files of other kinds,
 * owners and modes, truncated or changed files, tables of other files, programs and formats, and
 * files written by several processes at once. Uses the table of this program, in a temporary
 * directory. */

#include "base/error.h"
#include "base/fd.h"
#include "table/store-private.h"

#include "../directory.h"

#include "../../tries.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
/* Bytes between places where a file is cut, a multiple of 64; bits between those that are changed,
 * primes. */
#define CUT_STEP   TEST_TRIES (64, 448)
#define FLIP_STEP  TEST_TRIES (1009, 7001)
#define FORGE_STEP TEST_TRIES (499, 3499)

typedef struct
{
  char *directory;
  char *path; /* path of the stored table */
  LuStore *store;
  LuImage *image;
  LuTable *table;
} Fixture;

static LuImage *
open_image (const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  LuImage *image;

  g_assert_cmpint (fd, >=, 0);
  image = lu_image_open (fd, NULL);
  g_assert_nonnull (image);
  close (fd);
  return image;
}

static LuTable *
compile (const LuImage *image)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);

  return lu_table_new (cfi);
}

/* Returns the only table in the directory. */
static char *
find_stored (const char *directory)
{
  g_autoptr (GDir) dir = g_dir_open (directory, 0, NULL);
  const char *name = g_dir_read_name (dir);

  g_assert_nonnull (name);
  g_assert_null (g_dir_read_name (dir));
  g_assert_true (g_str_has_suffix (name, ".table"));
  return g_build_filename (directory, name, NULL);
}

static void
set_up (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  self->directory = g_dir_make_tmp ("lu-store-XXXXXX", NULL);
  self->store = lu_store_open (self->directory, LU_STORE_READ_WRITE, &error);
  g_assert_no_error (error);
  self->image = open_image ("/proc/self/exe");
  self->table = compile (self->image);
  g_assert_cmpuint (self->table->n_rows, >, 100);
  g_assert_true (lu_store_save (self->store, self->image, self->table));
  self->path = find_stored (self->directory);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  directory_remove (self->directory);
  lu_table_unref (self->table);
  lu_image_unref (self->image);
  lu_store_free (self->store);
  g_free (self->path);
  g_free (self->directory);
}

static LuTable *
load (Fixture *self, LuStoreResult *result)
{
  return lu_store_load (self->store, self->image, G_MAXSIZE, result);
}

static void
assert_result (Fixture *self, LuStoreResult wanted)
{
  LuStoreResult result;
  g_autoptr (LuTable) table = load (self, &result);

  g_assert_cmpstr (lu_store_result_title (result), ==, lu_store_result_title (wanted));
  g_assert_true ((table != NULL) == (wanted == LU_STORE_LOADED));
}

static guint8 *
read_stored (Fixture *self, gsize *size)
{
  char *bytes;

  g_assert_true (g_file_get_contents (self->path, &bytes, size, NULL));
  return (guint8 *) bytes;
}

static void
write_stored (Fixture *self, const guint8 *bytes, gsize size)
{
  g_assert_true (g_file_set_contents (self->path, (const char *) bytes, (gssize) size, NULL));
  g_assert_cmpint (g_chmod (self->path, 0600), ==, 0);
}

static void
assert_same (const LuTable *a, const LuTable *b)
{
  g_assert_cmpuint (a->rows.base, ==, b->rows.base);
  g_assert_cmpuint (a->n_rows, ==, b->n_rows);
  g_assert_cmpuint (a->n_rules, ==, b->n_rules);
  g_assert_cmpmem (&a->stats, sizeof a->stats, &b->stats, sizeof b->stats);
  g_assert_cmpmem (lu_table_block (a), a->stats.table_bytes, lu_table_block (b),
                   b->stats.table_bytes);
}

static void
test_round_trip (Fixture *self, gconstpointer data)
{
  LuStoreResult result;
  g_autoptr (LuTable) table = load (self, &result);
  struct stat info;

  g_assert_cmpint (result, ==, LU_STORE_LOADED);
  assert_same (table, self->table);
  g_assert_cmpint (g_stat (self->path, &info), ==, 0);
  g_assert_cmpuint (info.st_mode & 07777, ==, 0600);
  /* Stores it again over the older one; nothing else is left. */
  g_assert_true (lu_store_save (self->store, self->image, self->table));
  g_free (find_stored (self->directory));
  assert_result (self, LU_STORE_LOADED);
  g_unlink (self->path);
  assert_result (self, LU_STORE_MISSING);
  g_assert_true (lu_store_save (self->store, self->image, self->table));
}

static void
test_libraries (Fixture *self, gconstpointer data)
{
  g_autofree char *maps = NULL;
  g_auto (GStrv) lines = NULL;
  guint n = 0;

  g_assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  lines = g_strsplit (maps, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *path = strchr (lines[i], '/');
      g_autoptr (LuImage) image = NULL;
      g_autoptr (LuTable) table = NULL;
      g_autoptr (LuTable) loaded = NULL;
      LuStoreResult result;

      if (path == NULL || strstr (lines[i], " r-xp ") == NULL)
        continue;
      image = open_image (path);
      table = compile (image);
      g_assert_true (lu_store_save (self->store, image, table));
      loaded = lu_store_load (self->store, image, G_MAXSIZE, &result);
      g_assert_cmpint (result, ==, LU_STORE_LOADED);
      assert_same (loaded, table);
      n++;
    }
  g_assert_cmpuint (n, >=, 3);
}

/* Directories */

static void
assert_no_store (const char *path)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (lu_store_open (path, LU_STORE_READ_WRITE, &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_PERMISSION);
  g_clear_error (&error);
  g_assert_null (lu_store_open (path, LU_STORE_READ_ONLY, &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_PERMISSION);
}

static void
test_directories (Fixture *self, gconstpointer data)
{
  g_autofree char *link = g_build_filename (self->directory, "link", NULL);
  g_autofree char *below = g_build_filename (self->directory, "made", "for", "us", NULL);
  g_autofree char *made = g_build_filename (self->directory, "made", NULL);
  g_autofree char *two = g_build_filename (self->directory, "made", "for", NULL);
  g_autoptr (LuStore) store = NULL;
  g_autoptr (GError) error = NULL;
  struct stat info;

  assert_no_store (self->path); /* a file */
  g_assert_cmpint (symlink (self->directory, link), ==, 0);
  assert_no_store (link);
  for (guint bit = 0; bit < 2; bit++)
    {
      g_assert_cmpint (g_chmod (self->directory, bit == 0 ? 0720 : 0702), ==, 0);
      assert_no_store (self->directory);
    }
  g_assert_cmpint (g_chmod (self->directory, 0700), ==, 0);
  if (geteuid () == 0)
    {
      g_assert_cmpint (chown (self->directory, NOBODY, (gid_t) -1), ==, 0);
      assert_no_store (self->directory);
      g_assert_cmpint (chown (self->directory, 0, (gid_t) -1), ==, 0);
    }
  /* Only a writable store is created. */
  g_assert_null (lu_store_open (below, LU_STORE_READ_ONLY, &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_FAILED);
  g_assert_cmpint (g_stat (made, &info), !=, 0);
  store = lu_store_open (below, LU_STORE_READ_WRITE, NULL);
  g_assert_nonnull (store);
  g_assert_cmpint (g_stat (below, &info), ==, 0);
  g_assert_cmpuint (info.st_mode & 07777, ==, 0700);
  g_rmdir (below);
  g_rmdir (two);
}

static void
test_default_path (void)
{
  g_autofree char *from_variable = NULL;
  g_autofree char *usual = NULL;

  g_setenv ("LIVE_UNWINDER_STORE", "/some/where", TRUE);
  from_variable = lu_store_default_path ();
  g_assert_cmpstr (from_variable, ==, "/some/where");
  g_setenv ("LIVE_UNWINDER_STORE", "", TRUE);
  g_assert_null (lu_store_default_path ());
  g_unsetenv ("LIVE_UNWINDER_STORE");
  usual = lu_store_default_path ();
  if (geteuid () == 0)
    g_assert_cmpstr (usual, ==, "/var/cache/live-unwinder");
  else
    g_assert_true (usual == NULL || g_str_has_prefix (usual, g_get_user_cache_dir ()));
}

/* Files of other kinds, owners and modes. */

static void
test_foreign_files (Fixture *self, gconstpointer data)
{
  g_autofree char *other = g_build_filename (self->directory, "other", NULL);

  for (guint bit = 0; bit < 2; bit++)
    {
      g_assert_cmpint (g_chmod (self->path, bit == 0 ? 0620 : 0602), ==, 0);
      assert_result (self, LU_STORE_FOREIGN);
    }
  g_assert_cmpint (g_chmod (self->path, 0600), ==, 0);
  if (geteuid () == 0)
    {
      g_assert_cmpint (chown (self->path, NOBODY, (gid_t) -1), ==, 0);
      assert_result (self, LU_STORE_FOREIGN);
      g_assert_cmpint (chown (self->path, 0, (gid_t) -1), ==, 0);
    }
  g_assert_cmpint (link (self->path, other), ==, 0);
  assert_result (self, LU_STORE_FOREIGN);
  g_unlink (other);
  assert_result (self, LU_STORE_LOADED);

  g_assert_cmpint (g_rename (self->path, other), ==, 0);
  g_assert_cmpint (symlink (other, self->path), ==, 0);
  assert_result (self, LU_STORE_FOREIGN);
  g_unlink (self->path);
  g_assert_cmpint (mkfifo (self->path, 0600), ==, 0);
  assert_result (self, LU_STORE_FOREIGN); /* and does not wait for a writer */
  g_unlink (self->path);
  g_assert_cmpint (mkdir (self->path, 0700), ==, 0);
  assert_result (self, LU_STORE_FOREIGN);
  g_assert_cmpint (rmdir (self->path), ==, 0);
  /* A link in a writer's way is replaced, not followed. */
  g_assert_cmpint (symlink ("other", self->path), ==, 0);
  g_assert_true (lu_store_save (self->store, self->image, self->table));
  g_assert_false (g_file_test (self->path, G_FILE_TEST_IS_SYMLINK));
  assert_result (self, LU_STORE_LOADED);
}

/* Bytes */

static void
test_cut_off (Fixture *self, gconstpointer data)
{
  gsize size;
  g_autofree guint8 *bytes = read_stored (self, &size);

  for (gsize cut = 0; cut < size; cut += cut + CUT_STEP + 1 < size ? CUT_STEP : 1)
    {
      write_stored (self, bytes, cut);
      assert_result (self, cut < sizeof (LuStoreHeader) ? LU_STORE_SIZE : LU_STORE_DAMAGED);
      if (cut < sizeof (LuStoreHeader))
        continue;
      /* Even with a correct checksum, the size does not match the numbers. */
      g_assert_cmpint (truncate (self->path, 0), ==, 0);
      {
        g_autofree guint8 *part = g_memdup2 (bytes, cut);

        lu_store_seal (part, cut);
        write_stored (self, part, cut);
      }
      assert_result (self, LU_STORE_DAMAGED);
    }
  bytes = g_realloc (bytes, size + 16);
  memset (bytes + size, 0, 16);
  lu_store_seal (bytes, size + 16);
  write_stored (self, bytes, size + 16);
  assert_result (self, LU_STORE_DAMAGED);
}

static void
test_too_large (Fixture *self, gconstpointer data)
{
  gsize size = sizeof (LuStoreHeader) + self->table->stats.table_bytes;
  g_autoptr (LuTable) table = NULL;
  LuStoreResult result;

  g_assert_null (lu_store_load (self->store, self->image, size - 1, &result));
  g_assert_cmpint (result, ==, LU_STORE_SIZE);
  table = lu_store_load (self->store, self->image, size, &result);
  g_assert_nonnull (table);
}

/* A step must be possible with every rule of a loaded table. */
static void
look_everywhere (const LuTable *table)
{
  guint64 end = table->rows.base + ((guint64) table->rows.n_pages << LU_PAGE_SHIFT);

  for (guint64 at = table->rows.base - 8; at != end + 8; at += 4)
    {
      const struct lu_rule *rule = lu_table_find (table, at);

      g_assert_true (rule >= table->rules && rule < table->rules + table->n_rules);
      g_assert_cmpuint (rule->cfa_kind, <, LU_N_CFA_KINDS);
    }
}

static LuStoreResult
wanted_result (gsize at)
{
  if (at < G_STRUCT_OFFSET (LuStoreHeader, checksum))
    return LU_STORE_FORMAT;
  if (at < LU_STORE_SEALED_AT)
    return LU_STORE_DAMAGED;
  if (at < G_STRUCT_OFFSET (LuStoreHeader, maker))
    return LU_STORE_IDENTITY;
  if (at < G_STRUCT_OFFSET (LuStoreHeader, base))
    return LU_STORE_MAKER;
  return LU_STORE_DAMAGED;
}

/* Every bit of the header, and one bit in some bytes of the table: the checksum detects it. */
static void
test_flipped (Fixture *self, gconstpointer data)
{
  gsize size, digest_size;
  g_autofree guint8 *bytes = read_stored (self, &size);
  const guint8 *digest = lu_image_digest (self->image, &digest_size);

  for (gsize bit = 0; bit < 8 * size; bit += bit < 8 * sizeof (LuStoreHeader) ? 1 : FLIP_STEP)
    {
      guint8 *changed = g_memdup2 (bytes, size);
      LuStoreResult result;

      changed[bit / 8] ^= (guint8) (1 << bit % 8);
      g_assert_null (lu_store_decode (changed, size, digest, lu_store_maker (), &result));
      g_assert_cmpint (result, ==, wanted_result (bit / 8));
    }
}

/* With the checksum corrected, as in an attack. The identity and the sizes must still be right; the
 * rest may be nonsense, but harmless. */
static void
test_forged (Fixture *self, gconstpointer data)
{
  gsize size, digest_size, n_refused = 0;
  g_autofree guint8 *bytes = read_stored (self, &size);
  const guint8 *digest = lu_image_digest (self->image, &digest_size);

  for (gsize bit = 0; bit < 8 * size; bit += bit < 8 * sizeof (LuStoreHeader) ? 1 : FORGE_STEP)
    {
      guint8 *changed = g_memdup2 (bytes, size);
      g_autoptr (LuTable) table = NULL;
      LuStoreResult result;

      changed[bit / 8] ^= (guint8) (1 << bit % 8);
      lu_store_seal (changed, size);
      table = lu_store_decode (changed, size, digest, lu_store_maker (), &result);
      if (table != NULL && bit % 7 == 0)
        look_everywhere (table);
      if (table == NULL)
        n_refused++;
      if (bit / 8 < G_STRUCT_OFFSET (LuStoreHeader, checksum)
          || (bit / 8 >= LU_STORE_SEALED_AT && bit / 8 < G_STRUCT_OFFSET (LuStoreHeader, base)))
        g_assert_cmpint (result, ==, wanted_result (bit / 8));
      if (bit / 8 >= G_STRUCT_OFFSET (LuStoreHeader, n_cfi_errors)
          && bit / 8 < G_STRUCT_OFFSET (LuStoreHeader, cfi_errors))
        g_assert_cmpint (result, ==, LU_STORE_DAMAGED);
      if (bit / 8 >= G_STRUCT_OFFSET (LuStoreHeader, n_pages)
          && bit / 8 < G_STRUCT_OFFSET (LuStoreHeader, flags) && table != NULL)
        /* Padding before the rules can hide a few more rows, but nothing else. */
        g_assert_cmpuint (table->stats.table_bytes, ==, self->table->stats.table_bytes);
    }
  g_test_message ("%" G_GSIZE_FORMAT " refused", n_refused);
}

typedef struct
{
  const char *title;
  gsize at; /* in words of 4 bytes, from the block on */
  guint32 value;
} Lie;

static void
test_lying_block (Fixture *self, gconstpointer data)
{
  gsize size, digest_size, rules_at;
  g_autofree guint8 *bytes = read_stored (self, &size);
  const guint8 *digest = lu_image_digest (self->image, &digest_size);
  guint n_pages = self->table->rows.n_pages, n_rules = self->table->n_rules;
  gsize rows_at = n_pages + 2;
  const guint32 *words = (const guint32 *) (bytes + sizeof (LuStoreHeader));
  const Lie lies[] = {
    { "first page", 0, 1 },
    { "pages beyond the rows", n_pages > 1 ? 1 : 0, self->table->n_rows + 1 },
    { "last page", n_pages, self->table->n_rows - 1 },
    { "pages that go back", n_pages > 1 ? 1 : 0, G_MAXUINT32 },
    { "row before the first", rows_at - 1, LU_ROW (0, 1) },
    { "rule beyond the rules", rows_at, words[rows_at] | 0xffff0000u },
    { "first rule that is none", rows_at + 1, LU_ROW (words[rows_at + 1], n_rules) },
    { "rows that are alike", rows_at + 1, words[rows_at] },
    { "rows that go back", rows_at, words[rows_at] | (LU_PAGE_BYTES - 1) },
    { "row of another page", rows_at, words[rows_at] ^ LU_PAGE_BYTES },
  };

  lu_table_block_size (
      &(LuTableShape){ .n_pages = n_pages, .n_rows = self->table->n_rows, .n_rules = n_rules },
      &rules_at);
  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      guint8 *changed = g_memdup2 (bytes, size);
      LuStoreResult result;

      g_test_message ("%s", lies[i].title);
      memcpy (changed + sizeof (LuStoreHeader) + 4 * lies[i].at, &lies[i].value, 4);
      lu_store_seal (changed, size);
      g_assert_null (lu_store_decode (changed, size, digest, lu_store_maker (), &result));
      g_assert_cmpint (result, ==, LU_STORE_DAMAGED);
    }
}

/* One byte of the third rule, or the kind of one of the first two. */
static void
test_lying_rules (Fixture *self, gconstpointer data)
{
  static const struct
  {
    const char *title;
    guint at;
    guint8 value;
  } lies[] = {
    { "nothing is something", 12, LU_CFA_SP },
    { "complex is simple", sizeof (struct lu_rule) + 12, LU_CFA_SP },
    { "kind of CFA", 2 * sizeof (struct lu_rule) + 12, LU_N_CFA_KINDS },
    { "kind of frame pointer", 2 * sizeof (struct lu_rule) + 13, LU_SAVE_UNKNOWN + 1 },
    { "kind of rbx", 2 * sizeof (struct lu_rule) + 13, (LU_SAVE_UNKNOWN + 1) << 4 },
    { "kind of return address", 2 * sizeof (struct lu_rule) + 14, LU_RA_REGISTER + 1 },
    { "flags", 2 * sizeof (struct lu_rule) + 15, 0x80 },
  };
  gsize size, digest_size, rules_at;
  g_autofree guint8 *bytes = read_stored (self, &size);
  const guint8 *digest = lu_image_digest (self->image, &digest_size);

  lu_table_block_size (&(LuTableShape){ .n_pages = self->table->rows.n_pages,
                                        .n_rows = self->table->n_rows,
                                        .n_rules = self->table->n_rules },
                       &rules_at);
  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      guint8 *changed = g_memdup2 (bytes, size);
      LuStoreResult result;

      g_test_message ("%s", lies[i].title);
      changed[sizeof (LuStoreHeader) + rules_at + lies[i].at] = lies[i].value;
      lu_store_seal (changed, size);
      g_assert_null (lu_store_decode (changed, size, digest, lu_store_maker (), &result));
      g_assert_cmpint (result, ==, LU_STORE_DAMAGED);
    }
}

/* Empty tables: the largest allowed sizes, and one more. */
static void
test_shapes (void)
{
  static const struct
  {
    LuTableShape shape;
    gboolean ok;
  } cases[] = {
    { { .n_rules = 2 }, TRUE },
    { { .n_rules = 1 }, FALSE },
    { { .n_rules = 0 }, FALSE },
    { { .n_rules = LU_MAX_RULES }, TRUE },
    { { .n_rules = LU_MAX_RULES + 1 }, FALSE },
    { { .n_rules = 2, .n_pages = 1 << 20 }, TRUE },
    { { .n_rules = 2, .n_pages = (1 << 20) + 1 }, FALSE },
    { { .n_rules = 2, .n_pages = 1, .base = 0x1000 }, TRUE },
    { { .n_rules = 2, .n_pages = 1, .base = 0x1800 }, FALSE },
    { { .n_rules = 2, .n_pages = 1, .base = 0xffffffffffffe000 }, TRUE },
    { { .n_rules = 2, .n_pages = 1, .base = 0xfffffffffffff000 }, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LuTableShape *shape = &cases[i].shape;
      gsize rules_at;
      gsize size = lu_table_block_size (shape, &rules_at);
      guint8 *memory = g_malloc0 (size + 2 * sizeof (struct lu_rule));
      g_autoptr (LuTable) table = NULL;

      memory[rules_at + sizeof (struct lu_rule) + 12] = LU_CFA_COMPLEX;
      table = lu_table_new_from_memory (shape, memory, 0, size);
      g_test_message ("%u", i);
      g_assert_true ((table != NULL) == cases[i].ok);
    }
}

/* One page of `n` rows, in which the row at `wrong` is `value`. */
static gboolean
is_page_taken (guint n, guint wrong, guint32 value)
{
  const LuTableShape shape = { .n_rules = 2, .n_pages = 1, .n_rows = n };
  gsize rules_at, size = lu_table_block_size (&shape, &rules_at);
  guint8 *memory = g_malloc0 (size);
  guint32 *words = (guint32 *) (gpointer) memory, *rows = words + 3;
  g_autoptr (LuTable) table = NULL;

  words[1] = n;
  for (guint i = 0; i < n; i++)
    rows[i] = i == wrong ? value : LU_ROW (0xf00 + i, i % 2);
  memory[rules_at + sizeof (struct lu_rule) + 12] = LU_CFA_COMPLEX;
  table = lu_table_new_from_memory (&shape, memory, 0, size);
  return table != NULL;
}

static void
test_each_row (void)
{
  for (guint n = 1; n < 20; n++)
    {
      g_assert_true (is_page_taken (n, n, 0));
      for (guint i = 0; i < n; i++)
        {
          g_assert_false (is_page_taken (n, i, LU_ROW (0xf00 + i, 2)));
          g_assert_false (is_page_taken (n, i, LU_ROW (LU_PAGE_BYTES + 0xf00 + i, 0)));
          g_assert_false (is_page_taken (n, i, LU_ROW (0xf00 + i, 0xffff)));
          g_assert_true (i == 0 || !is_page_taken (n, i, LU_ROW (0xf00 + i - 1, 0)));
          g_assert_true (i == n - 1 || !is_page_taken (n, i, LU_ROW (0xf00 + i + 1, 0)));
        }
    }
}

/* The table of another file under this file's name. */
static void
test_other_file (Fixture *self, gconstpointer data)
{
  g_autoptr (LuImage) other = open_image ("/bin/sh");
  g_autoptr (LuTable) table = compile (other);
  gsize size, digest_size;
  g_autofree guint8 *bytes =
      lu_store_encode (table, lu_image_digest (other, &digest_size), lu_store_maker (), &size);

  write_stored (self, bytes, size);
  assert_result (self, LU_STORE_IDENTITY);
}

/* Several writers */

static void
test_racing_writers (Fixture *self, gconstpointer data)
{
  pid_t children[3];
  int status;

  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    {
      children[i] = fork ();
      if (children[i] != 0)
        continue;
      for (guint k = 0; k < 100; k++)
        if (!lu_store_save (self->store, self->image, self->table))
          _exit (1);
      _exit (0);
    }
  for (guint k = 0; k < 300; k++)
    assert_result (self, LU_STORE_LOADED);
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    {
      g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
      g_assert_cmpint (status, ==, 0);
    }
  assert_result (self, LU_STORE_LOADED);
  g_free (find_stored (self->directory));
}

/* Room for only half of the table. */
static void
test_no_room (Fixture *self, gconstpointer data)
{
  struct rlimit limit = { .rlim_cur = self->table->stats.table_bytes / 2,
                          .rlim_max = RLIM_INFINITY };
  int status;
  pid_t child;

  g_unlink (self->path);
  child = fork ();
  if (child == 0)
    {
      signal (SIGXFSZ, SIG_IGN);
      setrlimit (RLIMIT_FSIZE, &limit);
      _exit (!lu_store_save (self->store, self->image, self->table) && errno == EFBIG ? 0 : 1);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
  assert_result (self, LU_STORE_MISSING);
  g_assert_cmpint (g_rmdir (self->directory), ==, 0); /* nothing is left in it */
  g_assert_cmpint (g_mkdir (self->directory, 0700), ==, 0);
}

static void
test_read_only (Fixture *self, gconstpointer data)
{
  LuStorePruned pruned;

  lu_store_set_read_only (self->store);
  assert_result (self, LU_STORE_LOADED);
  g_assert_false (lu_store_save (self->store, self->image, self->table));
  g_assert_cmpint (errno, ==, EROFS);
  g_assert_false (lu_store_prune (self->store, 0, &pruned));
  g_assert_cmpint (errno, ==, EROFS);
  assert_result (self, LU_STORE_LOADED);
}

/* Age */

static void
set_age (const char *path, gint64 seconds)
{
  struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
                               { .tv_sec = g_get_real_time () / G_USEC_PER_SEC - seconds } };

  g_assert_cmpint (utimensat (AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), ==, 0);
}

static gint64
get_age (const char *path)
{
  struct stat info;

  g_assert_cmpint (g_lstat (path, &info), ==, 0);
  return g_get_real_time () / G_USEC_PER_SEC - info.st_mtim.tv_sec;
}

static void
test_last_use (Fixture *self, gconstpointer data)
{
  set_age (self->path, 40000);
  assert_result (self, LU_STORE_LOADED);
  g_assert_cmpint (get_age (self->path), >=, 40000); /* used today: not worth a write */
  set_age (self->path, 200000);
  assert_result (self, LU_STORE_LOADED);
  g_assert_cmpint (get_age (self->path), <, 100);
  set_age (self->path, 200000);
  lu_store_set_read_only (self->store);
  assert_result (self, LU_STORE_LOADED);
  g_assert_cmpint (get_age (self->path), >=, 200000);
}

static char *
add_file (Fixture *self, const char *name, gsize size, gint64 age)
{
  char *path = g_build_filename (self->directory, name, NULL);
  g_autofree char *bytes = g_malloc0 (size);

  g_assert_true (g_file_set_contents (path, bytes, (gssize) size, NULL));
  set_age (path, age);
  return path;
}

static void
test_prune (Fixture *self, gconstpointer data)
{
  g_autofree char *old = add_file (self, "0123-4567.table", 65536, 3000000);
  g_autofree char *older = add_file (self, "-89ab.table", 65536, 4000000);
  g_autofree char *left = add_file (self, ".new-0011223344556677", 100, 10000);
  g_autofree char *fresh = add_file (self, ".new-8899aabbccddeeff", 100, 5);
  g_autofree char *other = add_file (self, "README.table", 65536, 5000000);
  g_autofree char *link = g_build_filename (self->directory, "cdef-cdef.table", NULL);
  LuStorePruned pruned;

  g_assert_cmpint (symlink (other, link), ==, 0);
  set_age (link, 6000000);
  g_assert_true (lu_store_prune (self->store, G_MAXUINT64, &pruned));
  g_assert_cmpuint (pruned.n_files, ==, 3);
  g_assert_cmpuint (pruned.n_removed, ==, 0);
  g_assert_false (g_file_test (left, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (fresh, G_FILE_TEST_EXISTS));
  g_assert_true (lu_store_prune (self->store, pruned.bytes - 1, &pruned));
  g_assert_cmpuint (pruned.n_removed, ==, 1);
  g_assert_false (g_file_test (older, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (old, G_FILE_TEST_EXISTS));
  g_assert_true (lu_store_prune (self->store, 0, &pruned));
  g_assert_cmpuint (pruned.n_files, ==, 0);
  g_assert_cmpuint (pruned.bytes, ==, 0);
  g_assert_false (g_file_test (self->path, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (other, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (link, G_FILE_TEST_IS_SYMLINK));
}

/* Sizes around those where memory comes in huge pages, fully or in part. */
static void
test_large_files (Fixture *self, gconstpointer data)
{
  static const gsize sizes[] = { 1u << 20,       (1792u << 10) - 1, 1792u << 10, 2u << 20,
                                 (2u << 20) + 1, (3840u << 10) - 1, 3840u << 10, (6u << 20) - 8 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree guint8 *written = g_malloc (sizes[i]);
      g_autofree guint8 *read = NULL;
      gsize size;

      for (gsize k = 0; k < sizes[i]; k++)
        written[k] = (guint8) (k * 31 >> 8 ^ k);
      g_assert_true (lu_store_write_file (self->store, "large.table", written, sizes[i]));
      g_assert_cmpint (lu_store_read_file (self->store, "large.table", sizes[i], &read, &size), ==,
                       LU_STORE_LOADED);
      g_assert_cmpmem (read, size, written, sizes[i]);
    }
}

#define ADD(name, func) g_test_add ("/store/" name, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/store/default-path", test_default_path);
  g_test_add_func ("/store/shapes", test_shapes);
  g_test_add_func ("/store/each row", test_each_row);
  ADD ("round-trip", test_round_trip);
  ADD ("libraries", test_libraries);
  ADD ("directories", test_directories);
  ADD ("foreign-files", test_foreign_files);
  ADD ("cut-off", test_cut_off);
  ADD ("too-large", test_too_large);
  ADD ("large-files", test_large_files);
  ADD ("flipped", test_flipped);
  ADD ("forged", test_forged);
  ADD ("lying-block", test_lying_block);
  ADD ("lying-rules", test_lying_rules);
  ADD ("other-file", test_other_file);
  ADD ("racing-writers", test_racing_writers);
  ADD ("no-room", test_no_room);
  ADD ("read-only", test_read_only);
  ADD ("last-use", test_last_use);
  ADD ("prune", test_prune);
  return g_test_run ();
}
