/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-tables.c - whole tables are compiled when requested, agree with single rules, are stored and
 * loaded, are evicted when there are too many, and may be evicted while they are read. Uses the
 * libraries of this program. */

#include "module/opener.h"
#include "module/tables.h"
#include "table/compile.h"

#include "../directory.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US (20 * G_USEC_PER_SEC)
/* This many misses request any file. */
#define MISSES_ENOUGH 4096

typedef struct
{
  char *directory;
  GPtrArray *images; /* images of this process with different tables */
} Fixture;

/* These are large, and every test makes tables of all images. */
static gboolean
is_of_sanitizer (const char *path)
{
  return strstr (path, "san.so.") != NULL;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  g_autofree char *maps = NULL;
  g_auto (GStrv) lines = NULL;

  self->directory = g_dir_make_tmp ("lu-tables-XXXXXX", NULL);
  self->images = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_image_unref);
  g_assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  lines = g_strsplit (maps, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *path = strchr (lines[i], '/');
      int fd = path != NULL && strstr (lines[i], " r-xp ") != NULL && !is_of_sanitizer (path)
                   ? open (path, O_RDONLY)
                   : -1;

      if (fd >= 0)
        g_ptr_array_add (self->images, lu_image_open (fd, NULL));
      if (fd >= 0)
        close (fd);
    }
  g_assert_cmpuint (self->images->len, >=, 3);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  directory_remove (self->directory);
  g_ptr_array_unref (self->images);
  g_free (self->directory);
}

static LuTables *
new_tables (Fixture *self, gsize budget)
{
  LuStore *store = lu_store_open (self->directory, LU_STORE_READ_WRITE, NULL);

  g_assert_nonnull (store);
  return lu_tables_new (store, budget);
}

static LuImage *
get_image (Fixture *self, guint i)
{
  return g_ptr_array_index (self->images, i);
}

static LuTable *
compile (const LuImage *image)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);

  return lu_table_new (cfi);
}

static void
miss_enough (LuTableSlot *slot, LuImage *image)
{
  for (guint n = lu_table_slot_threshold (slot); n > 0; n--)
    lu_table_slot_miss (slot, image);
}

static guint64
count_of (const LuTables *tables, LuCounter counter)
{
  return lu_counters_get (lu_tables_counters (tables), counter);
}

static void
wait_for_built (LuTables *tables, guint64 n)
{
  gint64 end = g_get_monotonic_time () + PATIENCE_US;

  do
    {
      g_usleep (1000);
    }
  while (count_of (tables, LU_COUNTER_TABLES_BUILT) < n && g_get_monotonic_time () < end);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BUILT), ==, n);
}

static gboolean
has_table (LuTableSlot *slot, guint64 address)
{
  struct lu_rule rule;

  return lu_table_slot_find (slot, address, &rule);
}

/* An address with a rule. */
static guint64
some_code (const LuImage *image)
{
  g_autoptr (LuTable) table = compile (image);

  for (guint64 at = table->rows.base;; at++)
    if (lu_table_find (table, at)->cfa_kind == LU_CFA_SP)
      return at;
}

/* Compares at every row and just before it. */
static guint
compare_with_single_rules (LuTableSlot *slot, const LuImage *image)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);
  g_autoptr (LuTable) table = compile (image);
  g_autofree LuCfaRun *run = g_new0 (LuCfaRun, 1);
  guint n = 0;

  for (guint page = 0; page < table->rows.n_pages; page++)
    for (guint i = table->rows.pages[page]; i < table->rows.pages[page + 1]; i++)
      for (guint before = 0; before < 2; before++)
        {
          guint64 at = table->rows.base + ((guint64) page << LU_PAGE_SHIFT)
                       + (table->rows.rows[i] & (LU_PAGE_BYTES - 1)) - before;
          struct lu_rule rule, single = lu_compile_at (cfi, run, at);

          if (!lu_table_slot_find (slot, at, &rule))
            continue;
          g_assert_cmpmem (&rule, sizeof rule, &single, sizeof single);
          n++;
        }
  return n;
}

