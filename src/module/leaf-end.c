/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-end.c - see leaf-end.h. */

#include "module/leaf-end.h"

#include "base/clock.h"
#include "code/decoder.h"

/* A half of the bytes may be before the leaf: loops lead back. */
#define HALF      (LU_LEAF_WINDOW_BYTES / 2)
#define MAX_OPS   1024
#define MAX_PATHS 64

/* Offsets are those from the start of the window. */
typedef struct
{
  const guint8 *bytes;                   /* borrowed */
  guint8 seen[LU_LEAF_WINDOW_BYTES / 8]; /* a bit for each byte at which an instruction begins */
  guint16 paths[MAX_PATHS];
  guint size, n_ops, n_paths;
  gboolean has_return;
} Paths;

/* Marks an instruction. Returns whether it was marked before. */
static gboolean
mark (Paths *self, guint offset)
{
  guint8 bit = (guint8) (1u << offset % 8);
  gboolean is_seen = (self->seen[offset / 8] & bit) != 0;

  self->seen[offset / 8] |= bit;
  return is_seen;
}

/* Adds a path. FALSE: it leads out of what is looked at. */
static gboolean
add_path (Paths *self, guint64 target)
{
  if (target >= self->size || self->n_paths == MAX_PATHS)
    return FALSE;
  self->paths[self->n_paths++] = (guint16) target;
  return TRUE;
}

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
    case LU_OP_JUMP_INDIRECT:
    case LU_OP_SYSTEM_CALL:
    case LU_OP_STOP:
      return FALSE;
    case LU_OP_STORE:
      return op->base != LU_CODE_SP && op->index != LU_CODE_SP;
    default:
      return (op->writes & (1u << LU_CODE_SP | 1u << LU_CODE_FP)) == 0;
    }
}

/* Follows a path to its end. FALSE: it is not known what becomes of the stack there. */
static gboolean
follow_path (Paths *self, guint offset)
{
  while (offset < self->size)
    {
      LuOp op;

      if (mark (self, offset))
        return TRUE;
      if (++self->n_ops > MAX_OPS
          || !lu_decoder_decode (self->bytes + offset, self->size - offset, offset, &op))
        return FALSE;
      if (op.kind == LU_OP_RETURN)
        {
          self->has_return = TRUE;
          return TRUE;
        }
      if (op.kind == LU_OP_JUMP)
        return add_path (self, op.target);
      if (op.kind == LU_OP_BRANCH ? !add_path (self, op.target) : !is_harmless (&op))
        return FALSE;
      offset += op.size;
    }
  return FALSE;
}

gboolean
lu_leaf_returns (const guint8 *bytes, guint size, guint leaf)
{
  Paths self = { .bytes = bytes, .size = MIN (size, LU_LEAF_WINDOW_BYTES) };
  gboolean is_known = add_path (&self, leaf);

  while (is_known && self.n_paths > 0)
    is_known = follow_path (&self, self.paths[--self.n_paths]);
  return is_known && self.has_return;
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
