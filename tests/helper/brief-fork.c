/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* brief-fork.c - 200 children of two milliseconds that never call exec: their mappings are in no
 * record, and they are gone before anybody can look at their /proc. */
#include "../programs/known.h"

#include <stddef.h>
#include <sys/wait.h>

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

int
main (void)
{
  for (unsigned i = 0; i < 200; i++)
    {
      if (fork () == 0)
        {
          child ();
          _exit (0);
        }
      wait (NULL);
    }
  return 0;
}