static void
test_built (Fixture *self, gconstpointer data)
{
  g_autoptr (LuTables) tables = new_tables (self, LU_TABLES_BUDGET);

  for (guint i = 0; i < self->images->len; i++)
    {
      LuImage *image = get_image (self, i);
      g_autoptr (LuTableSlot) slot = lu_tables_add (tables, image);
      g_autoptr (LuTable) table = compile (image);
      guint64 at = some_code (image);

      g_assert_false (has_table (slot, at));
      lu_table_slot_miss (slot, image); /* one is not enough */
      g_usleep (20000);
      g_assert_false (has_table (slot, at));
      for (guint n = lu_table_slot_threshold (slot); n > 1; n--)
        lu_table_slot_miss (slot, image);
      wait_for_built (tables, i + 1);
      g_assert_true (has_table (slot, at));
      g_assert_cmpuint (compare_with_single_rules (slot, image), >=, table->n_rows);
    }
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_STORED), ==, self->images->len);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_LOADED), ==, 0);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_EVICTED), ==, 0);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BYTES_MAX), >, 0);
}

/* A table may be requested again until it is there, even while it is being compiled. */
static void
test_wanted_twice (Fixture *self, gconstpointer data)
{
  g_autoptr (LuTables) tables = new_tables (self, LU_TABLES_BUDGET);
  LuImage *image = get_image (self, 0);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, image);

  while (!has_table (slot, some_code (image)))
    lu_table_slot_want (slot, image);
  lu_table_slot_want (slot, image);
  lu_tables_stop (tables, PATIENCE_US / 1000, 0);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BUILT), ==, 1);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_STORED), ==, 1);
}

static void
fill_store (Fixture *self)
{
  g_autoptr (LuStore) store = lu_store_open (self->directory, LU_STORE_READ_WRITE, NULL);

  for (guint i = 0; i < self->images->len; i++)
    {
      g_autoptr (LuTable) table = compile (get_image (self, i));

      g_assert_true (lu_store_save (store, get_image (self, i), table));
    }
}

static void
test_loaded (Fixture *self, gconstpointer data)
{
  guint n_threads = directory_count ("/proc/self/task");
  g_autoptr (LuTables) tables = new_tables (self, LU_TABLES_BUDGET);

  fill_store (self);
  for (guint i = 0; i < self->images->len; i++)
    {
      LuImage *image = get_image (self, i);
      g_autoptr (LuTableSlot) slot = lu_tables_add (tables, image);

      g_assert_cmpuint (compare_with_single_rules (slot, image), >, 100);
      g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_LOADED), ==, i + 1);
    }
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BUILT), ==, 0);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_REFUSED), ==, 0);
  /* There is nothing to compile. */
  g_assert_cmpuint (directory_count ("/proc/self/task"), ==, n_threads);
}

static void
test_without_store (Fixture *self, gconstpointer data)
{
  g_autoptr (LuTables) tables = lu_tables_new (NULL, LU_TABLES_BUDGET);
  LuImage *image = get_image (self, 0);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, image);

  miss_enough (slot, image);
  wait_for_built (tables, 1);
  g_assert_true (has_table (slot, some_code (image)));
}

static gsize
table_bytes (const LuImage *image)
{
  g_autoptr (LuTable) table = compile (image);

  return table->stats.table_bytes;
}

static int
compare_tables (gconstpointer a, gconstpointer b)
{
  gsize bytes_a = table_bytes (*(LuImage **) a), bytes_b = table_bytes (*(LuImage **) b);

  return bytes_a < bytes_b ? 1 : -(bytes_a > bytes_b);
}

/* Returns the image with the largest table, or the one after n larger ones. */
static LuImage *
find_large (Fixture *self, guint n)
{
  g_ptr_array_sort (self->images, compare_tables);
  return get_image (self, n);
}

