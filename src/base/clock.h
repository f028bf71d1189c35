/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* clock.h - the clock of events and captures. */

#pragma once

#include <glib.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns, as our events are stamped (attr.clockid). */
static inline guint64
lu_monotonic_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (guint64) now.tv_sec * 1000000000u + (guint64) now.tv_nsec;
}

/* Time in ns that the calling thread itself has run. */
static inline guint64
lu_thread_cpu_ns (void)
{
  struct timespec used;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &used);
  return (guint64) used.tv_sec * 1000000000u + (guint64) used.tv_nsec;
}
