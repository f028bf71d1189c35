/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lane-reader.h - the two passes of a round over the lanes: side-band merged by time, then samples.
 *
 * Used by the sources that read rings. Records are decoded in place and given back one by one, so a
 * full ring has room again at once. Malformed ones are counted and passed over. */

#pragma once

#include "input/lanes.h"
#include "input/record.h"
#include "input/source.h"

/* Delivers everything committed before the loaded heads with a time up to `until` (ns), oldest
 * first over all lanes. TRUE if there was any. */
gboolean lu_lanes_drain_sideband (LuLanes *self, const LuRecordLayout *layout, guint64 until,
                                  LuSourceStats *stats, LuEventFunc func, gpointer user_data);

/* Delivers what stands before the loaded heads, lane after lane; side-band among it is passed over
 * if skip_sideband says so. FALSE if the receiver wants the rest later. */
gboolean lu_lanes_drain_samples (LuLanes *self, const LuRecordLayout *layout,
                                 gboolean skip_sideband, LuSourceStats *stats, LuEventFunc func,
                                 gpointer user_data);

/* Waits until one of the lanes has something to read, as far as its event wakes its readers,
 * `wake_fd` is readable, or timeout_ms passed. poll_fds: of struct pollfd, room to work in. */
void lu_lanes_wait (LuLanes *const *lanes, guint n_lanes, GArray *poll_fds, int wake_fd,
                    int timeout_ms);
