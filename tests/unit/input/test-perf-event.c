/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-perf-event.c - attributes of events, abilities of the machine, and explanations of errors.
 */

#include "input/perf-event.h"

#include "base/capability.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FREQUENCY  1000
#define STACK_SIZE 8192

static void
test_explanations (void)
{
  static const struct
  {
    int error;
    const char *advice;
  } refusals[] = {
    { EACCES, "sudo setcap cap_perfmon," },
    { EPERM, "kernel.perf_event_paranoid is" },
    { ENOSYS, "CONFIG_PERF_EVENTS" },
    { EMFILE, "ulimit -n" },
    { ENFILE, "ulimit -n" },
    { ESRCH, "The task has ended" },
    { EBUSY, "hardware counters" },
    { EINVAL, "live-unwinder doctor" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (refusals); i++)
    for (gboolean cpu_wide = FALSE; cpu_wide <= TRUE; cpu_wide++)
      {
        g_autofree char *text = lu_perf_explain (refusals[i].error, cpu_wide);

        g_assert_nonnull (strstr (text, refusals[i].advice));
        g_assert_true (g_str_has_prefix (text, "  ") && g_str_has_suffix (text, "\n"));
      }
}

static void
test_refusal_names_the_smaller_wish (void)
{
  g_autofree char *all = lu_perf_explain (EACCES, TRUE);
  g_autofree char *one = lu_perf_explain (EACCES, FALSE);

  g_assert_nonnull (strstr (all, "live-unwinder -- COMMAND"));
  g_assert_null (strstr (one, "live-unwinder -- COMMAND"));
  g_assert_nonnull (strstr (one, "kernel.perf_event_paranoid=2"));
}

static void
test_container (void)
{
  g_autofree char *text = NULL;

  g_setenv ("container", "podman", TRUE);
  text = lu_perf_explain (EPERM, FALSE);
  g_unsetenv ("container");
  g_assert_nonnull (strstr (text, "--cap-add PERFMON"));
}

/* The likelier cause comes first: kernel.perf_event_paranoid is for those without rights.
 */
static void
test_container_comes_second (void)
{
  guint64 have = lu_status_mask ("CapEff");
  gboolean has_rights = lu_mask_has (have, LU_CAP_PERFMON) || lu_mask_has (have, LU_CAP_SYS_ADMIN);
  g_autofree char *text = NULL;

  g_setenv ("container", "podman", TRUE);
  text = lu_perf_explain (EACCES, TRUE);
  g_unsetenv ("container");
  g_assert_cmpint (strstr (text, "This is a container") < strstr (text, "perf_event_paranoid is"),
                   ==, has_rights || lu_perf_paranoid () <= 0);
}

static void
test_sampling (void)
{
  LuPerfAbilities abilities = { .cpu_wide = TRUE };
  struct perf_event_attr attr, output;

  lu_perf_sampling_attr (&attr, &abilities, FREQUENCY, STACK_SIZE);
  g_assert_cmpuint (attr.type, ==, PERF_TYPE_SOFTWARE);
  g_assert_cmpuint (attr.config, ==, PERF_COUNT_SW_CPU_CLOCK);
  g_assert_cmpuint (attr.sample_stack_user, ==, STACK_SIZE);
  g_assert_cmpuint (attr.sample_regs_user, ==, lu_perf_user_registers ());
  g_assert_true (attr.exclude_kernel);
  abilities.kernel = TRUE;
  lu_perf_sampling_attr (&attr, &abilities, FREQUENCY, STACK_SIZE);
  g_assert_false (attr.exclude_kernel);
  lu_perf_output_attr (&output, &attr);
  g_assert_cmpuint (output.config, ==, PERF_COUNT_SW_BPF_OUTPUT);
  g_assert_cmpint (output.clockid, ==, attr.clockid);
  g_assert_true (output.sample_type & PERF_SAMPLE_RAW);
  lu_perf_sideband_attr (&attr, &abilities);
  g_assert_cmpuint (attr.config, ==, PERF_COUNT_SW_DUMMY);
  g_assert_true (attr.mmap2 && attr.comm_exec && attr.task);
}

static void
test_machine (void)
{
  LuPerfAbilities abilities;

  lu_perf_probe (&abilities);
  g_assert_cmpint (lu_perf_paranoid (), >=, abilities.error == 0 ? -1 : -2);
  if (abilities.error != 0)
    {
      g_test_skip ("no perf events here");
      return;
    }
  g_assert_cmpuint (lu_perf_mlock_kb (), >, 0);
  g_assert_cmpuint (lu_perf_max_sample_rate (), >, 0);
}

static void
test_is_event (void)
{
  LuPerfAbilities abilities = { 0 };
  struct perf_event_attr attr;
  lu_autofd null = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  lu_autofd event = -1;

  g_assert_false (lu_perf_is_event (null));
  lu_perf_sideband_attr (&attr, &abilities);
  event = lu_perf_open (&attr, 0, -1);
  if (event < 0)
    g_test_skip ("no perf events here");
  else
    g_assert_true (lu_perf_is_event (event));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/perf-event/explanations", test_explanations);
  g_test_add_func ("/perf-event/smaller-wish", test_refusal_names_the_smaller_wish);
  g_test_add_func ("/perf-event/container", test_container);
  g_test_add_func ("/perf-event/container comes second", test_container_comes_second);
  g_test_add_func ("/perf-event/sampling", test_sampling);
  g_test_add_func ("/perf-event/machine", test_machine);
  g_test_add_func ("/perf-event/is-event", test_is_event);
  return g_test_run ();
}
