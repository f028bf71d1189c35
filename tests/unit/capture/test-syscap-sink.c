/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-syscap-sink.c - the content and the order of a capture, for samples, processes and address
 * spaces.
 *
 * Captures are written to memory, and the reader turns each frame into one line of text. */

#include "capture/syscap-pids.h"
#include "capture/syscap-reader.h"
#include "capture/syscap-stack.h"
#include "capture/syscap.h"
#include "process/process-private.h"

#include "../../cases.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define START 1000
#define K     0xffffffff81000000ull

typedef struct
{
  int fd; /* of the capture, to read */
  LuSink *sink;
} Fixture;

static void
begin (Fixture *self)
{
  const LuEventInfo event = lu_event_of_frequency ("cpu-clock", 999);
  const LuRecording recording = { .start_time = START,
                                  .command = "live-unwinder -- demo",
                                  .engine = "dwfl",
                                  .events = &event,
                                  .n_events = 1,
                                  .frequency = 999,
                                  .stack_size = 16384 };
  g_autoptr (GError) error = NULL;

  g_assert_true (self->sink->ops->begin (self->sink, &recording, &error));
  g_assert_no_error (error);
}

static void
setup (Fixture *self, const char *kallsyms)
{
  int fd = memfd_create ("capture", MFD_CLOEXEC);

  self->fd = dup (fd);
  self->sink = lu_syscap_sink_new_with_kallsyms (fd, kallsyms);
  begin (self);
}

static void
teardown (Fixture *self)
{
  lu_sink_free (self->sink);
  close (self->fd);
}

static void
append_sample (GString *line, const LuSyscapRecord *record)
{
  g_string_append_printf (line, "sample %d/%d:", record->pid, record->sample.tid);
  for (guint i = 0; i < record->sample.n_addresses; i++)
    {
      gint64 address = (gint64) record->sample.addresses[i];

      if (address < 0 && address >= -4095)
        g_string_append_printf (line, " %" G_GINT64_FORMAT, address);
      else
        g_string_append_printf (line, " %" G_GINT64_MODIFIER "x", address);
    }
}

static void
append_frame (GString *line, const LuSyscapRecord *record)
{
  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      append_sample (line, record);
      break;
    case LU_SYSCAP_MAP:
      g_string_append_printf (
          line,
          "map %d %" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x +%" G_GINT64_MODIFIER
          "x i%d %s %s @%d",
          record->pid, record->map.start, record->map.end, record->map.file_offset,
          (int) record->map.file.inode, record->map.file.path,
          record->map.file.build_id != NULL ? record->map.file.build_id : "-", (int) record->time);
      break;
    case LU_SYSCAP_PROCESS:
      g_string_append_printf (line, "process %d %s", record->pid, record->process.command_line);
      break;
    case LU_SYSCAP_FORK:
      g_string_append_printf (line, "fork %d %d", record->pid, record->fork.child_pid);
      break;
    case LU_SYSCAP_EXIT:
      g_string_append_printf (line, "exit %d", record->pid);
      break;
    case LU_SYSCAP_FILE_CHUNK:
      g_string_append_printf (line, "file %s%s %.*s", record->file.path,
                              record->file.is_last ? "" : " …", (int) record->file.size,
                              record->file.bytes);
      break;
    case LU_SYSCAP_LOG:
      g_string_append_printf (line, "log %s %s", record->log.domain, record->log.message);
      break;
    case LU_SYSCAP_METADATA:
      g_string_append_printf (line, "metadata %s=%s", record->metadata.key, record->metadata.text);
      break;
    case LU_SYSCAP_JITMAP:
      g_string_append (line, "jitmap");
      for (guint i = 0; i < record->jitmap.n_names; i++)
        g_string_append_printf (line, " %" G_GINT64_MODIFIER "x=%s",
                                record->jitmap.names[i].address, record->jitmap.names[i].name);
      break;
    default:
      g_string_append_printf (line, "type %d", record->type);
    }
}

/* Prints all frames, one per line; what begin() writes is left out unless it is asked for. */
static char *
dump (Fixture *self, gboolean with_begin)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;
  LuSyscapRead what;
  gboolean begun = FALSE;

  g_assert_true (self->sink->ops->end (self->sink, 9000, &error));
  g_assert_no_error (error);
  lseek (self->fd, 0, SEEK_SET);
  reader = lu_syscap_reader_new (dup (self->fd), &error);
  g_assert_no_error (error);
  g_assert_cmpint (lu_syscap_reader_header (reader)->end_time, ==, 9000);
  while ((what = lu_syscap_reader_next (reader, &record, &error)) == LU_SYSCAP_READ_FRAME)
    {
      g_assert_cmpint (record.time, >=, START);
      begun |= record.type != LU_SYSCAP_METADATA && record.type != LU_SYSCAP_JITMAP;
      if (!begun && !with_begin)
        continue;
      append_frame (text, &record);
      g_string_append_c (text, '\n');
    }
  g_assert_no_error (error);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static LuModule *
