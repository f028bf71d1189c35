/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-process-table.c - src/process/process-table.c: which address space belongs to a sample of a
 * given time. */

#include "process/process-private.h"
#include "process/process-table.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct
{
  guint n_modules, n_processes, n_forks, n_exits;
  GString *changes; /* changes of address spaces: kind, pid, mappings; NULL: not recorded */
} Seen;

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer data)
{
  ((Seen *) data)->n_modules++;
}

static void
process_added (LuProcess *process, gboolean is_exec, gpointer data)
{
  ((Seen *) data)->n_processes++;
}

static void
forked (guint64 time, gint32 pid, gint32 child_pid, gpointer data)
{
  ((Seen *) data)->n_forks++;
}

static void
exited (guint64 time, gint32 pid, gpointer data)
{
  ((Seen *) data)->n_exits++;
}

static void
address_space_changed (LuProcess *process, LuAddressSpace *space, LuAddressSpaceChange change,
                       gint32 parent_pid, gpointer data)
{
  static const char kinds[] = {
    [LU_ADDRESS_SPACE_DISCOVERED] = 'd', [LU_ADDRESS_SPACE_FORKED] = 'f',
    [LU_ADDRESS_SPACE_EXECED] = 'e',     [LU_ADDRESS_SPACE_MAPPED] = 'm',
    [LU_ADDRESS_SPACE_ENDED] = 'x',
  };
  Seen *seen = data;
  guint n = 0;

  g_assert_true ((space == NULL) == (change == LU_ADDRESS_SPACE_ENDED));
  g_assert_true (parent_pid == 0 || change == LU_ADDRESS_SPACE_FORKED);
  if (space != NULL)
    lu_address_space_mappings (space, &n);
  if (seen->changes != NULL)
    g_string_append_printf (seen->changes, "%c%d:%u ", kinds[change], lu_process_pid (process), n);
}

static const LuProcessTableFuncs funcs = { module_added, process_added, forked, exited,
                                           address_space_changed };

static void
map (LuProcessTable *table, guint64 time, gint32 pid, guint64 start, const char *path,
     guint64 inode)
{
  LuEvent event = { .kind = LU_EVENT_MMAP,
                    .time = time,
                    .pid = pid,
                    .tid = pid,
                    .mmap = { .start = start,
                              .length = 0x1000,
                              .inode = inode,
                              .has_inode = 1,
                              .prot = PROT_READ | PROT_EXEC,
                              .path = path } };

  lu_process_table_apply (table, &event);
}

static void
exec (LuProcessTable *table, guint64 time, gint32 pid, const char *comm)
{
  LuEvent event = { .kind = LU_EVENT_COMM, .time = time, .pid = pid, .tid = pid };

  event.comm.name = comm;
  event.comm.is_exec = 1;
  lu_process_table_apply (table, &event);
}

static void
task (LuProcessTable *table, LuEventKind kind, guint64 time, gint32 pid, gint32 tid, gint32 parent)
{
  LuEvent event = { .kind = kind, .time = time, .pid = pid, .tid = tid };

  event.task.parent_pid = event.task.parent_tid = parent;
  lu_process_table_apply (table, &event);
}

/* Returns the path mapped at an address for a sample of that time; "-": nothing, NULL: no such
 * process. */
static const char *
path_at (LuProcessTable *table, gint32 pid, guint64 time, guint64 address)
{
  LuProcess *process;
  LuAddressSpace *space;
  const LuMapping *mapping;

  if (!lu_process_table_lookup (table, pid, time, &process, &space))
    return NULL;
  mapping = lu_address_space_find (space, address);
  return mapping != NULL ? lu_module_path (mapping->module) : "-";
}

static LuProcessTable *
table_following (gint32 pid, Seen *seen)
{
  LuProcessTable *table = lu_process_table_new (FALSE, &funcs, seen);

  lu_process_table_follow (table, pid);
  return table;
}

