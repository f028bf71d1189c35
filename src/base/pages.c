/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pages.c - memory in huge and in small pages, side by side; see pages.h. */

#include "base/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1, 7d8faaf15545 */
#endif

/* Of x86-64, and of aarch64 with small pages of 4 KiB. Where it is another size, the request means
 * less. */
#define HUGE_PAGE ((gsize) 2 << 20)

static gsize
round_up (gsize size, gsize page)
{
  return (size + page - 1) & ~(page - 1);
}

static gsize
small_page (void)
{
  return (gsize) sysconf (_SC_PAGESIZE);
}

guint8 *
lu_pages_new (gsize before, gsize behind)
{
  gsize huge = round_up (before, HUGE_PAGE), small = round_up (behind, small_page ());
  gsize size = huge + small + HUGE_PAGE;
  guint8 *memory =
      mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  guint8 *begin, *end;

  if (memory == MAP_FAILED)
    g_error ("cannot reserve %" G_GSIZE_FORMAT " bytes: %s", size, g_strerror (errno));
  begin = (guint8 *) round_up ((gsize) memory, HUGE_PAGE);
  end = begin + huge + small;
  if (begin > memory)
    munmap (memory, (gsize) (begin - memory));
  if (end < memory + size)
    munmap (end, (gsize) (memory + size - end));
  return begin + huge;
}

/* A kernel without them says no, and that is all; one that only knows the first request follows it
 * some time later. */
void
lu_pages_make_huge (guint8 *place, gsize before)
{
  gsize huge = round_up (before, HUGE_PAGE);

  if (madvise (place - huge, huge, MADV_HUGEPAGE) == 0)
    madvise (place - huge, huge, MADV_COLLAPSE);
}

void
lu_pages_free (guint8 *place, gsize before, gsize behind)
{
  gsize huge = round_up (before, HUGE_PAGE);

  if (place != NULL)
    munmap (place - huge, huge + round_up (behind, small_page ()));
}