module_new (const char *path, guint8 build_id_byte, guint64 inode)
{
  LuModuleKey key = { .kind = LU_MODULE_FILE,
                      .path = path,
                      .has_inode = inode != 0,
                      .inode = inode,
                      .build_id_size = build_id_byte != 0 ? 4 : 0,
                      .build_id = { build_id_byte, build_id_byte, 0, 1 } };

  return lu_module_new (&key);
}

static LuAddressSpace *
space_with (LuAddressSpace *space, LuModule *module, guint64 start, guint64 end, guint64 offset,
            guint64 time)
{
  const LuMapping mapping = {
    .start = start, .end = end, .file_offset = offset, .time = time, .module = module
  };

  return lu_address_space_take_with_mapping (lu_address_space_ref (space), &mapping);
}

static void
sample_user (Fixture *self, guint64 time, LuProcess *process, LuAddressSpace *space, guint64 pc)
{
  const LuFrame frames[] = { { .pc = pc }, { .pc = pc + 16, .flags = LU_FRAME_RETURN_ADDRESS } };
  const LuSinkSample sample = { .time = time,
                                .pid = lu_process_pid (process),
                                .tid = lu_process_pid (process),
                                .n_user = 2,
                                .user = frames,
                                .process = process,
                                .space = space };
  g_autoptr (GError) error = NULL;

  g_assert_true (self->sink->ops->sample (self->sink, &sample, &error));
  g_assert_no_error (error);
}

static void
test_begin (void)
{
  Fixture fixture;
  g_autofree char *text = NULL;

  setup (&fixture, NULL);
  text = dump (&fixture, TRUE);
  g_assert_nonnull (strstr (text, "e000000000000001=[truncated stack copy] "
                                  "e000000000000002=[depth limit] "
                                  "e000000000000003=[other stack] "));
  g_assert_nonnull (strstr (text, "e000000000000011=[lost] "
                                  "e000000000000100=[… frames left out]\n"));
  g_assert_nonnull (
      strstr (text, "metadata live-unwinder.address-convention=return-address-minus-1\n"));
  g_assert_nonnull (strstr (text, "metadata live-unwinder.frequency=999\n"));
  g_assert_nonnull (strstr (text, "metadata live-unwinder.command=live-unwinder -- demo\n"));
  g_assert_null (strstr (text, "hostname")); /* not live, so this machine is not described */
  teardown (&fixture);
}

static void
sample_thread (Fixture *self, LuProcess *process, gint32 tid, const char *name)
{
  const LuSinkSample sample = { .time = 2000,
                                .pid = lu_process_pid (process),
                                .tid = tid,
                                .thread_name = name,
                                .process = process };
  g_autoptr (GError) error = NULL;

  g_assert_true (self->sink->ops->sample (self->sink, &sample, &error));
  g_assert_no_error (error);
}

/* A name is written when the thread is sampled, and after changes; not that of the program. */
static void
test_thread_names (void)
{
  Fixture fixture;
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();
  g_autoptr (LuProcess) process = lu_process_new (7, 0, "a-long-name-of-", empty);
  g_autofree char *text = NULL;

  setup (&fixture, NULL);
  lu_process_set_command_line (process, "/bin/a-long-name-of-it", 22);
  sample_thread (&fixture, process, 7, "a-long-name-of-");
  sample_thread (&fixture, process, 8, "b\033");
  sample_thread (&fixture, process, 8, "b\033");
  sample_thread (&fixture, process, 8, "c");
  sample_thread (&fixture, process, 8, "a-long-name-of-");
  sample_thread (&fixture, process, 7, "d");
  text = dump (&fixture, FALSE);
  g_assert_null (strstr (text, "7 7 a-long"));
  g_assert_nonnull (strstr (text, "live-unwinder.thread=7 8 b?\nsample"));
  g_assert_nonnull (strstr (text, "live-unwinder.thread=7 8 c\nsample"));
  g_assert_nonnull (strstr (text, "live-unwinder.thread=7 8 a-long-name-of-\nsample"));
  g_assert_nonnull (strstr (text, "live-unwinder.thread=7 7 d\nsample"));
  teardown (&fixture);
}

