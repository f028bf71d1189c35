/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-maps.c - src/bpf/maps.c, blocks.c, slots.c, publisher.c: what the BPF program would find for
 * a process, from its fork to its end, in maps that are memory of this test. The processes are this
 * one and invented ones that exist only in events. */

#include "bpf/maps-private.h"
#include "bpf/publisher.h"
#include "memory-backing.h"
#include "module/opener.h"
#include "table/table.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Flags of a test. */
#define GRACE       1 /* the kernel reports when walks have ended */
#define FOLLOW_ALL  2
#define VMAS        4 /* the program also uses the kernel's own mappings */
#define PATIENCE_US (20 * G_USEC_PER_SEC)

typedef struct
{
  LuOpener *opener;
  LuTables *tables;
  LuBpfBacking *backing; /* owned by maps */
  LuBpfMaps *maps;
  LuProcessTable *table;
  GPtrArray *unopened; /* of LuModule; NULL: modules are opened at once */
} Fixture;

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer data)
{
  Fixture *self = data;

  if (self->unopened != NULL)
    g_ptr_array_add (self->unopened, lu_module_ref (module));
  else
    lu_opener_open (self->opener, module, lu_process_pid (process), start, end);
}

static void
process_added (LuProcess *process, gboolean is_exec, gpointer data)
{
  Fixture *self = data;

  lu_process_table_announce (self->table, process);
}

static void
address_space_changed (LuProcess *process, LuAddressSpace *space, LuAddressSpaceChange change,
                       gint32 parent_pid, gpointer data)
{
  lu_bpf_maps_address_space_changed (((Fixture *) data)->maps, process, change, parent_pid);
}

static const LuProcessTableFuncs funcs = { .module_added = module_added,
                                           .process_added = process_added,
                                           .address_space_changed = address_space_changed };

static void
set_up (Fixture *self, gconstpointer data)
{
  guint flags = GPOINTER_TO_UINT (data);
  LuBpfMapsOptions options = { .memory_mib = 64,
                               .sampling_ns = 1000000,
                               .follow_all = (flags & FOLLOW_ALL) != 0,
                               .has_vmas = (flags & VMAS) != 0 };

  self->opener = lu_opener_new (TRUE, 64u << 20);
  self->tables = lu_tables_new (NULL, LU_TABLES_BUDGET);
  lu_opener_set_tables (self->opener, self->tables);
  options.tables = self->tables;
  self->backing = memory_backing_new (64, LU_BPF_MAX_PROCESSES, (flags & GRACE) != 0);
  self->maps = lu_bpf_maps_new (self->backing, &options);
  self->table = lu_process_table_new (FALSE, &funcs, self);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_process_table_free (self->table);
  lu_bpf_maps_free (self->maps);
  lu_opener_free (self->opener);
  lu_tables_free (self->tables);
  if (self->unopened != NULL)
    g_ptr_array_unref (self->unopened);
}

/* Events */

static void
map_file (Fixture *self, guint64 time, gint32 pid, guint64 start, guint64 length, guint64 offset,
          const char *path)
{
  LuEvent event = { .kind = LU_EVENT_MMAP,
                    .time = time,
                    .pid = pid,
                    .tid = pid,
                    .mmap = { .start = start,
                              .length = length,
                              .file_offset = offset,
                              .prot = PROT_READ | PROT_EXEC,
                              .path = path } };

  lu_process_table_apply (self->table, &event);
}

static void
exec (Fixture *self, guint64 time, gint32 pid)
{
  LuEvent event = { .kind = LU_EVENT_COMM, .time = time, .pid = pid, .tid = pid };

  event.comm.name = "program";
  event.comm.is_exec = 1;
  lu_process_table_apply (self->table, &event);
}

static void
task (Fixture *self, LuEventKind kind, guint64 time, gint32 pid, gint32 parent)
{
  LuEvent event = { .kind = kind, .time = time, .pid = pid, .tid = pid };

  event.task.parent_pid = event.task.parent_tid = parent;
  lu_process_table_apply (self->table, &event);
}

/* The program's view */

static enum lu_bpf_mapping_kind
kind_at (Fixture *self, gint32 pid, guint64 address)
{
  struct lu_bpf_process process;
  struct lu_bpf_mapping mapping;

  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  if (!memory_backing_find_mapping (self->backing, &process, address, &mapping))
    return 99;
  return mapping.kind;
}

static gboolean
has_process (Fixture *self, gint32 pid)
{
  struct lu_bpf_process process;

  return memory_backing_find_process (self->backing, (guint32) pid, &process);
}

/* Returns the serial of the published mappings of the process. */
static guint64
serial_of (Fixture *self, gint32 pid)
{
  struct lu_bpf_process process;

  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  return process.serial;
}