/* The budget fits either of the two largest tables and nearly both, so both are compiled. */
static void
test_budget (Fixture *self, gconstpointer data)
{
  LuImage *a = find_large (self, 0), *b = find_large (self, 1);
  gsize bytes_b = table_bytes (b), budget = table_bytes (a) + bytes_b - 1;
  g_autoptr (LuTables) tables = new_tables (self, budget);
  g_autoptr (LuTableSlot) slot_a = lu_tables_add (tables, a);
  g_autoptr (LuTableSlot) slot_b = lu_tables_add (tables, b);
  guint64 code_a = some_code (a), code_b = some_code (b);
  guint threshold = lu_table_slot_threshold (slot_a);

  miss_enough (slot_a, a);
  wait_for_built (tables, 1);
  g_assert_true (has_table (slot_a, code_a));
  miss_enough (slot_b, b);
  wait_for_built (tables, 2);
  g_assert_true (has_table (slot_b, code_b));
  g_assert_false (has_table (slot_a, code_a));
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_EVICTED), ==, 1);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BYTES), ==, bytes_b);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BYTES_MAX), <=, budget);
  /* It is loaded again from the store, after more misses than before. */
  g_assert_cmpuint (lu_table_slot_threshold (slot_a), >, threshold);
  miss_enough (slot_a, a);
  for (guint i = 0; i < PATIENCE_US / 1000 && !has_table (slot_a, code_a); i++)
    g_usleep (1000);
  g_assert_true (has_table (slot_a, code_a));
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BUILT), ==, 2);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_LOADED), ==, 1);
}

/* A reader that is copying a table does not delay its eviction. */
static void
test_evicted_while_read (Fixture *self, gconstpointer data)
{
  LuImage *a = find_large (self, 0), *b = find_large (self, 1);
  g_autoptr (LuTables) tables = new_tables (self, table_bytes (a) + table_bytes (b) - 1);
  g_autoptr (LuTableSlot) slot_a = lu_tables_add (tables, a);
  g_autoptr (LuTableSlot) slot_b = lu_tables_add (tables, b);
  g_autoptr (LuTable) expected = compile (a), read = NULL;

  g_assert_null (lu_table_slot_get_table (slot_a));
  miss_enough (slot_a, a);
  wait_for_built (tables, 1);
  read = lu_table_slot_get_table (slot_a);
  g_assert_nonnull (read);
  miss_enough (slot_b, b);
  wait_for_built (tables, 2);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_EVICTED), ==, 1);
  g_assert_null (lu_table_slot_get_table (slot_a));
  g_assert_cmpmem (lu_table_block (read), read->stats.table_bytes, lu_table_block (expected),
                   expected->stats.table_bytes);
}

static void
test_too_large (Fixture *self, gconstpointer data)
{
  LuImage *image = get_image (self, 1);
  g_autoptr (LuTable) table = compile (image);
  g_autoptr (LuTables) tables = new_tables (self, table->stats.table_bytes / 2);
  g_autoptr (LuTableSlot) slot = lu_tables_add (tables, image);

  miss_enough (slot, image);
  g_usleep (200000);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BUILT), ==, 0);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BYTES_MAX), ==, 0);
}

/* A slot without references is removed with its table. */
static void
test_unused (Fixture *self, gconstpointer data)
{
  g_autoptr (LuTables) tables = new_tables (self, LU_TABLES_BUDGET);
  g_autoptr (LuTableSlot) other = NULL;
  guint64 before, after;

  fill_store (self);
  lu_table_slot_unref (lu_tables_add (tables, get_image (self, 0)));
  before = count_of (tables, LU_COUNTER_TABLES_BYTES);
  g_assert_cmpuint (before, >, 0);
  other = lu_tables_add (tables, get_image (self, 1));
  after = count_of (tables, LU_COUNTER_TABLES_BYTES);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_EVICTED), ==, 0);
  g_assert_cmpuint (after, <, before + count_of (tables, LU_COUNTER_TABLES_BYTES_MAX));
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_BYTES_MAX), ==, MAX (before, after));
}

