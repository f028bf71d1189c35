/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-program.c TOWER WILD - the BPF program in this kernel: it loads whatever signals arrive,
 * walks known stacks to their end, respects the limit for deep ones, and reports no wrong frame of
 * a process that does all it can to mislead it. TAP; skips where programs cannot be loaded.
 *
 * TOWER, WILD: the programs of these names. Each sample arrives as well (LU_BPF_CHECK), and the
 * table engine has to find the same stack. */

#include "live.h"

#include "base/error.h"
#include "unwind/unwinder.h"
#include "record/bpf-unwound.h"
#include "../unit/directory.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define SKIP        77
#define PERIOD_NS   500009
#define ENOUGH_RUNS 100
#define MIN_RUNS    20
/* A tower's rules are remembered, except that of a signal frame in each walk, and the first ones.
 */
#define FRAMES_LOOKED_UP 32
#define START_MS         40 /* of CPU time, until a program has reached its loop */
#define FAMILY_MS        400 /* until it has its child, or waits for the signal, also under emulation */
#define MAX_MS           3000
#define SMALL_RING       (16u << 10)

typedef struct
{
  const char *name;
  const char *depth; /* of the tower; NULL: the wild program */
  const char *what;
  guint max_frames;
  guint stack_size;
  guint min_frames; /* of a BPF-unwound stack */
  gboolean is_deep; /* every walk has to end at the limit */
  gboolean execs;   /* half-way, without an event for us */
  guint64
      budget_ns; /* too little for any walk: each has to stop, and its sample has to come instead */
  gboolean has_reader; /* a program that also reads interpreters takes the place of the first one */
} Case;

static const Case cases[] = {
  { "10 calls deep", "10", NULL, 0, 65528, 10, FALSE },
  { "400 calls deep, whatever is copied", "400", NULL, 0, 512, 400, FALSE },
  { "2,000 calls deep", "2000", NULL, LU_BPF_MAX_FRAMES, 65528, 2000, FALSE },
  { "2,000 calls deep, and the limit", "2000", NULL, 1000, 512, 1000, TRUE },
  { "in the kernel", "10", "calls", 0, 65528, 10, FALSE },
  { "in a handler on a stack of its own", "10", "signals", 0, 65528, 10, FALSE },
  { "at odd words up to the end of a page", "1000", "edge", 1100, 65528, 1000, FALSE },
  /* Between the towers the stack has no more than the ten below them. */
  { "two towers in the same places", "10", "turns", 0, 65528, 10, FALSE },
  { "a new program that nobody has heard of", "10", NULL, 0, 65528, 10, FALSE, TRUE },
  { "400 calls deep, and no time for them", "400", NULL, 0, 65528, 0, FALSE, FALSE, 1000 },
  { "400 calls deep, with the part for interpreters", "400", NULL, 0, 512, 400, FALSE, FALSE, 0,
    TRUE },
  { "registers and stack that mislead", NULL, NULL, 0, 65528, 0, FALSE },
};

typedef struct
{
  const Case *test;
  Live live;
  LuUnwinder *unwinder;
  LuStack stack;
  guint64 n_before, n_fallen_before;
  guint n_bpf_unwound, n_short, n_bad, n_different, n_lost, n_incomplete;
  gboolean has_heirs; /* count walks of children that were not announced in: */
  guint n_heirs;
  guint n_samples;
  guint n_made_up; /* stacks that the table engine finished, where walks had no time */
  gboolean has_last;
  union
  {
    struct lu_bpf_record record;
    guint64 words[8192];
  } last;
} Run;

static guint n_tests, n_failed;

static void
report (gboolean is_ok, const char *name, const char *text)
{
  n_failed += !is_ok;
  printf ("%s %u - %s: %s\n", is_ok ? "ok" : "not ok", ++n_tests, name, text);
  fflush (stdout);
}

