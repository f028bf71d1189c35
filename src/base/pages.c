/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pages.c - adjacent memory in huge and in small pages; see pages.h. */

#include "base/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, 4ca9b3859dac */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1, 7d8faaf15545 */
#endif

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
  gsize huge = round_up (before, LU_HUGE_PAGE), small = round_up (behind, small_page ());
  gboolean is_aligned = huge > 0 || small == 0;
  gsize size = huge + small + (is_aligned ? LU_HUGE_PAGE : 0);
  guint8 *memory =
      mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  guint8 *begin, *end;

  if (memory == MAP_FAILED)
    g_error ("cannot reserve %" G_GSIZE_FORMAT " bytes: %s", size, g_strerror (errno));
  if (!is_aligned)
    return memory;
  begin = (guint8 *) round_up ((gsize) memory, LU_HUGE_PAGE);
  end = begin + huge + small;
  if (begin > memory)
    munmap (memory, (gsize) (begin - memory));
  if (end < memory + size)
    munmap (end, (gsize) (memory + size - end));
  return begin + huge;
}

/* Kernels without huge pages refuse, which does no harm. Kernels that only know MADV_HUGEPAGE make
 * the pages huge some time later. */
void
lu_pages_make_huge (guint8 *place, gsize before)
{
  gsize huge = round_up (before, LU_HUGE_PAGE);

  if (madvise (place - huge, huge, MADV_HUGEPAGE) == 0)
    madvise (place - huge, huge, MADV_COLLAPSE);
}

void
lu_pages_populate (gpointer memory, gsize size)
{
  gsize begin = round_up ((gsize) memory, small_page ());
  gsize end = ((gsize) memory + size) & ~(small_page () - 1);

  if (end > begin)
    madvise ((gpointer) begin, end - begin, MADV_POPULATE_WRITE);
}

void
lu_pages_free (guint8 *place, gsize before, gsize behind)
{
  gsize huge = round_up (before, LU_HUGE_PAGE);

  if (place != NULL)
    munmap (place - huge, huge + round_up (behind, small_page ()));
}
