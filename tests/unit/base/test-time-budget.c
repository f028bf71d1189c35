/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-time-budget.c - time for work, per process, per user and in total. */

#include "base/time-budget.h"

#include "base/clock.h"
#include "base/speed.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS G_GUINT64_CONSTANT (1000000000)
/* No process has these. */
#define GONE_PID 0x7ffffffe

/* Returns a process that is of that user now, and waits to be killed. */
static pid_t
start_process (uid_t user)
{
  int ready[2];
  char byte;
  pid_t pid;

  g_assert_cmpint (pipe (ready), ==, 0);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      if (setresuid (user, user, user) != 0)
        _exit (1);
      prctl (PR_SET_PDEATHSIG, SIGKILL); /* another user takes it away */
      if (write (ready[1], "", 1) == 1)
        pause ();
      _exit (0);
    }
  close (ready[1]);
  g_assert_cmpint (read (ready[0], &byte, 1), ==, 1);
  close (ready[0]);
  return pid;
}

static void
stop_process (pid_t pid)
{
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
}

static void
test_process (void)
{
  g_autoptr (LuTimeBudget) budget = lu_time_budget_new (&lu_time_shares_for_files, 1);
  pid_t other = start_process (getuid ());

  g_assert_true (lu_time_budget_has (budget, getpid ()));
  lu_time_budget_charge (budget, getpid (), SECOND_NS * 3 / 10);
  g_assert_false (lu_time_budget_has (budget, getpid ()));
  g_assert_true (lu_time_budget_has (budget, other));
  g_assert_true (lu_time_budget_has (budget, 0)); /* unknown */
  lu_time_budget_charge (budget, other, SECOND_NS * 3 / 10);
  g_assert_false (lu_time_budget_has (budget, other));
  stop_process (other);
}

