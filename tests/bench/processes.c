/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* processes.c [PROGRAM [BATCH [SAMPLES [ROUNDS]]]] - measures the cost of a process that starts,
 * executes PROGRAM (/bin/true), maps its files, is sampled and exits: CPU time of each thread.
 *
 * BATCH processes (16) start in each round, with SAMPLES samples each (1), and exit ROUNDS rounds
 * later (0). The drain is the real one, fed by a source that invents the events; worker, publisher
 * and writer run too, and the kernel's maps are used if they are available. The processes do not
 * exist, so nothing is read from them. Everything is cold between rounds, as behind programs that
 * use the CPU. Prints one JSON line: ns per process. */

#include "base/clock.h"
#include "bpf/backing-kernel.h"
#include "record/drain.h"
#include "capture/syscap.h"
#include "unwind/unwinder.h"
#include "record/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define N_ROUNDS    200
#define N_WARM      20
#define QUEUE_BYTES (32u << 20)
#define COLD_BYTES  (8u << 20)
#define PARENT      4190000
#define FIRST       4100000 /* pids below the kernel's limit, and above those in use */
#define N_PIDS      80000
#define ROUND_US    2000
#define N_FRAMES    12

typedef struct
{
  const char *path;
  guint64 start, length, offset;
  guint32 major, minor;
  guint64 inode;
} File;

static File files[] = {
  { "/bin/true", 0x555555554000, 0x4000, 0x2000, 0, 0, 0 },
  { "/lib64/ld-linux-x86-64.so.2", 0x7ffff7fc5000, 0x26000, 0x1000, 0, 0, 0 },
  { "[vdso]", 0x7ffff7fc1000, 0x2000, 0, 0, 0, 0 },
  { "/lib/x86_64-linux-gnu/libc.so.6", 0x7ffff7df8000, 0x155000, 0x26000, 0, 0, 0 },
};

typedef struct
{
  LuSource base;
  guint batch, n_samples, n_rounds, round;
  guint64 events, begin_ns, drain_ns, cold_ns;
  gboolean is_read;
  LuEventFunc func;
  gpointer user_data;
} Source;

static guint8 cold[COLD_BYTES];
static struct
{
  char name[32];
  gint64 ns;
} threads[16];
static guint n_threads;

/* Adds (sign) the CPU time of each thread so far. */
static void
read_threads (gint sign)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *comm_path = g_build_filename ("/proc/self/task", name, "comm", NULL);
      g_autofree char *stat_path = g_build_filename ("/proc/self/task", name, "schedstat", NULL);
      g_autofree char *comm = NULL, *text = NULL;
      guint i = 0;

      if (!g_file_get_contents (comm_path, &comm, NULL, NULL)
          || !g_file_get_contents (stat_path, &text, NULL, NULL))
        continue;
      g_strchomp (comm);
      while (i < n_threads && strcmp (threads[i].name, comm) != 0)
        i++;
      if (i == G_N_ELEMENTS (threads))
        continue;
      n_threads = MAX (n_threads, i + 1);
      g_strlcpy (threads[i].name, comm, sizeof threads[i].name);
      threads[i].ns += sign * g_ascii_strtoll (text, NULL, 10);
    }
}

static void
find_files (const char *program)
{
  files[0].path = program;
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      struct stat info;
      char *real = realpath (files[i].path, NULL);

      if (real == NULL || stat (real, &info) != 0)
        continue;
      files[i].path = real;
      files[i].major = major (info.st_dev);
      files[i].minor = minor (info.st_dev);
      files[i].inode = info.st_ino;
    }
}

static void
send_event (Source *self, LuEvent *event)
{
  self->events++;
  self->func (event, self->user_data);
}

static void
begin_process (Source *self, gint32 pid, guint64 time)
{
  LuEvent event = { .kind = LU_EVENT_FORK, .pid = pid, .tid = pid, .time = time };

  event.task.parent_pid = event.task.parent_tid = PARENT;
  send_event (self, &event);
  event = (LuEvent){ .kind = LU_EVENT_COMM, .pid = pid, .tid = pid, .time = time + 100 };
  event.comm.name = "true";
  event.comm.is_exec = TRUE;
  send_event (self, &event);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      const File *file = &files[i];

      event = (LuEvent){ .kind = LU_EVENT_MMAP, .pid = pid, .tid = pid, .time = time + 200 + i };
      event.mmap = (LuMmapEvent){ .start = file->start,
                                  .length = file->length,
                                  .file_offset = file->offset,
                                  .major = file->major,
                                  .minor = file->minor,
                                  .inode = file->inode,
                                  .has_inode = TRUE,
                                  .prot = PROT_READ | PROT_EXEC,
                                  .path = file->path };
      send_event (self, &event);
    }
}