/* Events are described, and samples name theirs and have a weight, if there are several. */
static void
test_events (void)
{
  const LuEventInfo events[] = {
    { .name = "cycles", .unit = LU_UNIT_COUNT, .varies = TRUE },
    { .name = "page-faults", .unit = LU_UNIT_COUNT, .weight = 100 },
  };
  const LuRecording recording = { .start_time = START, .events = events, .n_events = 2 };
  const LuSinkSample samples[] = { { .time = 2000, .weight = 12345678901, .event = 0 },
                                   { .time = 2001, .weight = 100, .event = 1 } };
  int fd = memfd_create ("capture", MFD_CLOEXEC);
  int copy = dup (fd);
  g_autoptr (LuSink) sink = lu_syscap_sink_new_with_kallsyms (fd, NULL);
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;
  guint n = 0;

  g_assert_true (sink->ops->begin (sink, &recording, NULL));
  for (guint i = 0; i < 2; i++)
    g_assert_true (sink->ops->sample (sink, &samples[i], NULL));
  g_assert_true (sink->ops->end (sink, 9000, NULL));

  lseek (copy, 0, SEEK_SET);
  reader = lu_syscap_reader_new (copy, NULL);
  while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    if (record.type == LU_SYSCAP_METADATA
        && g_str_equal (record.metadata.key, LU_SYSCAP_KEY_EVENTS))
      g_assert_cmpstr (record.metadata.text, ==, "count each cycles\ncount 100 page-faults\n");
    else if (record.type == LU_SYSCAP_SAMPLE)
      {
        g_assert_cmpuint (record.sample.event, ==, n);
        g_assert_cmpuint (record.sample.weight, ==, n == 0 ? 12345678901 : 0);
        n++;
      }
  g_assert_cmpuint (n, ==, 2);
}

static void
test_process_and_maps (void)
{
  Fixture fixture;
  g_autoptr (LuModule) program = module_new ("/bin/demo", 0xab, 77);
  g_autoptr (LuModule) library = module_new ("/lib/libdemo.so", 0, 88);
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();
  g_autoptr (LuAddressSpace) first = space_with (empty, program, 0x1000, 0x3000, 0x1000, 0);
  g_autoptr (LuAddressSpace) second = space_with (first, library, 0x8000, 0x9000, 0, 2500);
  g_autoptr (LuProcess) process = lu_process_new (7, 0, "demo", first);
  g_autofree char *text = NULL;

  setup (&fixture, NULL);
  lu_process_take_mountinfo (process, g_strdup ("1 2 3\n"));
  sample_user (&fixture, 2000, process, first, 0x1100);
  sample_user (&fixture, 2001, process, first, 0x1200);
  lu_process_set_command_line (process, "demo --long", strlen ("demo --long"));
  sample_user (&fixture, 3000, process, second, 0x1300);
  sample_user (&fixture, 2002, process, first, 0x1400); /* from another CPU, late */
  text = dump (&fixture, FALSE);
  g_assert_cmpstr (text, ==,
                   "process 7 demo\n"
                   "file /proc/7/mountinfo 1 2 3\n\n"
                   "map 7 1000-3000 +1000 i77 /bin/demo abab0001 @1000\n"
                   "sample 7/7: -512 1100 110f\n"
                   "sample 7/7: -512 1200 120f\n"
                   "process 7 demo --long\n"
                   "map 7 8000-9000 +0 i88 /lib/libdemo.so - @2500\n"
                   "sample 7/7: -512 1300 130f\n"
                   "sample 7/7: -512 1400 140f\n");
  teardown (&fixture);
}

static void
sample_ending (Fixture *self, LuProcess *process, LuAddressSpace *space, LuStatus status,
               guint64 root)
{
  const LuFrame frames[] = { { .pc = 0x1100 }, { .pc = root } };
  const LuSinkSample sample = { .time = 2000,
                                .pid = lu_process_pid (process),
                                .tid = lu_process_pid (process),
                                .status = status,
                                .n_user = 2,
                                .user = frames,
                                .process = process,
                                .space = space };

  g_assert_true (self->sink->ops->sample (self->sink, &sample, NULL));
}

/* There is no JITMAP, no machine and no mount table of ours; mappings of one byte name end states.
 */
