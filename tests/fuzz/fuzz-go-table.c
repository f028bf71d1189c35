/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-go-table.c - tables of Go programs from arbitrary bytes: reading ends, functions lie in the
 * code, depths go on from the start of a function to its end, and the call frame information that
 * is made of them is sound. */

#include "elf/go-switch.h"
#include "elf/image.h"
#include "fuzz.h"
#include "table/table.h"

/* Real functions have some dozen. */
#define MAX_DEPTHS 4096

static void
follow (const LuGoTable *table, const LuGoTableFunction *function)
{
  guint64 start, end, last = function->start;
  LuGoDepths depths;
  gint64 depth;

  g_assert_cmpuint (function->start, <, function->end);
  lu_go_table_name (table, function);
  lu_go_table_depths (table, function, &depths);
  for (guint n = 0; n < MAX_DEPTHS && lu_go_depths_next (&depths, &start, &end, &depth); n++)
    {
      g_assert_cmpuint (start, ==, last);
      g_assert_cmpuint (end, >, start);
      g_assert_cmpuint (end, <=, function->end);
      last = end;
    }
}

static void
read_table (const LuElfInput *input)
{
  LuElfHeaders headers = { 0 };
  g_autoptr (LuGoTable) table = NULL;
  LuGoTableFunction function;

  if (!lu_elf_headers_read (&headers, input, NULL))
    return;
  table = lu_go_table_read (&headers, input);
  lu_elf_headers_clear (&headers);
  for (guint i = 0; table != NULL && i < lu_go_table_n_functions (table); i++)
    if (lu_go_table_function (table, i, &function))
      follow (table, &function);
}

/* Takes the bytes for the code of each function that has rules. */
static void
look_for_switches (const uint8_t *data, size_t size)
{
  static const char *const names[] = { "runtime.systemstack", "runtime.asmcgocall", "time.now" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const LuGoCode code = { .name = names[i],
                              .code = data,
                              .size = MIN (size, LU_GO_SWITCH_BYTES) };
      struct lu_rule rule;

      for (gsize at = 0; lu_go_find_switch (&code, &at, &rule); at++)
        g_assert_true (rule.cfa_kind != LU_CFA_NONE && at < code.size);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const LuElfInput input = { .fd = -1, .bytes = data, .size = size };
  const LuTableLimits limits = { .max_bytes = 1 << 20 };
  g_autoptr (LuImage) image = lu_image_new_from_memory (data, size, NULL);
  g_autoptr (LuTable) table = NULL;

  read_table (&input);
  look_for_switches (data, size);
  if (image == NULL || lu_image_go_functions (image) == NULL)
    return 0;
  table = lu_table_new_for_image (image, &limits);
  for (guint64 address = 0x400400; table != NULL && address < 0x400c00; address += 3)
    lu_table_find (table, address);
  return 0;
}
