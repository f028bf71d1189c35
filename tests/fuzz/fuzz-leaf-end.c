/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-leaf-end.c - arbitrary code: a leaf that returns is in the code, and the answer is the same
 * again. */

#include "module/leaf-end.h"

#include "code/decoder.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  guint leaf;

  /* The first two bytes are the offset of the leaf. */
  if (size < 3 || size > LU_LEAF_WINDOW_BYTES + 2 || !lu_decoder_load ())
    return 0;
  leaf = data[0] | (guint) data[1] << 8;
  if (!lu_leaf_returns (data + 2, (guint) size - 2, leaf))
    return 0;
  g_assert_cmpuint (leaf, <, size - 2);
  g_assert_true (lu_leaf_returns (data + 2, (guint) size - 2, leaf));
  return 0;
}
