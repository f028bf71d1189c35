/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* doctor.c - tries what a recording needs, on ourselves, with the code that records; see
 * commands.h.
 *
 * A step either is needed, so that nothing can be recorded without it, or improves recordings.
 * Advice follows each step that fails. */

#include "config.h"

#include "commands.h"

#include "base/capability.h"
#include "base/fd.h"
#include "bpf/kernel-support.h"
#include "bpf/program.h"
#include "session/fetcher.h"
#include "input/source-perf.h"
#include "table/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <time.h>

#define TRIAL_SECONDS    0.2
#define TRIAL_STACK_SIZE 16384
#define KERNEL_WALKS                                                                               \
  N_ ("stacks are unwound in the kernel: deep ones are whole, recordings cost less")

typedef struct
{
  guint n_failed_needed;
  gboolean lacks_rights; /* a step failed that needs them */
} Doctor;

typedef struct
{
  guint64 samples, with_stack, mappings;
} Trial;

static void
say (Doctor *self, gboolean ok, gboolean needed, const char *what, const char *remedy)
{
  printf ("  %-6s %s\n", ok ? _ ("ok") : needed ? _ ("FAILED") : _ ("no"), what);
  if (!ok && remedy != NULL && remedy[0] != 0)
    {
      g_auto (GStrv) lines = g_strsplit (remedy, "\n", -1);

      for (guint i = 0; lines[i] != NULL; i++)
        if (lines[i][0] != 0)
          printf ("         %s\n", g_strchug (lines[i]));
    }
  if (!ok && needed)
    self->n_failed_needed++;
}

static LuVerdict
count_event (const LuEvent *event, gpointer user_data)
{
  Trial *trial = user_data;

  if (event->kind == LU_EVENT_MMAP)
    trial->mappings++;
  if (event->kind != LU_EVENT_SAMPLE)
    return LU_VERDICT_DONE;
  trial->samples++;
  if (event->sample.regs.abi != LU_ABI_NONE && event->sample.stack_size > 0)
    trial->with_stack++;
  return LU_VERDICT_DONE;
}

static void
spin (double seconds)
{
  clock_t end = clock () + (clock_t) (seconds * CLOCKS_PER_SEC);

  while (clock () < end)
    ;
}

/* Samples this process for a moment with the events a recording uses. */
static void
try_sampling (Doctor *self, const LuPerfAbilities *abilities)
{
  g_autoptr (GArray) tasks = g_array_new (FALSE, FALSE, sizeof (pid_t));
  LuPerfSourceOptions options = { .frequency = 999, .stack_size = TRIAL_STACK_SIZE };
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSource) source = NULL;
  g_autofree char *what = NULL;
  LuSourceInfo info;
  Trial trial = { 0 };
  pid_t pid = getpid ();

  g_array_append_val (tasks, pid);
  options.tasks = tasks;
  source = lu_source_perf_new (abilities, &options, &error);
  if (source == NULL)
    {
      say (self, FALSE, TRUE,
           _ ("open sampling events with registers and stack, and map their rings"),
           error->message);
      return;
    }
  source->ops->get_info (source, &info);
  what = g_strdup_printf (_ ("rings of %zu KiB per CPU (%zu KiB wanted)"), info.ring_size >> 10,
                          info.ring_size_wanted >> 10);
  say (self, info.ring_size >= info.ring_size_wanted, FALSE, what,
       _ ("Samples may be lost under load. Raise \"ulimit -l\" or kernel.perf_event_mlock_kb."));
  if (!source->ops->start (source, &error))
    return;
  spin (TRIAL_SECONDS);
  source->ops->stop (source);
  while (source->ops->drain (source, count_event, &trial) == LU_ROUND_CLOSED)
    ;
  g_free (what);
  what = g_strdup_printf (
      _ ("sample ourselves: %" PRIu64 " samples, %" PRIu64 " with registers and stack"),
      trial.samples, trial.with_stack);
  say (self, trial.with_stack > 0, TRUE, what,
       _ ("The kernel delivers no samples; is another profiler holding the counters?"));
}

static gboolean
kallsyms_is_real (void)
{
  g_autofree char *text = lu_fd_read_file ("/proc/kallsyms", 64 << 10, NULL);

  if (text == NULL)
    return FALSE;
  for (const char *at = text; *at != 0; at++)
    {
      const char *newline = strchr (at, '\n');

      if (*at != '0' || strspn (at, "0") < strcspn (at, " "))
        return TRUE;
      if (newline == NULL)
        break;
      at = newline;
    }
  return FALSE;
}

static void
check_kernel (Doctor *self, LuPerfAbilities *abilities)
{
  g_autofree char *help = NULL;
  g_autofree char *what = NULL;

  lu_perf_probe (abilities);
  help = lu_perf_explain (abilities->error != 0 ? abilities->error : EACCES, FALSE);
  what = g_strdup_printf (_ ("perf events can be opened (kernel.perf_event_paranoid is %d)"),
                          lu_perf_paranoid ());
  say (self, abilities->error == 0, TRUE, what, help);
}

/* A step that needs rights; the remedy for all of them comes last. */
static void
say_right (Doctor *self, gboolean ok, const char *what)
{
  say (self, ok, FALSE, what, NULL);
  self->lacks_rights |= !ok;
}

static void
check_rights (Doctor *self, const LuPerfAbilities *abilities)
{
  say_right (self, abilities->cpu_wide,
             _ ("events of the whole system: --all, and no short-lived child is missed"));
  say_right (self, abilities->kernel, _ ("kernel mode: what system calls and page faults cost"));
  say_right (self, kallsyms_is_real (), _ ("kernel symbols: functions of the kernel have names"));
  /* needed to read /proc/PID/maps of others */
  say_right (self, lu_mask_has (lu_status_mask ("CapEff"), LU_CAP_SYS_PTRACE),
             _ ("mappings of other users' processes: their stacks are whole"));
}

