/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fork.c - a child and a grandchild that never call exec burn the time, so that their mappings are
 * known only from their parent's. With an argument the child comes from vfork and uses the stack of
 * its sleeping parent. */
#include "known.h"

#include <stddef.h>
#include <sys/wait.h>

KNOWN void
hot (void)
{
  spin (300);
}

KNOWN void
grandchild (void)
{
  hot ();
  AFTER_CALL ();
}

KNOWN void
child (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  if (fork () == 0)
    {
      grandchild ();
      _exit (0);
    }
  wait (NULL);
}

KNOWN void
vfork_child (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  (void) argv;
  if (argc > 1)
    {
      if (vfork () == 0)
        {
          vfork_child ();
          _exit (0);
        }
    }
  else if (fork () == 0)
    {
      child ();
      _exit (0);
    }
  wait (NULL);
  return 0;
}
