/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-paths.c - see code-paths.h. */

#include "module/code-paths.h"

gboolean
lu_code_paths_has (const LuCodePaths *self, guint64 offset)
{
  return offset < self->size && (self->seen[offset / 8] >> offset % 8 & 1) != 0;
}

/* Adds a path. FALSE: it leads out of what is looked at. */
static gboolean
add_path (LuCodePaths *self, guint64 offset)
{
  if (offset >= self->size || self->n_paths == self->max_paths)
    return FALSE;
  self->paths[self->n_paths++] = (guint16) offset;
  return TRUE;
}

/* Follows the path at an offset to its end. FALSE: it is not known where it leads. */
static gboolean
follow_path (LuCodePaths *self, guint offset)
{
  while (offset < self->size && !lu_code_paths_has (self, offset))
    {
      LuOp op;

      if (++self->n_ops > self->max_ops
          || !lu_decoder_decode (self->bytes + offset, self->size - offset, self->start + offset,
                                 &op)
          || !self->func (&op, self->user_data))
        return FALSE;
      self->seen[offset / 8] |= (guint8) (1u << offset % 8);
      if (op.kind == LU_OP_RETURN)
        return TRUE;
      if (op.kind == LU_OP_JUMP_INDIRECT || op.kind == LU_OP_STOP)
        return FALSE;
      if (op.kind == LU_OP_JUMP)
        return add_path (self, op.target - self->start);
      if (op.kind == LU_OP_BRANCH && !add_path (self, op.target - self->start))
        return FALSE;
      offset += op.size;
    }
  return offset < self->size;
}

gboolean
lu_code_paths_follow (LuCodePaths *self, guint offset)
{
  gboolean is_known = add_path (self, offset);

  while (is_known && self->n_paths > 0)
    is_known = follow_path (self, self->paths[--self->n_paths]);
  return is_known;
}
