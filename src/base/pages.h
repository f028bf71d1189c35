/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pages.h - large memory that is used here and there, as caches are.
 *
 * It may have huge pages where the system gives them on request. In small ones the first look at
 * each costs a fault, and the first write another one, of which all CPUs are told: a walker whose
 * cache filled spent half of its time on that. But a huge page is zeroed at once, which takes some
 * tenths of a millisecond, and milliseconds in a virtual machine whose host has to find the memory:
 * for a cache that is hardly used that is most of what it costs. */

#pragma once

#include <glib.h>

/* Of x86-64, and of aarch64 with small pages of 4 KiB. Where it is another size, the request means
 * less. */
#define LU_HUGE_PAGE ((gsize) 2 << 20)

/* A place with `before` bytes in front of it, which may become huge pages, and `behind` bytes
 * behind it, which stay ordinary ones. Zeroed; taken from the system as it is touched. Never NULL;
 * aligned to the larger of the two kinds of pages. */
guint8 *lu_pages_new (gsize before, gsize behind);
/* What is in front of the place is used a lot, and is worth huge pages. Its bytes stay. */
void lu_pages_make_huge (guint8 *place, gsize before);
/* The pages that lie wholly in there are there from now on. Memory that is filled at once comes
 * page by page otherwise, which takes longer than the filling. Does nothing before Linux 5.14. */
void lu_pages_populate (gpointer memory, gsize size);
/* NULL is fine; the sizes as they were asked for. */
void lu_pages_free (guint8 *place, gsize before, gsize behind);
