/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-report-profile.c - a hand-written capture, summed by function. */

#include "report/report-print.h"

#include "capture/syscap-frames.h"
#include "capture/syscap-stack.h"
#include "../directory.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define K    0xffffffff81000000ull
#define USER PERF_CONTEXT_USER

typedef struct
{
  int fd;
  LuSyscapWriter *writer;
  char path[64];
} Fixture;

static void
setup (Fixture *self, gconstpointer data)
{
  int fd = memfd_create ("capture", MFD_CLOEXEC);

  self->fd = dup (fd);
  self->writer = lu_syscap_writer_new (fd);
  g_snprintf (self->path, sizeof self->path, "/proc/self/fd/%d", self->fd);
  g_assert_true (lu_syscap_writer_header (self->writer, 1000, 0, NULL));
  g_assert_true (lu_syscap_write_jitmap (self->writer, NULL));
}

static void
teardown (Fixture *self, gconstpointer data)
{
  lu_syscap_writer_free (self->writer);
  close (self->fd);
}

static void
map (Fixture *self, gint32 pid, guint64 start, guint64 end, LuFileId file)
{
  LuSyscapMapping mapping = { .start = start, .end = end, .time = 1000, .file = &file };

  g_assert_true (lu_syscap_write_map (self->writer, pid, &mapping, NULL));
}

static void
sample (Fixture *self, guint64 time, gint32 pid, guint n, const guint64 *addresses)
{
  const LuSyscapHead head = { .pid = pid, .time = time };
  const LuSyscapSample taken = { .tid = pid, .n_addresses = n, .addresses = addresses };

  g_assert_true (lu_syscap_write_sample (self->writer, &head, &taken, NULL));
}
#define SAMPLE(time, pid, ...)                                                                     \
  sample (self, time, pid, G_N_ELEMENTS (((guint64[]){ __VA_ARGS__ })),                            \
          (const guint64[]){ __VA_ARGS__ })

static const LuProfileLoad no_options;

static LuProfile *
load (Fixture *self)
{
  g_autoptr (GError) error = NULL;
  LuProfile *profile;

  g_assert_true (lu_syscap_writer_finish (self->writer, 5000, NULL));
  profile = lu_profile_load (self->path, &no_options, &error);
  g_assert_no_error (error);
  return profile;
}

static void
assert_function (const LuProfile *profile, const char *name, const char *module, guint64 self,
                 guint64 total)
{
  for (guint i = 0; i < profile->functions->len; i++)
    {
      const LuReportFunction *function = g_ptr_array_index (profile->functions, i);

      if (!g_str_equal (function->source->name, name)
          || !g_str_equal (function->source->module, module))
        continue;
      g_assert_cmpuint (function->self, ==, self);
      g_assert_cmpuint (function->total, ==, total);
      return;
    }
  g_error ("no function %s in %s", name, module);
}

static const LuReportState *
find_state (const LuProfile *profile, const char *name)
{
  for (guint i = 0; i < profile->states->len; i++)
    {
      const LuReportState *state = g_ptr_array_index (profile->states, i);

      if (g_str_equal (state->name, name))
        return state;
    }
  g_error ("no state %s", name);
}

