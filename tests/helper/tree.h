/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tree.h - the processes that descend from the workload, from our own fork records.
 *
 * Used by play.c, so that samples can be attributed to the workload without trusting the helper
 * under test. There is one dummy event and one ring per CPU; a record that found no room is
 * counted. */

#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct _PlayTree PlayTree;

/* Starts to follow new processes. Returns NULL with errno set when events are refused. */
PlayTree *play_tree_new (void);
void play_tree_free (PlayTree *self);

/* Reads the rings; one thread calls it every few milliseconds. */
void play_tree_read (PlayTree *self);

guint64 play_tree_get_lost (const PlayTree *self);

/* Appends the processes under `root`, including itself, as "[pid,born,died],…" in ns of
 * CLOCK_MONOTONIC; died is 0 for a process that still runs. */
void play_tree_append (PlayTree *self, pid_t root, GString *json);
