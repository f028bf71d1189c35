/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* newcomers.h - files that become known to the BPF program (known.h) although no process that maps
 * them is published.
 *
 * Each waits until it is opened, then holds a slot until its table is there or not to be expected
 * any more; from then on it is one of those that nothing maps (slots.h). Belongs to the drain
 * thread; allocates nothing. */

#pragma once

#include "bpf/slots.h"
#include "process/space.h"

#define LU_BPF_MAX_NEWCOMERS 128

typedef struct
{
  LuMapping mapping; /* its module is a reference */
  guint64 since;     /* ns */
  guint32 slot;      /* 0: the file is not opened yet */
  gboolean is_young; /* of a program that started while recording */
  gboolean is_asked; /* its table is needed */
} LuBpfNewcomer;

typedef struct
{
  LuBpfNewcomer all[LU_BPF_MAX_NEWCOMERS];
  guint n, n_unopened;
} LuBpfNewcomers;

/* Whether a table will surely be needed, of an image that is there. */
typedef gboolean (*LuBpfIsWantedFunc) (LuModule *module, gboolean is_young);

void lu_bpf_newcomers_clear (LuBpfNewcomers *self);
/* Unless the file is known, with its table. What finds no room may come again. */
void lu_bpf_newcomers_add (LuBpfNewcomers *self, const LuBpfSlots *slots, const LuMapping *mapping,
                           gboolean is_young);
/* In each round. */
void lu_bpf_newcomers_see_to (LuBpfNewcomers *self, LuBpfSlots *slots, LuBpfIsWantedFunc is_wanted);