static guint32
address_of (Fixture *self, gint32 pid)
{
  struct lu_bpf_process process;

  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  return process.mappings;
}

static LuAddressSpace *
space_of (Fixture *self, gint32 pid)
{
  LuProcess *process;
  LuAddressSpace *space;

  g_assert_true (lu_process_table_lookup (self->table, pid, G_MAXUINT64, &process, &space));
  return space;
}

static guint64
count_of (const Fixture *self, LuCounter counter)
{
  LuCounters sum = { 0 };

  lu_bpf_maps_add_counters (self->maps, &sum);
  return lu_counters_get (&sum, counter);
}

/* Flushes until the process is published in its present state. */
static void
flush_until_current (Fixture *self, gint32 pid)
{
  gint64 end = g_get_monotonic_time () + PATIENCE_US;

  do
    {
      lu_bpf_maps_flush (self->maps);
      g_usleep (200);
    }
  while (serial_of (self, pid) != lu_address_space_serial (space_of (self, pid))
         && g_get_monotonic_time () < end);
  g_assert_cmpuint (serial_of (self, pid), ==, lu_address_space_serial (space_of (self, pid)));
}

static void
flush_until_published (Fixture *self, guint n_tables)
{
  gint64 end = g_get_monotonic_time () + PATIENCE_US;

  while (count_of (self, LU_COUNTER_MAPS_TABLES) < n_tables && g_get_monotonic_time () < end)
    {
      lu_bpf_maps_flush (self->maps);
      g_usleep (1000);
    }
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_TABLES), ==, n_tables);
}

/* Requests the table as a walk does. */
static void
request_table (Fixture *self, const LuModule *module)
{
  guint32 slot = lu_bpf_slots_find (&self->maps->slots, module);

  if (slot != 0 && !lu_bpf_slots_has_table (&self->maps->slots, slot))
    __atomic_fetch_or (&self->maps->backing->use[slot], LU_BPF_WANTED, __ATOMIC_RELAXED);
}

/* Requests the table of every mapping that can have one. */
static guint
want_all (Fixture *self, gint32 pid)
{
  guint n, n_files = 0;
  const LuMapping *mappings = lu_address_space_mappings (space_of (self, pid), &n);

  for (guint i = 0; i < n; i++)
    {
      if (lu_module_state (mappings[i].module) != LU_MODULE_READY)
        continue;
      n_files++;
      request_table (self, mappings[i].module);
    }
  return n_files;
}

/* Every row of a table is published unchanged. */
static guint
compare_with_table (Fixture *self, gint32 pid, const LuMapping *mapping)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (lu_module_image (mapping->module));
  g_autoptr (LuTable) table = lu_table_new (cfi);
  struct lu_bpf_process process;
  struct lu_bpf_mapping found;
  guint64 bias;

  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  g_assert_true (memory_backing_find_mapping (self->backing, &process, mapping->start, &found));
  g_assert_cmpuint (found.start, ==, mapping->start);
  g_assert_cmpuint (found.end, ==, mapping->end);
  g_assert_cmpuint (found.kind, ==, LU_BPF_MAPPING_TABLE);
  g_assert_true (lu_image_bias (
      lu_module_image (mapping->module), mapping->start,
      lu_module_key (mapping->module)->kind == LU_MODULE_VDSO ? 0 : mapping->file_offset, &bias));
  g_assert_cmpuint (found.bias, ==, bias);
  for (guint page = 0; page < table->rows.n_pages; page++)
    for (guint i = table->rows.pages[page]; i < table->rows.pages[page + 1]; i++)
      for (guint before = 0; before < 2; before++)
        {
          guint64 at = table->rows.base + ((guint64) page << LU_PAGE_SHIFT)
                       + (table->rows.rows[i] & (LU_PAGE_BYTES - 1)) - before;
          gint rule = memory_backing_find_rule (self->backing, found.module, at);

          g_assert_cmpint (rule, >=, 0);
          g_assert_cmpmem (&self->backing->dictionary->rules[rule], sizeof (struct lu_rule),
                           lu_table_find (table, at), sizeof (struct lu_rule));
        }
  return table->n_rows;
}

/* Tests */

static void
test_this_process (Fixture *self, gconstpointer data)
{
  gint32 pid = getpid ();
  guint n, n_compared = 0;
  const LuMapping *mappings;

  g_assert_true (lu_process_table_discover (self->table, pid, 0));
  flush_until_current (self, pid);
  flush_until_published (self, want_all (self, pid));
  mappings = lu_address_space_mappings (space_of (self, pid), &n);
  for (guint i = 0; i < n; i++)
    if (lu_module_state (mappings[i].module) == LU_MODULE_READY)
      n_compared += compare_with_table (self, pid, &mappings[i]);
  g_assert_cmpuint (n_compared, >, 1000);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_PROCESSES), ==, 1);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_RULES), >, 100);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_REFUSED_TABLES)
                        + count_of (self, LU_COUNTER_MAPS_REFUSED_RULES)
                        + count_of (self, LU_COUNTER_MAPS_REFUSED_MAPPINGS),
                    ==, 0);
}

