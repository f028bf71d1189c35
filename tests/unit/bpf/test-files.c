/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-files.c - src/bpf/files.c, table-copy.c, rules.c: tables in the maps have the same rules as
 * the original, are evicted when there is no room, and never give a concurrent reader wrong rules.
 * The tables are made here: honest, hostile, and too many. */

#include "base/clock.h"
#include "bpf/files.h"
#include "elf/go-stacks.h"
#include "elf/image-private.h"
#include "memory-backing.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define BASE G_GUINT64_CONSTANT (0x40000)

/* A table and all that it points to. */
typedef struct
{
  LuTable table;
  guint32 *pages, *rows;
  struct lu_rule *rules;
} Made;

static Made *
made_new (guint n_pages, guint n_rules)
{
  static guint64 last_serial;
  Made *self = g_new0 (Made, 1);

  self->pages = g_new0 (guint32, n_pages + 1);
  self->rules = g_new0 (struct lu_rule, n_rules);
  self->rules[LU_RULE_COMPLEX].cfa_kind = LU_CFA_COMPLEX;
  self->table = (LuTable){ .rules = self->rules, .n_rules = n_rules, .serial = ++last_serial };
  self->table.rows = (struct lu_rows){ .base = BASE, .n_pages = n_pages, .pages = self->pages };
  return self;
}

static void
made_free (Made *self)
{
  g_free (self->pages);
  g_free (self->rows != NULL ? self->rows - 1 : NULL);
  g_free (self->rules);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Made, made_free)

/* Fills in rules that no other number has. */
static void
fill_rules (Made *self, guint number)
{
  for (guint i = LU_RULE_FIRST; i < self->table.n_rules; i++)
    self->rules[i] =
        (struct lu_rule){ .cfa_kind = LU_CFA_SP, .cfa_off = (gint32) (number * LU_MAX_RULES + i) };
}

/* Makes rows at random distances, up to max_step, with random rules. */
static Made *
made_random (GRand *rand, guint number, guint n_pages, guint n_rules, guint max_step)
{
  Made *self = made_new (n_pages, n_rules);
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint64 at = (guint64) g_rand_int_range (rand, 0, (gint32) max_step);
  guint32 none = 0;

  g_array_append_val (rows, none);
  fill_rules (self, number);
  for (guint page = 0; page < n_pages; page++)
    {
      self->pages[page] = rows->len - 1;
      for (; at >> LU_PAGE_SHIFT == page;
           at += (guint64) g_rand_int_range (rand, 1, (gint32) max_step))
        {
          guint32 row = LU_ROW (at, g_rand_int_range (rand, 0, (gint32) n_rules));

          g_array_append_val (rows, row);
        }
    }
  self->pages[n_pages] = rows->len - 1;
  self->table.n_rows = rows->len - 1;
  self->table.stats.table_bytes = rows->len * sizeof (guint32);
  self->rows = (guint32 *) g_array_steal (rows, NULL) + 1;
  self->table.rows.rows = self->rows;
  return self;
}

typedef struct
{
  LuBpfBacking *backing;
  LuBpfFiles files;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  self->backing = memory_backing_new (64, 16, TRUE);
  lu_bpf_files_init (&self->files, self->backing, GPOINTER_TO_UINT (data), 0, 1000000000);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_bpf_files_clear (&self->files);
  lu_bpf_backing_free (self->backing);
}

/* Returns a module of this program with an image of its own. */
static LuModule *
new_module (void)
{
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/program" };
  LuModule *module = lu_module_new (&key);
  int fd = open ("/proc/self/exe", O_RDONLY);
  LuImage *image = lu_image_open (fd, NULL);

  g_assert_nonnull (image);
  close (fd);
  lu_module_publish (module, LU_MODULE_READY, image);
  return module;
}

static gboolean
publish (Fixture *self, LuBpfFile *file, LuModule *module, const Made *made)
{
  return lu_bpf_files_publish (&self->files, file, &made->table, lu_module_image (module));
}

static void
assert_compact (const struct lu_bpf_dictionary *dictionary, guint id)
{
  g_assert_cmphex (dictionary->compact[id], ==,
                   lu_bpf_compact_make (&dictionary->rules[id], lu_bpf_rules_have_link ()));
}