static void
test_mapping_holds_from_its_time (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 100, 10, 0x1000, "/old", 1);
  map (table, 200, 10, 0x1000, "/new", 2);
  g_assert_cmpstr (path_at (table, 10, 50, 0x1000), ==, "-");
  g_assert_cmpstr (path_at (table, 10, 150, 0x1000), ==, "/old");
  g_assert_cmpstr (path_at (table, 10, 200, 0x1000), ==, "/new");
  g_assert_cmpuint (seen.n_modules, ==, 2);
}

/* Bytes of our private memory. */
static guint64
resident_bytes (void)
{
  g_autofree char *text = NULL;
  const char *line;

  g_assert_true (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  line = strstr (text, "RssAnon:");
  return line != NULL ? g_ascii_strtoull (line + strlen ("RssAnon:"), NULL, 10) * 1024 : 0;
}

/* A process with thousands of mappings that changes them between two rounds must not cause a full
 * copy for each change: 8,000 would take 1.5 GB. The newest sample still sees the right mappings.
 */
static void
test_much_history_is_not_kept (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);
  guint64 before = resident_bytes ();

  for (guint i = 0; i < 8000; i++)
    map (table, 100 + i, 10, 0x1000 + (guint64) i * 0x2000, i % 2 == 0 ? "/even" : "/odd",
         1 + i % 2);
  for (guint i = 0; i < 20000; i++)
    map (table, 9000 + i, 10, 0x1000 + (guint64) (i % 8000) * 0x2000, "/new", 3);
  g_assert_cmpstr (path_at (table, 10, 50000, 0x1000), ==, "/new");
  g_assert_cmpstr (path_at (table, 10, 50000, 0x1000 + 7999 * 0x2000), ==, "/new");
  g_assert_cmpstr (path_at (table, 10, 100, 0x1000), ==, "/even");
  g_assert_cmpuint (resident_bytes () - MIN (before, resident_bytes ()), <, 32u << 20);
}

static void
test_exec_drops_mappings_at_its_time (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);
  LuProcess *before, *after;
  LuAddressSpace *space;

  map (table, 100, 10, 0x1000, "/bin/sh", 1);
  exec (table, 200, 10, "true");
  map (table, 210, 10, 0x5000, "/bin/true", 2);
  g_assert_cmpstr (path_at (table, 10, 199, 0x1000), ==, "/bin/sh");
  g_assert_cmpstr (path_at (table, 10, 205, 0x1000), ==, "-");
  g_assert_cmpstr (path_at (table, 10, 300, 0x5000), ==, "/bin/true");
  lu_process_table_lookup (table, 10, 150, &before, &space);
  lu_process_table_lookup (table, 10, 250, &after, &space);
  g_assert_cmpuint (lu_process_id (before), !=, lu_process_id (after));
  g_assert_cmpstr (lu_process_comm (after), ==, "true");
}

static void
test_fork_copies_from_our_own_state (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 100, 10, 0x1000, "/bin/sh", 1);
  task (table, LU_EVENT_FORK, 150, 11, 11, 10);
  map (table, 160, 10, 0x1000, "/later", 2);
  g_assert_cmpstr (path_at (table, 11, 170, 0x1000), ==, "/bin/sh");
  g_assert_cmpstr (path_at (table, 10, 170, 0x1000), ==, "/later");
  g_assert_cmpuint (seen.n_forks, ==, 1);
}

static void
test_strangers_are_not_followed (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 100, 20, 0x1000, "/bin/sh", 1);
  task (table, LU_EVENT_FORK, 150, 21, 21, 20);
  exec (table, 160, 21, "x");
  g_assert_null (path_at (table, 20, 200, 0x1000));
  g_assert_null (path_at (table, 21, 200, 0x1000));
  g_assert_cmpuint (seen.n_forks + seen.n_processes + seen.n_modules, ==, 0);
}