/* Many files that are gone leave nothing behind, with tables or without. */
static void
test_many (Fixture *self, gconstpointer data)
{
  g_autoptr (LuTables) tables = new_tables (self, LU_TABLES_BUDGET);

  fill_store (self);
  for (guint i = 0; i < 1000; i++)
    lu_table_slot_unref (lu_tables_add (tables, get_image (self, i % self->images->len)));
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_LOADED), ==, 1000);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_EVICTED), ==, 0);
  g_assert_cmpuint (lu_tables_n_slots (tables), <=, 64);
}

static LuModule *
open_self (LuOpener *opener)
{
  const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/proc/self/exe" };
  LuModule *module = lu_module_new (&key);

  lu_opener_open (opener, module, 0, 0, 0);
  g_assert_nonnull (lu_module_image (module));
  return module;
}

/* Modules of one file share one table; modules opened before lu_opener_set_tables() have none. */
static void
test_modules (Fixture *self, gconstpointer data)
{
  g_autoptr (LuTables) tables = new_tables (self, LU_TABLES_BUDGET);
  g_autoptr (LuOpener) opener = lu_opener_new (FALSE, 1 << 20);
  g_autoptr (LuModule) before = open_self (opener);
  guint64 code = some_code (lu_module_image (before));
  LuModule *modules[2];
  struct lu_rule rule;

  g_assert_false (lu_module_find_rule (before, code, &rule));
  lu_module_note_miss (before);
  lu_opener_free (opener);
  opener = lu_opener_new (FALSE, 1 << 20);
  lu_opener_set_tables (opener, tables);
  for (guint i = 0; i < 2; i++)
    modules[i] = open_self (opener);
  g_assert_true (lu_module_image (modules[0]) == lu_module_image (modules[1]));
  g_assert_false (lu_module_find_rule (modules[0], code, &rule));
  for (guint i = 0; i < 2 * MISSES_ENOUGH; i++)
    lu_module_note_miss (modules[i % 2]);
  wait_for_built (tables, 1);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (lu_module_find_rule (modules[i], code, &rule));
      g_assert_cmpint (rule.cfa_kind, ==, LU_CFA_SP);
    }
  g_assert_cmpuint (lu_tables_n_slots (tables), ==, 1);
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_MISSES), ==, 2 * MISSES_ENOUGH);
  for (guint i = 0; i < 2; i++)
    lu_module_unref (modules[i]);
}

/* The tables are freed before or while a file is being compiled; slots live longer. */
static void
test_stop (Fixture *self, gconstpointer data)
{
  for (guint i = 0; i < 20; i++)
    {
      LuImage *image = get_image (self, i % self->images->len);
      LuTables *tables = lu_tables_new (NULL, LU_TABLES_BUDGET);
      g_autoptr (LuTableSlot) slot = lu_tables_add (tables, image);

      miss_enough (slot, image);
      g_usleep (i * 50);
      lu_tables_free (tables);
      g_assert_false (has_table (slot, some_code (image)));
      miss_enough (slot, image);
    }
}

/* Tables requested at the end are stored before the thread ends, if there is time and a writable
 * store. */
static void
test_end (Fixture *self, gconstpointer data)
{
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (LuTables) tables = new_tables (self, LU_TABLES_BUDGET);
      LuImage *image = get_image (self, 0);
      g_autoptr (LuTableSlot) slot = lu_tables_add (tables, image);

      if (i == 0)
        lu_store_set_read_only (lu_tables_store (tables));
      if (i < 2)
        miss_enough (slot, image);
      lu_tables_stop (tables, 20000, 0);
      g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_STORED), ==, i == 1);
      g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_LOADED), ==, i == 2);
    }
}

