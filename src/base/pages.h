/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pages.h - large memory that is used here and there, as caches are.
 *
 * It comes in huge pages where the system gives them on request. In small ones the first look at
 * each costs a fault, and the first write another one, of which all CPUs are told: a walker whose
 * cache filled spent half of its time on that. */

#pragma once

#include <glib.h>

/* A place with `before` bytes in front of it, in huge pages, and `behind` bytes behind it, in
 * ordinary ones, so that what is used at once does not take the huge ones. Zeroed; taken from the
 * system as it is touched. Never NULL; aligned to the larger of the two kinds of pages. */
guint8 *lu_pages_new (gsize before, gsize behind);
/* NULL is fine; the sizes as they were asked for. */
void lu_pages_free (guint8 *place, gsize before, gsize behind);