static void
assert_same_at (Fixture *self, guint32 slot, const Made *made, guint64 at)
{
  gint rule = memory_backing_find_rule (self->backing, slot, at);

  g_assert_cmpint (rule, >=, 0);
  g_assert_cmpmem (&self->backing->dictionary->rules[rule], sizeof (struct lu_rule),
                   lu_table_find (&made->table, at), sizeof (struct lu_rule));
  assert_compact (self->backing->dictionary, (guint) rule);
}

/* Compares around every row (around many, in large tables), at the edges of pages, and outside. */
static void
assert_same (Fixture *self, guint32 slot, const Made *made)
{
  const struct lu_rows *rows = &made->table.rows;
  guint64 end = rows->base + ((guint64) rows->n_pages << LU_PAGE_SHIFT);
  guint step = 1 + made->table.n_rows / 4096;

  for (guint page = 0; page < rows->n_pages; page++)
    for (guint i = rows->pages[page]; i < rows->pages[page + 1]; i += step)
      {
        guint64 at =
            rows->base + ((guint64) page << LU_PAGE_SHIFT) + (rows->rows[i] & (LU_PAGE_BYTES - 1));

        assert_same_at (self, slot, made, at);
        assert_same_at (self, slot, made, at - 1);
      }
  for (guint64 at = rows->base; at < end; at += LU_PAGE_BYTES)
    assert_same_at (self, slot, made, at);
  g_assert_cmpint (memory_backing_find_rule (self->backing, slot, 0), ==, LU_RULE_NONE);
  g_assert_cmpint (memory_backing_find_rule (self->backing, slot, end + (1u << 20)), ==,
                   LU_RULE_NONE);
}

static void
test_same (Fixture *self, gconstpointer data)
{
  static const struct
  {
    guint n_pages, n_rules, max_step;
  } cases[] = {
    { 16, 3, 2 },           /* a row for every byte */
    { 16, 3, 20000 },       /* hardly any rows */
    { 640, 300, 100 },      /* like real files */
    { 3200, 3000, 30 },     /* many rules */
    { 32000, 50, 1000000 }, /* far apart */
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LuModule) module = new_module ();
      g_autoptr (Made) made =
          made_random (rand, i, cases[i].n_pages, cases[i].n_rules, cases[i].max_step);
      LuBpfFile *file = lu_bpf_files_attach (&self->files, module, i + 1);
      struct lu_bpf_module *published = &self->backing->modules[i + 1];

      g_assert_cmpint (memory_backing_find_rule (self->backing, i + 1, BASE), ==, -1);
      g_assert_true (publish (self, file, module, made));
      assert_same (self, i + 1, made);
      g_assert_cmpuint (published->key & ((G_GUINT64_CONSTANT (1) << LU_BPF_KEY_SHIFT) - 1), ==, 0);
      g_assert_cmpuint (published->key, !=, 0);
      g_assert_cmpuint (published->entry, ==, lu_image_entry (lu_module_image (module)));
    }
  g_assert_cmpuint (self->files.n_tables, ==, G_N_ELEMENTS (cases));
  g_assert_cmpuint (self->files.bytes, <, 4u << 20);
}

static gsize
used_bytes (const LuBpfArena *arena)
{
  return arena->n_entries * (gsize) LU_BPF_ENTRY_BYTES - lu_bpf_arena_free_bytes (arena)
         - lu_bpf_arena_resting_bytes (arena);
}

/* Two modules of one file share its table, which goes with the second one. */
static void
test_shared (Fixture *self, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (12);
  g_autoptr (LuModule) module = new_module ();
  g_autoptr (Made) made = made_random (rand, 1, 48, 20, 100);
  LuBpfFile *file = lu_bpf_files_attach (&self->files, module, 1);

  g_assert_true (publish (self, file, module, made));
  g_assert_true (lu_bpf_files_attach (&self->files, module, 9) == file);
  g_assert_cmpuint (self->backing->modules[9].table, ==, self->backing->modules[1].table);
  g_assert_cmpuint (self->backing->modules[9].key, ==, self->backing->modules[1].key);
  lu_bpf_files_detach (&self->files, file, 1);
  g_assert_cmpuint (self->backing->modules[1].table, ==, 0);
  g_assert_cmpuint (self->backing->modules[1].key, ==, 0);
  assert_same (self, 9, made);
  lu_bpf_files_detach (&self->files, file, 9);
  g_assert_cmpuint (self->backing->modules[9].table, ==, 0);
  g_assert_cmpuint (lu_bpf_rules_n (&self->files.rules), ==, 0);
  g_assert_cmpuint (used_bytes (&self->files.arena), <=, LU_BPF_GRAIN * 4);
}

