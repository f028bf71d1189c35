/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-publish.c TOWER - src/bpf/backing-kernel.c and its users with the program in this kernel: a
 * process that already runs is walked once its tables have been requested, and is not walked after
 * its exit; memory is taken and given back. Skips where no program can be loaded. */

#include "base/error.h"
#include "base/fd.h"
#include "bpf/backing-kernel.h"
#include "bpf/maps.h"
#include "input/perf-event.h"
#include "input/ring.h"
#include "live.h"
#include "module/opener.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#define CPU         0
#define PERIOD_NS   1000000
#define RING_BYTES  (4u << 20)
#define PATIENCE_US (10 * G_USEC_PER_SEC)
#define MEMORY_MIB  8
#define SKIP        77
#define N_OTHERS    40

typedef struct
{
  LuBpfProgram *program;
  LuBpfMaps *maps;
  LuTables *tables;
  LuOpener *opener;
  LuProcessTable *table;
  LuRing ring;
  int sampler_fd, output_fd;
} Fixture;

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer data)
{
  lu_opener_open (((Fixture *) data)->opener, module, lu_process_pid (process), start, end);
}

static void
address_space_changed (LuProcess *process, LuAddressSpace *space, LuAddressSpaceChange change,
                       gint32 parent_pid, gpointer data)
{
  lu_bpf_maps_address_space_changed (((Fixture *) data)->maps, process, change, parent_pid);
}

static const LuProcessTableFuncs funcs = { .module_added = module_added,
                                           .address_space_changed = address_space_changed };

static gboolean
open_maps (Fixture *self, GError **error)
{
  const LuBpfProgramOptions program_options = { .n_cpus = CPU + 1, .max_entries = MEMORY_MIB };
  LuBpfMapsOptions options = { .memory_mib = MEMORY_MIB,
                               .sampling_ns = PERIOD_NS,
                               .follow_all = TRUE };
  LuBpfBacking *backing;

  self->program = lu_bpf_program_new (&program_options, error);
  backing = self->program != NULL ? lu_bpf_backing_kernel_new (self->program, error) : NULL;
  if (backing == NULL || !lu_bpf_program_settle (self->program))
    return FALSE;
  options.tables = self->tables = lu_tables_new (NULL, LU_TABLES_BUDGET);
  self->maps = lu_bpf_maps_new (backing, &options);
  self->opener = lu_opener_new (TRUE, 64u << 20);
  lu_opener_set_tables (self->opener, self->tables);
  self->table = lu_process_table_new (FALSE, &funcs, self);
  return TRUE;
}

/* Opens the events as live.c does, but samples fall back without their stack: only counters are
 * checked. */
