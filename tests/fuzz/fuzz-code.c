/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-code.c - makes rows from any bytes as code. The input is the code; its last eight bytes are
 * offsets of functions. Rows have to rise, and have sound rules. */

#include "fuzz.h"

#include "arch/arch.h"
#include "code/decoder.h"
#include "code/flow.h"

#include <string.h>

#define ADDRESS  0x1000
#define N_STARTS 8

typedef struct
{
  const guint8 *bytes;
  gsize size;
} Input;

static gboolean
read_bytes (gpointer data, guint64 address, gpointer bytes, gsize size)
{
  const Input *input = data;

  if (address < ADDRESS || input->size < size || address - ADDRESS > input->size - size)
    return FALSE;
  memcpy (bytes, input->bytes + (address - ADDRESS), size);
  return TRUE;
}

static gboolean
read_pointer (gpointer data, guint64 address, guint64 *pointer)
{
  return read_bytes (data, address, pointer, sizeof *pointer);
}

static gboolean
is_noreturn (gpointer data, guint64 address)
{
  return address % 3 == 0;
}

static guint64
linkage_at (gpointer data, guint64 address)
{
  return address % 5 == 0 ? address : 0;
}

static void
check (const LuExtraRows *rows, gsize size)
{
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const LuExtraRow *row = &g_array_index (rows->rows, LuExtraRow, i);

      g_assert_true (row->address >= ADDRESS - 1 && row->address <= ADDRESS + size);
      g_assert_cmpuint (row->rule, <, rows->rules.n);
      if (i > 0)
        g_assert_true (row->address > (row - 1)->address && row->rule != (row - 1)->rule);
    }
  for (guint i = 1; i < rows->starts->len; i++)
    g_assert_true (g_array_index (rows->starts, guint64, i - 1)
                   < g_array_index (rows->starts, guint64, i));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Input input = { data, size };
  const LuCodeBytes range = { ADDRESS, size, data };
  LuFlowFile file = { read_bytes, read_pointer, is_noreturn,
                      linkage_at, &input,       lu_arch_x86_64.kernel_frame,
                      NULL };
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof range);
  g_autoptr (LuCodeHints) hints = NULL;
  g_autoptr (LuExtraRows) rows = NULL;
  g_autoptr (LuFlow) flow = NULL;

  if (size < N_STARTS || size > 65536 || !lu_decoder_load ())
    return 0;
  rows = lu_extra_rows_new ();
  g_array_append_val (ranges, range);
  file.hints = hints = lu_code_hints_new (ranges);
  flow = lu_flow_new (&range, &file);
  for (guint i = 0; i < N_STARTS; i++)
    lu_flow_add_start (flow, ADDRESS + data[size - 1 - i], (LuStartKind) (i % 3), i == 7);
  if (lu_flow_run (flow) && lu_flow_run_pointers (flow))
    lu_flow_run_gaps (flow);
  lu_flow_write (flow, LU_FLOW_ALL, rows);
  check (rows, size);
  return 0;
}