/* A table with rows from code takes the place of the one without. */
static void
test_derived (Fixture *self, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (17);
  g_autoptr (LuModule) module = new_module ();
  g_autoptr (Made) before = made_random (rand, 1, 48, 20, 100);
  g_autoptr (Made) after = made_random (rand, 2, 64, 20, 50);
  LuBpfFile *file = lu_bpf_files_attach (&self->files, module, 1);
  guint n_compact = 0;
  guint64 key;

  for (guint i = LU_RULE_FIRST; i < after->table.n_rules; i++)
    {
      after->rules[i].ra_off = -1;
      after->rules[i].flags = i % 2 == 0 ? LU_RULE_DERIVED : 0;
    }
  g_assert_false (lu_bpf_files_is_outdated (file, &after->table));
  g_assert_true (publish (self, file, module, before));
  key = self->backing->modules[1].key;
  g_assert_false (lu_bpf_files_is_outdated (file, &after->table));
  after->table.stats.has_extra = TRUE;
  g_assert_true (lu_bpf_files_is_outdated (file, &after->table));
  lu_bpf_files_renew (&self->files, file, &after->table);
  g_assert_false (lu_bpf_files_is_outdated (file, &after->table));
  g_assert_cmphex (self->backing->modules[1].key, !=, key);
  assert_same (self, 1, after);
  for (guint i = 0; i < LU_BPF_MAX_RULES; i++)
    n_compact += (self->backing->dictionary->compact[i] & LU_BPF_COMPACT_DERIVED) != 0;
  g_assert_cmpuint (n_compact, ==, 9);
}

/* A table with as many rows may have others. */
static void
test_other_rows (Fixture *self, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (19);
  g_autoptr (GRand) same = g_rand_new_with_seed (19);
  g_autoptr (LuModule) module = new_module ();
  g_autoptr (Made) before = made_random (rand, 1, 48, 20, 100);
  g_autoptr (Made) after = made_random (same, 2, 48, 20, 100);
  LuBpfFile *file = lu_bpf_files_attach (&self->files, module, 1);

  g_assert_cmpuint (before->table.n_rows, ==, after->table.n_rows);
  before->table.stats.has_extra = after->table.stats.has_extra = TRUE;
  g_assert_true (publish (self, file, module, before));
  g_assert_false (lu_bpf_files_is_outdated (file, &before->table));
  g_assert_true (lu_bpf_files_is_outdated (file, &after->table));
  lu_bpf_files_renew (&self->files, file, &after->table);
  g_assert_false (lu_bpf_files_is_outdated (file, &after->table));
  assert_same (self, 1, after);
}

/* In a file with damaged entries, code without a known rule is left to the engine in user space. */
static void
test_uncertain (Fixture *self, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (13);
  g_autoptr (LuModule) module = new_module ();
  g_autoptr (Made) made = made_random (rand, 1, 32, 20, 100);
  LuBpfFile *file = lu_bpf_files_attach (&self->files, module, 1);
  const LuSegment *segments;
  guint n;

  made->table.stats.cfi_errors[0] = 1;
  g_assert_true (publish (self, file, module, made));
  segments = lu_image_segments (lu_module_image (module), &n);
  for (guint i = 0; i < n; i++)
    for (guint64 at = 0; segments[i].executable && at < segments[i].memory_size; at += 64)
      g_assert_cmpint (memory_backing_find_rule (self->backing, 1, segments[i].vaddr + at), !=,
                       LU_RULE_NONE);
}

/* However many rules hostile files have, other files find room, and all rules are freed again. A
 * few such files leave enough free; when there are many, the unused ones are evicted. */