static LuProcess *
process_of (Fixture *self, gint32 pid)
{
  LuProcess *process;
  LuAddressSpace *space;

  g_assert_true (lu_process_table_lookup (self->table, pid, G_MAXUINT64, &process, &space));
  return process;
}

/* Returns the number of samples after which the process is to be published, or 0 for never. */
static guint
samples_until_wanted (Fixture *self, gint32 pid, gboolean by_vmas)
{
  for (guint n = 1; n < 100; n++)
    if (lu_bpf_maps_wants (self->maps, process_of (self, pid), space_of (self, pid), by_vmas))
      return n;
  return 0;
}

/* Where the program uses the kernel's mappings, starts and exits of processes are not published
 * until somebody requests it. */
static void
test_when_asked (Fixture *self, gconstpointer data)
{
  lu_process_table_follow (self->table, 10);
  map_file (self, 1, 10, 0x1000, 0x1000, 0, "//anon");
  task (self, LU_EVENT_FORK, 2, 11, 10);
  lu_bpf_maps_flush (self->maps);
  g_assert_false (has_process (self, 10) || has_process (self, 11));
  g_assert_cmpuint (samples_until_wanted (self, 10, TRUE), ==, 16);
  g_assert_cmpuint (samples_until_wanted (self, 11, FALSE), ==, 2);

  lu_bpf_maps_watch (self->maps, process_of (self, 10));
  flush_until_current (self, 10);
  g_assert_cmpuint (kind_at (self, 10, 0x1000), ==, LU_BPF_MAPPING_JIT);
  g_assert_cmpuint (samples_until_wanted (self, 10, TRUE), ==, 0);
  map_file (self, 3, 10, 0x5000, 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  g_assert_cmpuint (kind_at (self, 10, 0x5000), ==, LU_BPF_MAPPING_JIT);
  g_assert_false (has_process (self, 11));

  /* After an exec the pid is another process. */
  exec (self, 4, 10);
  g_assert_false (has_process (self, 10));
  map_file (self, 5, 10, 0x7000, 0x1000, 0, "//anon");
  lu_bpf_maps_flush (self->maps);
  g_assert_false (has_process (self, 10));
  lu_bpf_maps_watch (self->maps, process_of (self, 10));
  flush_until_current (self, 10);
  g_assert_cmpuint (kind_at (self, 10, 0x7000), ==, LU_BPF_MAPPING_JIT);
  g_assert_cmpuint (kind_at (self, 10, 0x1000), ==, 99);
  task (self, LU_EVENT_EXIT, 6, 10, 1);
  g_assert_false (has_process (self, 10));
}

static guint
n_known (Fixture *self)
{
  guint n = 0;

  for (guint i = 0; i < LU_BPF_MAX_KNOWN; i++)
    n += self->backing->known[i].check != 0;
  return n;
}

/* Files become known, with their tables, although no process that maps them is published; they are
 * published again when a copied sample shows that they are not known. */
static void
test_candidates (Fixture *self, gconstpointer data)
{
  guint n, n_files = 0;
  const LuMapping *mappings;

  self->unopened = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_module_unref);
  g_assert_true (lu_process_table_discover (self->table, getpid (), 0));
  mappings = lu_address_space_mappings (space_of (self, getpid ()), &n);
  for (guint i = 0; i < n; i++)
    {
      lu_bpf_maps_introduce (self->maps, &mappings[i], TRUE);
      n_files += lu_module_key (mappings[i].module)->kind == LU_MODULE_FILE;
    }
  g_assert_cmpint (lu_bpf_maps_flush (self->maps), !=, LU_BPF_MAPS_WAIT_NO);
  g_assert_cmpuint (n_known (self), ==, 0);
  for (guint i = 0; i < n; i++)
    lu_opener_open (self->opener, mappings[i].module, getpid (), mappings[i].start,
                    mappings[i].end);
  lu_bpf_maps_flush (self->maps);
  g_assert_cmpuint (n_known (self), ==, n_files);
  for (gint64 end = g_get_monotonic_time () + PATIENCE_US;
       count_of (self, LU_COUNTER_MAPS_TABLES) < 3 && g_get_monotonic_time () < end;
       g_usleep (1000))
    lu_bpf_maps_flush (self->maps);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_TABLES), >=,
                    3); /* of the program, ld.so and libc */
  g_assert_false (has_process (self, getpid ()));
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_MAPPING_BYTES), ==, 0);

  lu_bpf_maps_wants (self->maps, process_of (self, getpid ()), space_of (self, getpid ()), FALSE);
  lu_bpf_maps_flush (self->maps);
  g_assert_cmpuint (n_known (self), ==, n_files);
}

