/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* library.c - opens, uses and closes libraries at run time, so that code appears and goes. */

#include "marker.h"

#include <dlfcn.h>

long
callback (long value)
{
  return value * 2;
}

static NOINLINE int
run (void)
{
  for (int i = 1; i < 3; i++)
    {
      void *library = dlopen (LIBRARY, RTLD_LAZY);
      void *none = dlopen ("no-such-library.so", RTLD_NOW);
      long (*call) (long) =
          library != NULL ? (long (*) (long)) dlsym (library, "library_call") : NULL;

      if (call == NULL || none != NULL || call (i) == 0)
        return 1;
      dlclose (library);
    }
  return 0;
}

MAIN (run)
