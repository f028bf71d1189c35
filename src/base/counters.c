/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* counters.c - sums of counters; see counters.h. */

#include "counters.h"

void
lu_counters_add (LuCounters *self, const LuCounters *more)
{
  for (guint i = 0; i < LU_N_COUNTERS; i++)
    lu_count_n (self, (LuCounter) i, lu_counters_get (more, (LuCounter) i));
}

void
lu_counters_subtract (LuCounters *self, const LuCounters *less)
{
  for (guint i = 0; i < LU_N_COUNTERS; i++)
    lu_counters_set (self, (LuCounter) i,
                     lu_counters_get (self, (LuCounter) i) - lu_counters_get (less, (LuCounter) i));
}