static void
test_rules (Fixture *self, gconstpointer data)
{
  enum
  {
    N = 200
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (14);
  g_autoptr (GPtrArray) modules = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_module_unref);
  g_autoptr (LuModule) honest = new_module ();
  g_autoptr (Made) usual = made_random (rand, N, 320, 300, 50);
  LuBpfFile *files[N], *file;
  guint64 n_refused;

  for (guint i = 0; i < N; i++)
    {
      g_autoptr (Made) made = made_random (rand, i, 16, LU_MAX_RULES, 16);

      g_ptr_array_add (modules, new_module ());
      files[i] = lu_bpf_files_attach (&self->files, modules->pdata[i], i + 1);
      g_assert_true (publish (self, files[i], modules->pdata[i], made));
      if (i > 40)
        files[i - 40]->last_use = 0;
    }
  n_refused = self->files.rules.n_refused;
  g_assert_cmpuint (n_refused, >, 0);
  g_assert_cmpuint (lu_bpf_rules_n (&self->files.rules), <, LU_BPF_MAX_RULES);
  g_assert_cmpuint (lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_EVICTED), >, 0);
  file = lu_bpf_files_attach (&self->files, honest, N + 1);
  g_assert_true (publish (self, file, honest, usual));
  g_assert_cmpuint (self->files.rules.n_refused, ==, n_refused);
  assert_same (self, N + 1, usual);
  for (guint i = 0; i < N; i++)
    lu_bpf_files_detach (&self->files, files[i], i + 1);
  g_assert_cmpuint (lu_bpf_rules_n (&self->files.rules), ==, 298);
  assert_same (self, N + 1, usual);
  lu_bpf_files_detach (&self->files, file, N + 1);
  for (guint i = 0; i < 2; i++)
    {
      lu_bpf_reclaim_pass (&self->files.rules.ids, 1, G_MAXUINT64);
      lu_bpf_reclaim_release (&self->files.rules.ids);
    }
  g_assert_cmpuint (self->files.rules.ids.n_free, ==, LU_BPF_MAX_RULES - LU_BPF_RULE_TOP - 1);
}

/* Within the budget recently used tables stay and unused ones are evicted; their memory is used
 * again. */
static void
test_eviction (Fixture *self, gconstpointer data)
{
  enum
  {
    N = 16
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (15);
  g_autoptr (GPtrArray) modules = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_module_unref);
  g_autoptr (GPtrArray) made = g_ptr_array_new_with_free_func ((GDestroyNotify) made_free);
  LuBpfFile *files[N];

  for (guint i = 0; i < N; i++)
    {
      g_ptr_array_add (modules, new_module ());
      g_ptr_array_add (made, made_random (rand, i, 3200, 100, 100)); /* 1 MiB */
      files[i] = lu_bpf_files_attach (&self->files, modules->pdata[i], i + 1);
    }
  for (guint i = 0; i < 3; i++)
    g_assert_true (publish (self, files[i], modules->pdata[i], made->pdata[i]));
  g_assert_false (publish (self, files[3], modules->pdata[3], made->pdata[3]));
  g_assert_cmpuint (lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_REFUSED_TABLES), ==, 1);
  for (guint i = 3; i < N; i++)
    {
      for (guint k = 0; k < i; k++)
        files[k]->last_use = k;
      self->backing->use[1] |= LU_BPF_USED;
      g_assert_true (publish (self, files[i], modules->pdata[i], made->pdata[i]));
      assert_same (self, 1, made->pdata[0]);
      assert_same (self, i + 1, made->pdata[i]);
    }
  g_assert_cmpuint (lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_EVICTED), ==, N - 3);
  g_assert_cmpuint (memory_backing_n_entries (self->backing), <=, 4);
}

/* Free memory in many pieces is used. */
static void
test_pieces (Fixture *self, gconstpointer data)
{
  enum
  {
    N = 64
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (16);
  g_autoptr (GPtrArray) modules = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_module_unref);
  LuBpfFile *files[N] = { NULL };
  Made *made[N] = { NULL };

  for (guint i = 0; i < N; i++)
    g_ptr_array_add (modules, new_module ());
  for (guint round = 0; round < 600; round++)
    {
      guint i = (guint) g_rand_int_range (rand, 0, N);
      gboolean is_large = g_rand_int_range (rand, 0, 50) == 0;

      if (files[i] == NULL)
        {
          files[i] = lu_bpf_files_attach (&self->files, modules->pdata[i], i + 1);
          made[i] = made_random (rand, i, is_large ? 2400 : 160, 100, 100);
          if (!publish (self, files[i], modules->pdata[i], made[i]))
            continue;
          assert_same (self, i + 1, made[i]);
          continue;
        }
      if (files[i]->copy != NULL)
        assert_same (self, i + 1, made[i]);
      lu_bpf_files_detach (&self->files, files[i], i + 1);
      made_free (made[i]);
      files[i] = NULL;
    }
  g_test_message ("%" G_GUINT64_FORMAT " published, %" G_GUINT64_FORMAT " refused, %u entries",
                  lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_PUBLISHED),
                  lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_REFUSED_TABLES),
                  memory_backing_n_entries (self->backing));
  g_assert_cmpuint (lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_REFUSED_TABLES), <,
                    lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_PUBLISHED) / 20);
  for (guint i = 0; i < N; i++)
    if (files[i] != NULL)
      {
        lu_bpf_files_detach (&self->files, files[i], i + 1);
        made_free (made[i]);
      }
  g_assert_cmpuint (self->files.bytes, ==, 0);
  g_assert_cmpuint (used_bytes (&self->files.arena), <=, LU_BPF_GRAIN * 4);
}