/* Checks the promises of the record itself. */
static gboolean
is_sound (Run *self, const struct lu_bpf_record *record)
{
  guint limit = self->test->max_frames != 0 ? self->test->max_frames : LU_BPF_DEFAULT_FRAMES;
  gboolean is_kernel = (record->flags & LU_BPF_RECORD_KERNEL) != 0;

  if (record->version != LU_BPF_VERSION || record->n_user == 0 || record->n_user > limit
      || record->n_kernel > LU_BPF_MAX_KERNEL
      || (!self->has_heirs && record->pid != (guint32) self->live.pid)
      || (record->n_kernel > 0) != is_kernel
      || record->ip != record->pcs[0] /* the kernel's, or the leaf's, which is no return address */
      || record->serial != lu_address_space_serial (self->live.space)
      || (record->status != LU_STATUS_COMPLETE && record->n_user != limit))
    return FALSE;
  for (guint i = 0; i < record->n_user; i++)
    {
      guint64 pc = record->pcs[record->n_kernel + i];
      guint64 is_return = pc >> 63;

      if (lu_address_space_find (self->live.space, (pc & LU_BPF_PC_MASK) - is_return) == NULL)
        return FALSE;
    }
  return TRUE;
}

static gboolean
is_same (const Run *self)
{
  const struct lu_bpf_record *record = &self->last.record;

  if (record->n_user != self->stack.n_frames)
    return FALSE;
  for (guint i = 0; i < record->n_user; i++)
    if ((record->pcs[record->n_kernel + i] & LU_BPF_PC_MASK) != self->stack.frames[i].pc)
      return FALSE;
  return TRUE;
}

static void
take (const struct lu_bpf_record *record, const LuSample *sample, gpointer user_data)
{
  Run *self = user_data;

  if (record != NULL)
    {
      gsize size = sizeof *record + (record->n_kernel + record->n_user) * sizeof record->pcs[0];

      self->n_bpf_unwound++;
      self->n_heirs += record->pid != (guint32) self->live.pid;
      self->n_bad += !is_sound (self, record);
      self->n_short += self->test->is_deep ? record->status != LU_STATUS_DEPTH_LIMIT
                                           : record->n_user < self->test->min_frames;
      self->has_last = size <= sizeof self->last && record->status == LU_STATUS_COMPLETE;
      if (self->has_last)
        memcpy (&self->last, record, size);
      return;
    }
  self->n_samples++;
  if (self->unwinder != NULL && (self->has_last || self->test->budget_ns > 0)
      && sample->regs.abi == LU_ABI_64 && sample->stack_size >= 8)
    {
      lu_stack_reset (&self->stack);
      self->unwinder->ops->unwind (self->unwinder,
                                   &(LuUnwindRequest){ .pid = self->live.pid,
                                                       .tid = self->live.pid,
                                                       .sample = sample,
                                                       .space = self->live.space },
                                   &self->stack);
      if (self->stack.status != LU_STATUS_COMPLETE)
        self->n_incomplete++;
      else if (self->has_last)
        self->n_different += !is_same (self);
      else
        self->n_made_up++;
    }
  self->has_last = FALSE;
}

/* Returns the runs of the program so far, except those outside its reach before Linux 5.15. */
static guint64
n_runs (const Run *self, struct lu_bpf_counters *counters)
{
  guint64 n = 0;

  lu_bpf_program_sum (self->live.program, counters);
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    n += counters->reasons[i];
  if ((lu_bpf_program_flags (self->live.program) & LU_BPF_TASK_REGS) == 0)
    n -= counters->reasons[LU_BPF_REASON_NO_REGS];
  return n;
}

/* Returns the runs without a record of a stack. */
static guint64
n_fallen_of (guint64 n, const struct lu_bpf_counters *counters)
{
  return n - counters->reasons[LU_BPF_REASON_UNWOUND] - counters->reasons[LU_BPF_REASON_DEPTH];
}

/* Nobody reads the ring while the part for interpreters loads, which takes seconds under emulation:
 * runs up to here do not count. */
static void
begin_anew (Run *self)
{
  struct lu_bpf_counters counters;

  live_drain (&self->live, take, self);
  self->n_before = n_runs (self, &counters);
  self->n_fallen_before = n_fallen_of (self->n_before, &counters);
}

