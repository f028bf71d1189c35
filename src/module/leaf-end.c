/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-end.c - see leaf-end.h. */

#include "module/leaf-end.h"

#include "base/clock.h"

/* A half of the bytes may be before the leaf: loops lead back. */
#define HALF      (LU_LEAF_WINDOW_BYTES / 2)
#define MAX_OPS   1024
#define MAX_PATHS 64

/* Returns whether the instruction leaves alone where the return address is. */
static gboolean
is_harmless (const LuOp *op)
{
  switch (op->kind)
    {
    case LU_OP_PUSH:
    case LU_OP_POP:
    case LU_OP_LEAVE:
    case LU_OP_CALL:
    case LU_OP_CALL_INDIRECT:
    case LU_OP_SYSTEM_CALL:
      return FALSE;
    case LU_OP_STORE:
      return op->base != LU_CODE_SP && op->index != LU_CODE_SP;
    default:
      return (op->writes & (1u << LU_CODE_SP | 1u << LU_CODE_FP)) == 0;
    }
}

static gboolean
visit (const LuOp *op, gpointer user_data)
{
  gboolean *has_return = user_data;

  if (op->kind == LU_OP_RETURN)
    *has_return = TRUE;
  return op->kind == LU_OP_RETURN || op->kind == LU_OP_JUMP || op->kind == LU_OP_BRANCH
         || is_harmless (op);
}

gboolean
lu_leaf_returns (const guint8 *bytes, guint size, guint leaf)
{
  gboolean has_return = FALSE;
  LuCodePaths paths = { .bytes = bytes,
                        .size = MIN (size, LU_LEAF_WINDOW_BYTES),
                        .max_ops = MAX_OPS,
                        .max_paths = MAX_PATHS,
                        .func = visit,
                        .user_data = &has_return };

  return lu_code_paths_follow (&paths, leaf) && has_return;
}

LuCodeResult
lu_leaf_end (LuCodeReader *reader, const LuMappedModule *mapped, const LuLeafCode *code,
             gboolean *is_bare)
{
  guint64 begin = lu_thread_cpu_ns ();
  guint before = (guint) MIN (code->before, HALF);
  guint size = before + (guint) MIN (code->after, HALF);
  g_autofree guint8 *bytes = NULL;
  LuCodeResult result;

  *is_bare = FALSE;
  if (!lu_decoder_load ())
    return LU_CODE_READ;
  if (!lu_code_reader_may_work (reader, mapped->pid))
    return LU_CODE_OVER_BUDGET;
  bytes = g_malloc (LU_LEAF_WINDOW_BYTES);
  result = lu_code_reader_read_anew (reader, mapped, code->file_offset - before, bytes, size);
  *is_bare = result == LU_CODE_READ && lu_leaf_returns (bytes, size, before);
  lu_code_reader_charge (reader, mapped->pid, lu_thread_cpu_ns () - begin);
  return result;
}
