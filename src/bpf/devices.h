/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* devices.h - counts, by the device of the program, whether the kernel's own mappings are of use.
 *
 * On overlay file systems the kernel's mappings name other files than side-band does, so nothing is
 * known there, and each sample of a process that is not published arrives as a copy. Belongs to the
 * drain thread; allocates nothing. */

#pragma once

#include "process/address-space.h"

#define LU_BPF_MAX_DEVICES 16

typedef struct
{
  guint32 device; /* lu_bpf_device() */
  guint64 n_copies, n_walks;
} LuBpfDevice;

typedef struct
{
  LuBpfDevice all[LU_BPF_MAX_DEVICES]; /* further devices share the last place */
  guint n, n_useless;
} LuBpfDevices;

/* A sample of a process with that space, which is not published, was walked, or is a copy. */
void lu_bpf_devices_count (LuBpfDevices *self, LuAddressSpace *space, gboolean is_bpf_unwound);
/* Returns whether most samples of that device were copies. */
gboolean lu_bpf_devices_is_useless (LuBpfDevices *self, LuAddressSpace *space);
