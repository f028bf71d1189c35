/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* candidates.h - files that become known to the BPF program (known.h) although no process that maps
 * them is published.
 *
 * Each waits until it is opened, then holds a slot until its table is there or not to be expected
 * any more; from then on it is one of those that nothing maps (slots.h). Belongs to the drain
 * thread; allocates nothing. */

#pragma once

#include "slots.h"
#include "process/address-space.h"

#define LU_BPF_MAX_CANDIDATES 128

typedef struct
{
  LuMapping mapping; /* its module is a reference */
  guint64 since;     /* ns */
  guint32 slot;      /* 0: the file is not opened yet */
  gboolean is_young; /* of a program that started while recording */
  gboolean is_asked; /* its table is needed */
} LuBpfCandidate;

typedef struct
{
  LuBpfCandidate all[LU_BPF_MAX_CANDIDATES];
  guint n, n_unopened;
} LuBpfCandidates;

void lu_bpf_candidates_clear (LuBpfCandidates *self);
/* Unless the file is known, with its table. What finds no room may come again. */
void lu_bpf_candidates_add (LuBpfCandidates *self, const LuBpfSlots *slots,
                            const LuMapping *mapping, gboolean is_young);
/* In each round. */
void lu_bpf_candidates_publish (LuBpfCandidates *self, LuBpfSlots *slots,
                                LuBpfIsWantedFunc is_wanted);

/* Counts, by the device of the program, whether the kernel's own mappings are of use.
 *
 * On overlay file systems the kernel's mappings name other files than side-band does, so nothing is
 * known there, and each sample of a process that is not published arrives as a copy. */

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

/* Counts a sample of an unpublished process with that address space: either BPF unwound it, or it
 * is a copy. */
void lu_bpf_devices_count (LuBpfDevices *self, LuAddressSpace *space, gboolean is_bpf_unwound);
/* Returns whether most samples of that device were copies. */
gboolean lu_bpf_devices_is_useless (LuBpfDevices *self, LuAddressSpace *space);
