/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pages.c - whole huge pages of memory; see pages.h. */

#include "base/pages.h"

#include <errno.h>
#include <sys/mman.h>

/* Of x86-64, and of aarch64 with small pages of 4 KiB. Where it is another size, the request means
 * less. */
#define HUGE_PAGE ((gsize) 2 << 20)

static gsize
whole_pages (gsize size)
{
  return (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

gpointer
lu_pages_new (gsize size)
{
  gsize used = whole_pages (size);
  guint8 *memory = mmap (NULL, used + HUGE_PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  gsize before;

  if (memory == MAP_FAILED)
    g_error ("cannot reserve %" G_GSIZE_FORMAT " bytes: %s", size, g_strerror (errno));
  before = whole_pages ((gsize) memory) - (gsize) memory;
  if (before > 0)
    munmap (memory, before);
  munmap (memory + before + used, HUGE_PAGE - before);
  /* A kernel without them says no, and that is all. */
  madvise (memory + before, used, MADV_HUGEPAGE);
  return memory + before;
}

void
lu_pages_free (gpointer memory, gsize size)
{
  if (memory != NULL)
    munmap (memory, whole_pages (size));
}