static void
check_store (Doctor *self)
{
  g_autofree char *path = lu_store_default_path ();
  g_autofree char *what = NULL;
  g_autofree char *remedy = NULL;
  g_autoptr (LuStore) store = NULL;
  g_autoptr (GError) error = NULL;

  if (path == NULL)
    return;
  store = lu_store_open (path, LU_STORE_READ_WRITE, &error);
  what = g_strdup_printf (_ ("unwind tables are kept in %s: later recordings start faster"), path);
  if (store == NULL)
    remedy = g_strdup_printf (_ ("%s. Set LIVE_UNWINDER_STORE to use another directory."),
                              error->message);
  say (self, store != NULL, FALSE, what, remedy);
}

static void
check_fetching (Doctor *self)
{
  g_autoptr (GError) error = NULL;
  gboolean is_ready = lu_fetcher_is_ready (&error);

  say (self, is_ready, FALSE,
       _ ("debug files are fetched if they are missing: more functions have names"),
       is_ready ? NULL : error->message);
}

/* Loads the program: only then does the kernel say what it refuses. */
static void
try_program (Doctor *self, const LuKernelSupport *support)
{
  const LuBpfProgramOptions options = { .n_cpus = 1, .max_entries = 1, .max_processes = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LuBpfProgram) program = lu_bpf_program_new (&options, &error);
  g_autofree char *what = NULL, *consequence = NULL;

  if (program == NULL)
    {
      consequence = g_strdup_printf (_ ("%s\nStacks are copied instead."), error->message);
      say (self, FALSE, FALSE, _ (KERNEL_WALKS), consequence);
      return;
    }
  what = support->level == LU_KERNEL_SUPPORT_FULL
             ? g_strdup_printf (_ ("%s (%s; %u instructions verified)"), _ (KERNEL_WALKS),
                                support->reason, lu_bpf_program_verified (program))
             : g_strdup_printf ("%s (%s)", _ (KERNEL_WALKS), support->reason);
  say (self, TRUE, FALSE, what, NULL);
}

/* Does not load the program into a kernel that it could lock up. */
static void
check_kernel_walks (Doctor *self)
{
  guint64 have = lu_status_mask ("CapEff");
  gboolean may_load = lu_mask_has (have, LU_CAP_SYS_ADMIN)
                      || (lu_mask_has (have, LU_CAP_PERFMON) && lu_mask_has (have, LU_CAP_BPF));
  g_auto (LuKernelSupport) support = { 0 };
  g_autofree char *what = NULL;

  lu_kernel_support_probe (&support);
  if (support.level != LU_KERNEL_SUPPORT_NONE && !support.is_unsafe)
    {
      try_program (self, &support);
      return;
    }
  what = g_strdup_printf ("%s (%s)", _ (KERNEL_WALKS), support.reason);
  say (self, FALSE, FALSE, what, may_load ? support.remedy : NULL);
  self->lacks_rights |= !may_load;
}

/* Returns whether a file's capabilities are ignored when it is executed. */
static gboolean
ignores_capabilities (const char *program)
{
  struct statvfs fs;

  return prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
         || (statvfs (program, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0);
}

/* The single step that grants all missing rights. */
static void
print_remedy (void)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *quoted = g_shell_quote (program != NULL ? program : "live-unwinder");
  guint64 can_have = lu_status_mask ("CapBnd");

  if (geteuid () == 0 || !lu_mask_has (can_have, LU_CAP_PERFMON)
      || !lu_mask_has (can_have, LU_CAP_SYS_PTRACE))
    printf ("%s\n  %s\n",
            _ ("What is missing needs rights that this container does not have. Start it with:"),
            LU_PERF_CONTAINER_OPTIONS);
  else if (program == NULL || ignores_capabilities (program))
    printf ("%s\n  sudo %s …\n", _ ("What is missing needs rights. Run the program as root:"),
            quoted);
  else
    printf ("%s\n  sudo setcap " LU_PERF_CAPABILITIES " %s\n",
            _ ("What is missing needs rights. Give them to the program, once:"), quoted);
}

gboolean
lu_doctor_run (void)
{
  Doctor self = { 0 };
  LuPerfAbilities abilities;

  puts (_ ("What a recording needs:"));
  check_kernel (&self, &abilities);
  if (abilities.error == 0)
    try_sampling (&self, &abilities);
  say (&self, access (".", W_OK) == 0, FALSE, _ ("captures can be written to this directory"),
       _ ("Use --output to write elsewhere."));
  puts (_ ("What makes it better:"));
  check_rights (&self, &abilities);
  say (&self, abilities.hardware, FALSE,
       _ ("hardware cycle counter: code that runs with interrupts off is seen"),
       _ ("Most virtual machines have none; cpu-clock is used instead and measures time just as "
          "exactly."));
  say (&self, abilities.has_lost_counter, FALSE,
       _ ("exact count of lost samples: otherwise the figure is a lower bound"),
       _ ("Needs Linux 6.0 (or a stable release that has the change, such as 5.10.204)."));
  check_kernel_walks (&self);
  check_store (&self);
  check_fetching (&self);
  puts (self.n_failed_needed == 0
            ? _ ("Your own commands can be recorded.")
            : _ ("Nothing can be recorded until the steps that FAILED are fixed."));
  if (self.lacks_rights)
    print_remedy ();
  return self.n_failed_needed == 0;
}
