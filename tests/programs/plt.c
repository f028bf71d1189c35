/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plt.c - `plt LIBRARY`: samples in PLT entries and in the lazy-binding resolver of the dynamic
 * linker. The library is loaded afresh again and again, so that each of its calls has to be
 * resolved each time; then one entry is called in a tight loop.
 */
#include "known.h"
#include "plt.h"

#include <dlfcn.h>
#include <stdio.h>

#define DEFINE_TARGET(name)                                                                        \
  void name (void)                                                                                 \
  {                                                                                                \
    AFTER_CALL ();                                                                                 \
  }
EACH_TARGET (DEFINE_TARGET)

KNOWN int
use_library (const char *path, const char *function)
{
  void *library = dlopen (path, RTLD_LAZY);
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
  long long end = cpu_time () + 700000000LL;

  if (argc != 2)
    return 2;
  while (cpu_time () < end)
    if (use_library (argv[1], "call_each_once"))
      return 1;
  return use_library (argv[1], "call_one_often");
}