/* If nearly all samples arrive as copies, all processes are published as if the program did not use
 * the kernel's mappings. */
static void
test_no_use (Fixture *self, gconstpointer data)
{
  gint32 pid = 10;

  for (; pid < 60 && !has_process (self, pid - 1); pid++)
    {
      lu_process_table_follow (self->table, pid);
      g_assert_cmpuint (samples_until_wanted (self, pid, FALSE), <=, 2);
      map_file (self, 1, pid, 0x1000, 0x1000, 0, "//anon");
      lu_bpf_maps_flush (self->maps);
    }
  g_assert_true (has_process (self, pid - 1));
}

/* A fork inherits its parent's mappings, an exec drops them, and an exit removes the process at
 * once. */
static void
test_life (Fixture *self, gconstpointer data)
{
  lu_process_table_follow (self->table, 10);
  g_assert_false (has_process (self, 10));
  lu_bpf_maps_flush (self->maps);
  g_assert_true (has_process (self, 10));
  g_assert_cmpuint (kind_at (self, 10, 0x1000), ==, 99);
  map_file (self, 1, 10, 0x1000, 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  g_assert_cmpuint (kind_at (self, 10, 0x1000), ==, LU_BPF_MAPPING_JIT);
  g_assert_cmpuint (kind_at (self, 10, 0x2000), ==, 99);
  g_assert_cmpuint (kind_at (self, 10, 0xfff), ==, 99);

  task (self, LU_EVENT_FORK, 2, 11, 10);
  lu_bpf_maps_flush (self->maps);
  g_assert_cmpuint (serial_of (self, 11), ==, serial_of (self, 10));
  g_assert_cmpuint (address_of (self, 11), ==, address_of (self, 10));
  map_file (self, 3, 10, 0x5000, 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  g_assert_cmpuint (kind_at (self, 10, 0x5000), ==, LU_BPF_MAPPING_JIT);
  g_assert_cmpuint (kind_at (self, 11, 0x5000), ==, 99);
  g_assert_cmpuint (kind_at (self, 11, 0x1000), ==, LU_BPF_MAPPING_JIT);

  exec (self, 4, 11);
  lu_bpf_maps_flush (self->maps);
  g_assert_cmpuint (serial_of (self, 11), ==, 0);
  g_assert_cmpuint (kind_at (self, 11, 0x1000), ==, 99);
  map_file (self, 5, 11, 0x7000, 0x1000, 0, "//anon");
  flush_until_current (self, 11);
  g_assert_cmpuint (kind_at (self, 11, 0x7000), ==, LU_BPF_MAPPING_JIT);
  g_assert_cmpuint (kind_at (self, 10, 0x1000), ==, LU_BPF_MAPPING_JIT);

  task (self, LU_EVENT_EXIT, 6, 11, 10);
  g_assert_false (has_process (self, 11));
  g_assert_true (has_process (self, 10));
  task (self, LU_EVENT_EXIT, 7, 10, 1);
  g_assert_false (has_process (self, 10));
  lu_bpf_maps_flush (self->maps);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_PROCESSES), ==, 0);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_MAPPING_BYTES), ==, 0);
}

