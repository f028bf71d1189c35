/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* brief.c - lives for two milliseconds; many-short.c runs it. It is gone before anybody can read
 * its /proc. */
#include "known.h"

KNOWN void
hot (void)
{
  spin (2);
}

KNOWN void
brief (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

int
main (void)
{
  brief ();
  return 0;
}
