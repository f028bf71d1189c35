/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* brief-fork.c - 200 children of two milliseconds that never call exec: no record has their
 * mappings, and they are gone before anybody can read their /proc. */
#include "../programs/known.h"

KNOWN void
hot (void)
{
  spin (2);
}

KNOWN void
child (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

#include "brief.h"
