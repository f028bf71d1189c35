/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* machine-counters.h - how busy the machine is: its CPUs, memory, network and disks.
 *
 * Reads files of /proc and /sys that are opened once. Names and units are those by which Sysprof's
 * window finds its tracks. One thread, which may be delayed by the kernel's files; never the
 * drain. */

#pragma once

#include <glib.h>

/* Devices may come and go for a week. */
#define LU_MACHINE_COUNTERS_MAX 1024

typedef struct
{
  char category[32], name[32];
  gboolean is_real; /* the value is `real` instead of `integer` */
  gint64 integer;
  double real;
  guint64 last[2]; /* used by the reader */
} LuMachineCounter;

typedef struct _LuMachineCounters LuMachineCounters;

/* proc, cpus: "/proc" and "/sys/devices/system/cpu", or other directories for tests; what cannot be
 * opened there is left out. devices: count network interfaces and disks as well, by name. */
LuMachineCounters *lu_machine_counters_new (const char *proc, const char *cpus, gboolean devices);
void lu_machine_counters_free (LuMachineCounters *self);

/* Reads all values. Differences (use of CPUs, accesses to disks) are those since the call before;
 * new() made the first one. */
void lu_machine_counters_read (LuMachineCounters *self);

/* Returns the counters (valid until the next read) and their number. A counter keeps its index. */
const LuMachineCounter *lu_machine_counters_get (const LuMachineCounters *self, guint *n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuMachineCounters, lu_machine_counters_free)