static void
judge (Run *self)
{
  struct lu_bpf_counters counters;
  g_autofree char *text = NULL;
  guint64 n = n_runs (self, &counters), n_fallen;
  guint64 n_frames = counters.values[LU_COUNTER_BPF_FRAMES];
  guint64 n_looked_up = n_frames - counters.values[LU_COUNTER_BPF_REMEMBERED];
  gboolean is_ok;

  n_fallen = n_fallen_of (n, &counters) - self->n_fallen_before;
  text = g_strdup_printf ("%" G_GUINT64_FORMAT " runs, %u walked, %u too short, %u unsound, %u not "
                          "as the table engine says, %u lost, %" G_GUINT64_FORMAT " of "
                          "%" G_GUINT64_FORMAT " frames looked up",
                          n, self->n_bpf_unwound, self->n_short, self->n_bad, self->n_different,
                          self->n_lost, n_looked_up, n_frames);
  is_ok = n >= MIN_RUNS && self->n_bad == 0 && self->n_different == 0;
  if (self->test->execs)
    {
      n_fallen -= counters.reasons[LU_BPF_REASON_STALE_PROCESS];
      is_ok = is_ok && counters.reasons[LU_BPF_REASON_STALE_PROCESS] >= MIN_RUNS;
    }
  if (self->test->depth == NULL)
    is_ok = is_ok && n_fallen >= MIN_RUNS;
  else
    is_ok = is_ok && n_fallen * 20 <= n - self->n_before && self->n_short == 0
            && n_looked_up <= n + FRAMES_LOOKED_UP;
  report (is_ok, self->test->name, text);
}

/* A stopped walk leaves no record, its sample arrives, and it is counted with its reason. */
static void
judge_stopped (Run *self)
{
  struct lu_bpf_counters counters;
  guint64 n = n_runs (self, &counters), n_stopped = counters.reasons[LU_BPF_REASON_BUDGET];
  g_autofree char *text = NULL;

  self->n_lost += live_drain (&self->live, take, self);
  text = g_strdup_printf ("%" G_GUINT64_FORMAT " runs, %" G_GUINT64_FORMAT
                          " stopped, %u of their samples finished, %u not, %u lost",
                          n, n_stopped, self->n_made_up, self->n_incomplete, self->n_lost);
  report (n >= MIN_RUNS && n_stopped * 20 >= n * 19 && self->n_bpf_unwound <= n - n_stopped
              && self->n_made_up * 20 >= n_stopped * 19 && self->n_incomplete == 0
              && self->n_lost == 0,
          self->test->name, text);
}

static gboolean
has_enough (const Run *self)
{
  struct lu_bpf_counters counters;

  return n_runs (self, &counters) - self->n_before >= ENOUGH_RUNS
         && (!self->test->execs || counters.reasons[LU_BPF_REASON_STALE_PROCESS] >= MIN_RUNS);
}

static void
run_case (const Case *test, char *tower, char *wild, LuUnwinder *unwinder)
{
  LuBpfProgramOptions program = { .flags = LU_BPF_CHECK,
                                  .max_frames = test->max_frames,
                                  .budget_ns = test->budget_ns,
                                  .n_cpus = g_get_num_processors () };
  LiveOptions options = { .program = &program,
                          .period_ns = PERIOD_NS,
                          .stack_size = test->stack_size };
  char *argv[] = { test->depth != NULL ? tower : wild, (char *) test->depth, (char *) test->what,
                   NULL };
  g_autoptr (GError) error = NULL;
  struct lu_bpf_counters counters;
  g_autofree Run *self = g_new0 (Run, 1);
  gint32 pid = live_spawn (argv, options.cpu, START_MS);
  gboolean is_gone = FALSE;

  self->test = test;
  self->unwinder = unwinder;
  if (pid > 0 && live_start (&self->live, pid, &options, &error))
    {
      if (test->has_reader && lu_bpf_program_read_interpreters (self->live.program) != 0)
        report (FALSE, test->name, "the part for interpreters does not load");
      if (test->has_reader)
        begin_anew (self);
      for (guint i = 0; i < MAX_MS / 20 && (i == 0 || !has_enough (self)); i++)
        {
          g_usleep (20000);
          self->n_lost += live_drain (&self->live, take, self);
          if (test->execs && !is_gone && n_runs (self, &counters) >= ENOUGH_RUNS / 2)
            is_gone = kill (pid, SIGUSR1) == 0;
        }
      if (test->budget_ns > 0)
        judge_stopped (self);
      else
        judge (self);
    }
  else
    report (FALSE, test->name, error != NULL ? error->message : "cannot be started");
  live_stop (&self->live);
  if (pid > 0)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
    }
}

