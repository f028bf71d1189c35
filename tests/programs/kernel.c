/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel.c - burns its time in system calls: read of /dev/zero, write to /dev/null, getppid. */
#include "known.h"

#include <fcntl.h>

KNOWN int
system_calls (int zero, int null)
{
  static char bytes[128 * 1024];
  int good = 0;

  for (unsigned i = 0; i < 20; i++)
    {
      good += read (zero, bytes, sizeof bytes) > 0;
      good += write (null, bytes, sizeof bytes) > 0;
      for (unsigned j = 0; j < 20; j++)
        good += getppid () > 0;
    }
  return good;
}

KNOWN int
work (void)
{
  int zero = open ("/dev/zero", O_RDONLY);
  int null = open ("/dev/null", O_WRONLY);
  long long end = cpu_time () + 600000000LL;

  JUNK_FRAME_POINTER ();
  while (cpu_time () < end)
    if (!system_calls (zero, null))
      return 1;
  return 0;
}

int
main (void)
{
  return work ();
}