typedef struct
{
  GPtrArray *slots;
  guint64 *codes;
  struct lu_rule *rules;   /* that a table has there */
  gint is_over;            /* atomic */
  gsize n_found, n_missed; /* atomic */
} Readers;

static gpointer
read_slots (gpointer data)
{
  Readers *self = data;
  gsize n_found = 0, n_missed = 0;

  while (!g_atomic_int_get (&self->is_over))
    for (guint i = 0; i < self->slots->len; i++)
      {
        struct lu_rule rule;

        if (lu_table_slot_find (g_ptr_array_index (self->slots, i), self->codes[i], &rule))
          {
            g_assert_cmpmem (&rule, sizeof rule, &self->rules[i], sizeof rule);
            n_found++;
          }
        else
          n_missed++;
      }
  g_atomic_pointer_add (&self->n_found, n_found);
  g_atomic_pointer_add (&self->n_missed, n_missed);
  return NULL;
}

/* Two readers while tables come and go; about half of them fit. */
static void
test_readers (Fixture *self, gconstpointer data)
{
  Readers readers = { .slots = g_ptr_array_new () };
  gsize bytes = 0, largest = 0;
  g_autoptr (LuTables) tables = NULL;
  GThread *threads[2];

  fill_store (self);
  readers.codes = g_new0 (guint64, self->images->len);
  readers.rules = g_new0 (struct lu_rule, self->images->len);
  for (guint i = 0; i < self->images->len; i++)
    {
      g_autoptr (LuTable) table = compile (get_image (self, i));

      bytes += table->stats.table_bytes;
      largest = MAX (largest, table->stats.table_bytes);
      readers.codes[i] = some_code (get_image (self, i));
      readers.rules[i] = *lu_table_find (table, readers.codes[i]);
    }
  tables = new_tables (self, MAX (bytes / 2, largest));
  for (guint i = 0; i < self->images->len; i++)
    g_ptr_array_add (readers.slots, lu_tables_add (tables, get_image (self, i)));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("reader", read_slots, &readers);
  for (guint k = 0; k < 200; k++)
    {
      /* Loading another table evicts one that is being read, which is then built again. */
      guint i = k % self->images->len;

      lu_table_slot_unref (lu_tables_add (tables, get_image (self, i)));
      for (guint n = 0; n < 64; n++)
        lu_table_slot_miss (g_ptr_array_index (readers.slots, i), get_image (self, i));
      g_usleep (500);
    }
  g_atomic_int_set (&readers.is_over, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_test_message ("%" G_GSIZE_FORMAT " found, %" G_GSIZE_FORMAT " not, %" G_GUINT64_FORMAT
                  " evicted, %" G_GUINT64_FORMAT " built",
                  readers.n_found, readers.n_missed, count_of (tables, LU_COUNTER_TABLES_EVICTED),
                  count_of (tables, LU_COUNTER_TABLES_BUILT));
  g_assert_cmpuint (count_of (tables, LU_COUNTER_TABLES_EVICTED), >, 0);
  g_assert_cmpuint (readers.n_found, >, 0);
  for (guint i = 0; i < readers.slots->len; i++)
    lu_table_slot_unref (g_ptr_array_index (readers.slots, i));
  g_ptr_array_unref (readers.slots);
  g_free (readers.codes);
  g_free (readers.rules);
}

#define ADD(name, func) g_test_add ("/tables/" name, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("built", test_built);
  ADD ("wanted-twice", test_wanted_twice);
  ADD ("loaded", test_loaded);
  ADD ("without-store", test_without_store);
  ADD ("budget", test_budget);
  ADD ("evicted while read", test_evicted_while_read);
  ADD ("too-large", test_too_large);
  ADD ("unused", test_unused);
  ADD ("many", test_many);
  ADD ("modules", test_modules);
  ADD ("stop", test_stop);
  ADD ("end", test_end);
  ADD ("readers", test_readers);
  return g_test_run ();
}