static void
test_the_dead_stay_until_all_rings_are_past_them (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 100, 10, 0x1000, "/bin/sh", 1);
  task (table, LU_EVENT_FORK, 150, 11, 11, 10);
  task (table, LU_EVENT_EXIT, 160, 11, 11, 10);
  g_assert_cmpuint (seen.n_exits, ==, 1);
  lu_process_table_end_round (table);
  g_assert_cmpstr (path_at (table, 11, 155, 0x1000), ==, "/bin/sh");
  lu_process_table_end_round (table);
  lu_process_table_end_round (table);
  g_assert_null (path_at (table, 11, 155, 0x1000));
  g_assert_cmpuint (lu_process_table_size (table), ==, 1);
}

static void
test_pid_reuse_within_a_round (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 100, 10, 0x1000, "/bin/sh", 1);
  task (table, LU_EVENT_FORK, 110, 11, 11, 10);
  exec (table, 120, 11, "first");
  map (table, 121, 11, 0x2000, "/first", 2);
  task (table, LU_EVENT_EXIT, 130, 11, 11, 10);
  task (table, LU_EVENT_FORK, 140, 11, 11, 10);
  exec (table, 150, 11, "second");
  map (table, 151, 11, 0x2000, "/second", 3);
  g_assert_cmpstr (path_at (table, 11, 125, 0x2000), ==, "/first");
  g_assert_cmpstr (path_at (table, 11, 145, 0x1000), ==, "/bin/sh");
  g_assert_cmpstr (path_at (table, 11, 160, 0x2000), ==, "/second");
  for (guint i = 0; i < 4; i++)
    lu_process_table_end_round (table);
  g_assert_cmpstr (path_at (table, 11, 160, 0x2000), ==, "/second");
}

static void
test_threads_outlive_their_leader (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 100, 10, 0x1000, "/a", 1);
  task (table, LU_EVENT_FORK, 110, 10, 12, 10);
  task (table, LU_EVENT_EXIT, 120, 10, 10, 1);
  for (guint i = 0; i < 4; i++)
    lu_process_table_end_round (table);
  g_assert_cmpstr (path_at (table, 10, 200, 0x1000), ==, "/a");
  g_assert_true (lu_process_table_has_live (table));
  task (table, LU_EVENT_EXIT, 300, 10, 12, 1);
  g_assert_false (lu_process_table_has_live (table));
}

static void
test_files_are_shared_by_identity (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  lu_process_table_follow (table, 20);
  map (table, 100, 10, 0x1000, "/lib/libc.so", 7);
  map (table, 100, 20, 0x9000, "/lib/libc.so", 7);
  map (table, 110, 20, 0xa000, "/lib/libc.so", 8);
  map (table, 120, 20, 0xb000, "//anon", 0);
  g_assert_cmpuint (seen.n_modules, ==, 2);
}

static void
test_data_and_kernel_mappings_are_left_out (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);
  LuEvent event = { .kind = LU_EVENT_MMAP,
                    .pid = 10,
                    .mmap = {
                        .start = 0x1000, .length = 0x1000, .prot = PROT_READ, .path = "/d" } };

  lu_process_table_apply (table, &event);
  event.mmap.prot = PROT_EXEC;
  event.mmap.is_kernel = 1;
  lu_process_table_apply (table, &event);
  g_assert_cmpstr (path_at (table, 10, 10, 0x1000), ==, "-");
}

static void
test_discovers_ourselves (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (getpid (), &seen);
  LuProcess *process;
  LuAddressSpace *space;

  lu_process_table_discover_all (table, 0);
  g_assert_true (lu_process_table_lookup (table, getpid (), 5, &process, &space));
  g_assert_nonnull (lu_address_space_find (space, (guint64) (gsize) lu_process_table_new));
  /* Its files are opened when it is sampled, and only once. */
  g_assert_cmpuint (seen.n_modules, ==, 0);
  for (guint i = 0; i < 2; i++)
    {
      lu_process_table_announce (table, process);
      g_assert_cmpuint (seen.n_modules, >=, 2);
    }
  g_assert_cmpuint (seen.n_modules, <, 100);
  g_assert_cmpstr (lu_process_comm (process), !=, "");
  g_assert_false (lu_process_table_discover (table, G_MAXINT32, 0));
}

