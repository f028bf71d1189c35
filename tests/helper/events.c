/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* events.c - opens the sampling events as Sysprof's client does. */

#include "events.h"

#include <errno.h>
#include <gio/gio.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

/* The client asks for the general registers without flags and segments on x86-64. Sysprof 48 has
 * no mask for aarch64; there it is x0 to x30, sp and pc, which any client must ask for. */
#ifdef __aarch64__
#define CLIENT_REGISTERS 0x1ffffffffULL
#else
#define CLIENT_REGISTERS 0xff01ffULL
#endif
#define CLIENT_PERIOD_CYCLES 1200000U
#define CLIENT_WAKEUP_EVENTS 149U

static void
init_attr (struct perf_event_attr *attr, const PlayEventSettings *settings, gboolean hardware)
{
  memset (attr, 0, sizeof *attr);
  attr->size = sizeof *attr;
  attr->type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attr->config = hardware ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK;
  attr->sample_period =
      hardware ? CLIENT_PERIOD_CYCLES : G_USEC_PER_SEC * 1000UL / settings->frequency;
  attr->sample_period *= settings->copies;
  attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN
                      | PERF_SAMPLE_IDENTIFIER;
  if (settings->stack_size != 0)
    {
      attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
      attr->sample_regs_user = CLIENT_REGISTERS;
      attr->sample_stack_user = settings->stack_size;
    }
  attr->read_format = PERF_FORMAT_LOST;
  attr->disabled = 1;
  attr->mmap = 1;
  attr->mmap2 = 1;
  attr->comm = 1;
  attr->task = 1;
  attr->exclude_idle = 1;
  attr->sample_id_all = 1;
  attr->use_clockid = 1;
  attr->clockid = CLOCK_MONOTONIC;
  attr->wakeup_events = CLIENT_WAKEUP_EVENTS;
}

static int
open_event (const struct perf_event_attr *attr, guint cpu, int group_fd)
{
  unsigned long flags = PERF_FLAG_FD_CLOEXEC | (group_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0);

  return (int) syscall (SYS_perf_event_open, attr, group_fd, (int) cpu, -1, flags);
}

static gboolean
open_on_cpu (PlayEvents *self, const struct perf_event_attr *attr,
             const PlayEventSettings *settings, guint cpu, GError **error)
{
  for (guint i = 0; i < settings->copies; i++)
    {
      PlayEvent event = { .fd = open_event (attr, cpu, settings->group_fd),
                          .cpu = cpu,
                          .cpu_number = cpu };

      if (event.fd < 0)
        {
          g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno),
                       "perf_event_open (CPU %u): %s", cpu, g_strerror (errno));
          return FALSE;
        }
      if (settings->numbers != NULL && settings->numbers[self->events->len] != NULL)
        event.cpu_number =
            (guint) g_ascii_strtoull (settings->numbers[self->events->len], NULL, 10);
      g_array_append_val (self->events, event);
    }
  return TRUE;
}

gboolean
play_events_open (PlayEvents *self, const PlayEventSettings *settings, GError **error)
{
  struct perf_event_attr attr;
  gboolean hardware = FALSE;
  cpu_set_t cpus;

  self->events = g_array_new (FALSE, FALSE, sizeof (PlayEvent));
  if (settings->hardware)
    {
      int fd;

      init_attr (&attr, settings, TRUE);
      fd = open_event (&attr, 0, settings->group_fd);
      hardware = fd >= 0;
      if (fd >= 0)
        close (fd);
    }
  init_attr (&attr, settings, hardware);
  self->name = hardware ? "cycles" : "cpu-clock";
  self->period = attr.sample_period;
  if (sched_getaffinity (0, sizeof cpus, &cpus) != 0)
    CPU_ZERO (&cpus);
  for (guint cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET (cpu, &cpus) && !open_on_cpu (self, &attr, settings, cpu, error))
      return FALSE;
  return TRUE;
}

void
play_events_close (PlayEvents *self)
{
  for (guint i = 0; self->events != NULL && i < self->events->len; i++)
    close (g_array_index (self->events, PlayEvent, i).fd);
  g_clear_pointer (&self->events, g_array_unref);
}

static void
control (PlayEvents *self, unsigned long request)
{
  for (guint i = 0; i < self->events->len; i++)
    ioctl (g_array_index (self->events, PlayEvent, i).fd, request, 0);
}

void
play_events_enable (PlayEvents *self)
{
  control (self, PERF_EVENT_IOC_ENABLE);
}

void
play_events_disable (PlayEvents *self)
{
  control (self, PERF_EVENT_IOC_DISABLE);
}

guint64
play_events_get_lost (const PlayEvents *self)
{
  guint64 lost = 0;

  for (guint i = 0; i < self->events->len; i++)
    {
      /* PERF_FORMAT_LOST alone: u64 value, u64 lost */
      guint64 words[2] = { 0, 0 };

      if (read (g_array_index (self->events, PlayEvent, i).fd, words, sizeof words) == sizeof words)
        lost += words[1];
    }
  return lost;
}
