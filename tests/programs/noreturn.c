/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* noreturn.c - a call that does not return is the last instruction of its function.
 *
 * Its return address is no longer in fails(): it is the first byte of decoy() if functions are
 * neither aligned nor reordered. decoy() must not appear in any stack; the case checks that the
 * return address really is where fails() ends. */
#include "known.h"

__attribute__ ((noreturn)) KNOWN void
hot (void)
{
  spin (600);
  _exit (0);
}

__attribute__ ((noreturn)) KNOWN void
fails (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
}

KNOWN void
decoy (void)
{
  AFTER_CALL ();
}

KNOWN void
a (void)
{
  fails ();
}

int
main (int argc, char **argv)
{
  (void) argv;
  if (argc > 1)
    decoy ();
  a ();
}