/* Our own code did not move, which only /proc can tell. */
static void
test_moved_text (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (getpid (), &seen);
  guint64 code = (guint64) (gsize) lu_process_table_new;
  g_autofree char *path = NULL;

  lu_process_table_discover_all (table, 0);
  g_assert_false (lu_process_table_read_moved_text (table, 10));
  path = g_strdup (path_at (table, getpid (), 10, code));
  for (guint64 time = 10; time < 50; time += 10)
    {
      map (table, time, getpid (), code & ~G_GUINT64_CONSTANT (0xfff), "//anon", 0);
      g_assert_cmpstr (path_at (table, getpid (), time, code), ==, "//anon");
      g_assert_true (lu_process_table_read_moved_text (table, time + 5));
      g_assert_false (lu_process_table_read_moved_text (table, time + 6));
      g_assert_cmpstr (path_at (table, getpid (), time + 5, code), ==, path);
    }
  /* A process cannot have its mappings read again and again. */
  map (table, 50, getpid (), code & ~G_GUINT64_CONSTANT (0xfff), "//anon", 0);
  g_assert_false (lu_process_table_read_moved_text (table, 55));
  /* The next program in it may. */
  exec (table, 60, getpid (), "next");
  map (table, 61, getpid (), code & ~G_GUINT64_CONSTANT (0xfff), "/usr/bin/next", 77);
  map (table, 62, getpid (), code & ~G_GUINT64_CONSTANT (0xfff), "//anon", 0);
  g_assert_true (lu_process_table_read_moved_text (table, 65));
}

static LuModuleKind
kind_at (LuProcessTable *table, gint32 pid, guint64 time, guint64 address)
{
  LuProcess *process;
  LuAddressSpace *space;

  g_assert_true (lu_process_table_lookup (table, pid, time, &process, &space));
  return lu_module_key (lu_address_space_find (space, address)->module)->kind;
}

