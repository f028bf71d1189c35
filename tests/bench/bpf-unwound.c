/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf-unwound.c FILE [BATCH [PAUSE_MS [FRESH]]] - measures the cost of a BPF-unwound stack on its
 * way from its record into a capture: CPU time per stack of the drain's and of the writer's thread,
 * with BATCH records per round (200) and rounds PAUSE_MS apart (200); FRESH addresses of each stack
 * (0) are new, as in a compiler.
 *
 * The stacks resemble those of an interpreter: 31 frames in two files; the outer half is always the
 * same, the inner half is one of several hundred. Everything is cold between rounds, as behind a
 * program that uses the CPU. Prints one JSON line. */

#include "record/dispatch.h"
#include "lu/bpf.h"
#include "capture/syscap.h"
#include "process/process-private.h"
#include "record/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PID         1234
#define N_FRAMES    31
#define N_VARIANTS  300
#define N_ROUNDS    30
#define QUEUE_BYTES (32u << 20)
#define COLD_BYTES  (16u << 20)
#define PROGRAM     G_GUINT64_CONSTANT (0x555555554000)
#define LIBRARY     G_GUINT64_CONSTANT (0x7ffff7d00000)
#define CODE_BYTES  (4u << 20)

static LuQueue *to_worker, *to_writer, *from_worker;
static guint64 pcs[N_VARIANTS][N_FRAMES];
static guint8 cold[COLD_BYTES];

static guint64
cpu_ns (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (guint64) now.tv_sec * 1000000000 + (guint64) now.tv_nsec;
}

static void
map (LuProcess *process, guint64 start, const char *path)
{
  const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = path };
  LuMapping mapping = { .start = start, .end = start + CODE_BYTES };

  mapping.module = lu_module_new (&key);
  lu_process_add_mapping (process, 1, &mapping);
  lu_module_unref (mapping.module);
}

static void
make_stacks (void)
{
  for (guint i = 0; i < N_VARIANTS; i++)
    for (guint j = 0; j < N_FRAMES; j++)
      {
        guint64 seed = (j < N_FRAMES / 2 ? (guint64) i << 8 : 0) + j;
        guint64 place = seed * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) >> 42;

        pcs[i][j] = (j % 5 == 0 ? PROGRAM : LIBRARY) + place % CODE_BYTES;
        if (j > 0)
          pcs[i][j] |= LU_BPF_PC_RETURN;
      }
}

static const guint8 *
next_stack (guint fresh)
{
  static guint64 stack[N_FRAMES];
  const guint64 *variant = pcs[rand () % N_VARIANTS];

  if (fresh == 0)
    return (const guint8 *) variant;
  memcpy (stack, variant, sizeof stack);
  for (guint i = 0; i < MIN (fresh, N_FRAMES / 2); i++)
    stack[i] = PROGRAM + (guint) rand () % CODE_BYTES;
  return (const guint8 *) stack;
}

/* CPU time of this thread. */
static guint64
take_round (LuDispatch *dispatch, LuProcess *process, guint batch, guint fresh, guint64 *time)
{
  LuEvent event = { .kind = LU_EVENT_BPF_UNWOUND, .cpu = 1, .pid = PID, .tid = PID };
  const LuLocatedEvent located = { &event, process, lu_process_address_space (process) };
  guint64 begin = cpu_ns (CLOCK_THREAD_CPUTIME_ID);

  for (guint i = 0; i < batch; i++)
    {
      event.time = *time += 1000000;
      event.bpf_unwound = (LuBpfUnwoundStack){ .status = LU_STATUS_COMPLETE,
                                               .serial = lu_address_space_serial (located.space),
                                               .sp = 0x7000,
                                               .n_user = N_FRAMES,
                                               .pcs = next_stack (fresh) };
      while (lu_dispatch_bpf_unwound (dispatch, &located) == LU_DISPATCH_NO_ROOM)
        {
          lu_dispatch_end_round (dispatch);
          g_usleep (500);
        }
    }
  lu_dispatch_end_round (dispatch);
  return cpu_ns (CLOCK_THREAD_CPUTIME_ID) - begin;
}

int
main (int argc, char **argv)
{
  guint batch = argc > 2 ? (guint) atoi (argv[2]) : 200,
        pause_ms = argc > 3 ? (guint) atoi (argv[3]) : 200,
        fresh = argc > 4 ? (guint) atoi (argv[4]) : 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (LuAddressSpace) space = lu_address_space_new ();
  g_autoptr (LuProcess) process = lu_process_new (PID, 0, "x", space);
  const LuRecording recording = { .start_time = 1, .command = "bench", .engine = "bpf" };
  int fd = argc > 1 ? open (argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  LuSink *sink = fd >= 0 ? lu_syscap_sink_new_with_kallsyms (fd, "/dev/null") : NULL;
  LuDispatch *dispatch;
  LuWriter *writer;
  guint64 drain_ns = 0, all_ns, time = 1000, n = 0;

  if (sink == NULL)
    return 1;
  map (process, PROGRAM, "/bin/program");
  map (process, LIBRARY, "/lib/library");
  make_stacks ();
  to_worker = lu_queue_new (QUEUE_BYTES);
  to_writer = lu_queue_new (QUEUE_BYTES);
  from_worker = lu_queue_new (QUEUE_BYTES);
  dispatch = lu_dispatch_new (to_worker, to_writer, NULL, FALSE, TRUE);
  writer = lu_writer_new (to_writer, from_worker, NULL, TRUE, -1);
  if (!lu_writer_begin (writer, sink, NULL, &recording, &error))
    g_error ("%s", error->message);
  lu_writer_start (writer);
  take_round (dispatch, process, batch, fresh, &time);
  g_usleep (pause_ms * 1000);
  all_ns = cpu_ns (CLOCK_PROCESS_CPUTIME_ID);
  for (guint i = 0; i < N_ROUNDS; i++)
    {
      guint64 begin = cpu_ns (CLOCK_THREAD_CPUTIME_ID), spent;

      for (gsize at = 0; at < sizeof cold; at += 64)
        cold[at]++;
      spent = cpu_ns (CLOCK_THREAD_CPUTIME_ID) - begin;
      drain_ns += take_round (dispatch, process, batch, fresh, &time);
      n += batch;
      all_ns += spent;
      g_usleep (pause_ms * 1000);
    }
  all_ns = cpu_ns (CLOCK_PROCESS_CPUTIME_ID) - all_ns;
  printf ("{\"stacks\":%" G_GUINT64_FORMAT ",\"drain_ns\":%.0f,\"writer_ns\":%.0f}\n", n,
          (double) drain_ns / (double) n, (double) (all_ns - drain_ns) / (double) n);
  lu_dispatch_close (dispatch);
  lu_queue_close (from_worker);
  lu_writer_join (writer);
  lu_writer_free (writer);
  lu_dispatch_free (dispatch);
  return 0;
}
