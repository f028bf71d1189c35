/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* flow-tables.c - tables of jumps: what they hold, which entries of a table of unknown size are
 * followed, and which labels a jump through a register leads to; see flow-private.h. */

#include "code/flow-private.h"

#include <string.h>

/* Jumps through tables of unknown size that are kept: so many, and one more for so many bytes of
 * code. */
#define MIN_OPEN       4096
#define BYTES_PER_OPEN 512
/* The longest function that they are followed in, in bytes. */
#define MAX_OPEN_FUNCTION (256u << 10)
#define MAX_OPEN_ENTRIES  1024
/* Bytes between an entry's code and code that was reached, outside of the first piece of a
 * function. */
#define MAX_APART 1024
/* Entries of a table of labels; fewer are no interpreter's. */
#define MIN_LABELS 8
#define MAX_LABELS 16384
/* Entries one after the other that do not lead into the function: the table has ended. */
#define MAX_ELSEWHERE 256
/* Entries of a table of bytes. */
#define MAX_BYTES 256

gboolean
lu_flow_read_entry (LuFlow *self, const LuJumpTable *table, guint32 i, guint64 *target)
{
  const LuFlowFile *file = self->file;
  gint32 offset;

  if (table->is_wide)
    return file->read_pointer (file->data, table->address + 8 * (guint64) i, target);
  if (!file->read (file->data, table->address + 4 * (guint64) i, &offset, sizeof offset))
    return FALSE;
  *target = table->base + (guint64) (gint64) offset;
  return TRUE;
}

/* Returns whether a table of offsets has ended before an entry: an instruction uses the address of
 * that, so something else begins there. The offsets of another table would lead to the middle of
 * instructions. */
static gboolean
is_behind_table (const LuFlow *self, const LuJumpTable *table, guint32 i)
{
  return !table->is_wide && i > 0
         && lu_code_hints_has (self->file->hints, table->address + 4 * (guint64) i);
}

gboolean
lu_flow_has_whole_table (const LuFlow *self, const LuJumpTable *table)
{
  guint32 i = 0;

  while (i < table->n && !is_behind_table (self, table, i))
    i++;
  return i == table->n;
}

/* Returns whether an entry leads behind the end of its function, to padding or to the next
 * function: LLVM has such entries for what cannot occur. */
static gboolean
is_behind_end (LuFlow *self, guint64 target, const LuPath *path)
{
  guint64 address = target;
  LuOp op = { .is_padding = TRUE };

  while (self->work > 0 && op.is_padding)
    {
      gsize at = address - self->range.start;

      self->work--;
      if (at >= self->range.size
          || !lu_decoder_decode (self->range.bytes + at, self->range.size - at, address, &op))
        return FALSE;
      if (op.is_padding)
        address += op.size;
    }
  if (address % LU_FLOW_ALIGNMENT != 0)
    return FALSE;
  return address > target
         || (op.kind == LU_OP_PUSH && lu_flow_is_callee_saved (op.src)
             && !lu_path_is_balanced (path));
}

guint32
lu_flow_byte_table_limit (LuFlow *self, const LuOp *op, const LuPath *path)
{
  const LuFlowFile *file = self->file;
  guint8 bytes[MAX_BYTES];
  guint8 most = 0;
  guint64 address;
  guint32 n;

  if (!lu_path_byte_table (path, op, &address, &n) || n > sizeof bytes
      || !file->read (file->data, address, bytes, n))
    return 0;
  for (guint32 i = 0; i < n; i++)
    most = MAX (most, bytes[i]);
  return (guint32) most + 1;
}

void
lu_flow_follow_entry (LuFlow *self, guint32 id, guint64 target, const LuPath *path)
{
  if (!is_behind_end (self, target, path))
    lu_flow_fork_to (self, id, target, path);
}

/* Tables of unknown size */

/* Keeps a jump, unless there are too many. */
static void
keep_jump (const LuFlow *self, GArray *jumps, const LuFlowOpenJump *jump)
{
  if (jumps->len < MIN_OPEN + self->home.size / BYTES_PER_OPEN)
    g_array_append_vals (jumps, jump, 1);
}

void
lu_flow_note_open_jump (LuFlow *self, guint32 id, guint64 address, const LuJumpTable *table,
                        const LuPath *path)
{
  const LuFlowOpenJump jump = { address, *table, LU_CODE_NO_REGISTER, id, *path };

  keep_jump (self, self->open_jumps, &jump);
}

/* Takes from the work that open jumps may still cost. FALSE: nothing is left. */
static gboolean
work_on_open_jumps (LuFlow *self)
{
  if (self->open_work == 0)
    return FALSE;
  self->open_work--;
  return TRUE;
}

/* Returns whether the nearest code before or behind an offset that was reached belongs to a
 * function. step: -1 or 1. */
static gboolean
is_beside (LuFlow *self, guint32 id, gsize at, gssize step)
{
  for (guint i = 0; i < MAX_APART && at < self->range.size && work_on_open_jumps (self); i++)
    {
      if (self->cells[at] > LU_CELL_INSIDE)
        return self->owners[at] == id;
      at += (gsize) step;
    }
  return FALSE;
}