/* Memory that cannot be written to is copied code only in processes that have moved code. */
static void
test_copied_code (void)
{
  const guint64 at = 0x10000, page = (guint64) sysconf (_SC_PAGESIZE);
  gint32 pid = getpid ();
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (pid, &seen);
  int fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  LuCopiedText copy, other;
  guint8 *text = mmap (NULL, 3 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

  g_assert_true (text != MAP_FAILED);
  lu_process_table_discover_all (table, 0);
  map (table, 10, pid, at, "//anon", 0);
  g_assert_cmpint (kind_at (table, pid, 10, at), ==, LU_MODULE_ANONYMOUS);
  g_assert_true (mmap (text + page, page, PROT_READ | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
                 == text + page);
  g_assert_true (lu_process_table_discover (table, pid, 20));
  g_assert_cmpint (kind_at (table, pid, 20, (gsize) text + page), ==, LU_MODULE_FILE);
  map (table, 30, pid, at, "//anon", 0);
  g_assert_cmpint (kind_at (table, pid, 30, at), ==, LU_MODULE_COPIED);
  g_assert_cmpstr (path_at (table, pid, 30, at), ==, "//anon");
  g_assert_true (lu_process_table_next_copy (table, &copy));
  g_assert_false (lu_process_table_next_copy (table, &other));
  g_assert_cmpint (copy.pid, ==, pid);
  g_assert_cmphex (copy.start, ==, at);
  lu_process_table_settle_copy (table, &copy, 40); /* it is no copy */
  g_assert_cmpint (kind_at (table, pid, 40, at), ==, LU_MODULE_COPIED);
  copy.original = (gsize) text + page;
  copy.size = page;
  map (table, 50, pid, at, "//anon", 0);
  lu_process_table_settle_copy (table, &copy, 60); /* another one is there by now */
  g_assert_cmpint (kind_at (table, pid, 60, at), ==, LU_MODULE_COPIED);
  g_assert_true (lu_process_table_next_copy (table, &copy));
  copy.original = (gsize) text + page;
  copy.size = page;
  lu_process_table_settle_copy (table, &copy, 70);
  g_assert_cmpint (kind_at (table, pid, 65, at), ==, LU_MODULE_COPIED);
  g_assert_cmpint (kind_at (table, pid, 70, at), ==, LU_MODULE_FILE);
  munmap (text, 3 * page);
  close (fd);
}

/* A process is looked at when one of its threads is sampled; that thread may be a process of its
 * own by then. */
static void
test_leaves_kernel_threads (void)
{
  Seen seen = { .changes = g_string_new (" ") };
  g_autoptr (LuProcessTable) table = lu_process_table_new (TRUE, &funcs, &seen);
  g_autofree char *comm = NULL, *ours = g_strdup_printf (" d%d:", (int) getpid ());
  LuProcess *process;
  LuAddressSpace *space;

  lu_process_table_discover_all (table, 0);
  g_assert_nonnull (strstr (seen.changes->str, ours));
  if (g_file_get_contents ("/proc/2/comm", &comm, NULL, NULL) && g_str_equal (comm, "kthreadd\n"))
    {
      g_assert_null (strstr (seen.changes->str, " d2:"));
      g_assert_true (lu_process_table_lookup (table, 2, 5, &process, &space));
      lu_process_table_repair (table, 10);
      g_assert_true (lu_process_table_lookup (table, 2, 5, &process, &space));
      g_assert_cmpstr (lu_process_comm (process), ==, "kthreadd");
    }
  g_string_free (seen.changes, TRUE);
}

/* If the command line could not be read: the program's path, or comm if its name differs. */
static void
test_names (void)
{
  static const struct
  {
    const char *comm, *path, *want;
  } cases[] = {
    { "true", "/bin/true", "/bin/true" },
    { "gnome-software-", "/usr/libexec/gnome-software-service",
      "/usr/libexec/gnome-software-service" },
    { "exactly-fifteen", "/bin/exactly-fifteen", "/bin/exactly-fifteen" },
    { "tr", "/bin/true", "tr" },
    { "a-script-of-mine", "/usr/bin/python3.11", "a-script-of-min" },
    { "a-memfd-program", "/memfd:a-memfd-program-of-mine", "a-memfd-program" },
  };
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LuProcess *process;
      LuAddressSpace *space;

      exec (table, 10 * i + 10, 10, cases[i].comm);
      map (table, 10 * i + 11, 10, 0x5000, cases[i].path, i + 1);
      /* The dynamic linker is not the program. */
      map (table, 10 * i + 12, 10, 0x9000, "/lib/gnome-software-linker.so", 100);
      g_assert_true (lu_process_table_lookup (table, 10, 10 * i + 12, &process, &space));
      g_assert_cmpstr (lu_process_command_line (process), ==, cases[i].want);
      g_assert_false (lu_process_has_command_line (process));
    }
}

static void
test_arguments (void)
{
  static const struct
  {
    const char *text;
    gsize length;
    const char *want;
  } cases[] = {
    { "true", 5, "true" },
    { "true\0two words\0\0\0", 17, "true two words" },
    { "not terminated", 3, "not" },
    { "\0\0", 2, NULL },
    { "", 0, NULL },
  };
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LuProcess) process = lu_process_new (10, 0, "comm", space);
      g_autofree char *text = g_memdup2 (cases[i].text, MAX (cases[i].length, 1));

      lu_process_set_arguments (process, text, cases[i].length);
      g_assert_cmpint (lu_process_has_command_line (process), ==, cases[i].want != NULL);
      g_assert_cmpstr (lu_process_command_line (process), ==,
                       cases[i].want != NULL ? cases[i].want : "comm");
    }
}

/* /proc only describes the current incarnation of a pid. */
static void
test_is_current (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);
  LuProcess *first, *second;
  LuAddressSpace *space;

  exec (table, 10, 10, "sh");
  g_assert_true (lu_process_table_lookup (table, 10, 10, &first, &space));
  g_assert_true (lu_process_table_is_current (table, first));
  exec (table, 20, 10, "true");
  g_assert_true (lu_process_table_lookup (table, 10, 20, &second, &space));
  g_assert_false (lu_process_table_is_current (table, first));
  g_assert_true (lu_process_table_is_current (table, second));
  task (table, LU_EVENT_EXIT, 30, 10, 10, 1);
  g_assert_false (lu_process_table_is_current (table, second));
}

