/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* devices.h - where programs are that the BPF program can walk by the kernel's own mappings.
 *
 * On file systems in layers the kernel's mappings name other files than side-band does, so nothing
 * is known there, and each sample of a process that is not published comes as a copy. What came is
 * counted by the device of the program. Belongs to the drain thread; allocates nothing. */

#pragma once

#include "process/space.h"

#define LU_BPF_MAX_DEVICES 16

typedef struct
{
  guint32 device; /* lu_bpf_device() */
  guint64 n_copies, n_walks;
} LuBpfDevice;

typedef struct
{
  LuBpfDevice all[LU_BPF_MAX_DEVICES]; /* what comes later is counted with the last one */
  guint n, n_useless;
} LuBpfDevices;

/* A sample of a process with that space, which is not published, was walked, or is a copy. */
void lu_bpf_devices_count (LuBpfDevices *self, LuSpace *space, gboolean is_walked);
/* Most of them are copies. */
gboolean lu_bpf_devices_is_useless (LuBpfDevices *self, LuSpace *space);