static void
test_for_client (void)
{
  Fixture fixture;
  g_autoptr (LuModule) program = module_new ("/bin/demo", 0xab, 77);
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();
  g_autoptr (LuAddressSpace) space = space_with (empty, program, 0x1000, 0x3000, 0x1000, 0);
  g_autoptr (LuProcess) process = lu_process_new (7, 0, "demo", space);
  g_autoptr (LuProcess) other = lu_process_new (8, 0, "contained", space);
  int fd = memfd_create ("capture", MFD_CLOEXEC);
  g_autofree char *text = NULL, *mountinfo = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL));
  lu_process_take_mountinfo (process, g_steal_pointer (&mountinfo));
  lu_process_take_mountinfo (other, g_strdup ("1 2 3\n"));
  fixture.fd = dup (fd);
  fixture.sink = lu_syscap_sink_new_for_client (fd, NULL, -1);
  begin (&fixture);
  sample_ending (&fixture, process, space, LU_STATUS_TRUNCATED_COPY, 0x1200);
  sample_ending (&fixture, process, space, LU_STATUS_TRUNCATED_COPY, 0x1300);
  sample_ending (&fixture, process, space, LU_STATUS_NO_MAPPING, 0x55);
  sample_ending (&fixture, other, space, LU_STATUS_COMPLETE, 0x1400);
  text = dump (&fixture, TRUE);
  g_assert_nonnull (
      strstr (text, "metadata live-unwinder.address-convention=return-address-minus-1"));
  g_assert_null (strstr (text, "jitmap"));
  g_assert_null (strstr (text, "org.gnome"));
  g_assert_cmpstr (strstr (text, "process 7"), ==,
                   "process 7 demo\n"
                   "map 7 1000-3000 +1000 i77 /bin/demo abab0001 @1000\n"
                   "map 7 e000000000000001-e000000000000002 +0 i0 [truncated stack copy] - @1000\n"
                   "sample 7/7: -512 1100 1200 e000000000000001\n"
                   "sample 7/7: -512 1100 1300 e000000000000001\n"
                   "map 7 e000000000000008-e000000000000009 +0 i0 [no mapping] - @1000\n"
                   "sample 7/7: -512 1100 e000000000000008\n"
                   "process 8 contained\n"
                   "file /proc/8/mountinfo 1 2 3\n\n"
                   "map 8 1000-3000 +1000 i77 /bin/demo abab0001 @1000\n"
                   "sample 8/8: -512 1100 1400\n");
  teardown (&fixture);
}

static void
test_exec (void)
{
  Fixture fixture;
  g_autoptr (LuModule) shell = module_new ("/bin/sh", 1, 0);
  g_autoptr (LuModule) program = module_new ("/bin/demo", 2, 0);
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();
  g_autoptr (LuAddressSpace) before = space_with (empty, shell, 0x400000, 0x410000, 0, 0);
  g_autoptr (LuAddressSpace) after = space_with (empty, program, 0x404000, 0x406000, 0, 4000);
  g_autoptr (LuProcess) old = lu_process_new (7, 0, "sh", before);
  g_autoptr (LuProcess) new = lu_process_new (7, 4000, "demo", after);
  g_autofree char *text = NULL;

  setup (&fixture, NULL);
  sample_user (&fixture, 2000, old, before, 0x400100);
  sample_user (&fixture, 5000, new, after, 0x404100);
  sample_user (&fixture, 3999, old, before, 0x400100); /* late: does not name the pid again */
  text = dump (&fixture, FALSE);
  g_assert_cmpstr (text, ==,
                   "process 7 sh\n"
                   "map 7 400000-410000 +0 i0 /bin/sh 01010001 @1000\n"
                   "sample 7/7: -512 400100 40010f\n"
                   "process 7 demo\n"
                   "map 7 400001-404000 +1 i0 /bin/sh 01010001 @4000\n"
                   "map 7 404000-406000 +0 i0 /bin/demo 02020001 @4000\n"
                   "map 7 406000-410000 +6000 i0 /bin/sh 01010001 @4000\n"
                   "sample 7/7: -512 404100 40410f\n"
                   "map 7 404000-406000 +4000 i0 /bin/sh 01010001 @1000\n"
                   "map 7 404000-406000 +0 i0 /bin/demo 02020001 @4000\n"
                   "sample 7/7: -512 400100 40010f\n"
                   "metadata live-unwinder.shadowed-samples=3\n");
  teardown (&fixture);
}

