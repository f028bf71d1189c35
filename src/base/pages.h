/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pages.h - large memory that is used here and there, as caches are.
 *
 * It comes in huge pages where the system gives them on request. In small ones the first look at
 * each costs a fault, and the first write another one, of which all CPUs are told: a walker whose
 * cache filled spent half of its time on that. */

#pragma once

#include <glib.h>

/* Zeroed; taken from the system as it is touched. Never NULL. */
gpointer lu_pages_new (gsize size);
/* NULL is fine; `size` as it was asked for. */
void lu_pages_free (gpointer memory, gsize size);
