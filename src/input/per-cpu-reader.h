/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* per-cpu-reader.h - the two passes of a round over the rings: side-band merged by time, then
 * samples.
 *
 * Used by the sources that read rings. Records are decoded in place and released one by one, so a
 * full ring has room again at once. Malformed records are counted and skipped. */

#pragma once

#include "per-cpu-events.h"

/* The receiver of a round's records. Everything is borrowed. */
typedef struct
{
  LuCounters *counters;
  LuEventFunc func;
  gpointer user_data;
  gboolean
      skip_sideband; /* skip side-band in sample rings, because other rings have delivered it */
} LuRecordReceiver;

/* Delivers every side-band record that was committed before the loaded heads and is not newer than
 * `until` (ns), oldest first over all rings. Returns TRUE if there was any. */
gboolean lu_per_cpu_events_drain_sideband (LuPerCpuEvents *self, const LuRecordReceiver *receiver,
                                           guint64 until);

/* Delivers what is before the loaded heads, one ring after another. Returns FALSE if the receiver
 * wants the rest later. */
gboolean lu_per_cpu_events_drain_samples (LuPerCpuEvents *self, const LuRecordReceiver *receiver);

/* Waits until one of the rings has something to read and its event wakes readers, `wake_fd` is
 * readable, or timeout_ms have passed. `sideband` may be NULL. */
void lu_per_cpu_events_wait (const LuPerCpuEvents *samples, const LuPerCpuEvents *sideband,
                             int wake_fd, int timeout_ms);
