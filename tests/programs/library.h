/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* library.h - loads a library, calls one of its functions, and unloads the library again. */
#pragma once

#include "known.h"

#include <dlfcn.h>
#include <stdio.h>

KNOWN int
use_library (const char *path, const char *function, int binding)
{
  void *library = dlopen (path, binding);
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
