/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* returns.c - see returns.h. */

#include "code/returns.h"

#include "code/code-file.h"

/* Instructions of one function. Longer functions count as returning. */
#define MAX_INSTRUCTIONS 200
/* Branches of one function. */
#define MAX_BRANCHES 24
/* Functions that call each other. */
#define MAX_DEPTH 16
/* Instructions decoded for each byte of code, at most. */
#define WORK_PER_BYTE 2
/* Answers that are kept, more than any file has functions. Those that are not kept are that a
 * function returns. */
#define MAX_ANSWERS (1u << 19)

enum
{
  NEVER = 1,
  RETURNS,
  LOOKED_AT, /* + the depth of the look that is under way */
};

struct _LuCodeReturns
{
  GArray *ranges; /* reference */
  const LuFlowFile *file;
  GHashTable *answers; /* address -> NEVER, RETURNS or LOOKED_AT + depth */
  guint64 work;        /* instructions that may still be decoded */
  guint lowest;        /* depth of the first look on which the last answers depend */
};

/* A look at one function. */
typedef struct
{
  LuCodeReturns *owner;
  guint depth;
  guint n_left;                   /* instructions that may still be looked at */
  guint64 branches[MAX_BRANCHES]; /* targets, followed or not */
  guint n_branches;
} Look;

LuCodeReturns *
lu_code_returns_new (GArray *ranges, const LuFlowFile *file)
{
  LuCodeReturns *self = g_new0 (LuCodeReturns, 1);

  self->ranges = g_array_ref (ranges);
  self->file = file;
  self->answers = g_hash_table_new (NULL, NULL);
  self->lowest = G_MAXUINT;
  for (guint i = 0; i < ranges->len; i++)
    self->work += WORK_PER_BYTE * g_array_index (ranges, LuCodeBytes, i).size;
  return self;
}

void
lu_code_returns_free (LuCodeReturns *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->ranges);
  g_hash_table_unref (self->answers);
  g_free (self);
}

static gboolean
decode (const LuCodeReturns *self, guint64 address, LuOp *op)
{
  guint n = lu_code_file_first (self->ranges, address + 1); /* no code is at the last address */
  const LuCodeBytes *range = n > 0 ? &g_array_index (self->ranges, LuCodeBytes, n - 1) : NULL;
  gsize at = range != NULL ? address - range->start : 0;

  return range != NULL && at < range->size
         && lu_decoder_decode (range->bytes + at, range->size - at, address, op);
}

/* Notes where a path goes on. FALSE: there are too many. */
static gboolean
add_branch (Look *self, guint64 target)
{
  for (guint i = 0; i < self->n_branches; i++)
    if (self->branches[i] == target)
      return TRUE;
  if (self->n_branches == MAX_BRANCHES)
    return FALSE;
  self->branches[self->n_branches++] = target;
  return TRUE;
}

static gboolean returns_from (LuCodeReturns *self, guint64 address, guint depth);

/* Returns whether the pointer at an address is to a function that never returns. */
static gboolean
leads_nowhere (LuCodeReturns *self, guint64 pointer, guint depth)
{
  const LuFlowFile *file = self->file;
  guint64 function = file->function_at != NULL ? file->function_at (file->data, pointer) : 0;

  return file->is_noreturn (file->data, pointer)
         || (function != 0 && !returns_from (self, function, depth));
}

/* Returns whether a path ends at an instruction, without a return. */
static gboolean
is_end (const Look *self, const LuOp *op)
{
  if (op->kind == LU_OP_CALL)
    return !returns_from (self->owner, op->target, self->depth + 1);
  return op->kind == LU_OP_STOP
         || ((op->kind == LU_OP_CALL_INDIRECT || op->kind == LU_OP_JUMP_INDIRECT) && op->target != 0
             && leads_nowhere (self->owner, op->target, self->depth + 1));
}

/* Returns whether another function begins behind a call and its padding: the call never returns,
 * even if that cannot be seen of a function that is called by a pointer. */
static gboolean
is_beyond_end (const Look *self, guint64 address, gboolean is_behind_call)
{
  return is_behind_call && address % LU_FLOW_ALIGNMENT == 0
         && lu_code_hints_has (self->owner->file->hints, address);
}

/* Returns whether a path may return. */
static gboolean
follow (Look *self, guint64 address)
{
  gboolean is_behind_call = FALSE;
  LuOp op;

  for (; self->n_left > 0 && self->owner->work > 0; address += op.size)
    {
      self->n_left--;
      self->owner->work--;
      if (is_beyond_end (self, address, is_behind_call))
        return FALSE;
      if (!decode (self->owner, address, &op) || op.kind == LU_OP_RETURN)
        return TRUE;
      is_behind_call = op.kind == LU_OP_CALL || op.kind == LU_OP_CALL_INDIRECT
                       || (is_behind_call && op.is_padding);
      if (is_end (self, &op))
        return FALSE;
      if (op.kind == LU_OP_JUMP_INDIRECT
          || ((op.kind == LU_OP_BRANCH || op.kind == LU_OP_JUMP) && !add_branch (self, op.target)))
        return TRUE;
      if (op.kind == LU_OP_JUMP)
        return self->owner->file->linkage_at (self->owner->file->data, op.target) != 0
               && returns_from (self->owner, op.target, self->depth + 1);
    }
  return TRUE;
}

static gboolean
look (LuCodeReturns *self, guint64 address, guint depth)
{
  Look one = { .owner = self, .depth = depth, .n_left = MAX_INSTRUCTIONS };
  const LuFlowFile *file = self->file;
  guint64 pointer = file->linkage_at (file->data, address);

  if (pointer != 0)
    return !leads_nowhere (self, pointer, depth + 1);
  add_branch (&one, address);
  for (guint i = 0; i < one.n_branches; i++)
    if (follow (&one, one.branches[i]))
      return TRUE;
  return FALSE;
}

/* Functions that call each other never return if none of them has another path that does. So one
 * that is being looked at counts as never returning; what follows from that is only kept once its
 * own look has ended. */
static gboolean
look_at (LuCodeReturns *self, guint64 address, guint depth)
{
  gpointer key = GSIZE_TO_POINTER (address);
  guint before = self->lowest;
  gboolean is_returning;

  g_hash_table_insert (self->answers, key, GUINT_TO_POINTER (LOOKED_AT + depth));
  self->lowest = G_MAXUINT;
  is_returning = look (self, address, depth);
  if (is_returning)
    self->lowest = G_MAXUINT; /* whatever the others do */
  if (self->lowest >= depth)
    {
      g_hash_table_insert (self->answers, key, GUINT_TO_POINTER (is_returning ? RETURNS : NEVER));
      self->lowest = G_MAXUINT;
    }
  else
    g_hash_table_remove (self->answers, key);
  self->lowest = MIN (self->lowest, before);
  return is_returning;
}

static gboolean
returns_from (LuCodeReturns *self, guint64 address, guint depth)
{
  guint answer = GPOINTER_TO_UINT (g_hash_table_lookup (self->answers, GSIZE_TO_POINTER (address)));

  if (answer == 0)
    return depth == MAX_DEPTH || self->work == 0 || g_hash_table_size (self->answers) >= MAX_ANSWERS
           || look_at (self, address, depth);
  if (answer >= LOOKED_AT)
    self->lowest = MIN (self->lowest, answer - LOOKED_AT);
  return answer == RETURNS;
}

gboolean
lu_code_returns_from (LuCodeReturns *self, guint64 address)
{
  return returns_from (self, address, 0);
}