static void
test_fork_and_exit (void)
{
  Fixture fixture;
  const LuSinkOps *ops;
  g_autoptr (LuModule) program = module_new ("/bin/demo", 2, 0);
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();
  g_autoptr (LuAddressSpace) space = space_with (empty, program, 0x1000, 0x2000, 0, 0);
  g_autoptr (LuProcess) late = lu_process_new (8, 2000, "late", space);
  g_autoptr (LuProcess) again = lu_process_new (8, 6000, "again", space);
  g_autofree char *text = NULL;

  setup (&fixture, NULL);
  ops = fixture.sink->ops;
  ops->fork (fixture.sink, 2000, 7, 8, NULL);
  ops->fork (fixture.sink, 2000, 7, 7, NULL);  /* a thread */
  ops->fork (fixture.sink, 2000, -1, 9, NULL); /* dying */
  ops->exit (fixture.sink, 2100, 8, NULL);
  ops->exit (fixture.sink, 2100, 99, NULL); /* never heard of */
  ops->exit (fixture.sink, 2100, -1, NULL);
  sample_user (&fixture, 2050, late, space, 0x1100); /* side-band overtakes the samples */
  sample_user (&fixture, 2060, late, space, 0x1100);
  ops->fork (fixture.sink, 6000, 7, 8, NULL); /* the pid again */
  sample_user (&fixture, 6100, again, space, 0x1100);
  ops->exit (fixture.sink, 6200, 8, NULL);
  text = dump (&fixture, FALSE);
  g_assert_cmpstr (text, ==,
                   "fork 7 8\n"
                   "exit 8\n"
                   "process 8 late\n"
                   "map 8 1000-2000 +0 i0 /bin/demo 02020001 @1000\n"
                   "sample 8/8: -512 1100 110f\n"
                   "sample 8/8: -512 1100 110f\n"
                   "fork 7 8\n"
                   "process 8 again\n"
                   "sample 8/8: -512 1100 110f\n"
                   "exit 8\n");
  teardown (&fixture);
}

static void
test_no_pid (void)
{
  Fixture fixture;
  const LuFrame frame = { .pc = 0x1000 };
  const LuSinkSample dying = { .time = 2000, .pid = -1, .tid = -1, .n_user = 1, .user = &frame };
  g_autofree char *text = NULL;

  setup (&fixture, NULL);
  g_assert_true (fixture.sink->ops->sample (fixture.sink, &dying, NULL));
  g_assert_true (fixture.sink->ops->log (fixture.sink, 2500, "Lost 3 samples", NULL));
  g_assert_true (fixture.sink->ops->metadata (fixture.sink, "live-unwinder.stats", "{}", NULL));
  text = dump (&fixture, FALSE);
  g_assert_cmpstr (text, ==,
                   "log live-unwinder Lost 3 samples\n"
                   "metadata live-unwinder.stats={}\n"
                   "metadata live-unwinder.samples-without-pid=1\n");
  teardown (&fixture);
}

/* 4,000 more processes than are remembered, each with a late sample, do not make the table grow. */
static void
test_pids_are_bounded (void)
{
  g_autoptr (LuSyscapPids) pids = lu_syscap_pids_new ();

  for (gint32 pid = 1; pid < LU_SYSCAP_MAX_EXITED + 4000; pid++)
    {
      lu_syscap_pids_begin (pids, pid)->is_known = TRUE;
      lu_syscap_pids_exit (pids, lu_syscap_pids_find (pids, pid));
      lu_syscap_pids_get (pids, pid)->maps = lu_syscap_maps_new ();
    }
  g_assert_cmpuint (lu_syscap_pids_size (pids), ==, LU_SYSCAP_MAX_EXITED);
  lu_syscap_pids_begin (pids, LU_SYSCAP_MAX_EXITED + 3000);
  for (gint32 pid = 1; pid < LU_SYSCAP_MAX_EXITED + 10; pid++)
    lu_syscap_pids_exit (pids, lu_syscap_pids_get (pids, 1000000 + pid));
  g_assert_nonnull (lu_syscap_pids_find (pids, LU_SYSCAP_MAX_EXITED + 3000));
}