static void
test_counts (Fixture *self, gconstpointer data)
{
  static const char kallsyms[] = "ffffffff81000000 t do_work\nffffffff81000100 t other\n";
  const LuSyscapFile file = { .path = "/proc/kallsyms",
                              .bytes = (const guint8 *) kallsyms,
                              .size = strlen (kallsyms),
                              .is_last = TRUE };
  g_autoptr (LuProfile) profile = NULL;

  map (self, 7, 0x1000, 0x2000, (LuFileId){ .path = "/nonexistent/demo", .build_id = "0011" });
  map (self, 7, 0x5000, 0x6000, (LuFileId){ .path = "/nonexistent/libdemo.so", .inode = 12 });
  SAMPLE (1000, 7, USER, 0x1100, 0x5100, 0x1200);
  SAMPLE (2000, 7, PERF_CONTEXT_KERNEL, K + 8, K + 9, USER, 0x5100);
  SAMPLE (3000, 7, USER, 0x1100, LU_SYNTHETIC_BASE + LU_STATUS_TRUNCATED_COPY);
  SAMPLE (3100, 7, PERF_CONTEXT_KERNEL, K + 0x110, USER,
          LU_SYNTHETIC_BASE + LU_STATUS_NO_USER_STACK);
  SAMPLE (3200, 7, PERF_CONTEXT_KERNEL, K + 0x110); /* kernel only */
  SAMPLE (3300, 8, USER, 0x1100);                   /* no mapping of that process */
  SAMPLE (3500, 7, USER, 0x1100, LU_SYSCAP_LEFT_OUT, 0x1200);
  /* names come last, as in our own captures */
  g_assert_true (lu_syscap_write_file (self->writer, &file, NULL));
  g_assert_true (lu_syscap_write_metadata (self->writer, LU_SYSCAP_KEY_STATS,
                                           "{\"lost\":{\"samples\":42}}", NULL));
  profile = load (self);

  g_assert_cmpuint (profile->model->n_samples, ==, 7);
  g_assert_cmpuint (profile->model->n_user, ==, 5);
  g_assert_cmpuint (profile->model->n_complete, ==, 4);
  g_assert_cmpint (profile->n_lost, ==, 42);
  g_assert_cmpint (profile->model->last - profile->model->begin, ==, 2500);
  g_assert_true (profile->model->is_finished);
  g_assert_true (profile->model->has_kernel_names);
  assert_function (profile, "demo+0x100", "demo", 3, 3);
  assert_function (profile, "demo+0x1ff", "demo", 0, 2); /* the call, not where it returns to */
  assert_function (profile, "libdemo.so+0xff", "libdemo.so", 0, 2);
  assert_function (profile, "do_work", "kernel", 1, 1);
  assert_function (profile, "other", "kernel", 2, 2);
  assert_function (profile, "(outside every mapping)", "", 1, 1);
  g_assert_cmpuint (find_state (profile, "truncated stack copy")->n, ==, 1);
  g_assert_false (find_state (profile, "truncated stack copy")->excluded);
  g_assert_cmpuint (find_state (profile, "no user stack in the sample")->n, ==, 1);
  g_assert_true (find_state (profile, "no user stack in the sample")->excluded);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* A name that is all of the text wins over those that contain it. */
static void
test_find (Fixture *self, gconstpointer data)
{
  static const char kallsyms[] = "ffffffff81000000 t do_work\nffffffff81000100 t Do_Work_twice\n"
                                 "ffffffff81000200 t never_hit\nffffffff81000300 t _end\n";
  static const struct
  {
    const char *text, *names;
  } cases[] = {
    { "do_work", "do_work" },
    { "DO_WORK", "Do_Work_twice do_work" },
    { "TWICE", "Do_Work_twice" },
    { "do_work_", "Do_Work_twice" },
    { "demo+0x100", "demo+0x100" },
    { "DEMO", "demo+0x100 libdemo.so+0x101" },
    { "libdemo.so", "libdemo.so+0x101" },
    { "never_hit", "" },
    { "\xff", "" },
  };
  const LuSyscapFile file = { .path = "/proc/kallsyms",
                              .bytes = (const guint8 *) kallsyms,
                              .size = strlen (kallsyms),
                              .is_last = TRUE };
  g_autoptr (LuProfile) profile = NULL;

  map (self, 7, 0x1000, 0x2000, (LuFileId){ .path = "/nonexistent/demo", .inode = 11 });
  map (self, 7, 0x5000, 0x6000, (LuFileId){ .path = "/nonexistent/libdemo.so", .inode = 12 });
  SAMPLE (1000, 7, PERF_CONTEXT_KERNEL, K + 8, K + 0x110);
  SAMPLE (2000, 7, USER, 0x1100);
  SAMPLE (3000, 7, USER, 0x5101);
  g_assert_true (lu_syscap_write_file (self->writer, &file, NULL));
  profile = load (self);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) found = lu_profile_find (profile, cases[i].text);
      g_autoptr (GPtrArray) names = g_ptr_array_new ();
      g_autofree char *joined = NULL;

      for (guint k = 0; k < found->len; k++)
        g_ptr_array_add (names, (gpointer) ((LuReportFunction *) found->pdata[k])->source->name);
      g_ptr_array_sort (names, compare_names);
      g_ptr_array_add (names, NULL);
      joined = g_strjoinv (" ", (char **) names->pdata);
      g_assert_cmpstr (joined, ==, cases[i].names);
    }
}

