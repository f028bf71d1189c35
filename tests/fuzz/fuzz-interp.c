/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-interp.c - any file may claim to have an interpreter. */

#include "fuzz.h"

#include "interp/interp.h"

static void
recognize (const char *path, const uint8_t *data, size_t size)
{
  g_autofree LuInterp *interp = lu_interp_recognize_bytes (path, data, size);

  if (interp == NULL)
    return;
  g_assert (interp->file.tasks.bytes <= G_MAXINT16 + sizeof (guint64));
  if (interp->file.language == LU_INTERP_TASKS)
    {
      g_assert (interp->n_ranges == 0 && interp->file.tasks.bytes > 0);
      return;
    }
  g_assert (interp->n_ranges > 0 && interp->n_ranges <= LU_INTERP_MAX_RANGES);
  for (guint i = 0; i < interp->n_ranges; i++)
    g_assert (interp->ranges[i].start < interp->ranges[i].end);
  g_assert (interp->file.language
            == (g_str_has_suffix (path, "ruby.so") ? LU_INTERP_RUBY : LU_INTERP_PYTHON));
  g_assert (interp->file.version >> 16 != 0);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const char *const paths[] = { "/lib/libpython3.so", "/lib/libruby.so",
                                       "/lib/_asyncio.so" };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    recognize (paths[i], data, size);
  return 0;
}