static void
test_kernel_names (void)
{
  static const char kallsyms[] = "ffffffff81000000 T start\n"
                                 "ffffffff81000100 t do_work\n"
                                 "ffffffff81000180 d data\n"
                                 "ffffffff81000200 W weak\n"
                                 "ffffffff81000300 T other\n"
                                 "ffffffff81000400 t last\t[module]\n";
  const LuFrame frames[] = { { .pc = K + 0x110, .flags = LU_FRAME_KERNEL },
                             { .pc = K + 0x190, .flags = LU_FRAME_KERNEL },
                             { .pc = K + 0x410, .flags = LU_FRAME_KERNEL } };
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "lu-kallsyms-XXXXXX", NULL);
  g_autofree char *text = NULL;
  Fixture fixture;
  LuSinkSample sample = {
    .time = 2000, .pid = 0, .status = LU_STATUS_KERNEL_ONLY, .n_kernel = 2, .kernel = frames
  };

  close (g_mkstemp (path));
  g_assert_true (g_file_set_contents (path, kallsyms, -1, NULL));
  setup (&fixture, path);
  g_assert_true (fixture.sink->ops->sample (fixture.sink, &sample, NULL));
  g_assert_true (fixture.sink->ops->flush (fixture.sink, NULL));
  g_assert_true (fixture.sink->ops->flush (fixture.sink, NULL)); /* nothing new */
  sample.n_kernel = 3;
  g_assert_true (fixture.sink->ops->sample (fixture.sink, &sample, NULL));
  text = dump (&fixture, FALSE);
  g_assert_cmpstr (text, ==,
                   "sample 0/0: -128 ffffffff81000110 ffffffff81000190\n"
                   "file /proc/kallsyms … ffffffff81000100 t do_work\n\n"
                   "sample 0/0: -128 ffffffff81000110 ffffffff81000190 ffffffff81000410\n"
                   "file /proc/kallsyms ffffffff81000400 t last\t[module]\n"
                   "ffffffff81000200 t _end\n"
                   "ffffffff81001400 t _end\n\n");
  g_unlink (path);
  teardown (&fixture);
}

typedef struct
{
  const char *name;
  LuStatus status;
  guint n_kernel, n_user;
  LuFrame kernel[3], user[3];
  guint n_want;
  guint64 want[8];
} StackCase;

#define RA LU_FRAME_RETURN_ADDRESS

static const StackCase stack_cases[] = {
  { "user only",
    LU_STATUS_COMPLETE,
    0,
    2,
    { { 0 } },
    { { 0x10, 0, 0 }, { 0x20, RA, 0 } },
    3,
    { (guint64) -512, 0x10, 0x1f } },
  { "a return address of 0",
    LU_STATUS_COMPLETE,
    0,
    2,
    { { 0 } },
    { { 0x10, 0, 0 }, { 0, RA, 0 } },
    3,
    { (guint64) -512, 0x10, 0 } },
  { "interrupted by a signal: exact",
    LU_STATUS_COMPLETE,
    0,
    3,
    { { 0 } },
    { { 0x10, 0, 0 }, { 0x20, RA, 0 }, { 0x30, 0, 0 } },
    4,
    { (guint64) -512, 0x10, 0x1f, 0x30 } },
  { "kernel and user",
    LU_STATUS_COMPLETE,
    1,
    1,
    { { K, LU_FRAME_KERNEL, 0 } },
    { { 0x10, 0, 0 } },
    4,
    { (guint64) -128, K, (guint64) -512, 0x10 } },
  { "kernel only",
    LU_STATUS_KERNEL_ONLY,
    1,
    0,
    { { K, LU_FRAME_KERNEL, 0 } },
    { { 0 } },
    2,
    { (guint64) -128, K } },
  { "no user context",
    LU_STATUS_NO_USER_CONTEXT,
    1,
    0,
    { { K, LU_FRAME_KERNEL, 0 } },
    { { 0 } },
    2,
    { (guint64) -128, K } },
  { "no user stack",
    LU_STATUS_NO_USER_STACK,
    1,
    0,
    { { K, LU_FRAME_KERNEL, 0 } },
    { { 0 } },
    4,
    { (guint64) -128, K, (guint64) -512, LU_SYNTHETIC_BASE + 13 } },
  { "truncated",
    LU_STATUS_TRUNCATED_COPY,
    0,
    1,
    { { 0 } },
    { { 0x10, 0, 0 } },
    3,
    { (guint64) -512, 0x10, LU_SYNTHETIC_BASE + 1 } },
  { "guest and hypervisor",
    LU_STATUS_KERNEL_ONLY,
    3,
    0,
    { { 0x30, LU_FRAME_HYPERVISOR, 0 },
      { 0x20, LU_FRAME_GUEST_KERNEL, 0 },
      { 0x10, LU_FRAME_GUEST_USER, 0 } },
    { { 0 } },
    6,
    { (guint64) -32, 0x30, (guint64) -2176, 0x20, (guint64) -2560, 0x10 } },
  { "a register that looks like a marker or a name",
    LU_STATUS_NO_MAPPING,
    0,
    2,
    { { 0 } },
    { { (guint64) -512, 0, 0 }, { LU_SYNTHETIC_BASE + 2, RA, 0 } },
    4,
    { (guint64) -512, 0, 0, LU_SYNTHETIC_BASE + 8 } },
};

