/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-counters.h - counters of a capture: how busy the machine is (machine-counters.h), and how
 * many samples are written and lost.
 *
 * Owned by the sink; its thread reads and writes the values about once a second. */

#pragma once

#include "syscap-writer.h"

typedef struct _LuSyscapCounters LuSyscapCounters;

/* devices: with network interfaces and disks, by name. */
LuSyscapCounters *lu_syscap_counters_new (gboolean devices);
/* Reads other directories than /proc and /sys/devices/system/cpu, for tests. */
LuSyscapCounters *lu_syscap_counters_new_for (const char *proc, const char *cpus, gboolean devices);
void lu_syscap_counters_free (LuSyscapCounters *self);

void lu_syscap_counters_add_sample (LuSyscapCounters *self);
/* Reads a line of the log for people, which may tell of losses (LU_SYSCAP_LOST). */
void lu_syscap_counters_take_log (LuSyscapCounters *self, const char *message);
/* Writes all values (and what they are, before the first one) if a second has passed since the last
 * time. time: ns, CLOCK_MONOTONIC. NULL as self: nothing. */
gboolean lu_syscap_counters_write (LuSyscapCounters *self, LuSyscapWriter *writer, guint64 time,
                                   GError **error);

/* Frames with counters as a reader returned them. */
gboolean lu_syscap_write_counters (LuSyscapWriter *writer, guint64 time,
                                   const LuSyscapCounter *counters, guint n, GError **error);
gboolean lu_syscap_write_values (LuSyscapWriter *writer, guint64 time,
                                 const LuSyscapCounterValue *values, guint n, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapCounters, lu_syscap_counters_free)
