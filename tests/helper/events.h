/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* events.h - the sampling events as Sysprof's client opens them, to be inherited by a helper.
 *
 * Used only by play.c. The attributes are those of libsysprof 48 (sysprof-user-sampler.c), field by
 * field, with one addition: read_format PERF_FORMAT_LOST, which changes no record and lets us ask
 * the kernel itself how many samples found no room. */

#pragma once

#include <glib.h>

typedef struct
{
  int fd;
  guint cpu;        /* the CPU that it samples */
  guint cpu_number; /* the CPU number that the helper is told */
} PlayEvent;

typedef struct
{
  guint32 stack_size; /* bytes; 0 is allowed and means no copy */
  guint frequency;    /* of each CPU, Hz; only for cpu-clock */
  gboolean hardware;  /* try cycles first, with the client's fixed period */
  guint copies;       /* events on each CPU, which share the frequency */
  int group_fd;       /* directory of a control group to sample exclusively; -1: all tasks */
  const char *const
      *numbers; /* CPU numbers to pass, in the order of the events; NULL: the true ones */
} PlayEventSettings;

typedef struct
{
  GArray *events; /* PlayEvent */
  const char *name;
  guint64 period;
} PlayEvents;

/* Opens them, disabled, on every CPU that we may run on. Returns FALSE after printing a message. */
gboolean play_events_open (PlayEvents *self, const PlayEventSettings *settings, GError **error);
void play_events_close (PlayEvents *self);

void play_events_enable (PlayEvents *self);
void play_events_disable (PlayEvents *self);

/* Samples that found no room in a ring, over all events. */
guint64 play_events_get_lost (const PlayEvents *self);
