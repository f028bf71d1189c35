/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-event.c - opens perf events; see perf-event.h.
 *
 * Abilities are tried once, on ourselves and on CPU 0, because version numbers do not tell them:
 * distributions backport features and forbid others. */

#include "input/perf-event.h"

#include "arch/arch.h"
#include "base/capability.h"
#include "base/fd.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

int
lu_perf_open (const struct perf_event_attr *attr, pid_t pid, int cpu)
{
  return (int) syscall (SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

gboolean
lu_perf_is_event (int fd)
{
  g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", fd);
  char target[64] = "";

  return readlink (link, target, sizeof target - 1) >= 0
         && strcmp (target, "anon_inode:[perf_event]") == 0;
}

guint64
lu_perf_user_registers (void)
{
  return lu_arch_of_abi (LU_ABI_64)->mask;
}

static void
init_attr (struct perf_event_attr *attr, guint32 type, guint64 config)
{
  memset (attr, 0, sizeof *attr);
  attr->size = sizeof *attr;
  attr->type = type;
  attr->config = config;
  attr->disabled = 1;
  attr->use_clockid = 1;
  attr->clockid = CLOCK_MONOTONIC;
}

void
lu_perf_sampling_attr (struct perf_event_attr *attr, const LuPerfAbilities *abilities,
                       guint frequency, guint32 stack_size)
{
  if (abilities->hardware)
    init_attr (attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  else
    init_attr (attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  attr->freq = 1;
  attr->sample_freq = frequency;
  attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
                      | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN
                      | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr->sample_regs_user = lu_perf_user_registers ();
  attr->sample_stack_user = stack_size;
  attr->sample_id_all = 1;
  /* User frames come from unwind information; the kernel's frame-pointer walk would be thrown away.
   */
  attr->exclude_callchain_user = 1;
  attr->exclude_idle = !abilities->counts_idle;
  attr->exclude_kernel = !abilities->kernel;
  attr->exclude_hv = 1;
  attr->exclude_guest = 1;
  if (abilities->has_lost_counter)
    attr->read_format = PERF_FORMAT_LOST;
}

void
lu_perf_sideband_attr (struct perf_event_attr *attr, const LuPerfAbilities *abilities)
{
  init_attr (attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attr->sample_id_all = 1;
  attr->mmap = 1;
  attr->mmap2 = 1;
  attr->comm = 1;
  attr->comm_exec = 1;
  attr->task = 1;
  attr->exclude_kernel = !abilities->kernel;
  attr->exclude_hv = 1;
  attr->watermark = 1;
  attr->wakeup_watermark =
      1; /* wake us for each record: a new process should be seen while it is alive */
}

void
lu_perf_output_attr (struct perf_event_attr *attr, const struct perf_event_attr *sampler)
{
  init_attr (attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT);
  attr->sample_type = (sampler->sample_type
                       & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
                          | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU))
                      | PERF_SAMPLE_RAW;
  attr->sample_id_all = 1;
  attr->sample_period = 1;
  /* The ring wakes us as rarely for this event as for the sampler. */
  attr->watermark = 1;
  attr->wakeup_watermark = sampler->watermark ? sampler->wakeup_watermark : 0;
}

void
lu_perf_task_clock_attr (struct perf_event_attr *attr)
{
  init_attr (attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  attr->exclude_kernel = 1; /* allowed without privilege; the clock counts both modes anyway */
  attr->exclude_hv = 1;
  attr->inherit = 1;
}

static gboolean
can_open (const struct perf_event_attr *attr, pid_t pid, int cpu)
{
  lu_autofd fd = lu_perf_open (attr, pid, cpu);

  return fd >= 0;
}

void
lu_perf_probe (LuPerfAbilities *abilities)
{
  struct perf_event_attr attr;

  memset (abilities, 0, sizeof *abilities);
  init_attr (&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  if (!can_open (&attr, 0, -1))
    {
      abilities->error = errno;
      return;
    }
  attr.read_format = PERF_FORMAT_LOST;
  abilities->has_lost_counter = can_open (&attr, 0, -1);
  attr.read_format = 0;
  abilities->cpu_wide = can_open (&attr, -1, 0);
  attr.exclude_kernel = 0;
  abilities->kernel = can_open (&attr, 0, -1);
  init_attr (&attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.exclude_kernel = !abilities->kernel;
  attr.exclude_hv = 1;
  attr.freq = 1;
  attr.sample_freq = 100;
  abilities->hardware = can_open (&attr, 0, -1);
  attr.exclude_idle = 1;
  abilities->counts_idle = abilities->hardware && !can_open (&attr, 0, -1);
}

static gint64
read_number (const char *path, gint64 fallback)
{
  g_autofree char *text = lu_fd_read_file (path, 64, NULL);

  return text != NULL ? g_ascii_strtoll (text, NULL, 10) : fallback;
}

int
lu_perf_paranoid (void)
{
  return (int) read_number ("/proc/sys/kernel/perf_event_paranoid", -2);
}

guint64
lu_perf_mlock_kb (void)
{
  return (guint64) read_number ("/proc/sys/kernel/perf_event_mlock_kb", 0);
}

guint64
lu_perf_max_sample_rate (void)
{
  return (guint64) read_number ("/proc/sys/kernel/perf_event_max_sample_rate", 0);
}

static gboolean
in_container (void)
{
  return g_file_test ("/.dockerenv", G_FILE_TEST_EXISTS)
         || g_file_test ("/run/.containerenv", G_FILE_TEST_EXISTS)
         || g_getenv ("container") != NULL;
}

/* Returns whether kernel.perf_event_paranoid alone explains a refusal. */
static gboolean
is_too_paranoid (int paranoid, gboolean cpu_wide)
{
  guint64 have = lu_status_mask ("CapEff");

  return (paranoid >= 3 || (cpu_wide && paranoid > 0)) && !lu_mask_has (have, LU_CAP_PERFMON)
         && !lu_mask_has (have, LU_CAP_SYS_ADMIN);
}

static void
explain_container (GString *text)
{
  if (in_container ())
    g_string_append (text,
                     _ ("  This is a container: its seccomp profile or missing capabilities may be "
                        "what refuses.\n  Start it with --cap-add PERFMON --cap-add SYS_PTRACE "
                        "(and a seccomp profile that allows perf_event_open).\n"));
}

static void
explain_refusal (GString *text, gboolean cpu_wide)
{
  int paranoid = lu_perf_paranoid ();
  gboolean is_paranoid = is_too_paranoid (paranoid, cpu_wide);

  if (!is_paranoid)
    explain_container (text);
  g_string_append_printf (text, _ ("  kernel.perf_event_paranoid is %d: "), paranoid);
  if (paranoid >= 3)
    g_string_append (text, _ ("only privileged users may use perf events.\n"));
  else if (cpu_wide && paranoid > 0)
    g_string_append (text, _ ("only privileged users may record the whole system.\n"));
  else
    g_string_append (text, _ ("you may record your own programs.\n"));
  g_string_append (text, _ ("  One of these helps:\n    run it as root (sudo live-unwinder …)\n"));
  if (cpu_wide)
    g_string_append (text, _ ("    record one program of yours instead: live-unwinder -- COMMAND\n"
                              "    sudo sysctl kernel.perf_event_paranoid=-1\n"));
  else
    g_string_append (text, "    sudo sysctl kernel.perf_event_paranoid=2\n");
  g_string_append (text, "    sudo setcap " LU_PERF_CAPABILITIES " $(command -v live-unwinder)\n");
  if (is_paranoid)
    explain_container (text);
}

char *
lu_perf_explain (int error, gboolean cpu_wide)
{
  GString *text = g_string_new (NULL);

  switch (error)
    {
    case EACCES:
    case EPERM:
      explain_refusal (text, cpu_wide);
      break;
    case ENOSYS:
      g_string_append (text, _ ("  This kernel has no perf events (CONFIG_PERF_EVENTS), or a "
                                "sandbox hides them: use another kernel, or leave the sandbox.\n"));
      break;
    case EMFILE:
    case ENFILE:
      g_string_append (text, _ ("  Too many open files: raise the limit (ulimit -n).\n"));
      break;
    case ESRCH:
      g_string_append (text, _ ("  The task has ended.\n"));
      break;
    case EBUSY:
      g_string_append (text, _ ("  Another program uses the hardware counters.\n"));
      break;
    default:
      g_string_append (text, _ ("  Run \"live-unwinder doctor\" to see which step fails.\n"));
      break;
    }
  return g_string_free (text, FALSE);
}
