/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bench-walk.c [OPTION...] -- COMMAND... - measures the cost of a walk in the kernel, on one
 * command that runs on one CPU (with --interpreters, of the functions, too): ns per walk and per
 * frame by the kernel's own statistics, the percentiles by the program's clock, and how walks end.
 * With --check every sample arrives, too, and its stack from the table engine is compared with the
 * one that BPF unwound. With --process the main thread of a running process is measured instead,
 * while it is on that CPU. Prints one JSON line. */

#include "live.h"

#include "base/json.h"
#include "unwind/unwinder.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define MAX_PRINTED 5

static int period_ns = 1003001, ms = 3000, wait_ms = 500, max_frames, stack_size = 65528;
static int command_cpu, process;
static gboolean is_check, is_timed, no_cache, has_reader;

static const GOptionEntry entries[] = {
  { "period", 0, 0, G_OPTION_ARG_INT, &period_ns, "ns between samples", "NS" },
  { "time", 0, 0, G_OPTION_ARG_INT, &ms, "how long", "MS" },
  { "wait", 0, 0, G_OPTION_ARG_INT, &wait_ms, "before that", "MS" },
  { "max-frames", 0, 0, G_OPTION_ARG_INT, &max_frames, "of a walk", "N" },
  { "stack-size", 0, 0, G_OPTION_ARG_INT, &stack_size, "of copies", "BYTES" },
  { "cpu", 0, 0, G_OPTION_ARG_INT, &command_cpu, "of the command", "N" },
  { "process", 0, 0, G_OPTION_ARG_INT, &process, "instead of a command", "PID" },
  { "check", 0, 0, G_OPTION_ARG_NONE, &is_check, "compare with the table engine", NULL },
  { "timed", 0, 0, G_OPTION_ARG_NONE, &is_timed, "percentiles, too", NULL },
  { "no-cache", 0, 0, G_OPTION_ARG_NONE, &no_cache, "remember no rules", NULL },
  { "interpreters", 0, 0, G_OPTION_ARG_NONE, &has_reader, "read their functions", NULL },
  { NULL },
};

static const char *const reasons[] = {
#define X(NAME, key, title) key,
  LU_BPF_REASON_LIST (X)
#undef X
};

typedef struct
{
  Live live;
  LuUnwinder *unwinder;
  LuStack stack;
  guint64 n_bpf_unwound, n_samples, n_lost, bytes;
  guint64 n_compared, n_different, n_incomplete;
  guint64 ends[LU_N_STATUS]; /* of samples that fell back; from the table engine */
  gboolean has_last;         /* a BPF-unwound stack whose sample is still to come */
  union
  {
    struct lu_bpf_record record;
    guint64 words[8192];
  } last;
} Bench;

static gboolean
is_same (Bench *self)
{
  const struct lu_bpf_record *record = &self->last.record;

  if (record->n_user != self->stack.n_frames)
    return FALSE;
  for (guint i = 0; i < record->n_user; i++)
    {
      guint64 pc = record->pcs[record->n_kernel + i];
      const LuFrame *frame = &self->stack.frames[i];

      if ((pc & LU_BPF_PC_MASK) != frame->pc
          || ((pc & LU_BPF_PC_RETURN) != 0) != ((frame->flags & LU_FRAME_RETURN_ADDRESS) != 0)
          || ((pc & LU_BPF_PC_INFERRED) != 0) != ((frame->flags & LU_FRAME_INFERRED) != 0))
        return FALSE;
    }
  return TRUE;
}

static void
print_difference (const Bench *self)
{
  const struct lu_bpf_record *record = &self->last.record;

  fprintf (stderr, "walked %u, table %u (%s)\n", record->n_user, self->stack.n_frames,
           lu_status_key (self->stack.status));
  for (guint i = 0; i < MAX (record->n_user, self->stack.n_frames) && i < 40; i++)
    fprintf (stderr, "  %16" G_GINT64_MODIFIER "x %16" G_GINT64_MODIFIER "x %x\n",
             i < record->n_user ? record->pcs[record->n_kernel + i] : 0,
             i < self->stack.n_frames ? self->stack.frames[i].pc : 0,
             i < self->stack.n_frames ? self->stack.frames[i].flags : 0);
}