static void
end_process (Source *self, gint32 pid, guint64 time)
{
  LuEvent event = { .kind = LU_EVENT_EXIT, .pid = pid, .tid = pid, .time = time };

  send_event (self, &event);
}

static void
sample_process (Source *self, gint32 pid, guint64 time)
{
  LuEvent event = { .kind = LU_EVENT_BPF_UNWOUND, .pid = pid, .tid = pid, .time = time, .cpu = 1 };
  guint64 pcs[N_FRAMES], marks = 0;

  for (guint i = 0; i < N_FRAMES; i++)
    {
      const File *file = &files[i % 3 == 2 ? 0 : 3];

      pcs[i] = file->start + ((guint64) (guint) rand () % file->length);
      marks |= lu_bpf_vma_mark (file->inode, lu_bpf_device (file->major, file->minor),
                                file->start - file->offset);
    }
  event.bpf_unwound = (LuBpfUnwoundStack){ .status = LU_STATUS_COMPLETE,
                                           .serial = marks,
                                           .flags = LU_BPF_RECORD_VMAS,
                                           .n_user = N_FRAMES,
                                           .sp = 0x7000,
                                           .pcs = (const guint8 *) pcs };
  send_event (self, &event);
}

static gint32
pid_of (guint n)
{
  return FIRST + (gint32) (n % N_PIDS);
}

static LuRound
bench_drain (LuSource *source, LuEventFunc func, gpointer user_data)
{
  Source *self = (Source *) source;
  guint64 now = lu_monotonic_ns () - 2 * ROUND_US * 1000, at = lu_thread_cpu_ns ();
  guint first = self->round * self->batch;

  self->func = func;
  self->user_data = user_data;
  if (self->round == N_WARM)
    self->begin_ns = at;
  if (self->round == N_WARM + N_ROUNDS)
    {
      __atomic_store_n (&self->drain_ns, at - self->begin_ns - self->cold_ns, __ATOMIC_RELEASE);
      while (!__atomic_load_n (&self->is_read, __ATOMIC_ACQUIRE))
        g_usleep (ROUND_US);
      return LU_ROUND_END;
    }
  for (guint i = 0; i < self->batch; i++)
    {
      begin_process (self, pid_of (first + i), now + i * 10000);
      if (self->round >= self->n_rounds)
        end_process (self, pid_of (first + i - self->n_rounds * self->batch),
                     now + i * 10000 + 5000);
    }
  for (guint i = 0; i < self->batch * self->n_samples / (self->n_rounds + 1); i++)
    for (guint r = 0; r <= MIN (self->n_rounds, self->round); r++)
      sample_process (self, pid_of (first - r * self->batch + i % self->batch),
                      now + (i % self->batch) * 10000 + 4000);
  self->round++;
  return LU_ROUND_CLOSED;
}

static void
bench_wait (LuSource *source, int wake_fd, int timeout_ms)
{
  Source *self = (Source *) source;
  guint64 begin = lu_thread_cpu_ns ();

  for (gsize at = 0; at < sizeof cold; at += 64)
    cold[at]++;
  g_usleep (ROUND_US);
  if (self->round > N_WARM)
    self->cold_ns += lu_thread_cpu_ns () - begin;
}

static gboolean
bench_start (LuSource *source, GError **error)
{
  return TRUE;
}

static void
bench_stop (LuSource *source)
{
}

static void
bench_get_info (LuSource *source, LuSourceInfo *info)
{
  static const LuEventInfo event = { .name = "bench", .unit = LU_UNIT_TIME };

  *info = (LuSourceInfo){ .events = &event, .n_events = 1, .live = TRUE, .batches_itself = TRUE };
}

static const LuSourceOps bench_ops = {
  .name = "bench",
  .start = bench_start,
  .drain = bench_drain,
  .wait = bench_wait,
  .stop = bench_stop,
  .get_info = bench_get_info,
  .free = bench_stop,
};

