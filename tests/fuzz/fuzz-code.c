/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-code.c - makes rows from any bytes as code, at once, and those of a part of it that knows
 * the rest only by short looks. The input is the code; its last eight bytes are offsets of
 * functions. Rows have to rise, and have sound rules. */

#include "fuzz.h"

#include "arch/arch.h"
#include "code/decoder.h"
#include "code/flow.h"
#include "code/returns.h"
#include "code/row-list.h"

#include <string.h>

#define ADDRESS  0x1000
#define N_STARTS 8

typedef struct
{
  const guint8 *bytes;
  gsize size;
  LuCodeReturns *returns;
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

static gboolean
returns (gpointer data, guint64 address)
{
  const Input *input = data;

  return lu_code_returns_from (input->returns, address);
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

static LuFlow *
follow (const LuCodeBytes *range, const LuCodeBytes *home, const LuFlowFile *file)
{
  LuFlow *flow = lu_flow_new (range, file);

  lu_flow_set_home (flow, home);
  for (guint i = 0; i < N_STARTS; i++)
    lu_flow_add_start (flow, home->start + range->bytes[range->size - 1 - i], (LuStartKind) (i % 3),
                       i == 7);
  if (lu_flow_run (flow) && lu_flow_run_pointers (flow))
    lu_flow_run_gaps (flow);
  return flow;
}

/* Has some rows written, checks them, and takes them. */
static LuRowList
take_rows (LuFlow *flow, LuFlowRows which, LuExtraRows *rows, gsize size)
{
  LuRowList list = lu_row_list_new ();

  g_array_set_size (rows->rows, 0);
  g_array_set_size (rows->starts, 0);
  lu_flow_write (flow, which, rows);
  check (rows, size);
  lu_row_list_append (&list, rows->rows, rows->starts);
  return list;
}

/* Follows the second half, and what of the first half it leads to. */
static void
check_half (const LuCodeBytes *range, const LuFlowFile *file, LuExtraRows *rows)
{
  gsize half = range->size / 2;
  const LuCodeBytes home = { range->start + half, range->size - half, range->bytes + half };
  g_autoptr (LuFlow) flow = follow (range, &home, file);
  LuRowList certain = take_rows (flow, LU_FLOW_CERTAIN, rows, range->size);
  LuRowList weak = take_rows (flow, LU_FLOW_WEAK, rows, range->size);
  LuRowList away = take_rows (flow, LU_FLOW_AWAY, rows, range->size);
  LuRowList better = lu_row_list_new (), all = { rows->rows, rows->starts };

  g_array_set_size (rows->rows, 0);
  g_array_set_size (rows->starts, 0);
  lu_row_list_overlay (&better, &certain, &away);
  lu_row_list_overlay (&all, &better, &weak);
  check (rows, range->size);
  lu_row_list_clear (&certain);
  lu_row_list_clear (&weak);
  lu_row_list_clear (&away);
  lu_row_list_clear (&better);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Input input = { data, size, NULL };
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
  file.hints = hints = lu_code_hints_new (ranges, ranges);
  flow = follow (&range, &range, &file);
  lu_flow_write (flow, LU_FLOW_ALL, rows);
  check (rows, size);
  input.returns = lu_code_returns_new (ranges, &file);
  file.returns = returns;
  check_half (&range, &file, rows);
  lu_code_returns_free (input.returns);
  return 0;
}