static void
unwind (Bench *self, const LuSample *sample)
{
  lu_stack_reset (&self->stack);
  self->unwinder->ops->unwind (self->unwinder,
                               &(LuUnwindRequest){ .pid = self->live.pid,
                                                   .tid = self->live.pid,
                                                   .sample = sample,
                                                   .space = self->live.space },
                               &self->stack);
}

static void
compare (Bench *self, const LuSample *sample)
{
  unwind (self, sample);
  if (self->stack.status != LU_STATUS_COMPLETE)
    {
      self->n_incomplete++;
      return;
    }
  self->n_compared++;
  if (!is_same (self) && self->n_different++ < MAX_PRINTED)
    print_difference (self);
}

static void
take (const struct lu_bpf_record *record, const LuSample *sample, gpointer user_data)
{
  Bench *self = user_data;

  if (record != NULL)
    {
      guint n = record->n_kernel + record->n_user;

      self->n_bpf_unwound++;
      self->bytes += sizeof *record + n * sizeof record->pcs[0];
      if (is_check && record->status == LU_STATUS_COMPLETE)
        memcpy (&self->last, record, sizeof *record + n * sizeof record->pcs[0]);
      self->has_last = record->status == LU_STATUS_COMPLETE;
      return;
    }
  self->n_samples++;
  if (is_check && self->has_last && sample->regs.abi == LU_ABI_64 && sample->stack_size >= 8)
    compare (self, sample);
  else if (is_check && sample->regs.abi == LU_ABI_64 && sample->stack_size >= 8)
    {
      unwind (self, sample);
      self->ends[self->stack.status]++;
    }
  self->has_last = FALSE;
}

/* Returns the upper bound, in ns, of the bucket that contains the percentile `share` of all walks.
 */
static guint64
percentile (const struct lu_bpf_counters *counters, double share)
{
  guint64 all = 0, n = 0;

  for (guint i = 0; i < LU_BPF_N_BUCKETS; i++)
    all += counters->buckets[i];
  for (guint i = 0; i < LU_BPF_N_BUCKETS; i++)
    {
      n += counters->buckets[i];
      if (n > 0 && (double) n >= share * (double) all)
        return i == 0 ? 256 : (guint64) (4 + (i - 1) % 4 + 1) << (6 + (i - 1) / 4);
    }
  return 0;
}