/* Returns whether it is nothing but a hint that another function begins where one may go on:
 * nothing else shows it, and the function has code behind it. */
static gboolean
is_label (const LuFlow *self, guint32 id, guint64 start)
{
  guint32 other = lu_flow_find_function (self, start);
  const LuFlowFunction *function = lu_flow_function_at (self, other);

  return function->kind >= LU_START_HINT && !function->is_called && !function->begins_with_save
         && (function->is_bad || !function->has_exit)
         && lu_flow_function_at (self, id)->last > start && lu_flow_is_weaker (self, other, id);
}

/* Returns the start of the code of a function in which a jump is. One that goes on in another has
 * the code of that, too, if it came there first. */
static guint64
find_start (LuFlow *self, const LuFlowOpenJump *jump)
{
  guint64 at = jump->address, end = at - MIN (at - self->range.start, MAX_OPEN_FUNCTION);

  while (at > end && !lu_flow_is_start (self, at) && work_on_open_jumps (self))
    at--;
  return lu_flow_is_start (self, at) && self->owners[at - self->range.start] == jump->function
             ? at
             : lu_flow_function_at (self, jump->function)->start;
}

/* Returns whether no other function is known to begin between the start of the code of a function
 * and an address. */
static gboolean
is_behind_start (LuFlow *self, guint32 id, guint64 start, guint64 address)
{
  if (address <= start || address - start >= MAX_OPEN_FUNCTION)
    return FALSE;
  if (start != self->open_start || self->open_n != self->functions->len)
    {
      guint64 end = MIN (start + MAX_OPEN_FUNCTION, self->range.start + self->range.size), at;

      for (at = start + 1; at < end && (!lu_flow_is_start (self, at) || is_label (self, id, at))
                           && work_on_open_jumps (self);)
        at++;
      self->open_start = start;
      self->open_n = self->functions->len;
      self->open_end = at;
    }
  return address < self->open_end;
}

/* Returns whether a function may go on at an address. */
static gboolean
may_go_on_at (const LuFlow *self, guint32 id, guint64 address)
{
  return self->cells[address - self->range.start] != LU_CELL_INSIDE
         && (!lu_flow_is_start (self, address) || is_label (self, id, address));
}

/* Returns whether an address is in a function, which may be in two pieces: behind the start of its
 * code, or between code of the function that was reached. */
static gboolean
is_within (LuFlow *self, guint32 id, guint64 start, guint64 address)
{
  gsize at = address - self->range.start;

  return may_go_on_at (self, id, address)
         && (is_behind_start (self, id, start, address)
             || (is_beside (self, id, at, -1) && is_beside (self, id, at, 1)));
}

/* Returns whether a path to an address would change nothing. */
static gboolean
is_known_at (const LuFlow *self, guint32 id, guint64 address, const LuPath *path)
{
  gsize at = address - self->range.start;
  LuFrameFacts facts;

  if (self->cells[at] <= LU_CELL_INSIDE || self->owners[at] != id)
    return FALSE;
  facts = *lu_facts_list_get (self->facts, self->cells[at]);
  return !lu_frame_facts_meet (&facts, &path->facts);
}

/* Follows a jump to an address, if that is in the function itself and this is news. start: of the
 * function's code. */
static void
fork_within (LuFlow *self, const LuFlowOpenJump *jump, guint64 start, guint64 target)
{
  if (!is_known_at (self, jump->function, target, &jump->path)
      && is_within (self, jump->function, start, target))
    lu_flow_follow_entry (self, jump->function, target, &jump->path);
}

/* Follows a jump to an address that is an entry of its own table, so that it may lead to a part of
 * the function anywhere. */
static void
fork_apart (LuFlow *self, const LuFlowOpenJump *jump, guint64 target)
{
  guint32 id = jump->function;

  if (!is_known_at (self, id, target, &jump->path) && may_go_on_at (self, id, target))
    lu_flow_follow_entry (self, id, target, &jump->path);
}

/* Returns the number of entries of a table, up to the first that does not lead to code.
 * is_closed: other data shows that it ends there. */
static guint32
count_entries (LuFlow *self, const LuJumpTable *table, gboolean *is_closed)
{
  guint64 target;
  guint32 n = 0;

  while (n < MAX_OPEN_ENTRIES && work_on_open_jumps (self) && !is_behind_table (self, table, n)
         && lu_flow_read_entry (self, table, n, &target) && lu_flow_is_in_range (self, target))
    n++;
  *is_closed = is_behind_table (self, table, n);
  return n;
}

/* Follows the entries of a table that lead into the function itself. */
static void
follow_open_jump (LuFlow *self, const LuFlowOpenJump *jump)
{
  const LuJumpTable *table = &jump->table;
  guint32 id = jump->function, n;
  guint64 target, start;
  gboolean is_closed;

  if (lu_flow_function_at (self, id)->is_bad)
    return;
  start = find_start (self, jump);
  n = count_entries (self, table, &is_closed);
  for (guint32 i = 0; i < n && lu_flow_read_entry (self, table, i, &target); i++)
    if (is_closed)
      fork_apart (self, jump, target);
    else
      fork_within (self, jump, start, target);
}

