/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-interp.c - any file may claim to have an interpreter. */

#include "fuzz.h"

#include "interp/interp.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree LuInterp *interp = lu_interp_recognize_bytes ("/lib/libpython3.so", data, size);

  if (interp == NULL)
    return 0;
  g_assert (interp->n_ranges > 0 && interp->n_ranges <= LU_INTERP_MAX_RANGES);
  for (guint i = 0; i < interp->n_ranges; i++)
    g_assert (interp->ranges[i].start < interp->ranges[i].end);
  g_assert (interp->file.language == LU_INTERP_PYTHON && interp->file.version >> 16 == 3);
  return 0;
}
