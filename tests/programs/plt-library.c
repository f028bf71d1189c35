/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plt-library.c - the library of plt.c: calls each of its functions once, or one of them often. */
#include "known.h"
#include "plt.h"

void call_each_once (void);
void call_one_often (void);

#define CALL_TARGET(name) name ();

void
call_each_once (void)
{
  JUNK_FRAME_POINTER ();
  EACH_TARGET (CALL_TARGET)
}

void
call_one_often (void)
{
  long long end = cpu_time () + 300000000LL;

  while (cpu_time () < end)
    for (unsigned i = 0; i < 100000; i++)
      target_0000 ();
}
