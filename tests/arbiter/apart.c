/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* apart.c - see apart.h. */

#include "apart.h"

#include "code/decoder.h"
#include "code/flow.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

static char *debug_path;

static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
                                          .find_debuginfo = dwfl_standard_find_debuginfo,
                                          .section_address = dwfl_offline_section_address,
                                          .debuginfo_path = &debug_path };

static void
add_ranges (GArray *found, Dwarf_Die *unit)
{
  Dwarf_Addr base, start, end;
  ptrdiff_t at = 0;

  while ((at = dwarf_ranges (unit, at, &base, &start, &end)) > 0)
    {
      LuCodeRange range = { .start = start, .end = end };

      g_array_append_val (found, range);
    }
}

GArray *
arbiter_read_assembly (const char *path)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (LuCodeRange));
  Dwfl *dwfl = dwfl_begin (&callbacks);
  Dwfl_Module *module = dwfl_report_offline (dwfl, "", path, -1);
  Dwarf_Addr bias;
  Dwarf *dwarf;
  Dwarf_CU *unit = NULL;
  Dwarf_Die die;

  dwfl_report_end (dwfl, NULL, NULL);
  dwarf = module != NULL ? dwfl_module_getdwarf (module, &bias) : NULL;
  while (dwarf != NULL && dwarf_get_units (dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
    if (dwarf_srclang (&die) == DW_LANG_Mips_Assembler)
      add_ranges (found, &die);
  g_array_sort (found, lu_code_compare_addresses);
  dwfl_end (dwfl);
  return found;
}

const guint8 *
arbiter_bytes_at (const LuCodeFile *file, guint64 address, gsize *left)
{
  guint n = lu_code_file_first (file->ranges, address + 1);
  const LuCodeBytes *range = n > 0 ? &g_array_index (file->ranges, LuCodeBytes, n - 1) : NULL;

  if (range == NULL || address - range->start >= range->size)
    return NULL;
  *left = range->size - (address - range->start);
  return range->bytes + (address - range->start);
}

/* Returns whether a path ends at an instruction. */
static gboolean
is_end (const LuCodeFile *file, const LuOp *op)
{
  const LuFlowFile *flow = &file->flow_file;

  switch (op->kind)
    {
    case LU_OP_RETURN:
    case LU_OP_STOP:
    case LU_OP_JUMP_INDIRECT:
      return TRUE;
    case LU_OP_CALL:
      return !flow->returns (flow->data, op->target);
    case LU_OP_CALL_INDIRECT:
      return op->target != 0 && flow->is_noreturn (flow->data, op->target);
    default:
      return FALSE;
    }
}

GHashTable *
arbiter_follow_pads (const char *pads, const LuCodeFile *file,
                     gboolean (*is_known) (gpointer data, guint64 address), gpointer data)
{
  GHashTable *found = g_hash_table_new (NULL, NULL);
  g_autofree char *text = NULL;
  g_autoptr (GArray) paths = g_array_new (FALSE, FALSE, sizeof (guint64));
  const char *at;
  char *end;

  if (pads == NULL || !g_file_get_contents (pads, &text, NULL, NULL))
    return found;
  for (at = text; *at != '\0'; at = end + 1)
    {
      guint64 pad = g_ascii_strtoull (at, &end, 0);

      g_array_append_val (paths, pad);
    }
  while (paths->len > 0)
    {
      guint64 address = g_array_index (paths, guint64, paths->len - 1);
      const guint8 *bytes;
      gsize left;
      LuOp op;

      g_array_set_size (paths, paths->len - 1);
      while ((bytes = arbiter_bytes_at (file, address, &left)) != NULL && !is_known (data, address)
             && lu_decoder_decode (bytes, left, address, &op)
             && g_hash_table_add (found, ARBITER_KEY (address)) && !is_end (file, &op))
        {
          if (op.kind == LU_OP_BRANCH)
            g_array_append_val (paths, op.target);
          address = op.kind == LU_OP_JUMP ? op.target : address + op.size;
        }
    }
  return found;
}