/* Each process and exec has an identity of its own; a child's starts with its parent's exec. */
static void
test_identities (Fixture *self, gconstpointer data)
{
  struct lu_bpf_process parent, child, after;

  lu_process_table_follow (self->table, 10);
  map_file (self, 1, 10, 0x1000, 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  g_assert_true (memory_backing_find_process (self->backing, 10, &parent));
  g_assert_cmpuint (parent.identity, !=, 0);
  self->backing->identities[parent.identity] = (struct lu_bpf_identity){ 111, 222, 1 };
  map_file (self, 2, 10, 0x3000, 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  g_assert_true (memory_backing_find_process (self->backing, 10, &after));
  g_assert_cmpuint (after.identity, ==, parent.identity);

  task (self, LU_EVENT_FORK, 3, 11, 10);
  lu_bpf_maps_flush (self->maps);
  g_assert_true (memory_backing_find_process (self->backing, 11, &child));
  g_assert_cmpuint (child.identity, !=, parent.identity);
  g_assert_cmpuint (self->backing->identities[child.identity].start_time, ==, 0);
  g_assert_cmpuint (self->backing->identities[child.identity].exec_id, ==, 222);
  exec (self, 4, 11);
  lu_bpf_maps_flush (self->maps);
  g_assert_true (memory_backing_find_process (self->backing, 11, &after));
  g_assert_cmpuint (after.identity, !=, child.identity);
  g_assert_cmpuint (self->backing->identities[after.identity].exec_id, ==, 223);
  g_assert_cmpuint (self->backing->identities[after.identity].seen_ns, ==, 0);

  /* A walk after the next exec says nothing about the previous program. */
  self->backing->identities[parent.identity].seen_ns = 7;
  exec (self, 6, 10);
  lu_bpf_maps_flush (self->maps);
  g_assert_true (memory_backing_find_process (self->backing, 10, &after));
  g_assert_cmpuint (self->backing->identities[after.identity].exec_id, ==, 0);
}

/* A child starts with the exec of its parent at the time of the fork, even if the parent has called
 * exec since; processes that end before the next flush are not published. */
static void
test_between_flushes (Fixture *self, gconstpointer data)
{
  struct lu_bpf_process process;
  guint64 updates;

  lu_process_table_follow (self->table, 10);
  map_file (self, 1, 10, 0x1000, 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  g_assert_true (memory_backing_find_process (self->backing, 10, &process));
  self->backing->identities[process.identity] = (struct lu_bpf_identity){ 111, 222, 1 };

  task (self, LU_EVENT_FORK, 2, 11, 10);
  task (self, LU_EVENT_FORK, 2, 12, 11);
  exec (self, 3, 10);
  task (self, LU_EVENT_FORK, 4, 13, 10);
  lu_bpf_maps_flush (self->maps);
  g_assert_true (memory_backing_find_process (self->backing, 11, &process));
  g_assert_cmpuint (self->backing->identities[process.identity].exec_id, ==, 222);
  g_assert_true (memory_backing_find_process (self->backing, 12, &process));
  g_assert_cmpuint (self->backing->identities[process.identity].exec_id, ==, 222);
  g_assert_cmpuint (kind_at (self, 12, 0x1000), ==, LU_BPF_MAPPING_JIT);
  g_assert_true (memory_backing_find_process (self->backing, 13, &process));
  g_assert_cmpuint (self->backing->identities[process.identity].exec_id, ==, 223);
  g_assert_cmpuint (serial_of (self, 10), ==, 0);

  updates = count_of (self, LU_COUNTER_MAPS_PROCESS_UPDATES);
  task (self, LU_EVENT_FORK, 5, 14, 12);
  exec (self, 6, 14);
  map_file (self, 7, 14, 0x7000, 0x1000, 0, "//anon");
  task (self, LU_EVENT_EXIT, 8, 14, 12);
  lu_bpf_maps_flush (self->maps);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_PROCESS_UPDATES), ==, updates);
}

/* A file that is not opened yet is not walked through, and no step is inferred; once it is open,
 * its mapping is published again without any event. */
static void
test_pending (Fixture *self, gconstpointer data)
{
  gint32 pid = getpid ();
  guint64 here = (guint64) (gsize) &test_pending;
  struct lu_bpf_process process;
  gint64 end = g_get_monotonic_time () + PATIENCE_US;

  self->unopened = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_module_unref);
  g_assert_true (lu_process_table_discover (self->table, pid, 0));
  flush_until_current (self, pid);
  g_assert_cmpuint (kind_at (self, pid, here), ==, LU_BPF_MAPPING_OPAQUE);
  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  g_assert_cmpuint (process.flags, ==, LU_BPF_PROCESS_PENDING);

  for (guint i = 0; i < self->unopened->len; i++)
    lu_opener_open (self->opener, g_ptr_array_index (self->unopened, i), pid, 0, 0);
  while (kind_at (self, pid, here) != LU_BPF_MAPPING_TABLE && g_get_monotonic_time () < end)
    {
      lu_bpf_maps_flush (self->maps);
      g_usleep (1000);
    }
  g_assert_cmpuint (kind_at (self, pid, here), ==, LU_BPF_MAPPING_TABLE);
  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  g_assert_cmpuint (process.flags, ==, 0);
}

/* Returns how often the publisher has gone to sleep. */
static guint64
n_sleeps (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/task", name, "status", NULL);
      g_autofree char *text = NULL;

      if (g_file_get_contents (path, &text, NULL, NULL)
          && g_str_has_prefix (text, "Name:\tpublisher\n"))
        return g_ascii_strtoull (strstr (text, "\nvoluntary_ctxt_switches:")
                                     + strlen ("\nvoluntary_ctxt_switches:"),
                                 NULL, 10);
    }
  g_assert_not_reached ();
}

/* Waits until the publisher sleeps, because requested tables may still be compiling; FALSE: it does
 * not. */