static LuBpfMaps *
open_maps (LuBpfProgram **program, LuTables *tables)
{
  const LuBpfProgramOptions options = { .n_cpus = 1, .max_entries = LU_BPF_MEMORY_MIB };
  LuBpfMapsOptions maps_options = {
    .memory_mib = LU_BPF_MEMORY_MIB, .sampling_ns = 1000000, .tables = tables, .follow_all = TRUE
  };
  g_autoptr (GError) error = NULL;
  LuBpfBacking *backing;

  *program = lu_bpf_program_new (&options, &error);
  maps_options.has_vmas = *program != NULL && (lu_bpf_program_flags (*program) & LU_BPF_VMAS) != 0;
  backing = *program != NULL ? lu_bpf_backing_kernel_new (*program, &error) : NULL;
  if (backing == NULL)
    fprintf (stderr, "no walks in the kernel: %s\n", error->message);
  return backing != NULL ? lu_bpf_maps_new (backing, &maps_options) : NULL;
}

int
main (int argc, char **argv)
{
  Source source = { .base.ops = &bench_ops,
                    .batch = argc > 2 ? (guint) atoi (argv[2]) : 16,
                    .n_samples = argc > 3 ? (guint) atoi (argv[3]) : 1,
                    .n_rounds = argc > 4 ? (guint) atoi (argv[4]) : 0 };
  LuCopySize *copy_size = lu_copy_size_new (&source.base, 0, FALSE);
  const LuDrainOptions options = { .follow_all = TRUE, .copy_size = copy_size };
  const LuRecording recording = { .start_time = 1, .command = "bench", .engine = "bpf" };
  int ended_fd = open ("/dev/null", O_WRONLY | O_CLOEXEC),
      fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  LuQueue *to_worker = lu_queue_new (QUEUE_BYTES), *to_writer = lu_queue_new (QUEUE_BYTES),
          *from_worker = lu_queue_new (QUEUE_BYTES);
  g_autoptr (GError) error = NULL;
  LuTables *tables = lu_tables_new (NULL, 16u << 20);
  LuWorker *worker = lu_worker_new (lu_unwinder_table.new(&error),
                                    &(LuWorkerOptions){ .input = to_worker,
                                                        .output = from_worker,
                                                        .tables = tables,
                                                        .live = TRUE,
                                                        .own_mounts_are_known = TRUE });
  LuSink *sink = lu_syscap_sink_new_for_client (fd, "/dev/null", -1);
  LuWriter *writer = lu_writer_new (to_writer, from_worker, copy_size, TRUE, -1);
  LuDispatch *dispatch = lu_dispatch_new (to_worker, to_writer, copy_size, TRUE, TRUE);
  LuDrain *drain = lu_drain_new (&source.base, dispatch, writer, &options, ended_fd);
  LuBpfProgram *program = NULL;
  LuBpfMaps *maps;

  find_files (argc > 1 ? argv[1] : "/bin/true");
  maps = open_maps (&program, tables);
  lu_drain_set_maps (drain, maps);
  if (!lu_writer_begin (writer, sink, NULL, &recording, &error))
    g_error ("%s", error->message);
  lu_writer_start (writer);
  lu_worker_start (worker);
  if (!lu_drain_start (drain, &error))
    g_error ("%s", error->message);
  while (__atomic_load_n (&source.round, __ATOMIC_RELAXED) <= N_WARM)
    g_usleep (ROUND_US);
  read_threads (-1);
  while (__atomic_load_n (&source.drain_ns, __ATOMIC_ACQUIRE) == 0)
    g_usleep (10 * ROUND_US);
  read_threads (1);
  __atomic_store_n (&source.is_read, TRUE, __ATOMIC_RELEASE);
  printf ("{\"processes\":%u,\"drain\":%.0f", source.batch * N_ROUNDS,
          (double) source.drain_ns / (source.batch * N_ROUNDS));
  for (guint i = 0; i < n_threads; i++)
    if (strcmp (threads[i].name, "drain") != 0 && strcmp (threads[i].name, "bench-processes") != 0)
      printf (",\"%s\":%.0f", threads[i].name, (double) threads[i].ns / (source.batch * N_ROUNDS));
  puts ("}");
  lu_drain_stop (drain);
  lu_worker_join (worker, -1);
  lu_writer_join (writer);
  lu_drain_free (drain);
  lu_bpf_maps_free (maps);
  lu_bpf_program_free (program);
  lu_worker_free (worker);
  lu_tables_free (tables);
  lu_writer_free (writer);
  lu_copy_size_free (copy_size);
  return 0;
}