static void
test_user (void)
{
  g_autoptr (LuTimeBudget) budget = lu_time_budget_new (&lu_time_shares_for_files, 1);
  pid_t processes[3];

  if (getuid () != 0)
    {
      g_test_skip ("needs root to have processes of two users");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    processes[i] = start_process (65534);
  for (guint i = 0; i < 2; i++)
    lu_time_budget_charge (budget, processes[i], SECOND_NS * 3 / 10);
  /* It has used nothing itself, but its user has used all. */
  g_assert_false (lu_time_budget_has (budget, processes[2]));
  g_assert_true (lu_time_budget_has (budget, getpid ()));
  for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
    stop_process (processes[i]);
}

/* Whose work it was is known when it is charged, though the process has ended meanwhile; but not
 * for ever, because another process may have got its number. */
static void
test_ended (void)
{
  g_autoptr (LuTimeBudget) budget = lu_time_budget_new (&lu_time_shares_for_files, 1);
  pid_t ended[2], lives;

  if (getuid () != 0)
    {
      g_test_skip ("needs root to have processes of two users");
      return;
    }
  lives = start_process (65534);
  for (guint i = 0; i < G_N_ELEMENTS (ended); i++)
    {
      ended[i] = start_process (65534);
      g_assert_true (lu_time_budget_has (budget, ended[i]));
      stop_process (ended[i]);
    }
  lu_time_budget_charge (budget, ended[0], SECOND_NS * 6 / 10);
  g_assert_false (lu_time_budget_has (budget, lives));
  g_usleep (600000); /* a quarter of it is more than is missing */
  g_assert_true (lu_time_budget_has (budget, lives));
  lu_time_budget_charge (budget, ended[1], SECOND_NS * 6 / 10);
  g_assert_true (lu_time_budget_has (budget, lives));
  stop_process (lives);
}

static void
test_total (void)
{
  g_autoptr (LuTimeBudget) budget = lu_time_budget_new (&lu_time_shares_for_files, 1);

  lu_time_budget_charge (budget, GONE_PID, 2 * SECOND_NS);
  g_assert_false (lu_time_budget_has (budget, getpid ()));
}

static void
test_filling (void)
{
  g_autoptr (LuTimeBudget) budget = lu_time_budget_new (&lu_time_shares_for_files, 1);

  lu_time_budget_charge (budget, getpid (), SECOND_NS / 4 + SECOND_NS / 100);
  g_assert_false (lu_time_budget_has (budget, getpid ()));
  g_usleep (200000); /* an eighth of it is more than is missing */
  g_assert_true (lu_time_budget_has (budget, getpid ()));
}

/* The files of a program take longer on a slow machine; accounts fill up as slowly as elsewhere. */
static void
test_slow_machine (void)
{
  g_autoptr (LuTimeBudget) budget = lu_time_budget_new (&lu_time_shares_for_files, 4);
  pid_t other = start_process (getuid ());

  lu_time_budget_charge (budget, getpid (), SECOND_NS * 9 / 10);
  g_assert_true (lu_time_budget_has (budget, getpid ()));
  lu_time_budget_charge (budget, getpid (), SECOND_NS * 2 / 10);
  g_assert_false (lu_time_budget_has (budget, getpid ()));
  g_usleep (200000); /* an eighth of it is less than is missing */
  g_assert_false (lu_time_budget_has (budget, getpid ()));
  g_assert_true (lu_time_budget_has (budget, other));
  lu_time_budget_charge (budget, other, SECOND_NS * 99 / 100); /* their user has no more */
  g_assert_false (lu_time_budget_has (budget, other));
  stop_process (other);
}

static void
test_slowness (void)
{
  guint slowness = lu_machine_slowness ();

  g_assert_cmpuint (slowness, >=, 1);
  g_assert_cmpuint (slowness, <=, LU_SLOWNESS_MAX);
  g_assert_cmpuint (lu_machine_slowness (), ==, slowness);
}

/* Returns a process that uses the CPU that we use. */
static pid_t
start_neighbour (void)
{
  pid_t pid = fork ();

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    prctl (PR_SET_PDEATHSIG, SIGKILL);
  while (pid == 0)
    __asm__ volatile(""); /* or the compiler may take for granted that this ends */
  return pid;
}

/* While others use our CPU, an account fills up by our part of it only. */
static void
test_busy_machine (void)
{
  g_autoptr (LuTimeBudget) budget = lu_time_budget_new (&lu_time_shares_for_files, 1);
  guint64 end = lu_monotonic_ns () + SECOND_NS * 12 / 10;
  pid_t neighbours[4];
  cpu_set_t all, one;

  if (access ("/proc/thread-self/schedstat", R_OK) != 0)
    {
      g_test_skip ("the kernel does not tell how long a thread waits");
      return;
    }
  CPU_ZERO (&one);
  CPU_SET (sched_getcpu (), &one);
  g_assert_cmpint (sched_getaffinity (0, sizeof all, &all), ==, 0);
  g_assert_cmpint (sched_setaffinity (0, sizeof one, &one), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (neighbours); i++)
    neighbours[i] = start_neighbour ();
  lu_time_budget_charge (budget, getpid (), SECOND_NS / 4 + SECOND_NS / 10);
  while (lu_monotonic_ns () < end)
    ;
  g_assert_false (lu_time_budget_has (budget, getpid ()));
  for (guint i = 0; i < G_N_ELEMENTS (neighbours); i++)
    stop_process (neighbours[i]);
  sched_setaffinity (0, sizeof all, &all);
  g_usleep (1000000); /* not waiting for a CPU */
  g_assert_true (lu_time_budget_has (budget, getpid ()));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/time-budget/process", test_process);
  g_test_add_func ("/time-budget/user", test_user);
  g_test_add_func ("/time-budget/ended", test_ended);
  g_test_add_func ("/time-budget/total", test_total);
  g_test_add_func ("/time-budget/filling", test_filling);
  g_test_add_func ("/time-budget/busy-machine", test_busy_machine);
  g_test_add_func ("/time-budget/slow-machine", test_slow_machine);
  g_test_add_func ("/time-budget/slowness", test_slowness);
  return g_test_run ();
}