/* Processes that we do not follow share the CPU with one that we do, and with its child; we follow
 * only a child that it has later, which is walked by its parent's mappings. */
static void
follow_one (char *tower, const char *name, const char *what, gboolean has_heir)
{
  LuBpfProgramOptions program = { .flags = LU_BPF_FOLLOW, .n_cpus = g_get_num_processors () };
  LiveOptions options = {
    .program = &program, .period_ns = PERIOD_NS, .stack_size = 512, .all = TRUE
  };
  char *argv[] = { tower, (char *) "10", (char *) what, NULL };
  g_autoptr (GError) error = NULL;
  g_autofree Run *self = g_new0 (Run, 1);
  gint32 other = live_spawn (argv, options.cpu, START_MS / 4);
  gint32 pid = live_spawn (argv, options.cpu, what != NULL ? FAMILY_MS : START_MS);
  struct lu_bpf_counters counters = { 0 };
  const guint64 *reasons = counters.reasons;
  g_autofree char *text = NULL;

  self->test = &cases[0];
  self->has_heirs = has_heir;
  if (live_start (&self->live, pid, &options, &error))
    for (guint i = 0; i < MAX_MS / 20 && n_runs (self, &counters) < 4 * ENOUGH_RUNS; i++)
      {
        g_usleep (20000);
        live_drain (&self->live, take, self);
        lu_bpf_program_sum (self->live.program, &counters);
        if (i == 0 && has_heir)
          kill (pid, SIGUSR1);
      }
  text = g_strdup_printf ("%" G_GUINT64_FORMAT " walked, %u of them of unknown children, "
                          "%" G_GUINT64_FORMAT " passed over, %" G_GUINT64_FORMAT " unknown",
                          reasons[LU_BPF_REASON_UNWOUND], self->n_heirs,
                          reasons[LU_BPF_REASON_NOT_FOLLOWED], reasons[LU_BPF_REASON_NO_PROCESS]);
  report (reasons[LU_BPF_REASON_UNWOUND] > 0 && reasons[LU_BPF_REASON_NOT_FOLLOWED] > 0
              && (self->n_heirs > 0) == has_heir && reasons[LU_BPF_REASON_NO_PROCESS] == 0
              && self->n_bad == 0,
          name, error != NULL ? error->message : text);
  live_stop (&self->live);
  kill (pid, SIGKILL);
  kill (other, SIGKILL);
  while (waitpid (-1, NULL, 0) > 0 || errno == EINTR)
    ;
}

typedef struct
{
  LuProcessTable *table;
  LuProcess *process;    /* borrowed */
  LuAddressSpace *space; /* borrowed */
  gint32 pid;
  guint n_bpf_unwound, n_wrong;
} Unheard;

static void
take_unheard (const struct lu_bpf_record *record, const LuSample *sample, gpointer user_data)
{
  Unheard *self = user_data;
  LuEvent event = { .kind = LU_EVENT_BPF_UNWOUND };
  const LuLocatedEvent located = { &event, self->process, self->space };
  LuBpfUnwoundResult result;

  if (record == NULL || record->pid != (guint32) self->pid)
    return;
  event.bpf_unwound = (LuBpfUnwoundStack){ .status = (LuStatus) record->status,
                                           .serial = record->serial,
                                           .flags = record->flags,
                                           .n_kernel = record->n_kernel,
                                           .n_user = record->n_user,
                                           .pcs = (const guint8 *) record->pcs };
  result = lu_bpf_unwound_check (&located);
  self->n_bpf_unwound++;
  self->n_wrong += (record->flags & LU_BPF_RECORD_VMAS) == 0 || result.n_user < 10
                   || result.status != LU_STATUS_COMPLETE;
}

static void
ignore_module (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer user_data)
{
}

