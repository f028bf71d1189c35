/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* clock.h - the clock of events and captures. */

#pragma once

#include <glib.h>
#include <sys/resource.h>
#include <time.h>

/* Returns the time of a clock in ns, or 0 if there is no such clock (any more). */
static inline guint64
lu_clock_ns (clockid_t clock)
{
  struct timespec now = { 0 };

  clock_gettime (clock, &now);
  return (guint64) now.tv_sec * 1000000000u + (guint64) now.tv_nsec;
}

/* Returns CLOCK_MONOTONIC in ns, the clock that stamps our events (attr.clockid). */
static inline guint64
lu_monotonic_ns (void)
{
  return lu_clock_ns (CLOCK_MONOTONIC);
}

/* Returns the CPU time of the calling thread in ns. */
static inline guint64
lu_thread_cpu_ns (void)
{
  return lu_clock_ns (CLOCK_THREAD_CPUTIME_ID);
}

/* Returns the CPU time of all threads of this process in ns, user and system. */
static inline guint64
lu_process_cpu_ns (void)
{
  return lu_clock_ns (CLOCK_PROCESS_CPUTIME_ID);
}

/* Returns the CPU time of a getrusage() or wait4() in ns, user and system. */
static inline guint64
lu_rusage_ns (const struct rusage *usage)
{
  return (guint64) (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u
         + (guint64) (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}
