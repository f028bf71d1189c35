/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* uprobes.c - has uretprobes on functions of its own, as tools that trace it from outside would.
 * The kernel then puts another return address into the stack for as long as such a function runs.
 *
 * uprobes inside: they run all the time, one in the other, and one that is called by a jump.
 * uprobes often:  a function with a probe at its start and one at its end is called all the time.
 */
#include "known.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the place in the file of a function of this program; 0: it is not found. */
static uint64_t
file_offset_of (uint64_t address)
{
  unsigned long start, end, offset, found = 0;
  char line[512];
  FILE *maps = fopen ("/proc/self/maps", "r");

  while (maps != NULL && found == 0 && fgets (line, sizeof line, maps) != NULL)
    if (sscanf (line, "%lx-%lx r-xp %lx", &start, &end, &offset) == 3 && start <= address
        && address < end)
      found = address - start + offset;
  if (maps != NULL)
    fclose (maps);
  return found;
}

static int
probe (void (*function) (void), uint64_t is_return)
{
  struct perf_event_attr attr;
  unsigned type;
  FILE *file = fopen ("/sys/bus/event_source/devices/uprobe/type", "r");

  if (file == NULL || fscanf (file, "%u", &type) != 1)
    return -1;
  fclose (file);
  memset (&attr, 0, sizeof attr);
  attr.type = type;
  attr.size = sizeof attr;
  attr.config = is_return;
  attr.config1 = (uint64_t) (uintptr_t) "/proc/self/exe";
  attr.config2 = file_offset_of ((uint64_t) (uintptr_t) function);
  return (int) syscall (SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

KNOWN void
hot (void)
{
  spin (1000);
}

KNOWN void
inner (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

/* Two probed functions share the place of one return address. */
KNOWN __attribute__ ((naked)) void
jumps (void)
{
#ifdef __aarch64__
  __asm__("b inner");
#else
  __asm__("jmp inner");
#endif
}

KNOWN void
middle (void)
{
  JUNK_FRAME_POINTER ();
  jumps ();
  AFTER_CALL ();
}

KNOWN void
outer (void)
{
  middle ();
  AFTER_CALL ();
}

KNOWN void
often (void)
{
  JUNK_FRAME_POINTER ();
  for (unsigned i = 0; i < 2000; i++)
    AFTER_CALL ();
}

KNOWN void
calls (void)
{
  long long end = cpu_time () + 1000000000LL;

  do
    {
      often ();
      JUNK_FRAME_POINTER ();
    }
  while (cpu_time () < end);
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "often") == 0)
    {
      if (probe (often, 0) < 0 || probe (often, 1) < 0)
        return 77;
      calls ();
      return 0;
    }
  if (probe (inner, 1) < 0 || probe (jumps, 1) < 0 || probe (outer, 1) < 0)
    return 77;
  outer ();
  return 0;
}