/* Newer kernels have to let the program read their mappings. */
static gboolean
is_before_6_1 (void)
{
  struct utsname name;
  guint major = 0, minor = 0;

  return uname (&name) == 0 && sscanf (name.release, "%u.%u", &major, &minor) == 2
         && (major < 6 || (major == 6 && minor == 0));
}

/* The kernel's own mappings suffice for a process that is not published, if its files are known
 * from another one. */
static void
go_by_vmas (char *tower, const char *what, const char *name)
{
  LuBpfProgramOptions program = { .n_cpus = g_get_num_processors () };
  LiveOptions options = {
    .program = &program, .period_ns = PERIOD_NS, .stack_size = 512, .all = TRUE, .is_known = TRUE
  };
  const LuProcessTableFuncs funcs = { .module_added = ignore_module };
  char *argv[] = { tower, (char *) "10", (char *) what, NULL };
  g_autoptr (GError) error = NULL;
  g_autofree Unheard *self = g_new0 (Unheard, 1);
  gint32 known = live_spawn (argv, options.cpu, START_MS);
  Live live;
  gboolean is_there = FALSE;
  g_autofree char *text = NULL;

  self->pid = live_spawn (argv, options.cpu, START_MS);
  self->table = lu_process_table_new (FALSE, &funcs, NULL);
  lu_process_table_follow (self->table, self->pid);
  if (live_start (&live, known, &options, &error)
      && lu_process_table_discover (self->table, self->pid, 1)
      && lu_process_table_lookup (self->table, self->pid, G_MAXINT64, &self->process, &self->space))
    for (guint i = 0; i < MAX_MS / 20 && self->n_bpf_unwound < ENOUGH_RUNS; i++)
      {
        g_usleep (20000);
        live_drain (&live, take_unheard, self);
      }
  if (live.program != NULL)
    is_there = (lu_bpf_program_flags (live.program) & LU_BPF_VMAS) != 0;
  text = g_strdup_printf ("%u walked, %u of them wrong%s", self->n_bpf_unwound, self->n_wrong,
                          is_there ? "" : "; before Linux 6.1 none are");
  report (error == NULL && self->n_wrong == 0 && (is_there || is_before_6_1 ())
              && (is_there ? self->n_bpf_unwound >= MIN_RUNS : self->n_bpf_unwound == 0),
          name, error != NULL ? error->message : text);
  live_stop (&live);
  lu_process_table_free (self->table);
  kill (known, SIGKILL);
  kill (self->pid, SIGKILL);
  while (waitpid (-1, NULL, 0) > 0 || errno == EINTR)
    ;
}

/* Clears the marks of announced processes. Returns how many arguments then found no room. */
static guint64
tell_again (Run *self, struct lu_bpf_counters *counters)
{
  gsize size;
  struct lu_bpf_shared *shared;

  shared = lu_bpf_program_mmap (self->live.program, LU_BPF_MAP_SHARED, &size);
  if (shared == NULL)
    return 0;
  /* Arguments are shorter than a stack, and some may still find room. */
  for (guint i = 0; i < MAX_MS && counters->values[LU_COUNTER_BPF_UNANNOUNCED] == 0; i++)
    {
      memset (shared->announced, 0, sizeof shared->announced);
      g_usleep (1000);
      lu_bpf_program_sum (self->live.program, counters);
    }
  munmap (shared, size);
  return counters->values[LU_COUNTER_BPF_UNANNOUNCED];
}

/* A small ring is not read for a while, then it is. Each failed emit is one LOST record of the
 * kernel, and its sample another one unless it found room: neither may be missing or counted twice.
 * Arguments are counted in the same way. */