/* The first function that contains the address decides, or the table if no function does. */
static void
assert_rule_with_functions (Fixture *self, const Made *made, const LuGoFunction *functions, guint n,
                            guint64 at)
{
  for (guint i = 0; i < n; i++)
    if (at >= functions[i].start && at < functions[i].end)
      {
        if (functions[i].rule.cfa_kind != LU_CFA_NONE)
          g_assert_cmpint (memory_backing_find_rule (self->backing, 1, at), >, LU_BPF_RULE_TOP);
        else
          g_assert_cmpint (memory_backing_find_rule (self->backing, 1, at), ==,
                           functions[i].kind == LU_GO_TOP ? LU_BPF_RULE_TOP : LU_RULE_COMPLEX);
        return;
      }
  assert_same_at (self, 1, made, at);
}

/* Functions of Go that end or switch stacks lie in one page, over several, overlap, or are outside
 * of the table. */
static void
test_go_functions (Fixture *self, gconstpointer data)
{
  static const LuGoFunction functions[] = {
    { .start = BASE + 170,
      .end = BASE + 171,
      .kind = LU_GO_SWITCH,
      .rule = { .cfa_kind = LU_CFA_GO_SLOTS, .cfa_off = 8 } },
    { BASE + 100, BASE + 200, LU_GO_TOP },
    { BASE + 150, BASE + 300, LU_GO_SWITCH },
    { BASE + LU_PAGE_BYTES, BASE + LU_PAGE_BYTES + 1, LU_GO_TOP },
    { BASE + 2 * LU_PAGE_BYTES - 40, BASE + 4 * LU_PAGE_BYTES + 7, LU_GO_SWITCH },
    { BASE + 5 * LU_PAGE_BYTES - 1, BASE + 5 * LU_PAGE_BYTES, LU_GO_TOP },
    { BASE - 3 * LU_PAGE_BYTES - 5, BASE - 3 * LU_PAGE_BYTES + 5, LU_GO_TOP },
    { BASE + 9 * LU_PAGE_BYTES, BASE + 9 * LU_PAGE_BYTES + 16, LU_GO_TOP },
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (23);
  g_autoptr (LuModule) module = new_module ();
  g_autoptr (Made) made = made_random (rand, 1, 7, 30, 60);
  LuBpfFile *file = lu_bpf_files_attach (&self->files, module, 1);
  GArray *array = g_array_new (FALSE, FALSE, sizeof (LuGoFunction));

  g_array_append_vals (array, functions, G_N_ELEMENTS (functions));
  lu_module_image (module)->go_functions = array;
  g_assert_true (publish (self, file, module, made));
  for (guint64 at = BASE - 4 * LU_PAGE_BYTES; at < BASE + 11 * LU_PAGE_BYTES; at++)
    assert_rule_with_functions (self, made, functions, G_N_ELEMENTS (functions), at);
}

/* The distance between two pieces of code exceeds the length of an index. */
static void
test_hopeless (Fixture *self, gconstpointer data)
{
  enum
  {
    N_PAGES = LU_BPF_MAX_PAGES + 1
  };
  g_autoptr (LuModule) module = new_module ();
  g_autoptr (Made) made = made_new (N_PAGES, 3);
  LuBpfFile *file = lu_bpf_files_attach (&self->files, module, 1);

  made->rows = g_new0 (guint32, 3) + 1;
  made->rows[0] = LU_ROW (0, 2);
  made->rows[1] = LU_ROW (0, 0);
  made->table.rows.rows = made->rows;
  made->table.n_rows = 2;
  for (guint i = 1; i <= N_PAGES; i++)
    made->pages[i] = i < N_PAGES ? 1 : 2;
  g_assert_true (publish (self, file, module, made));
  g_assert_true (file->is_hopeless);
  g_assert_null (file->copy);
  g_assert_cmpuint (lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_REFUSED_MODULES), ==,
                    1);
  g_assert_cmpuint (memory_backing_n_entries (self->backing), ==, 0);
}

/* Stress test: a concurrent reader finds only rules of the table that it reads. */