static void
test_stack (gconstpointer data)
{
  const StackCase *c = data;
  const LuSinkSample sample = { .status = c->status,
                                .n_kernel = c->n_kernel,
                                .n_user = c->n_user,
                                .kernel = c->kernel,
                                .user = c->user };
  guint64 addresses[LU_SYSCAP_MAX_ADDRESSES];

  g_assert_cmpuint (lu_syscap_stack_encode (&sample, addresses), ==, c->n_want);
  for (guint i = 0; i < c->n_want; i++)
    g_assert_cmphex (addresses[i], ==, c->want[i]);
}

/* The list of the largest stacks never has more addresses than the viewer accepts, and keeps both
 * ends and the kernel part. */
static void
test_large_stacks (void)
{
  static const struct
  {
    guint n_kernel, n_user;
    LuStatus status;
    gboolean is_cut;
  } cases[] = {
    { 0, 1023, LU_STATUS_COMPLETE, FALSE },
    { 0, 1024, LU_STATUS_COMPLETE, TRUE },
    { 0, 1022, LU_STATUS_JIT, FALSE },
    { 0, 1023, LU_STATUS_JIT, TRUE },
    { 640, 382, LU_STATUS_COMPLETE, FALSE },
    { 640, 383, LU_STATUS_COMPLETE, TRUE },
    { 640, LU_STACK_MAX_FRAMES, LU_STATUS_DEPTH_LIMIT, TRUE },
  };
  g_autofree LuFrame *kernel = g_new0 (LuFrame, 640);
  g_autofree LuFrame *user = g_new0 (LuFrame, LU_STACK_MAX_FRAMES);
  guint64 addresses[LU_SYSCAP_MAX_ADDRESSES];

  for (guint i = 0; i < 640; i++)
    kernel[i] = (LuFrame){ .pc = K + i, .flags = LU_FRAME_KERNEL };
  for (guint i = 0; i < LU_STACK_MAX_FRAMES; i++)
    user[i] = (LuFrame){ .pc = 0x10000 + i };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LuSinkSample sample = { .status = cases[i].status,
                                    .n_kernel = cases[i].n_kernel,
                                    .n_user = cases[i].n_user,
                                    .kernel = kernel,
                                    .user = user };
      guint n = lu_syscap_stack_encode (&sample, addresses);
      guint kernel_words = cases[i].n_kernel + (cases[i].n_kernel > 0 ? 1 : 0);
      guint root = n - 1 - (cases[i].status != LU_STATUS_COMPLETE ? 1 : 0);
      guint n_left_out = 0;

      for (guint j = 0; j < n; j++)
        n_left_out += addresses[j] == LU_SYSCAP_LEFT_OUT;
      g_assert_cmpuint (n_left_out, ==, cases[i].is_cut);
      g_assert_cmpuint (n, ==,
                        cases[i].is_cut ? LU_SYSCAP_MAX_ADDRESSES
                                        : kernel_words + 1 + cases[i].n_user
                                              + (cases[i].status != LU_STATUS_COMPLETE));
      g_assert_cmphex (addresses[kernel_words], ==, (guint64) -512);
      g_assert_cmphex (addresses[kernel_words + 1], ==, 0x10000);
      g_assert_cmphex (addresses[root], ==, 0x10000 + cases[i].n_user - 1);
      if (cases[i].status != LU_STATUS_COMPLETE)
        g_assert_cmphex (addresses[n - 1], ==, LU_SYNTHETIC_BASE + cases[i].status);
    }
}

/* A kernel chain that changes context at every frame must not overflow the list. */
static void
test_hostile_kernel_chain (void)
{
  g_autofree LuFrame *kernel = g_new0 (LuFrame, 640);
  const LuFrame user = { .pc = 0x10 };
  const LuSinkSample sample = {
    .status = LU_STATUS_JIT, .n_kernel = 640, .n_user = 1, .kernel = kernel, .user = &user
  };
  guint64 addresses[LU_SYSCAP_MAX_ADDRESSES];
  guint n;

  for (guint i = 0; i < 640; i++)
    kernel[i] = (LuFrame){ .pc = K, .flags = i % 2 ? LU_FRAME_KERNEL : LU_FRAME_HYPERVISOR };
  n = lu_syscap_stack_encode (&sample, addresses);
  g_assert_cmpuint (n, <, LU_SYSCAP_MAX_ADDRESSES);
  g_assert_cmphex (addresses[n - 2], ==, 0x10);
}

