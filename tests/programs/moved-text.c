/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* moved-text.c - moves a part of its own code to memory without a file, as node --use-largepages
 * does, and burns its time there; or, with "copy", in a copy of that part in other memory, as V8
 * does with its builtins. */
#include "known.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

static char kept[16 * PAGE];

/* On pages of their own: */

KNOWN __attribute__ ((aligned (PAGE))) void
hot (void)
{
  spin (800);
}

KNOWN void
moved_inner (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

KNOWN void
moved (void)
{
  moved_inner ();
  AFTER_CALL ();
}

/* Behind them: */

KNOWN __attribute__ ((aligned (PAGE))) void
stays (void)
{
  moved ();
  AFTER_CALL ();
}

typedef void Function (void);

KNOWN void
calls_copy (Function *copy_of_moved)
{
  copy_of_moved ();
  AFTER_CALL ();
}

/* Returns the copy of moved(); NULL: there is no memory. */
static Function *
copy_code (const char *from, size_t size)
{
  char *copy = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (copy == MAP_FAILED)
    return NULL;
  memcpy (copy, from, size);
  if (mprotect (copy, size, PROT_READ | PROT_EXEC) != 0)
    return NULL;
  return (Function *) (void *) (copy + ((char *) (void *) moved - from));
}

int
main (int argc, char **argv)
{
  char *from = (char *) (void *) hot;
  size_t size = (size_t) ((char *) (void *) stays - from);

  if (size > sizeof kept)
    return 1;
  memcpy (kept, from, size);
  if (mmap (from, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
      != from)
    return 2;
  memcpy (from, kept, size);
  if (mprotect (from, size, PROT_READ | PROT_EXEC) != 0)
    return 3;
  if (argc > 1 && strcmp (argv[1], "copy") == 0)
    {
      Function *copy_of_moved = copy_code (from, size);

      if (copy_of_moved == NULL)
        return 4;
      calls_copy (copy_of_moved);
    }
  else
    stays ();
  return 0;
}
