/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-kernel-types.c - a kernel's description of its types, from any bytes: what is cut out has
 * all that was asked for, and is cut out of itself as it is. */

#include "bpf/kernel-types.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const LuKernelStruct wanted[] = { { "outer", { "hidden", "all", "next" } },
                                    { "inner", { "number" } } };
  g_autoptr (GByteArray) once = lu_kernel_types_cut (data, size, wanted, G_N_ELEMENTS (wanted));
  g_autoptr (GByteArray) twice = NULL;

  if (once == NULL)
    return 0;
  twice = lu_kernel_types_cut (once->data, once->len, wanted, G_N_ELEMENTS (wanted));
  g_assert_nonnull (twice);
  g_assert_cmpmem (once->data, once->len, twice->data, twice->len);
  return 0;
}