static void
test_killed (Fixture *self, gconstpointer data)
{
  g_autoptr (LuProfile) profile = NULL;
  g_autoptr (GError) error = NULL;

  SAMPLE (2000, 7, USER, 0x1100);
  SAMPLE (3000, 7, USER, 0x1100);
  g_assert_true (lu_syscap_writer_flush (self->writer, NULL));
  g_assert_cmpint (ftruncate (self->fd, (off_t) lu_syscap_writer_size (self->writer) - 4), ==, 0);
  profile = lu_profile_load (self->path, &no_options, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (profile->model->n_samples, ==, 1);
  g_assert_true (profile->model->is_cut);
  g_assert_false (profile->model->is_finished);
  g_assert_cmpint (profile->n_lost, ==, -1);
}

static void
test_odd_stats (Fixture *self, gconstpointer data)
{
  static const char *const texts[] = {
    "", "{", "[]", "{}", "{\"lost\":3}", "{\"lost\":{}}", "{\"lost\":{\"samples\":[]}}"
  };
  g_autoptr (LuProfile) profile = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_true (lu_syscap_write_metadata (self->writer, LU_SYSCAP_KEY_STATS, texts[i], NULL));
  profile = load (self);
  g_assert_cmpint (profile->n_lost, ==, -1);
  g_assert_cmpuint (profile->model->n_samples, ==, 0);
}

/* In a capture for a client of Sysprof, mappings name the end states. */
static void
test_states_of_mappings (Fixture *self, gconstpointer data)
{
  g_autoptr (LuProfile) profile = NULL;

  map (self, 1, LU_SYNTHETIC_BASE + 0x200, LU_SYNTHETIC_BASE + 0x201,
       (LuFileId){ .path = "[of a mapping]" });
  SAMPLE (2000, 1, USER, 0x1000, LU_SYNTHETIC_BASE + 0x200);
  profile = load (self);
  g_assert_cmpuint (find_state (profile, "of a mapping")->n, ==, 1);
}

static void
test_errors (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (lu_profile_load ("/nonexistent.syscap", &no_options, &error));
  g_assert_nonnull (strstr (error->message, "/nonexistent.syscap: No such file"));
  g_clear_error (&error);
  g_assert_null (lu_profile_load ("/dev/null", &no_options, &error));
  g_assert_nonnull (strstr (error->message, "not a Sysprof capture"));
  g_clear_error (&error);
  g_assert_null (lu_profile_load ("/", &no_options, &error));
  g_assert_nonnull (error);
}

static void
list_package (const char *directory, const char *name, const char *contents)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);

  g_assert_true (g_file_set_contents (path, contents, -1, NULL));
}

/* Packages list files in either directory where one is a link to the other. */
static void
test_packages (void)
{
  const struct
  {
    const char *path, *package;
  } cases[] = {
    { "/usr/bin/sort", "coreutils-dbgsym" }, { "/usr/lib/libz.so.1", "zlib1g-dbgsym:s390x" },
    { "/lib/libc.so.6", "libc6-dbg:s390x" }, { "/usr/bin/sor", NULL },
    { "/bin/sort", "coreutils-dbgsym" },     { "/opt/other", NULL },
  };
  g_autofree char *directory = g_dir_make_tmp ("packages-XXXXXX", NULL);
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  LuModelModule modules[G_N_ELEMENTS (cases)] = { 0 };
  LuReportMissing missing[G_N_ELEMENTS (cases)] = { 0 };
  LuFileId ids[G_N_ELEMENTS (cases)] = { 0 };

  list_package (directory, "coreutils.list", "/.\n/usr\n/usr/bin/sort\n");
  list_package (directory, "coreutils.md5sums", "\n/opt/other\n");
  list_package (directory, "zlib1g:s390x.list", "/.\n/lib/libz.so.1\n/lib/libz.so\n");
  list_package (directory, "libc6:s390x.list", "/.\n/usr/lib/libc.so.6\n");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      ids[i].path = cases[i].path;
      modules[i].id = &ids[i];
      missing[i].module = &modules[i];
      g_ptr_array_add (all, &missing[i]);
    }
  g_assert_true (lu_report_find_packages (directory, all));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpstr (missing[i].package, ==, cases[i].package);
      g_free (missing[i].package);
    }
  g_assert_false (lu_report_find_packages ("/nonexistent", all));
  directory_remove (directory);
}

#define ADD(name, function)                                                                        \
  g_test_add ("/app/report-profile/" name, Fixture, NULL, setup, function, teardown)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("counts", test_counts);
  ADD ("find", test_find);
  ADD ("killed", test_killed);
  ADD ("odd-stats", test_odd_stats);
  ADD ("states-of-mappings", test_states_of_mappings);
  g_test_add_func ("/app/report-profile/errors", test_errors);
  g_test_add_func ("/app/report-profile/packages", test_packages);
  return g_test_run ();
}
