/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dlopen.c - `dlopen LIBRARY LIBRARY`: loads, uses and unloads two libraries in turn, so that the
 * second is mapped where the first was. */
#include "library.h"

int
main (int argc, char **argv)
{
  if (argc != 3)
    return 2;
  for (unsigned i = 0; i < 6; i++)
    if (use_library (argv[1], "one_work", RTLD_NOW) || use_library (argv[2], "two_work", RTLD_NOW))
      return 1;
  return 0;
}