gboolean
lu_flow_run_tables (LuFlow *self)
{
  /* Following them adds more of them. */
  for (guint i = 0; i < self->open_jumps->len; i++)
    {
      LuFlowOpenJump jump = g_array_index (self->open_jumps, LuFlowOpenJump, i);

      follow_open_jump (self, &jump);
      if (!(lu_flow_run (self) && lu_flow_run_pointers (self)))
        return FALSE;
    }
  return TRUE;
}

/* Labels */

void
lu_flow_note_label (LuFlow *self, guint32 id, const LuOp *op)
{
  LuFlowFunction *function = lu_flow_function_at (self, id);
  const LuFlowLabel label = { op->target, op->dst, function->labels };

  function->labels = self->labels->len;
  g_array_append_val (self->labels, label);
}

/* Returns whether a jump is like the last one that is kept. */
static gboolean
is_like_last (const LuFlow *self, const LuFlowOpenJump *jump)
{
  guint n = self->to_labels->len;
  const LuFlowOpenJump *last =
      n > 0 ? &g_array_index (self->to_labels, LuFlowOpenJump, n - 1) : NULL;

  return last != NULL && last->function == jump->function && last->src == jump->src
         && memcmp (&last->path.facts, &jump->path.facts, sizeof jump->path.facts) == 0;
}

/* Interpreters jump in this way behind each of their instructions, so only the facts are kept: they
 * are the same behind all of them. */
void
lu_flow_note_jump_to_label (LuFlow *self, guint32 id, guint64 address, const LuOp *op,
                            const LuPath *path)
{
  LuFlowOpenJump jump = { .address = address, .src = op->src, .function = id };
  LuJumpTable table;

  if (lu_path_jump_table (path, op, &table))
    return;
  lu_path_enter (&jump.path);
  jump.path.facts = path->facts;
  if (!is_like_last (self, &jump))
    keep_jump (self, self->to_labels, &jump);
}

/* Returns whether a label is in the first piece of a function. Tables have too many to search the
 * other one. */
static gboolean
is_label_of (LuFlow *self, const LuFlowOpenJump *jump, guint64 start, guint64 label)
{
  return may_go_on_at (self, jump->function, label)
         && is_behind_start (self, jump->function, start, label);
}

/* Reads an entry of a table of labels. FALSE: it ends there. */
static gboolean
read_label (LuFlow *self, guint64 table, guint32 i, guint64 *target)
{
  const LuFlowFile *file = self->file;

  return work_on_open_jumps (self)
         && file->read_pointer (file->data, table + 8 * (guint64) i, target)
         && lu_flow_is_in_range (self, *target);
}

/* Follows a jump to the labels of a table that its function uses. Some lead to a cold part of it.
 * Pointers to functions behind this one, which nothing else has led to yet, are no labels:
 * functions are aligned. */
static void
follow_label_table (LuFlow *self, const LuFlowOpenJump *jump, guint64 start, guint64 table)
{
  guint32 n = 0, n_within = 0, n_unaligned = 0, n_elsewhere = 0;
  guint64 target;

  for (; n < MAX_LABELS && n_elsewhere < MAX_ELSEWHERE && read_label (self, table, n, &target); n++)
    if (is_label_of (self, jump, start, target))
      {
        n_elsewhere = 0;
        n_within++;
        n_unaligned += target % LU_FLOW_ALIGNMENT != 0;
      }
    else
      n_elsewhere++;
  if (n_within < MIN_LABELS || 2 * n_unaligned < n_within)
    return;
  for (guint32 i = 0; i < n && read_label (self, table, i, &target); i++)
    if (is_label_of (self, jump, start, target)
        && !is_known_at (self, jump->function, target, &jump->path))
      lu_flow_follow_entry (self, jump->function, target, &jump->path);
}

static void
follow_to_labels (LuFlow *self, const LuFlowOpenJump *jump)
{
  const LuFlowFunction *function = lu_flow_function_at (self, jump->function);
  guint32 label = function->is_bad ? 0 : function->labels;
  guint64 start = label != 0 ? find_start (self, jump) : 0;

  while (label != 0 && work_on_open_jumps (self))
    {
      const LuFlowLabel *to = &g_array_index (self->labels, LuFlowLabel, label);

      if (!lu_flow_is_at_home (self, to->address))
        follow_label_table (self, jump, start, to->address);
      else if (to->dst == jump->src)
        fork_within (self, jump, start, to->address);
      label = to->next;
    }
}

gboolean
lu_flow_add_labels (LuFlow *self)
{
  for (guint i = 0; i < self->to_labels->len; i++)
    follow_to_labels (self, &g_array_index (self->to_labels, LuFlowOpenJump, i));
  g_array_set_size (self->to_labels, 0);
  return self->items->len > 0;
}
