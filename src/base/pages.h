/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pages.h - large memory that is accessed at random, for caches.
 *
 * Part of it may have huge pages, if the system provides them on request. With small pages the
 * first read of each causes a fault, and the first write another one that interrupts all CPUs: a
 * walker spent half of its time on that while its cache filled. A huge page is zeroed at once,
 * which takes some tenths of a millisecond, or milliseconds in a virtual machine whose host has to
 * find the memory; for a cache that is hardly used this would be most of its cost. */

#pragma once

#include <glib.h>

/* Bytes of a huge page where pages have 4 KiB. Where the size differs, fewer
 * pages become huge. */
#define LU_HUGE_PAGE ((gsize) 2 << 20)

/* Returns an address that has `before` bytes below it, which may become huge pages, and `behind`
 * bytes from it on, which stay ordinary ones. The memory is zeroed and takes no room until it is
 * touched. Never returns NULL; the address is aligned to LU_HUGE_PAGE if any bytes are below it:
 * memory so aligned has a page table of its own, which takes longer than the use of a few pages. */
guint8 *lu_pages_new (gsize before, gsize behind);
/* Makes the pages below `place` huge, for memory that is used a lot. Keeps their contents. */
void lu_pages_make_huge (guint8 *place, gsize before);
/* Faults in all pages that lie wholly in the range, at once: for memory that is about to be filled,
 * one fault for each page takes longer than the filling. Does nothing before Linux 5.14. */
void lu_pages_populate (gpointer memory, gsize size);
/* Takes the sizes that were given to lu_pages_new(). `place` may be NULL. */
void lu_pages_free (guint8 *place, gsize before, gsize behind);