/* Functions of an interpreter are named before the sample, or when their names come; a client gets
 * the interpreter's own frames. */
static void
check_functions (Fixture *self, const char *expected)
{
  const struct lu_interp_frame known = { .code = 0x100, .check = 1, .instr = 2 };
  const struct lu_interp_frame late = { .code = 0x200 };
  g_autoptr (LuFunctions) functions = lu_functions_new ();
  LuInterpFunction function = { .language = LU_INTERP_PYTHON,
                                .check = 1,
                                .first_line = 3,
                                .code = 0x100,
                                .name = { .size = 4, .kind = 1 },
                                .path = { .size = 5, .kind = 1 },
                                .lines = { .size = 2, .format = LU_PYTHON_LINES_DELTAS },
                                .name_text = (const guint8 *) "work",
                                .path_text = (const guint8 *) "/a.py",
                                .lines_bytes = (const guint8 *) "\2\4" };
  const LuFrame native = { .pc = 0x1100 };
  LuFrame merged[2] = { { .flags = LU_FRAME_FUNCTION }, { .flags = LU_FRAME_FUNCTION } };
  const LuSinkSample sample = { .time = 2000,
                                .pid = 7,
                                .tid = 7,
                                .n_user = 2,
                                .user = merged,
                                .native = &native,
                                .n_native = 1,
                                .functions = functions };
  const LuFunctionsOf of = { 1, 7, LU_INTERP_PYTHON };
  g_autofree char *text = NULL;

  lu_functions_learn (functions, 1, 7, &function);
  merged[0].pc = lu_functions_find (functions, &of, &known);
  merged[1].pc = lu_functions_find (functions, &of, &late);
  g_assert_true (self->sink->ops->sample (self->sink, &sample, NULL));
  function.code = 0x200;
  function.check = 0;
  lu_functions_learn (functions, 1, 7, &function);
  g_assert_true (self->sink->ops->sample (self->sink, &sample, NULL));
  text = dump (self, TRUE);
  g_assert_nonnull (strstr (text, expected));
}

static void
test_functions (void)
{
  Fixture fixture;
  int fd;

  setup (&fixture, NULL);
  check_functions (&fixture, "jitmap e000000010000011=work (a.py:3) e000000020000011=/a.py:3+4\n"
                             "sample 7/7: -512 e000000010000011 e000000010000012\n"
                             "jitmap e000000010000012=work (a.py:3) e000000020000012=/a.py:3\n"
                             "sample 7/7: -512 e000000010000011 e000000010000012\n");
  teardown (&fixture);
  fd = memfd_create ("capture", MFD_CLOEXEC);
  fixture.fd = dup (fd);
  fixture.sink = lu_syscap_sink_new_for_client (fd, NULL, -1);
  begin (&fixture);
  check_functions (&fixture, "sample 7/7: -512 1100\nsample 7/7: -512 1100\n");
  teardown (&fixture);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/output/syscap-sink/begin", test_begin);
  g_test_add_func ("/output/syscap-sink/events", test_events);
  g_test_add_func ("/output/syscap-sink/thread names", test_thread_names);
  g_test_add_func ("/output/syscap-sink/process-and-maps", test_process_and_maps);
  g_test_add_func ("/output/syscap-sink/for-client", test_for_client);
  g_test_add_func ("/output/syscap-sink/functions", test_functions);
  g_test_add_func ("/output/syscap-sink/exec", test_exec);
  g_test_add_func ("/output/syscap-sink/fork-and-exit", test_fork_and_exit);
  g_test_add_func ("/output/syscap-sink/no-pid", test_no_pid);
  g_test_add_func ("/output/syscap-sink/pids-are-bounded", test_pids_are_bounded);
  g_test_add_func ("/output/syscap-sink/kernel-names", test_kernel_names);
  TEST_ADD_CASES ("/output/syscap-stack", stack_cases, test_stack);
  g_test_add_func ("/output/syscap-stack/large-stacks", test_large_stacks);
  g_test_add_func ("/output/syscap-stack/hostile-kernel-chain", test_hostile_kernel_chain);
  return g_test_run ();
}
