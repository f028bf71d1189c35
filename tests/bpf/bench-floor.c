/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bench-floor.c CPU NS MS COMMAND... - what the kernel's own walk along frame pointers costs, as
 * bench-walk.c measures ours. Prints one JSON line. */

#include "live.h"

#include "base/fd.h"
#include "input/perf-event.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "floor.skel.h"

static void
skip (LuRing *ring)
{
  guint64 head = lu_ring_head (ring);
  gboolean corrupt;
  gsize size;

  while (lu_ring_peek (ring, head, &size, &corrupt) != NULL)
    lu_ring_consume (ring);
}

static int
measure (struct floor_bpf *skeleton, gint32 pid, int cpu, guint64 period_ns, guint ms)
{
  struct perf_event_attr sampler = { .type = PERF_TYPE_SOFTWARE,
                                     .size = sizeof sampler,
                                     .config = PERF_COUNT_SW_CPU_CLOCK,
                                     .sample_period = period_ns,
                                     .sample_type = PERF_SAMPLE_IDENTIFIER,
                                     .disabled = 1 };
  struct perf_event_attr output = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof output,
                                    .config = PERF_COUNT_SW_BPF_OUTPUT,
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW };
  lu_autofd sampler_fd = lu_perf_open (&sampler, pid, cpu);
  lu_autofd output_fd = lu_perf_open (&output, -1, cpu);
  lu_autofd stats_fd = bpf_enable_stats (BPF_STATS_RUN_TIME);
  struct bpf_prog_info info = { 0 };
  guint32 info_size = sizeof info, zero = 0;
  guint64 totals[2] = { 0 };
  LuRing ring = { 0 };

  if (sampler_fd < 0 || output_fd < 0 || stats_fd < 0 || !lu_ring_map (&ring, sampler_fd, 8u << 20)
      || ioctl (output_fd, PERF_EVENT_IOC_SET_OUTPUT, sampler_fd) != 0
      || ioctl (output_fd, PERF_EVENT_IOC_ENABLE, 0) != 0
      || bpf_map_update_elem (bpf_map__fd (skeleton->maps.outputs), &cpu, &output_fd, BPF_ANY) != 0
      || ioctl (sampler_fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd (skeleton->progs.take_frames))
             != 0
      || ioctl (sampler_fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
    return 1;
  for (guint i = 0; i < ms; i += 20)
    {
      g_usleep (20000);
      skip (&ring);
    }
  bpf_obj_get_info_by_fd (bpf_program__fd (skeleton->progs.take_frames), &info, &info_size);
  bpf_map_lookup_elem (bpf_map__fd (skeleton->maps.totals), &zero, totals);
  printf ("{\"runs\":%llu,\"ns_per_run\":%.1f,\"frames\":%.1f,\"ns_per_frame\":%.1f}\n",
          (unsigned long long) info.run_cnt,
          (double) info.run_time_ns / (double) MAX (info.run_cnt, 1),
          (double) totals[1] / (double) MAX (totals[0], 1),
          (double) info.run_time_ns / (double) MAX (totals[1], 1));
  lu_ring_unmap (&ring);
  return 0;
}

int
main (int argc, char **argv)
{
  struct floor_bpf *skeleton = argc > 4 ? floor_bpf__open_and_load () : NULL;
  gint32 pid;
  int result;

  if (skeleton == NULL)
    return 1;
  pid = live_spawn (argv + 4, (guint) atoi (argv[1]), 40);
  result = measure (skeleton, pid, atoi (argv[1]), g_ascii_strtoull (argv[2], NULL, 10),
                    (guint) atoi (argv[3]));
  floor_bpf__destroy (skeleton);
  if (pid > 0)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
    }
  return result;
}