static void
fill_ring (char *tower)
{
  LuBpfProgramOptions program = { .flags = LU_BPF_ARGUMENTS, .n_cpus = g_get_num_processors () };
  LiveOptions options = {
    .program = &program, .period_ns = PERIOD_NS, .stack_size = 512, .ring_bytes = SMALL_RING
  };
  char *argv[] = { tower, (char *) "10", NULL };
  g_autoptr (GError) error = NULL;
  g_autofree Run *self = g_new0 (Run, 1);
  gint32 pid = live_spawn (argv, options.cpu, START_MS);
  struct lu_bpf_counters counters = { 0 };
  guint64 n_emitted = 0, n_refused = 0, n_other = 0, n_unannounced = 0;
  gboolean tells = FALSE;
  g_autofree char *text = NULL;

  self->test = &cases[0];
  if (live_start (&self->live, pid, &options, &error))
    {
      for (guint i = 0; i < MAX_MS / 20 && n_refused < ENOUGH_RUNS; i++)
        {
          g_usleep (20000);
          lu_bpf_program_sum (self->live.program, &counters);
          n_refused = counters.reasons[LU_BPF_REASON_EMIT];
        }
      tells = (lu_bpf_program_flags (self->live.program) & LU_BPF_ARGUMENTS) != 0;
      n_unannounced = tells ? tell_again (self, &counters) : 0;
      self->n_lost += live_drain (&self->live, take, self);
      /* The kernel reports losses with the next record. */
      for (guint i = 0; i < MAX_MS / 20 && n_emitted <= self->n_bpf_unwound; i++)
        {
          g_usleep (20000);
          lu_bpf_program_sum (self->live.program, &counters);
          n_emitted = counters.reasons[LU_BPF_REASON_UNWOUND];
        }
      ioctl (self->live.sampler_fd, PERF_EVENT_IOC_DISABLE, 0);
      self->n_lost += live_drain (&self->live, take, self);
      lu_bpf_program_sum (self->live.program, &counters);
    }
  n_emitted = counters.reasons[LU_BPF_REASON_UNWOUND];
  n_refused = counters.reasons[LU_BPF_REASON_EMIT];
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    n_other += counters.reasons[i];
  n_other -= n_emitted + n_refused;
  text = g_strdup_printf (
      "%" G_GUINT64_FORMAT " emitted, %u read; %" G_GUINT64_FORMAT
      " refused, %u of their samples read, %" G_GUINT64_FORMAT " not told, %u records lost",
      n_emitted, self->n_bpf_unwound, n_refused, self->n_samples, n_unannounced, self->n_lost);
  report (n_refused >= ENOUGH_RUNS && self->n_bpf_unwound == n_emitted
              && tells == (n_unannounced > 0)
              && self->n_lost + self->n_samples == 2 * n_refused + n_other + n_unannounced,
          "a ring that is full", error != NULL ? error->message : text);
  live_stop (&self->live);
  if (pid > 0)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
    }
}

static void
ignore_signal (int number)
{
}

/* Returns how many processes there is room for; 0: the program does not load. Checks that two
 * identities for each stand right behind the other shared data. */
static guint
processes_of (guint32 flags, guint n_cpus)
{
  LuBpfProgramOptions options = { .flags = flags, .n_cpus = n_cpus, .max_entries = 1 };
  g_autoptr (LuBpfProgram) program = lu_bpf_program_new (&options, NULL);
  struct bpf_map_info processes = { 0 }, shared = { 0 };
  guint32 size = sizeof processes;
  guint n;

  if (program == NULL
      || bpf_obj_get_info_by_fd (lu_bpf_program_map_fd (program, LU_BPF_MAP_PROCESSES), &processes,
                                 &size)
             != 0
      || bpf_obj_get_info_by_fd (lu_bpf_program_map_fd (program, LU_BPF_MAP_SHARED), &shared, &size)
             != 0)
    return 0;
  n = lu_bpf_program_n_identities (program);
  return n == 2 * processes.max_entries
                 && shared.value_size
                        == G_STRUCT_OFFSET (struct lu_bpf_shared, identities)
                               + n * sizeof (struct lu_bpf_identity)
             ? processes.max_entries
             : 0;
}

/* Where few processes have to be published, the maps are smaller: there is less to make and to
 * clear. */
static void
has_room_for_processes (void)
{
  LuBpfProgramOptions options = { .n_cpus = 1, .max_entries = 1 };
  g_autoptr (LuBpfProgram) program = lu_bpf_program_new (&options, NULL);
  gboolean has_vmas = program != NULL && (lu_bpf_program_flags (program) & LU_BPF_VMAS) != 0;
  guint few = has_vmas ? LU_BPF_MAX_PROCESSES / 4 : LU_BPF_MAX_PROCESSES;
  guint some = has_vmas ? LU_BPF_MAX_PROCESSES / 2 : LU_BPF_MAX_PROCESSES;

  report (processes_of (LU_BPF_ARGUMENTS, 1) == few && processes_of (LU_BPF_ARGUMENTS, 8) == some
              && processes_of (LU_BPF_ARGUMENTS, 100) == LU_BPF_MAX_PROCESSES
              && processes_of (LU_BPF_FOLLOW, 1) == LU_BPF_MAX_PROCESSES,
          "there is room for as many processes as may be published", "");
}