static gint32
dead_pid (void)
{
  pid_t pid = fork ();

  if (pid == 0)
    _exit (0);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  return pid;
}

/* A process that ended unseen may stay until its pid is used again. */
static void
test_ends_unseen (void)
{
  Seen seen = { 0 };
  gint32 dead = dead_pid ();
  g_autoptr (LuProcessTable) table = table_following (dead, &seen);

  lu_process_table_follow (table, getpid ());
  lu_process_table_repair (table, 5); /* nothing indicates that a repair is needed */
  g_assert_cmpuint (lu_process_table_size (table), ==, 2);
  g_assert_cmpuint (seen.n_exits, ==, 0);
  lu_process_table_bury_dead (table, 10);
  g_assert_cmpuint (seen.n_exits, ==, 1);
  g_assert_true (lu_process_table_has_live (table));
  for (guint i = 0; i < 3; i++)
    lu_process_table_end_round (table);
  g_assert_cmpuint (lu_process_table_size (table), ==, 1);
}

static void
test_a_thousand_short_processes_leave_nothing (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 1, 10, 0x1000, "/bin/sh", 1);
  for (guint i = 0; i < 1000; i++)
    {
      gint32 pid = 100 + (gint32) i;

      task (table, LU_EVENT_FORK, 10 * i + 10, pid, pid, 10);
      exec (table, 10 * i + 11, pid, "true");
      map (table, 10 * i + 12, pid, 0x5000, "/bin/true", 2);
      task (table, LU_EVENT_EXIT, 10 * i + 15, pid, pid, 10);
      lu_process_table_end_round (table);
      g_assert_cmpuint (lu_process_table_size (table), <=, 5);
    }
  g_assert_cmpuint (seen.n_modules, ==, 2);
}

static void
test_tells_of_spaces (void)
{
  g_autoptr (GString) changes = g_string_new (NULL);
  Seen seen = { .changes = changes };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);

  map (table, 100, 10, 0x1000, "/a", 1);
  map (table, 101, 10, 0x1000, "/a", 1);        /* no change */
  map (table, 102, 11, 0x1000, "/a", 1);        /* a stranger */
  task (table, LU_EVENT_FORK, 103, 10, 12, 10); /* a thread */
  task (table, LU_EVENT_FORK, 104, 20, 20, 10);
  map (table, 105, 20, 0x5000, "/b", 2);
  exec (table, 106, 20, "b");
  map (table, 107, 20, 0x5000, "/b", 2);
  task (table, LU_EVENT_EXIT, 108, 20, 20, 10);
  task (table, LU_EVENT_EXIT, 109, 20, 20, 10);
  g_assert_cmpstr (changes->str, ==, "d10:0 m10:1 f20:1 m20:2 e20:0 m20:1 x20:0 ");
}

/* All of them have pid 0 for us: a mapping of one is not a mapping of the others. */
static void
test_outside_of_the_namespace (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = lu_process_table_new (TRUE, &funcs, &seen);

  exec (table, 100, 0, "outside");
  map (table, 110, 0, 0x1000, "/outside", 1);
  task (table, LU_EVENT_FORK, 120, 0, 0, 0);
  g_assert_null (path_at (table, 0, 130, 0x1000));
  /* nsenter does this. */
  task (table, LU_EVENT_FORK, 140, 5, 5, 0);
  g_assert_cmpstr (path_at (table, 5, 150, 0x1000), ==, "-");
}

static void
name_thread (LuProcessTable *table, gint32 pid, gint32 tid, const char *name)
{
  LuEvent event = { .kind = LU_EVENT_COMM, .time = 300, .pid = pid, .tid = tid };

  event.comm.name = name;
  lu_process_table_apply (table, &event);
}

