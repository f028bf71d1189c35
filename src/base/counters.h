/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* counters.h - what one object has counted, by LuCounter.
 *
 * Every object that counts has a LuCounters of its own, which one thread changes and any thread may
 * read; a recording's counts are the sum of them all. Zeroed memory is valid. */

#pragma once

#include "lu/counters.h"

#include <glib.h>
#include <stdatomic.h>

typedef struct
{
  atomic_ullong values[LU_N_COUNTERS];
} LuCounters;

/* Any thread. */
static inline guint64
lu_counters_get (const LuCounters *self, LuCounter counter)
{
  return atomic_load_explicit (&self->values[counter], memory_order_relaxed);
}

/* The owning thread, as everything that changes counters unless it says otherwise. */
static inline void
lu_counters_set (LuCounters *self, LuCounter counter, guint64 value)
{
  atomic_store_explicit (&self->values[counter], value, memory_order_relaxed);
}

static inline void
lu_count_n (LuCounters *self, LuCounter counter, guint64 n)
{
  lu_counters_set (self, counter, lu_counters_get (self, counter) + n);
}

static inline void
lu_count (LuCounters *self, LuCounter counter)
{
  lu_count_n (self, counter, 1);
}

static inline void
lu_count_max (LuCounters *self, LuCounter counter, guint64 value)
{
  lu_counters_set (self, counter, MAX (lu_counters_get (self, counter), value));
}

/* Any thread: for a counter that several threads change. */
static inline void
lu_count_shared (LuCounters *self, LuCounter counter)
{
  atomic_fetch_add_explicit (&self->values[counter], 1, memory_order_relaxed);
}

/* Adds all counters of `more`, which may be changing. */
static inline void
lu_counters_add (LuCounters *self, const LuCounters *more)
{
  for (guint i = 0; i < LU_N_COUNTERS; i++)
    lu_count_n (self, (LuCounter) i, lu_counters_get (more, (LuCounter) i));
}

static inline void
lu_counters_subtract (LuCounters *self, const LuCounters *less)
{
  for (guint i = 0; i < LU_N_COUNTERS; i++)
    lu_counters_set (self, (LuCounter) i,
                     lu_counters_get (self, (LuCounter) i) - lu_counters_get (less, (LuCounter) i));
}
