/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dlopen.c - `dlopen LIBRARY LIBRARY`: loads, uses and unloads two libraries in turn, so that the
 * second lies where the first was.
 */
#include "known.h"

#include <dlfcn.h>
#include <stdio.h>

KNOWN int
use_library (const char *path, const char *function)
{
  void *library = dlopen (path, RTLD_NOW);
  void (*work) (void);

  if (!library)
    {
      fprintf (stderr, "%s\n", dlerror ());
      return 1;
    }
  work = (void (*) (void)) dlsym (library, function);
  work ();
  return dlclose (library);
}

int
main (int argc, char **argv)
{
  if (argc != 3)
    return 2;
  for (unsigned i = 0; i < 6; i++)
    if (use_library (argv[1], "one_work") || use_library (argv[2], "two_work"))
      return 1;
  return 0;
}
