/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* brief.h - main() of a program that forks 200 children, one after the other. The program defines
 * child(), which each of them runs, and includes this at its end. */
#pragma once

#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

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
