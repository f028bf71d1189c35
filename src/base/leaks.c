/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaks.c - says whether leaks are reported. */

#include "leaks.h"

static gint are_allowed; /* atomic */

/* The sanitizer calls a function of this name, where there is one, before it looks for leaks
 * (sanitizer/lsan_interface.h). */
int __lsan_is_turned_off (void);

int
__lsan_is_turned_off (void)
{
  return g_atomic_int_get (&are_allowed);
}

void
lu_leaks_allow (void)
{
  g_atomic_int_set (&are_allowed, TRUE);
}
