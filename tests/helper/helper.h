/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* helper.h - the helper under test: started as sysprofd starts it, watched, and waited for.
 *
 * Used only by play.c, in one thread. */

#pragma once

#include "events.h"

typedef struct
{
  guint rss_anon_kib;
  guint rss_kib; /* peak: VmHWM */
  guint descriptors;
  guint threads;
} PlayPeaks; /* what /proc says */

typedef struct
{
  pid_t pid;
  PlayPeaks peaks, current; /* at the last look */
  gboolean has_ended;
  gboolean was_killed; /* by us, because it did not exit */
  int status;          /* of waitpid() */
  double cpu_seconds;  /* user and system, all threads, once ended */
} PlayHelper;

/* Descriptors to pass; -1: none. */
typedef struct
{
  guint32 stack_size;
  const PlayEvents *events;
  int event_fd;
  int capture_fd;
  int kallsyms_fd;
} PlayHandover;

/* `command`: the program and the words before the options. Descriptors become 3 and up, standard
 * input is empty, and the environment has no PATH, HOME or LANG. */
void play_helper_start (PlayHelper *self, char **command, const PlayHandover *handover);

/* Samples memory, descriptors and threads; a few times a second is enough. */
void play_helper_watch (PlayHelper *self);

/* CPU seconds so far; 0 once it has exited. */
double play_helper_get_cpu (const PlayHelper *self);

/* Waits for the exit, and kills it after `timeout_ms`. */
void play_helper_wait (PlayHelper *self, guint timeout_ms);