static LuProcess *
process_of (LuProcessTable *table, gint32 pid)
{
  LuProcess *process;
  LuAddressSpace *space;

  g_assert_true (lu_process_table_lookup (table, pid, 1000, &process, &space));
  return process;
}

static void
test_names_of_threads (void)
{
  Seen seen = { 0 };
  g_autoptr (LuProcessTable) table = table_following (10, &seen);
  LuProcess *process, *child;

  exec (table, 100, 10, "a");
  process = process_of (table, 10);
  g_assert_cmpstr (lu_process_new_thread_name (process, 10), ==, "");
  g_assert_cmpstr (lu_process_old_thread_name (process, 10), ==, "a");
  task (table, LU_EVENT_FORK, 110, 10, 11, 10);
  name_thread (table, 10, 11, "draft");
  name_thread (table, 10, 11, "sixteen or more bytes");
  name_thread (table, 99, 99, "stranger");
  g_assert_cmpstr (lu_process_new_thread_name (process, 11), ==, "sixteen or more");

  /* A thread that is made has the name of its maker, also as a process; a program ends that. */
  task (table, LU_EVENT_FORK, 120, 20, 20, 10);
  child = process_of (table, 20);
  g_assert_cmpstr (lu_process_new_thread_name (child, 20), ==, "");
  lu_process_inherit_thread_name (child, 20, process, 11);
  g_assert_cmpstr (lu_process_new_thread_name (child, 20), ==, "sixteen or more");
  exec (table, 130, 20, "b");
  child = process_of (table, 20);
  g_assert_cmpstr (lu_process_new_thread_name (child, 20), ==, "");
  g_assert_cmpstr (lu_process_old_thread_name (child, 20), ==, "b");

  /* Its number is used again. */
  task (table, LU_EVENT_FORK, 140, 10, 11, 10);
  g_assert_cmpstr (lu_process_new_thread_name (process, 11), ==, "a");
}

static void
test_many_names_of_threads (void)
{
  LuThreadNames *names = lu_thread_names_new ();

  for (gint32 i = 0; i <= LU_THREAD_NAMES_MAX; i++)
    lu_thread_names_set (names, i, "x");
  g_assert_null (lu_thread_names_find (names, 0));
  g_assert_cmpstr (lu_thread_names_find (names, 1), ==, "x");
  g_assert_cmpstr (lu_thread_names_find (names, LU_THREAD_NAMES_MAX), ==, "x");
  lu_thread_names_free (names);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add_func ("/process-table/" name, func)
  ADD ("a mapping holds from its time", test_mapping_holds_from_its_time);
  ADD ("much history is not kept", test_much_history_is_not_kept);
  ADD ("exec drops mappings at its time", test_exec_drops_mappings_at_its_time);
  ADD ("fork copies from our own state", test_fork_copies_from_our_own_state);
  ADD ("strangers are not followed", test_strangers_are_not_followed);
  ADD ("the dead stay until all rings are past them",
       test_the_dead_stay_until_all_rings_are_past_them);
  ADD ("pid reuse within a round", test_pid_reuse_within_a_round);
  ADD ("threads outlive their leader", test_threads_outlive_their_leader);
  ADD ("files are shared by identity", test_files_are_shared_by_identity);
  ADD ("data and kernel mappings are left out", test_data_and_kernel_mappings_are_left_out);
  ADD ("discovers ourselves", test_discovers_ourselves);
  ADD ("moved text", test_moved_text);
  ADD ("copied code", test_copied_code);
  ADD ("leaves kernel threads", test_leaves_kernel_threads);
  ADD ("tells of spaces", test_tells_of_spaces);
  ADD ("names", test_names);
  ADD ("names of threads", test_names_of_threads);
  ADD ("many names of threads", test_many_names_of_threads);
  ADD ("arguments", test_arguments);
  ADD ("is current", test_is_current);
  ADD ("outside of the namespace", test_outside_of_the_namespace);
  ADD ("ends unseen", test_ends_unseen);
  ADD ("a thousand short processes leave nothing", test_a_thousand_short_processes_leave_nothing);
#undef ADD
  return g_test_run ();
}
