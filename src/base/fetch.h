/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetch.h - prefetches memory that will be read soon. */

#pragma once

#include <glib.h>

/* Bytes of a cache line on most machines. */
#define LU_CACHE_LINE 64

/* Takes any address, even an invalid one. Prefetches into the second-level cache: the first level
 * can have few lines under way, and the code that runs meanwhile needs those. */
static inline void
lu_fetch_ahead (gconstpointer address)
{
  __builtin_prefetch (address, 0, 2);
  __asm__ volatile(""); /* GCC omits calls of functions that only prefetch */
}