static gboolean
open_events (Fixture *self, gint32 pid, GError **error)
{
  struct perf_event_attr sampler = { .type = PERF_TYPE_SOFTWARE,
                                     .size = sizeof sampler,
                                     .config = PERF_COUNT_SW_CPU_CLOCK,
                                     .sample_period = PERIOD_NS,
                                     .sample_type = PERF_SAMPLE_IDENTIFIER,
                                     .disabled = 1,
                                     .use_clockid = 1,
                                     .clockid = CLOCK_MONOTONIC };
  struct perf_event_attr output = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof output,
                                    .config = PERF_COUNT_SW_BPF_OUTPUT,
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC };

  self->sampler_fd = lu_perf_open (&sampler, pid, CPU);
  self->output_fd = lu_perf_open (&output, -1, CPU);
  if (self->sampler_fd < 0 || self->output_fd < 0
      || !lu_ring_map (&self->ring, self->sampler_fd, RING_BYTES)
      || ioctl (self->output_fd, PERF_EVENT_IOC_SET_OUTPUT, self->sampler_fd) != 0
      || ioctl (self->output_fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "events: %s", g_strerror (errno));
      return FALSE;
    }
  return lu_bpf_program_set_output (self->program, CPU, self->output_fd, error)
         && lu_bpf_program_attach (self->program, self->sampler_fd, error)
         && ioctl (self->sampler_fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

static void
close_all (Fixture *self)
{
  lu_ring_unmap (&self->ring);
  lu_fd_clear (&self->sampler_fd);
  lu_fd_clear (&self->output_fd);
  lu_process_table_free (self->table);
  lu_bpf_maps_free (self->maps);
  lu_opener_free (self->opener);
  lu_tables_free (self->tables);
  lu_bpf_program_free (self->program);
}

/* A walk counts how it was done first, and its reason last: both are read while there is none. */
static void
sum_between_walks (Fixture *self, struct lu_bpf_counters *sum)
{
  ioctl (self->sampler_fd, PERF_EVENT_IOC_DISABLE, 0);
  lu_bpf_program_sum (self->program, sum);
  ioctl (self->sampler_fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* Runs the program for that long; returns the percentage of runs that were walked by what is
 * published. */
static double
walked_percent (Fixture *self, guint ms, guint64 *n_runs)
{
  struct lu_bpf_counters before, after;
  guint64 n_bpf_unwound;
  gint64 end;

  sum_between_walks (self, &before);
  end = g_get_monotonic_time () + ms * G_GINT64_CONSTANT (1000);
  while (g_get_monotonic_time () < end)
    {
      guint64 head = lu_ring_head (&self->ring);
      gboolean corrupt = FALSE;
      gsize size;

      lu_bpf_maps_flush (self->maps);
      while (lu_ring_peek (&self->ring, head, &size, &corrupt) != NULL)
        lu_ring_consume (&self->ring);
      g_usleep (2000);
    }
  sum_between_walks (self, &after);
  *n_runs = 0;
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    {
      guint64 n = after.reasons[i] - before.reasons[i];

      *n_runs += n;
      if (n > 0)
        printf ("# reason %u: %" G_GUINT64_FORMAT "\n", i, n);
    }
  n_bpf_unwound = after.reasons[LU_BPF_REASON_UNWOUND] - before.reasons[LU_BPF_REASON_UNWOUND]
                  - (after.values[LU_COUNTER_BPF_VMAS] - before.values[LU_COUNTER_BPF_VMAS]);
  return *n_runs > 0 ? 100.0 * (double) n_bpf_unwound / (double) *n_runs : 0;
}

static guint n_tests, n_failed;

static void
check (gboolean is_ok, const char *what)
{
  n_failed += !is_ok;
  printf ("%s %u - %s\n", is_ok ? "ok" : "not ok", ++n_tests, what);
}

static void
test_running (Fixture *self, gint32 pid)
{
  LuProcess *process;
  LuAddressSpace *space;
  LuCounters counters = { 0 };
  guint64 n_entries, bytes;
  guint64 n_runs;
  double percent;
  gint64 start = g_get_monotonic_time (), end = start + PATIENCE_US;

  walked_percent (self, 50, &n_runs);
  check (n_runs > 0, "it is sampled");
  /* The process is one of many, so that its own table is not there before the program requests it.
   */
  for (gint32 i = 0; i < N_OTHERS; i++)
    lu_process_table_follow (self->table, G_MAXINT32 - i);
  lu_process_table_follow (self->table, pid);
  lu_process_table_discover (self->table, pid, 1);
  if (lu_process_table_lookup (self->table, pid, G_MAXINT64, &process, &space))
    lu_process_table_announce (self->table, process);
  do
    percent = walked_percent (self, 20, &n_runs);
  while (percent < 99 && g_get_monotonic_time () < end);
  printf ("# walked after %" G_GINT64_FORMAT " ms\n", (g_get_monotonic_time () - start) / 1000);
  percent = walked_percent (self, 300, &n_runs);
  printf ("# %.1f %% of %" G_GUINT64_FORMAT " walked\n", percent, n_runs);
  check (n_runs > 0 && percent >= 95, "it is walked when it is known");
  lu_bpf_maps_add_counters (self->maps, &counters);
  n_entries = lu_counters_get (&counters, LU_COUNTER_MAPS_ENTRIES);
  bytes = lu_counters_get (&counters, LU_COUNTER_MAPS_MEMORY);
  printf ("# %" G_GUINT64_FORMAT " tables, %" G_GUINT64_FORMAT " rules, %" G_GUINT64_FORMAT
          " bytes of tables, %" G_GUINT64_FORMAT " of mappings, %" G_GUINT64_FORMAT
          " entries, %" G_GUINT64_FORMAT " bytes by the kernel\n",
          lu_counters_get (&counters, LU_COUNTER_MAPS_TABLES),
          lu_counters_get (&counters, LU_COUNTER_MAPS_RULES),
          lu_counters_get (&counters, LU_COUNTER_MAPS_TABLE_BYTES),
          lu_counters_get (&counters, LU_COUNTER_MAPS_MAPPING_BYTES), n_entries, bytes);
  check (lu_counters_get (&counters, LU_COUNTER_MAPS_TABLES) >= 2
             && lu_counters_get (&counters, LU_COUNTER_MAPS_PROCESSES) == N_OTHERS + 1,
         "its tables are counted");
  check (n_entries >= 1 && bytes >= n_entries * LU_BPF_ENTRY_BYTES, "the kernel's figure has them");
}

static void
test_gone (Fixture *self, gint32 pid)
{
  LuEvent exec = { .kind = LU_EVENT_COMM, .time = 10, .pid = pid, .tid = pid };
  guint64 n_runs;
  double percent;

  /* Claim that the process has called exec: all that was known of it is invalid. */
  exec.comm.name = "other";
  exec.comm.is_exec = 1;
  lu_process_table_apply (self->table, &exec);
  percent = walked_percent (self, 50, &n_runs);
  check (n_runs > 0 && percent == 0, "after an exec it is not walked by that");
}

int
main (int argc, char **argv)
{
  Fixture self = { .sampler_fd = -1, .output_fd = -1 };
  char *command[] = { argv[1], (char *) "20", NULL };
  g_autoptr (GError) error = NULL;
  gint32 pid;

  if (argc != 2)
    return 1;
  if (!open_maps (&self, &error))
    {
      gboolean is_refused = g_error_matches (error, LU_ERROR, LU_ERROR_REFUSED);

      printf (is_refused ? "Bail out! %s\n" : "1..0 # SKIP %s\n", error->message);
      return is_refused ? 1 : SKIP;
    }
  pid = live_spawn (command, CPU, 20);
  if (!open_events (&self, pid, &error))
    printf ("Bail out! %s\n", error->message);
  else
    {
      test_running (&self, pid);
      test_gone (&self, pid);
      printf ("1..%u\n", n_tests);
    }
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
  close_all (&self);
  return n_failed == 0 && n_tests > 0 ? 0 : 1;
}
