/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* priority.h - which threads may wait for a CPU. The drain should not: samples that its rings
 * cannot hold meanwhile are lost, and on two CPUs with a dozen runnable threads it waited 60 % of
 * the time. The worker should not wait either: it has little to do but has to do it at once, since
 * samples of a program that has just started wait for its files. The writer and the compiler of
 * whole tables can wait. */

#pragma once

#include <glib.h>
#include <sys/resource.h>
#include <unistd.h>

#define LU_URGENT_NICE (-10)
#define LU_HUMBLE_NICE 10

/* Raises the priority of the calling thread and of the threads it creates later, if that is allowed
 * (CAP_SYS_NICE) and nobody chose another priority for us. */
static inline void
lu_thread_be_urgent (void)
{
  if (getpriority (PRIO_PROCESS, (id_t) gettid ()) == 0)
    setpriority (PRIO_PROCESS, (id_t) gettid (), LU_URGENT_NICE);
}

/* Undoes lu_thread_be_urgent() for the calling thread. */
static inline void
lu_thread_be_ordinary (void)
{
  if (getpriority (PRIO_PROCESS, (id_t) gettid ()) == LU_URGENT_NICE)
    setpriority (PRIO_PROCESS, (id_t) gettid (), 0);
}

/* Lowers the priority of the calling thread below all others. */
static inline void
lu_thread_be_humble (void)
{
  setpriority (PRIO_PROCESS, (id_t) gettid (), LU_HUMBLE_NICE);
}