#define N_STRESSED 12
#define STRESS_NS  G_GUINT64_CONSTANT (500000000)

typedef struct
{
  LuBpfBacking *backing;
  Made *made[N_STRESSED];
  atomic_bool is_over;
  guint64 n_found, n_missing;
} Stress;

static gpointer
read_tables (gpointer data)
{
  Stress *self = data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (17);

  while (!atomic_load (&self->is_over))
    {
      guint i = (guint) g_rand_int_range (rand, 0, N_STRESSED);
      const Made *made = self->made[i];
      guint64 at = BASE + g_rand_int (rand) % (made->table.rows.n_pages << LU_PAGE_SHIFT);
      gint rule;

      memory_backing_begin_walk (self->backing);
      rule = memory_backing_find_rule (self->backing, i + 1, at);
      if (rule > LU_RULE_COMPLEX)
        {
          g_assert_cmpmem (&self->backing->dictionary->rules[rule], sizeof (struct lu_rule),
                           lu_table_find (&made->table, at), sizeof (struct lu_rule));
          __atomic_fetch_or (&self->backing->use[i + 1], (guint8) LU_BPF_USED, __ATOMIC_RELAXED);
          self->n_found++;
        }
      self->n_missing += rule < 0;
      memory_backing_end_walk (self->backing);
    }
  return NULL;
}

static void
test_reader (Fixture *self, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (18);
  g_autofree Stress *stress = g_new0 (Stress, 1);
  LuBpfFile *files[N_STRESSED] = { NULL };
  LuModule *modules[N_STRESSED];
  guint64 start = lu_monotonic_ns ();
  GThread *reader;

  stress->backing = self->backing;
  for (guint i = 0; i < N_STRESSED; i++)
    {
      modules[i] = new_module ();
      stress->made[i] = made_random (rand, i, i % 4 == 0 ? 2400 : 320, 1000, 100);
    }
  reader = g_thread_new ("reader", read_tables, stress);
  while (lu_monotonic_ns () - start < STRESS_NS
         || (lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_EVICTED) < 5
             && lu_monotonic_ns () - start < 30 * STRESS_NS))
    {
      guint i = (guint) g_rand_int_range (rand, 0, N_STRESSED);

      for (guint k = 0; k < N_STRESSED; k++)
        if (files[k] != NULL)
          files[k]->last_use = g_rand_int (rand);
      if (files[i] == NULL)
        files[i] = lu_bpf_files_attach (&self->files, modules[i], i + 1);
      if (files[i]->copy == NULL)
        publish (self, files[i], modules[i], stress->made[i]);
      else if (g_rand_boolean (rand))
        {
          lu_bpf_files_detach (&self->files, files[i], i + 1);
          files[i] = NULL;
        }
    }
  atomic_store (&stress->is_over, TRUE);
  g_thread_join (reader);
  g_test_message ("%" G_GUINT64_FORMAT " found, %" G_GUINT64_FORMAT " not there, %" G_GUINT64_FORMAT
                  " published, %" G_GUINT64_FORMAT " evicted, %u graces",
                  stress->n_found, stress->n_missing,
                  lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_PUBLISHED),
                  lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_EVICTED),
                  memory_backing_n_graces (self->backing));
  g_assert_cmpuint (stress->n_found, >, 0);
  g_assert_cmpuint (lu_counters_get (&self->files.counters, LU_COUNTER_MAPS_EVICTED), >, 0);
  for (guint i = 0; i < N_STRESSED; i++)
    {
      made_free (stress->made[i]);
      lu_module_unref (modules[i]);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, max_entries, test)                                                               \
  g_test_add (path, Fixture, GUINT_TO_POINTER (max_entries), set_up, test, tear_down)
  ADD ("/bpf/files/same", 16, test_same);
  ADD ("/bpf/files/shared", 4, test_shared);
  ADD ("/bpf/files/derived", 4, test_derived);
  ADD ("/bpf/files/other-rows", 4, test_other_rows);
  ADD ("/bpf/files/uncertain", 4, test_uncertain);
  ADD ("/bpf/files/rules", 16, test_rules);
  ADD ("/bpf/files/eviction", 4, test_eviction);
  ADD ("/bpf/files/pieces", 4, test_pieces);
  ADD ("/bpf/files/go-functions", 4, test_go_functions);
  ADD ("/bpf/files/hopeless", 4, test_hopeless);
  ADD ("/bpf/files/reader", 3, test_reader);
  return g_test_run ();
}
