/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* counter.h - a counter that one thread changes and others read now and then. */

#pragma once

#include <stdatomic.h>

/* A plain addition: nobody else writes. */
static inline void
lu_counter_bump (atomic_ullong *self)
{
  atomic_store_explicit (self, atomic_load_explicit (self, memory_order_relaxed) + 1,
                         memory_order_relaxed);
}
