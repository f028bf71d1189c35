/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-kallsyms-copy.c - functions from a copy of kernel symbols that may be damaged: no address
 * leads outside of the function that is returned. */

#include "fuzz.h"
#include "symbolize/kallsyms-copy.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IDENTITY "identity\n"

static const guint64 addresses[] = { 0,
                                     1,
                                     0x1000,
                                     0xffffffff80ffffff,
                                     0xffffffff81000000,
                                     0xffffffff81000810,
                                     0xffffffff81001fff,
                                     0xffffffff81800000,
                                     G_MAXUINT64 };

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  int fd = memfd_create ("copy", MFD_CLOEXEC);
  g_autoptr (LuKallsymsCopy) copy = NULL;
  LuKernelSymbol symbol;

  g_assert_cmpint (fd, >=, 0);
  g_assert_true (write (fd, IDENTITY, strlen (IDENTITY)) == (gssize) strlen (IDENTITY));
  g_assert_true (write (fd, data, size) == (gssize) size);
  copy = lu_kallsyms_copy_new (fd, IDENTITY);
  g_assert_nonnull (copy);
  for (guint i = 0; i < G_N_ELEMENTS (addresses); i++)
    if (lu_kallsyms_copy_find (copy, addresses[i], &symbol))
      {
        g_assert_cmphex (symbol.address, <=, addresses[i]);
        g_assert_cmphex (symbol.end, >, addresses[i]);
        g_assert_cmpuint (strlen (symbol.name), <, size);
      }
  return 0;
}