static gboolean
publisher_sleeps (void)
{
  guint64 before;
  guint tries = 5;

  do
    {
      before = n_sleeps ();
      g_usleep (300000);
    }
  while (n_sleeps () != before && --tries > 0);
  return tries > 0;
}

/* A table is published when the program requests it by its bit; until then the publisher does not
 * poll for such bits. */
static void
test_wanted_by_program (Fixture *self, gconstpointer data)
{
  gint32 pid = getpid ();
  guint64 here = (guint64) (gsize) &g_test_run; /* in a library */
  struct lu_bpf_process process;
  struct lu_bpf_mapping mapping;
  gint64 end = g_get_monotonic_time () + PATIENCE_US;

  for (gint32 other = 1; other <= 40;
       other++) /* with many processes it is not known which of them are sampled */
    lu_process_table_follow (self->table, pid + other);
  g_assert_true (lu_process_table_discover (self->table, pid, 0));
  flush_until_current (self, pid);
  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  g_assert_true (memory_backing_find_mapping (self->backing, &process, here, &mapping));
  g_assert_cmpuint (mapping.kind, ==, LU_BPF_MAPPING_TABLE);
  g_usleep (50000);
  g_assert_cmpint (memory_backing_find_rule (self->backing, mapping.module, here - mapping.bias),
                   ==, -1);
  g_assert_true (publisher_sleeps ());
  __atomic_fetch_or (&self->backing->use[mapping.module], LU_BPF_WANTED, __ATOMIC_RELAXED);
  while (memory_backing_find_rule (self->backing, mapping.module, here - mapping.bias) < 0
         && g_get_monotonic_time () < end)
    {
      lu_bpf_maps_flush (self->maps);
      g_usleep (1000);
    }
  g_assert_cmpint (memory_backing_find_rule (self->backing, mapping.module, here - mapping.bias), >,
                   0);
  g_assert_cmpuint (__atomic_load_n (&self->backing->use[mapping.module], __ATOMIC_RELAXED)
                        & LU_BPF_WANTED,
                    ==, 0);
}

/* Waits until the rule that a walk finds has a CFA at this distance from the stack pointer. */
static gboolean
finds_cfa (Fixture *self, const struct lu_bpf_mapping *mapping, guint64 address, gint32 cfa_off)
{
  gint64 end = g_get_monotonic_time () + PATIENCE_US;
  gint32 found = 0;

  while (found != cfa_off && g_get_monotonic_time () < end)
    {
      gint rule;

      lu_bpf_maps_flush (self->maps);
      memory_backing_begin_walk (self->backing);
      rule = memory_backing_find_rule (self->backing, mapping->module, address);
      found = rule > 0 ? self->backing->dictionary->rules[rule].cfa_off : 0;
      memory_backing_end_walk (self->backing);
      g_usleep (1000);
    }
  return found == cfa_off;
}

/* Gives the code at an address, which has no CFI, rows: each is 4 bytes long, 8 behind the last
 * one, and has a CFA that is 16 farther away. */
static void
extend_table (const LuModule *module, guint64 address, guint n)
{
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  struct lu_rule rule = { .cfa_kind = LU_CFA_SP,
                          .cfa_off = 8,
                          .ra_kind = LU_RA_AT_CFA,
                          .ra_off = -1,
                          .flags = LU_RULE_DERIVED };

  for (guint i = 0; i < n; i++)
    {
      rule.cfa_off += 16;
      lu_extra_rows_add (rows, address + 8 * i, &rule);
      lu_extra_rows_add (rows, address + 8 * i + 4, NULL);
    }
  g_assert_true (
      lu_table_slot_extend (lu_module_table_slot (module), lu_module_image (module), rows, FALSE));
}

/* A table that is published gets rows for code without CFI, in pieces, and is published anew; a
 * second piece at once after the first only has to wait. */
static void
test_renewed (Fixture *self, gconstpointer data)
{
  gint32 pid = getpid ();
  guint64 here = (guint64) (gsize) &g_test_run; /* in a library, which begins with its _init() */
  const LuMapping *mapping;
  struct lu_bpf_process process;
  struct lu_bpf_mapping found;
  guint64 address;

  g_assert_true (lu_process_table_discover (self->table, pid, 0));
  flush_until_current (self, pid);
  flush_until_published (self, want_all (self, pid));
  g_assert_true (memory_backing_find_process (self->backing, (guint32) pid, &process));
  g_assert_true (memory_backing_find_mapping (self->backing, &process, here, &found));
  mapping = lu_address_space_find (space_of (self, pid), here);
  address = found.start - found.bias;
  g_assert_cmpint (memory_backing_find_rule (self->backing, found.module, address), ==,
                   LU_RULE_NONE);
  extend_table (mapping->module, address, 1);
  g_assert_true (finds_cfa (self, &found, address, 24));
  extend_table (mapping->module, address, 2);
  g_assert_true (finds_cfa (self, &found, address + 8, 40));
  g_assert_true (finds_cfa (self, &found, address, 24));
}

