/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plt.c - `plt LIBRARY`: samples in PLT entries and in the lazy-binding resolver of the dynamic
 * linker. The library is loaded again and again, so that each of its calls has to be resolved each
 * time; then one entry is called in a tight loop. */
#include "library.h"
#include "plt.h"

#define DEFINE_TARGET(name)                                                                        \
  void name (void)                                                                                 \
  {                                                                                                \
    AFTER_CALL ();                                                                                 \
  }
EACH_TARGET (DEFINE_TARGET)

int
main (int argc, char **argv)
{
  long long end = cpu_time () + 700000000LL;

  if (argc != 2)
    return 2;
  while (cpu_time () < end)
    if (use_library (argv[1], "call_each_once", RTLD_LAZY))
      return 1;
  return use_library (argv[1], "call_one_often", RTLD_LAZY);
}
