/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dlopen-library.c - the library of dlopen.c, built twice with different names and frame sizes. */
#include "known.h"

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE (a, b)

void NAMED (WHICH, _work) (void);

KNOWN void
NAMED (WHICH, _hot) (void)
{
  spin (50);
}

KNOWN void
NAMED (WHICH, _middle) (void)
{
  char room[ROOM];

  __asm__ volatile("" : : "r"(room) : "memory");
  NAMED (WHICH, _hot) ();
  AFTER_CALL ();
}

void
NAMED (WHICH, _work) (void)
{
  JUNK_FRAME_POINTER ();
  NAMED (WHICH, _middle) ();
  AFTER_CALL ();
}
