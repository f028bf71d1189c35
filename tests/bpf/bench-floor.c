/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bench-floor.c CPU NS MS WHAT COMMAND... - measures the cost of the kernel's own walk along
 * frame pointers, as bench-walk.c measures ours (WHAT is "walk"), or of a read of user memory
 * ("read"). Prints one JSON line. */

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

/* As in floor.bpf.c. */
#define N_READS 100

static void
skip (LuRing *ring)
{
  guint64 head = lu_ring_head (ring);
  gboolean corrupt;
  gsize size;

  while (lu_ring_peek (ring, head, &size, &corrupt) != NULL)
    lu_ring_consume (ring);
}

/* One measurement. */
typedef struct
{
  struct floor_bpf *skeleton;
  struct bpf_program *program; /* of it */
  int cpu;
  guint64 period_ns;
  guint ms;
} Bench;

static void
print_result (const Bench *self)
{
  struct bpf_prog_info info = { 0 };
  guint32 info_size = sizeof info, zero = 0;
  guint64 totals[4] = { 0 };

  bpf_obj_get_info_by_fd (bpf_program__fd (self->program), &info, &info_size);
  bpf_map_lookup_elem (bpf_map__fd (self->skeleton->maps.totals), &zero, totals);
  if (self->program == self->skeleton->progs.take_times)
    printf ("{\"runs\":%llu,\"read_16_ns\":%.1f,\"read_page_ns\":%.1f}\n",
            (unsigned long long) info.run_cnt, (double) totals[2] / N_READS,
            (double) totals[3] / N_READS);
  else
    printf ("{\"runs\":%llu,\"ns_per_run\":%.1f,\"frames\":%.1f,\"ns_per_frame\":%.1f}\n",
            (unsigned long long) info.run_cnt,
            (double) info.run_time_ns / (double) MAX (info.run_cnt, 1),
            (double) totals[1] / (double) MAX (totals[0], 1),
            (double) info.run_time_ns / (double) MAX (totals[1], 1));
}

static int
measure (const Bench *self, gint32 pid)
{
  struct perf_event_attr sampler = { .type = PERF_TYPE_SOFTWARE,
                                     .size = sizeof sampler,
                                     .config = PERF_COUNT_SW_CPU_CLOCK,
                                     .sample_period = self->period_ns,
                                     .sample_type = PERF_SAMPLE_IDENTIFIER,
                                     .disabled = 1 };
  struct perf_event_attr output = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof output,
                                    .config = PERF_COUNT_SW_BPF_OUTPUT,
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW };
  lu_autofd sampler_fd = lu_perf_open (&sampler, pid, self->cpu);
  lu_autofd output_fd = lu_perf_open (&output, -1, self->cpu);
  lu_autofd stats_fd = bpf_enable_stats (BPF_STATS_RUN_TIME);
  LuRing ring = { 0 };

  if (sampler_fd < 0 || output_fd < 0 || stats_fd < 0 || !lu_ring_map (&ring, sampler_fd, 8u << 20)
      || ioctl (output_fd, PERF_EVENT_IOC_SET_OUTPUT, sampler_fd) != 0
      || ioctl (output_fd, PERF_EVENT_IOC_ENABLE, 0) != 0
      || bpf_map_update_elem (bpf_map__fd (self->skeleton->maps.outputs), &self->cpu, &output_fd,
                              BPF_ANY)
             != 0
      || ioctl (sampler_fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd (self->program)) != 0
      || ioctl (sampler_fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
    return 1;
  for (guint i = 0; i < self->ms; i += 20)
    {
      g_usleep (20000);
      skip (&ring);
    }
  print_result (self);
  lu_ring_unmap (&ring);
  return 0;
}

int
main (int argc, char **argv)
{
  Bench self = { .skeleton = argc > 5 ? floor_bpf__open_and_load () : NULL };
  gint32 pid;
  int result;

  if (self.skeleton == NULL)
    return 1;
  self.program = strcmp (argv[4], "read") == 0 ? self.skeleton->progs.take_times
                                               : self.skeleton->progs.take_frames;
  self.cpu = atoi (argv[1]);
  self.period_ns = g_ascii_strtoull (argv[2], NULL, 10);
  self.ms = (guint) atoi (argv[3]);
  pid = live_spawn (argv + 5, (guint) self.cpu, 40);
  result = measure (&self, pid);
  floor_bpf__destroy (self.skeleton);
  if (pid > 0)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
    }
  return result;
}