static void
ask_publisher (LuQueue *requests, const LuBpfRequest *request)
{
  LuBpfRequest *place = lu_queue_reserve (requests, sizeof *place);

  g_assert_nonnull (place);
  *place = *request;
  lu_queue_commit (requests, sizeof *place);
}

/* Waits until all earlier requests have been handled. */
static void
wait_for_publisher (LuQueue *requests, LuQueue *answers)
{
  ask_publisher (requests, &(LuBpfRequest){ .kind = LU_BPF_REQUEST_GRACE });
  while (lu_queue_peek (answers, NULL) == NULL)
    g_usleep (100);
  lu_queue_release (answers);
}

/* No process maps the file any more when its table comes, and it is mapped again a moment later:
 * the table is there, so it is published, whenever it was requested. */
static void
test_mapped_again (Fixture *self, gconstpointer data)
{
  LuBpfMapsOptions options = { .memory_mib = 64, .tables = self->tables };
  LuBpfBacking *backing = memory_backing_new (64, LU_BPF_MAX_PROCESSES, TRUE);
  g_autoptr (LuQueue) requests = lu_queue_new (1 << 16), answers = lu_queue_new (1 << 16);
  LuBpfRequest module = { .kind = LU_BPF_REQUEST_MODULE, .slot = 1, .is_wanted = TRUE };
  LuBpfRequest idle = { .kind = LU_BPF_REQUEST_IDLE, .slot = 1 };
  g_autoptr (LuTable) table = NULL;
  LuBpfPublisher *publisher;
  LuTableSlot *slot;

  g_assert_true (lu_process_table_discover (self->table, getpid (), 0));
  module.module =
      lu_address_space_find (space_of (self, getpid ()), (guint64) (gsize) &g_test_run)->module;
  slot = lu_module_table_slot (module.module);
  g_assert_null (lu_table_slot_get_table (slot));
  publisher = lu_bpf_publisher_new (backing, &options, requests, answers);
  lu_module_ref (module.module);
  ask_publisher (requests, &module);
  ask_publisher (requests, &idle);
  while ((table = lu_table_slot_get_table (slot)) == NULL)
    g_usleep (100);
  wait_for_publisher (requests, answers);
  lu_module_ref (module.module);
  ask_publisher (requests, &module);
  wait_for_publisher (requests, answers);
  g_assert_cmpuint (memory_backing_n_entries (backing), ==, 1);
  lu_queue_close (requests);
  lu_bpf_publisher_free (publisher);
  lu_bpf_backing_free (backing);
}

/* Processes that come and go, each with mappings of its own, do not exhaust memory: their memory
 * rests and is used again. */
static void
test_storm (Fixture *self, gconstpointer data)
{
  enum
  {
    N = 20000
  };
  gboolean has_grace = (GPOINTER_TO_UINT (data) & GRACE) != 0;
  guint n_unpublished = 0;

  lu_process_table_follow (self->table, 10);
  map_file (self, 1, 10, 0x1000, 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  for (guint i = 0; i < N; i++)
    {
      gint32 pid = 100 + (gint32) (i % 100);

      task (self, LU_EVENT_FORK, 10 * i + 10, pid, 10);
      exec (self, 10 * i + 11, pid);
      lu_bpf_maps_flush (self->maps);
      g_assert_cmpuint (kind_at (self, pid, 0x1000), ==, 99);
      for (guint j = 0; j < 10; j++)
        map_file (self, 10 * i + 12, pid, 0x10000 * (j + 1), 0x1000, 0, "//anon");
      /* On a busy machine the publisher needs some time for a grace. */
      for (guint j = 0; lu_bpf_maps_flush (self->maps) && has_grace && j < 5; j++)
        if (serial_of (self, pid) != lu_address_space_serial (space_of (self, pid)))
          g_usleep (1000);
      n_unpublished += serial_of (self, pid) != lu_address_space_serial (space_of (self, pid));
      task (self, LU_EVENT_EXIT, 10 * i + 13, pid, 10);
      g_assert_false (has_process (self, pid));
      lu_process_table_end_round (self->table);
    }
  flush_until_current (self, 10);
  /* 20,000 × 512 bytes need room that has been freed, unless too little time has passed. */
  g_test_message ("%u of %u not published, %u graces, %u entries", n_unpublished, N,
                  memory_backing_n_graces (self->backing),
                  memory_backing_n_entries (self->backing));
  if (has_grace)
    g_assert_cmpuint (n_unpublished, <, N / 10);
  g_assert_cmpuint (memory_backing_n_entries (self->backing), <=, 20);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_PROCESSES), ==, 1);
}