static void
print_result (Bench *self, guint64 n_runs, guint64 ns)
{
  LuJson *json = lu_json_new ();
  g_autofree char *text = NULL;
  struct lu_bpf_counters counters;
  guint64 n_bpf_unwound;

  lu_bpf_program_sum (self->live.program, &counters);
  n_bpf_unwound =
      MAX (counters.reasons[LU_BPF_REASON_UNWOUND] + counters.reasons[LU_BPF_REASON_DEPTH], 1);
  lu_json_add_int (json, "runs", (gint64) n_runs);
  lu_json_add_double (json, "ns_per_run", (double) ns / (double) MAX (n_runs, 1));
  lu_json_add_double (json, "frames",
                      (double) counters.values[LU_COUNTER_BPF_FRAMES] / (double) n_bpf_unwound);
  lu_json_add_double (json, "ns_per_frame",
                      (double) ns / (double) MAX (counters.values[LU_COUNTER_BPF_FRAMES], 1));
  lu_json_add_double (json, "remembered",
                      (double) counters.values[LU_COUNTER_BPF_REMEMBERED]
                          / (double) MAX (counters.values[LU_COUNTER_BPF_FRAMES], 1));
  lu_json_add_double (json, "bytes",
                      (double) counters.values[LU_COUNTER_BPF_BYTES] / (double) n_bpf_unwound);
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    if (counters.reasons[i] > 0)
      lu_json_add_int (json, reasons[i], (gint64) counters.reasons[i]);
  lu_json_add_int (json, "guessed_frames", (gint64) counters.values[LU_COUNTER_BPF_INFERRED]);
  lu_json_add_int (json, "kernel_mode", (gint64) counters.values[LU_COUNTER_BPF_KERNEL_MODE]);
  lu_json_add_int (json, "chains", (gint64) counters.values[LU_COUNTER_BPF_CHAINS]);
  lu_json_add_int (json, "records", (gint64) self->n_bpf_unwound);
  lu_json_add_int (json, "samples", (gint64) self->n_samples);
  lu_json_add_int (json, "lost", (gint64) self->n_lost);
  lu_json_add_int (json, "verified", (gint64) lu_bpf_program_verified (self->live.program));
  lu_json_add_int (json, "map_bytes", (gint64) lu_bpf_program_memory (self->live.program));
  if (counters.failed_pc != 0)
    {
      g_autofree char *failed =
          g_strdup_printf ("%s at %" G_GINT64_MODIFIER "x, ELF %" G_GINT64_MODIFIER "x",
                           reasons[counters.failed_reason % LU_BPF_N_REASONS], counters.failed_pc,
                           counters.failed_ea);

      lu_json_add_string (json, "last_failure", failed);
    }
  if (is_check)
    {
      lu_json_add_int (json, "compared", (gint64) self->n_compared);
      lu_json_add_int (json, "different", (gint64) self->n_different);
      lu_json_add_int (json, "table_incomplete", (gint64) self->n_incomplete);
      for (guint i = 0; i < LU_N_STATUS; i++)
        if (self->ends[i] > 0)
          {
            g_autofree char *key = g_strdup_printf ("fallen_%s", lu_status_key ((LuStatus) i));

            lu_json_add_int (json, key, (gint64) self->ends[i]);
          }
    }
  if (is_timed)
    {
      lu_json_add_int (json, "p50", (gint64) percentile (&counters, 0.5));
      lu_json_add_int (json, "p90", (gint64) percentile (&counters, 0.9));
      lu_json_add_int (json, "p99", (gint64) percentile (&counters, 0.99));
      lu_json_add_int (json, "max", (gint64) percentile (&counters, 1));
    }
  text = lu_json_end (json);
  printf ("%s\n", text);
}

static gboolean
run (Bench *self, char **argv, GError **error)
{
  LuBpfProgramOptions program = { .flags = (is_check ? LU_BPF_CHECK : 0)
                                           | (is_timed ? LU_BPF_TIME_WALKS : 0)
                                           | (no_cache ? LU_BPF_NO_CACHE : 0),
                                  .max_frames = (guint) max_frames,
                                  .n_cpus = g_get_num_processors () };
  LiveOptions options = { .program = &program,
                          .period_ns = (guint64) period_ns,
                          .stack_size = (guint) stack_size,
                          .cpu = (guint) command_cpu };
  gint32 pid = process > 0 ? process : live_spawn (argv, options.cpu, (guint) wait_ms);
  gboolean is_started = pid > 0 && live_start (&self->live, pid, &options, error);
  guint64 n_before = 0, ns_before = 0;

  if (is_started && has_reader)
    {
      lu_bpf_program_read_interpreters (self->live.program);
      lu_bpf_program_runs (self->live.program, &n_before, &ns_before);
    }

  if (is_started)
    {
      guint64 n_runs = 0, ns = 0;

      for (int i = 0; i < ms; i += 20)
        {
          g_usleep (20000);
          self->n_lost += live_drain (&self->live, take, self);
        }
      lu_bpf_program_runs (self->live.program, &n_runs, &ns);
      print_result (self, n_runs - n_before, ns - ns_before);
    }
  live_stop (&self->live);
  if (pid > 0 && pid != process)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
    }
  return is_started;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("-- COMMAND...");
  g_autoptr (GError) error = NULL;
  g_autofree Bench *self = g_new0 (Bench, 1);
  gboolean is_ok;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || (argc < 2 && process <= 0))
    {
      fprintf (stderr, "bench-walk: %s\n", error != NULL ? error->message : "no command");
      return 1;
    }
  if (process <= 0)
    argv += strcmp (argv[1], "--") == 0 ? 2 : 1;
  self->unwinder = lu_unwinder_table.new(NULL);
  is_ok = run (self, argv, &error) && self->n_different == 0;
  if (error != NULL)
    fprintf (stderr, "bench-walk: %s\n", error->message);
  lu_unwinder_free (self->unwinder);
  return is_ok ? 0 : 1;
}
