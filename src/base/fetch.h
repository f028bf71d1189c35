/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetch.h - memory that will be read soon, on its way into a cache. */

#pragma once

#include <glib.h>

/* Bytes that come together (Intel's and AMD's x86-64, and most aarch64). */
#define LU_CACHE_LINE 64

/* Any address; nothing is read of it. Into the second cache: the first one has room for few lines
 * that are on their way, and whoever works meanwhile needs it. */
static inline void
lu_fetch_ahead (gconstpointer address)
{
  __builtin_prefetch (address, 0, 2);
  __asm__ volatile(""); /* GCC leaves out calls of functions that do nothing else */
}