/* If there is no room for the current mappings, walks use none rather than an old version that
 * nobody knows two rounds later. */
static void
test_no_room (Fixture *self, gconstpointer data)
{
  enum
  {
    N_MAPPINGS = 3000,
    N = 400
  };
  guint n_unpublished = 0;

  lu_process_table_follow (self->table, 10);
  for (guint i = 0; i < N_MAPPINGS; i++)
    map_file (self, 1, 10, 0x10000 * (i + 1), 0x1000, 0, "//anon");
  flush_until_current (self, 10);
  for (guint i = 0; i < N; i++)
    {
      map_file (self, 2 + i, 10, 0x100000000 + 0x10000 * i, 0x1000, 0, "//anon");
      lu_bpf_maps_flush (self->maps);
      if (serial_of (self, 10) == lu_address_space_serial (space_of (self, 10)))
        continue;
      g_assert_cmpuint (serial_of (self, 10), ==, 0);
      n_unpublished++;
      lu_process_table_end_round (self->table);
    }
  g_test_message ("%u of %u not published, %u entries", n_unpublished, N,
                  memory_backing_n_entries (self->backing));
  g_assert_cmpuint (n_unpublished, >, 0);
  flush_until_current (self, 10);
}

/* All of ten thousand processes have mappings of their own; an event of one costs as much as if it
 * were alone. */
static void
test_many (Fixture *self, gconstpointer data)
{
  enum
  {
    N = 10000,
    N_MAPPINGS = 20,
    N_FLUSHES = 1000
  };
  gint64 start;

  lu_process_table_follow (self->table, 10);
  for (guint i = 0; i < N; i++)
    {
      task (self, LU_EVENT_FORK, i + 1, 100 + (gint32) i, 10);
      for (guint j = 0; j < N_MAPPINGS; j++)
        map_file (self, i + 2, 100 + (gint32) i, 0x10000 * (j + 1), 0x1000, 0, "//anon");
      if (i % 100 == 99)
        flush_until_current (self, 100 + (gint32) i);
    }
  for (guint i = 0; i < N; i += 97)
    flush_until_current (self, 100 + (gint32) i);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_PROCESSES), ==, N + 1);
  g_assert_cmpuint (count_of (self, LU_COUNTER_MAPS_MAPPING_BYTES), >=, N * N_MAPPINGS * 32);
  start = g_get_monotonic_time ();
  for (guint i = 0; i < N_FLUSHES; i++)
    {
      map_file (self, N + i, 100 + (gint32) i, 0x100000000, 0x1000, 0, "//anon");
      lu_bpf_maps_flush (self->maps);
    }
  g_test_message ("%.1f us for a mapping and a flush, %u entries",
                  (double) (g_get_monotonic_time () - start) / N_FLUSHES,
                  memory_backing_n_entries (self->backing));
  g_assert_cmpuint (memory_backing_n_entries (self->backing), <=, 16);
}

int
main (int argc, char **argv)
{
  gpointer with_grace = GUINT_TO_POINTER (GRACE);

  g_test_init (&argc, &argv, NULL);
#define ADD(path, data, test) g_test_add (path, Fixture, data, set_up, test, tear_down)
  ADD ("/bpf/maps/this-process", with_grace, test_this_process);
  ADD ("/bpf/maps/life", with_grace, test_life);
  ADD ("/bpf/maps/when-asked", GUINT_TO_POINTER (GRACE | FOLLOW_ALL | VMAS), test_when_asked);
  ADD ("/bpf/maps/candidates", GUINT_TO_POINTER (GRACE | FOLLOW_ALL | VMAS), test_candidates);
  ADD ("/bpf/maps/no-use", GUINT_TO_POINTER (GRACE | FOLLOW_ALL | VMAS), test_no_use);
  ADD ("/bpf/maps/identities", with_grace, test_identities);
  ADD ("/bpf/maps/between-flushes", with_grace, test_between_flushes);
  ADD ("/bpf/maps/pending", with_grace, test_pending);
  ADD ("/bpf/maps/wanted-by-program", GUINT_TO_POINTER (GRACE | FOLLOW_ALL),
       test_wanted_by_program);
  ADD ("/bpf/maps/renewed", with_grace, test_renewed);
  ADD ("/bpf/maps/mapped-again", GUINT_TO_POINTER (GRACE | FOLLOW_ALL | VMAS), test_mapped_again);
  ADD ("/bpf/maps/no-room", NULL, test_no_room);
  ADD ("/bpf/maps/many", with_grace, test_many);
  ADD ("/bpf/maps/storm", with_grace, test_storm);
  ADD ("/bpf/maps/storm-without-grace", NULL, test_storm);
  return g_test_run ();
}