/* A profiling timer of 1 ms must not make the kernel restart the load each time. */
static void
load_under_signals (void)
{
  LuBpfProgramOptions options = { .flags = LU_BPF_ARGUMENTS, .n_cpus = g_get_num_processors () };
  struct itimerval timer = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
  g_autoptr (LuBpfProgram) program = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  signal (SIGPROF, ignore_signal);
  setitimer (ITIMER_PROF, &timer, NULL);
  program = lu_bpf_program_new (&options, &error);
  setitimer (ITIMER_PROF, &none, NULL);
  if (program != NULL)
    text = g_strdup_printf ("%u instructions verified, flags %x, %" G_GUINT64_FORMAT " KiB of maps",
                            lu_bpf_program_verified (program), lu_bpf_program_flags (program),
                            lu_bpf_program_memory (program) >> 10);
  report (program != NULL, "it loads while signals arrive", error != NULL ? error->message : text);
  has_room_for_processes ();
}

/* A second program takes the place of the first one, and does the same. */
static void
read_interpreters (void)
{
  LuBpfProgramOptions options = { .flags = LU_BPF_ARGUMENTS, .n_cpus = g_get_num_processors () };
  g_autoptr (LuBpfProgram) program = lu_bpf_program_new (&options, NULL);
  int result = program != NULL ? lu_bpf_program_read_interpreters (program) : -1;
  g_autofree char *text = NULL;

  text = result == 0 ? g_strdup_printf ("%u instructions verified, %u without",
                                        lu_bpf_program_verified_with_interpreters (program),
                                        lu_bpf_program_verified (program))
                     : g_strdup (g_strerror (-result));
  report (result == 0, "the part for interpreters loads", text);
}

/* A recording has descriptors for the program and four of its maps. */
static void
settle (void)
{
  LuBpfProgramOptions options = { .flags = LU_BPF_ARGUMENTS, .n_cpus = g_get_num_processors () };
  guint n_before = directory_count ("/proc/self/fd");
  g_autoptr (LuBpfProgram) program = lu_bpf_program_new (&options, NULL);
  guint64 bytes = lu_bpf_program_memory (program);
  gboolean is_settled = lu_bpf_program_settle (program);

  report (is_settled && directory_count ("/proc/self/fd") == n_before + 5
              && lu_bpf_program_map_fd (program, LU_BPF_MAP_COUNTERS) < 0
              && lu_bpf_program_memory (program) == bytes,
          "a settled program has five descriptors", "");
}

int
main (int argc, char **argv)
{
  LuBpfProgramOptions options = { .n_cpus = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LuBpfProgram) program = lu_bpf_program_new (&options, &error);
  g_autoptr (LuUnwinder) unwinder = lu_unwinder_table.new(NULL);

  if (argc != 3)
    return 1;
  if (program == NULL && g_error_matches (error, LU_ERROR, LU_ERROR_PERMISSION))
    {
      printf ("1..0 # SKIP %s\n", error->message);
      return SKIP;
    }
  g_clear_pointer (&program, lu_bpf_program_free);
  load_under_signals ();
  read_interpreters ();
  settle ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    run_case (&cases[i], argv[1], argv[2], unwinder);
  fill_ring (argv[1]);
  go_by_vmas (argv[1], NULL, "a process that is not published");
  go_by_vmas (argv[1], "mappings", "the same with thousands of mappings");
  follow_one (argv[1], "others on the CPU", NULL, FALSE);
  follow_one (argv[1], "others on the CPU, and an old child", "child", FALSE);
  follow_one (argv[1], "others on the CPU, and a new child", "heir", TRUE);
  printf ("1..%u\n", n_tests);
  return n_failed == 0 ? 0 : 1;
}
