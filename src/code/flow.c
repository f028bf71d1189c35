/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* flow.c - follows paths; see flow.h.
 *
 * Each byte of code has a cell: not reached, inside an instruction, or the number of the facts at
 * the instruction that begins there. The owner of an instruction is the function that reached it
 * last. A path ends at an instruction that was reached before with the same facts; otherwise the
 * facts that both agree on replace them, and the path goes on. Facts can only be lost, at most six
 * times, so this ends. */

#include "code/flow.h"

#include "base/pages.h"
#include "code/facts-list.h"
#include "code/flow-private.h"

#include <string.h>

/* Instructions decoded for each byte of code, at most. */
#define WORK_PER_BYTE 8
#define MIN_WORK      4096
/* Entries of a table of jumps. */
#define MAX_ENTRIES 16384
/* Instructions that are looked at to tell whether a function begins. */
#define MAX_STRAIGHT 64
/* Instructions from the push of the frame pointer to its set-up; compilers put others in between.
 */
#define MAX_PROLOGUE 6
/* Instructions of a function that is looked at to tell which registers it keeps. */
#define MAX_KEEPING 200
/* Bytes of an instruction (Intel SDM, 2.3.11) */
#define LONGEST_INSTRUCTION 15
/* rbx, rbp, r12 to r15 */
#define CALLEE_SAVED 0xf028u

/* Functions */

static gpointer
key_of (const LuFlow *self, guint64 address)
{
  return GSIZE_TO_POINTER (address - self->range.start + 1);
}

guint32
lu_flow_find_function (const LuFlow *self, guint64 address)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (self->by_start, key_of (self, address)));
}

gint
lu_code_compare_addresses (gconstpointer a, gconstpointer b)
{
  guint64 one = *(const guint64 *) a, other = *(const guint64 *) b;

  return one < other ? -1 : one > other;
}

void
lu_flow_add_item (LuFlow *self, guint64 address, guint32 function, const LuPath *path)
{
  LuFlowItem item = { .address = address, .function = function, .path = *path };

  g_array_append_val (self->items, item);
}

gboolean
lu_flow_is_callee_saved (guint8 reg)
{
  return reg < LU_CODE_N_REGISTERS && (CALLEE_SAVED >> reg & 1) != 0;
}

/* Returns whether the first instruction saves a register that belongs to the caller, or makes room
 * on the stack. */
static gboolean
begins_with_save (const LuFlow *self, guint64 start)
{
  gsize at = start - self->range.start;
  LuOp op;

  if (!lu_decoder_decode (self->range.bytes + at, self->range.size - at, start, &op))
    return FALSE;
  if (op.kind == LU_OP_ADD)
    return op.dst == LU_CODE_SP && op.value < 0;
  return op.kind == LU_OP_PUSH && lu_flow_is_callee_saved (op.src);
}

static guint32
add_function (LuFlow *self, guint64 address, LuStartKind kind, gboolean is_entry)
{
  guint32 id = lu_flow_find_function (self, address);
  gsize at = address - self->range.start;
  LuFlowFunction function = { .start = address, .kind = (guint8) kind };
  LuPath path;

  if (id != 0)
    {
      lu_flow_function_at (self, id)->kind =
          (guint8) MIN (lu_flow_function_at (self, id)->kind, (guint8) kind);
      return id;
    }
  id = self->functions->len;
  function.begins_with_save = begins_with_save (self, address);
  g_array_append_val (self->functions, function);
  g_hash_table_insert (self->by_start, key_of (self, address), GUINT_TO_POINTER (id));
  self->starts[at / 8] |= (guint8) (1 << at % 8);
  lu_path_enter (&path);
  path.facts.is_root = is_entry != FALSE;
  lu_flow_add_item (self, address, id, &path);
  return id;
}

/* Returning */

static guint32
add_link (LuFlow *self, guint32 *first, LuFlowLink link)
{
  link.next = *first;
  *first = self->links->len;
  g_array_append_val (self->links, link);
  return *first;
}

/* Notes that a function goes on in one that may return with another frame pointer. */
static void
take_over_fp (LuFlowFunction *from, const LuFlowFunction *to)
{
  if (!to->loses_fp || from->loses_fp)
    return;
  from->is_bad |= from->returns; /* its callers do not know */
  from->loses_fp = TRUE;
}

static void
let_go_on (LuFlow *self, const LuFlowLink *link, const LuFlowFunction *function)
{
  LuFlowItem item = link->item;

  if (!link->is_call)
    {
      take_over_fp (lu_flow_function_at (self, item.function), function);
      g_array_append_val (self->returning, item.function);
      return;
    }
  if (function->loses_fp)
    lu_path_lose_fp (&item.path);
  g_array_append_val (self->items, item);
}

/* Notes that a function returns, and lets those go on that wait for it. */
static void
set_returns (LuFlow *self, guint32 id)
{
  g_array_append_val (self->returning, id);
  while (self->returning->len > 0)
    {
      guint32 last = self->returning->len - 1, now = g_array_index (self->returning, guint32, last);
      LuFlowFunction *function = lu_flow_function_at (self, now);
      guint32 waiter = function->waiters;

      g_array_set_size (self->returning, last);
      if (function->returns)
        continue;
      function->returns = TRUE;
      function->waiters = 0;
      for (; waiter != 0; waiter = g_array_index (self->links, LuFlowLink, waiter).next)
        let_go_on (self, &g_array_index (self->links, LuFlowLink, waiter), function);
    }
}

/* Notes that a function goes on in another one; it returns if that does. */
static void
add_jump (LuFlow *self, guint32 from, guint32 to)
{
  LuFlowJump jump = { from, to };
  LuFlowLink link = { .item.function = from };

  if (from == to)
    return;
  g_array_append_val (self->jumps, jump);
  if (to != LU_FLOW_ANYWHERE && lu_flow_function_at (self, to)->returns)
    take_over_fp (lu_flow_function_at (self, from), lu_flow_function_at (self, to));
  if (to == LU_FLOW_ANYWHERE || lu_flow_function_at (self, to)->returns)
    set_returns (self, from);
  else
    add_link (self, &lu_flow_function_at (self, to)->waiters, link);
}

static void
give_up (LuFlow *self, guint32 id)
{
  lu_flow_function_at (self, id)->is_bad = TRUE;
  set_returns (self, id);
}

/* Cells */

gboolean
lu_flow_is_weaker (const LuFlow *self, guint32 id, guint32 than)
{
  const LuFlowFunction *one = lu_flow_function_at (self, id),
                       *other = lu_flow_function_at (self, than);

  if (one->is_bad != other->is_bad)
    return one->is_bad;
  if (one->kind != other->kind)
    return one->kind > other->kind;
  if (one->kind == LU_START_CERTAIN || one->is_called)
    return FALSE;
  return other->is_called || other->begins_with_save || !one->begins_with_save;
}

/* Lets a function have a place where another one is understood otherwise. FALSE: that one keeps it.
 */
static gboolean
take_place (LuFlow *self, guint32 id, gsize at)
{
  guint32 owner = self->owners[at];

  if (owner == id || owner == 0 || lu_flow_function_at (self, id)->is_bad
      || !lu_flow_is_weaker (self, owner, id))
    return FALSE;
  give_up (self, owner);
  self->owners[at] = id;
  return TRUE;
}

/* Marks the bytes of an instruction. FALSE: another one begins among them. */
static gboolean
claim (LuFlow *self, guint32 id, gsize at, guint size)
{
  for (gsize i = at + 1; i < at + size; i++)
    {
      if (self->cells[i] > LU_CELL_INSIDE && !take_place (self, id, i))
        return FALSE;
      self->cells[i] = LU_CELL_INSIDE;
    }
  return TRUE;
}

/* Brings a path to an instruction that was reached before. FALSE: it ends there. */
static gboolean
meet (LuFlow *self, guint32 id, gsize at, LuPath *path)
{
  guint16 *cell = &self->cells[at];
  guint32 *owner = &self->owners[at];
  LuFrameFacts facts = *lu_facts_list_get (self->facts, *cell);
  gboolean is_changed = lu_frame_facts_meet (&facts, &path->facts);

  if (is_changed && *owner != id && lu_flow_is_weaker (self, id, *owner))
    {
      give_up (self, id);
      return FALSE;
    }
  if (*owner != id && (lu_flow_function_at (self, *owner)->is_bad || is_changed)
      && lu_flow_is_weaker (self, *owner, id))
    {
      give_up (self, *owner);
      is_changed = TRUE;
      *owner = id;
      facts = path->facts;
    }
  add_jump (self, id, *owner);
  if (!is_changed)
    return FALSE;
  path->facts = facts;
  *cell = lu_facts_list_intern (self->facts, &facts);
  return TRUE;
}

/* Brings a path to an instruction. FALSE: it ends there. */
static gboolean
arrive (LuFlow *self, guint32 id, guint64 address, LuPath *path)
{
  gsize at = address - self->range.start;

  if (self->cells[at] > LU_CELL_INSIDE)
    return meet (self, id, at, path);
  if (self->cells[at] == LU_CELL_INSIDE && !take_place (self, id, at))
    {
      give_up (self, id);
      return FALSE;
    }
  if (self->cells[at] == LU_CELL_EMPTY && !lu_flow_is_at_home (self, address))
    g_array_append_val (self->away, address);
  self->cells[at] = lu_facts_list_intern (self->facts, &path->facts);
  self->owners[at] = id;
  lu_flow_function_at (self, id)->last = MAX (lu_flow_function_at (self, id)->last, address);
  return TRUE;
}

/* Jumps */

/* Returns whether a function may be left here. Assembly has functions that are only called directly
 * and change the frame pointer, which their callers know. */
static gboolean
is_left_well (const LuFlow *self, guint32 id, const LuPath *path)
{
  LuFlowFunction *function = lu_flow_function_at (self, id);

  if (lu_path_is_balanced (path))
    return TRUE;
  if (!lu_path_lacks_fp (path) || !function->is_called
      || (function->returns && !function->loses_fp))
    return FALSE;
  function->loses_fp = TRUE;
  return TRUE;
}

/* Returns whether the pointer at an address is to a function that never returns. */
static gboolean
leads_nowhere (const LuFlowFile *file, guint64 pointer)
{
  guint64 function = file->function_at != NULL ? file->function_at (file->data, pointer) : 0;

  return file->is_noreturn (file->data, pointer)
         || (function != 0 && file->returns != NULL && !file->returns (file->data, function));
}

/* Returns whether the function at an address elsewhere never returns. is_entry: it is an entry of a
 * procedure linkage table. */
static gboolean
never_returns (const LuFlow *self, guint64 address, gboolean *is_entry)
{
  const LuFlowFile *file = self->file;
  guint64 pointer = file->linkage_at (file->data, address);

  *is_entry = pointer != 0;
  if (pointer != 0)
    return leads_nowhere (file, pointer);
  return file->returns != NULL && !file->returns (file->data, address);
}

/* Notes that a function goes on outside of the range. */
static void
jump_away (LuFlow *self, guint32 id, guint64 address, const LuPath *path)
{
  LuFunctionJump jump = { lu_flow_function_at (self, id)->start, address };
  gboolean is_entry, is_end = never_returns (self, address, &is_entry);

  if (is_entry)
    jump.to = LU_JUMP_ANYWHERE;
  if (lu_path_is_balanced (path))
    {
      g_array_append_val (self->far_jumps, jump);
      lu_flow_function_at (self, id)->has_exit |=
          (is_entry || lu_code_hints_has_often (self->file->hints, address))
          && lu_flow_function_at (self, id)->kind < LU_START_WORD;
    }
  else if (!path->facts.is_root && !is_end)
    give_up (self, id);
  if (!is_end)
    set_returns (self, id);
}

/* How a path leads to an address. */
typedef enum
{
  BY_JUMP,
  BY_GOING_ON, /* behind another instruction */
  BEHIND_CALL, /* which may never return */
} Way;

/* Returns whether a path leaves for another function, which begins elsewhere. */
static gboolean
leaves_home (const LuFlow *self, guint64 address, const LuPath *path, Way way)
{
  return way == BY_JUMP && !lu_flow_is_at_home (self, address) && lu_path_is_balanced (path)
         && lu_code_hints_has (self->file->hints, address);
}

/* Handles a path that leads to an address. TRUE: it goes on there in the same function. */
static gboolean
can_go_to (LuFlow *self, guint32 id, guint64 address, const LuPath *path, Way way)
{
  gsize at = address - self->range.start;
  LuFlowFunction *to;

  if (!lu_flow_is_in_range (self, address) || leaves_home (self, address, path, way))
    {
      if (way == BY_JUMP)
        jump_away (self, id, address, path);
      else
        set_returns (self, id);
      return FALSE;
    }
  if (!lu_flow_is_start (self, address) || address == lu_flow_function_at (self, id)->start)
    return TRUE;
  if (is_left_well (self, id, path))
    {
      to = lu_flow_function_at (self, lu_flow_find_function (self, address));
      lu_flow_function_at (self, id)->has_exit |=
          to->kind == LU_START_CERTAIN && lu_flow_function_at (self, id)->kind < LU_START_WORD;
      add_jump (self, id, lu_flow_find_function (self, address));
    }
  else if (way != BEHIND_CALL
           && lu_flow_is_weaker (self, lu_flow_find_function (self, address), id))
    {
      /* It is only a part of this function. */
      give_up (self, lu_flow_find_function (self, address));
      self->starts[at / 8] &= (guint8) ~(1 << at % 8);
      return TRUE;
    }
  else if (way == BY_JUMP && !path->facts.is_root)
    give_up (self, id);
  return FALSE;
}

void
lu_flow_fork_to (LuFlow *self, guint32 id, guint64 address, const LuPath *path)
{
  if (can_go_to (self, id, address, path, BY_JUMP))
    lu_flow_add_item (self, address, id, path);
}

/* Follows all entries of a table. FALSE: it is none. */
static gboolean
follow_table (LuFlow *self, guint32 id, guint64 address, const LuOp *op, const LuPath *path)
{
  LuJumpTable table;
  guint64 target = 0;

  if (!lu_path_jump_table (path, op, &table) || table.n > MAX_ENTRIES)
    return FALSE;
  if (table.n == 0 || !lu_flow_has_whole_table (self, &table))
    {
      lu_flow_note_open_jump (self, id, address, &table, path);
      return FALSE;
    }
  for (guint32 i = 0; i < table.n; i++)
    if (!lu_flow_read_entry (self, &table, i, &target) || !lu_flow_is_in_range (self, target))
      return FALSE;
  for (guint32 i = 0; i < table.n; i++)
    {
      lu_flow_read_entry (self, &table, i, &target);
      lu_flow_follow_entry (self, id, target, path);
    }
  return TRUE;
}

static void
apply (LuFlow *self, const LuOp *op, LuPath *path)
{
  guint32 limit = op->kind == LU_OP_EXTEND ? lu_flow_byte_table_limit (self, op, path) : 0;

  lu_path_apply (path, op);
  if (limit > 0)
    lu_path_limit (path, op->dst, limit);
}

static void
jump_indirectly (LuFlow *self, guint32 id, guint64 address, const LuOp *op, const LuPath *path)
{
  const LuFlowJump anywhere = { id, LU_FLOW_ANYWHERE };

  if (op->target != 0 && leads_nowhere (self->file, op->target))
    {
      g_array_append_val (self->jumps, anywhere);
      return;
    }
  if (follow_table (self, id, address, op, path))
    return;
  if (lu_path_is_balanced (path))
    add_jump (self, id, LU_FLOW_ANYWHERE);
  else
    lu_flow_note_jump_to_label (self, id, address, op, path);
  set_returns (self, id);
}

static void
return_from (LuFlow *self, guint32 id, const LuPath *path)
{
  /* At the entry of a program, nothing is there to return to. */
  if (!is_left_well (self, id, path) && !(path->facts.is_root && !path->facts.has_entered))
    give_up (self, id);
  lu_flow_function_at (self, id)->has_exit = TRUE;
  set_returns (self, id);
}

static void
note_called (LuFlow *self, LuFlowFunction *function)
{
  if (function->is_called)
    return;
  function->is_called = TRUE;
  self->n_called++;
  self->n_aligned += function->start % LU_FLOW_ALIGNMENT == 0;
}

/* Reads as many bytes as there are. Returns their number. */
static gsize
read_instruction (const LuFlowFile *file, guint64 address, guint8 *bytes)
{
  gsize n = LONGEST_INSTRUCTION;

  while (n > 0 && !file->read (file->data, address, bytes, n))
    n--;
  return n;
}

/* Returns whether a function returns with a register as it was: one that touches the pages of a
 * large frame, as __rust_probestack() does, or a part of assembly. It is short, and its branches
 * stay in it. */
static gboolean
keeps (LuFlow *self, guint64 start, guint8 reg)
{
  guint64 address = start, farthest = start;
  guint8 bytes[LONGEST_INSTRUCTION];
  LuOp op;

  for (guint i = 0; i < MAX_KEEPING && self->work > 0; i++, address += op.size)
    {
      self->work--;
      if (!lu_decoder_decode (bytes, read_instruction (self->file, address, bytes), address, &op)
          || (op.writes & 1u << reg) != 0)
        return FALSE;
      if (op.kind == LU_OP_RETURN)
        return farthest <= address;
      if ((op.kind >= LU_OP_CALL && op.kind != LU_OP_BRANCH)
          || (op.kind == LU_OP_BRANCH && op.target < start))
        return FALSE;
      if (op.kind == LU_OP_BRANCH)
        farthest = MAX (farthest, op.target);
    }
  return FALSE;
}

/* TRUE: the path goes on behind the call at once. */
static gboolean
call (LuFlow *self, guint32 id, const LuOp *op, guint64 next, LuPath *path)
{
  LuFlowLink link = { .is_call = TRUE,
                      .item = { .address = next, .function = id, .is_behind_call = TRUE } };
  gboolean is_entry;
  guint32 callee;
  guint8 reg;

  if (op->target == next)
    {
      const LuOp push = { .kind = LU_OP_PUSH, .src = LU_CODE_NO_REGISTER };

      lu_path_apply (path, &push);
      return TRUE;
    }
  if (lu_path_needs_register (path, &reg) && keeps (self, op->target, reg))
    lu_path_call_keeping (path, reg);
  else
    lu_path_call (path);
  if (!lu_flow_is_at_home (self, op->target))
    return !never_returns (self, op->target, &is_entry);
  callee = add_function (self, op->target, lu_flow_function_at (self, id)->kind, FALSE);
  if (lu_flow_function_at (self, id)->kind != LU_START_GAP)
    note_called (self, lu_flow_function_at (self, callee));
  if (lu_flow_function_at (self, callee)->returns)
    {
      if (lu_flow_function_at (self, callee)->loses_fp)
        lu_path_lose_fp (path);
      return TRUE;
    }
  link.item.path = *path;
  add_link (self, &lu_flow_function_at (self, callee)->waiters, link);
  return FALSE;
}

/* Notes a constant that may be an address. */
static void
note_constant (LuFlow *self, guint32 id, const LuOp *op)
{
  if (lu_flow_is_at_home (self, op->target))
    g_array_append_val (self->pointers, op->target);
  lu_flow_note_label (self, id, op);
}

/* Applies an instruction. Returns where the path goes on, or 0. */
static guint64
step (LuFlow *self, guint32 id, guint64 address, const LuOp *op, LuPath *path)
{
  const LuFlowFile *file = self->file;
  guint64 next = address + op->size;
  LuPath taken;

  switch (op->kind)
    {
    case LU_OP_STOP:
      return 0;
    case LU_OP_RETURN:
      return_from (self, id, path);
      return 0;
    case LU_OP_CALL:
      return call (self, id, op, next, path) ? next : 0;
    case LU_OP_CALL_INDIRECT:
      lu_path_call (path);
      return op->target != 0 && leads_nowhere (file, op->target) ? 0 : next;
    case LU_OP_JUMP:
      return can_go_to (self, id, op->target, path, BY_JUMP) ? op->target : 0;
    case LU_OP_JUMP_INDIRECT:
      jump_indirectly (self, id, address, op, path);
      return 0;
    case LU_OP_BRANCH:
      taken = *path;
      lu_path_branch (&taken, op, TRUE);
      lu_flow_fork_to (self, id, op->target, &taken);
      lu_path_branch (path, op, FALSE);
      return next;
    default:
      if (op->kind == LU_OP_CONSTANT && (op->is_relative || !file->is_movable))
        note_constant (self, id, op);
      apply (self, op, path);
      return next;
    }
}

/* Returns whether code seems to be a function of its own: its first straight piece ends with a
 * return that would be balanced there. */
static gboolean
seems_function (LuFlow *self, guint64 address)
{
  LuPath path;
  LuOp op;

  lu_path_enter (&path);
  for (guint i = 0; i < MAX_STRAIGHT && self->work > 0; i++)
    {
      gsize at = address - self->range.start;

      self->work--;
      if (at >= self->range.size
          || !lu_decoder_decode (self->range.bytes + at, self->range.size - at, address, &op)
          || op.kind == LU_OP_JUMP || op.kind == LU_OP_JUMP_INDIRECT || op.kind == LU_OP_STOP)
        return FALSE;
      if (op.kind == LU_OP_RETURN)
        return lu_path_is_balanced (&path);
      lu_path_apply (&path, &op);
      address += op.size;
    }
  return FALSE;
}

/* Returns whether code saves the frame pointer and sets it up, as the first instructions of a
 * function do, which may stand in its cold part. */
static gboolean
sets_up_frame (LuFlow *self, guint64 address)
{
  gsize at = address - self->range.start;
  LuOp op;

  for (guint i = 0; i < MAX_PROLOGUE && self->work > 0 && at < self->range.size; i++, at += op.size)
    {
      self->work--;
      if (!lu_decoder_decode (self->range.bytes + at, self->range.size - at, self->range.start + at,
                              &op)
          || op.kind >= LU_OP_RETURN || (i == 0) != (op.kind == LU_OP_PUSH)
          || (i == 0 && op.src != LU_CODE_FP))
        return FALSE;
      if (op.kind == LU_OP_COPY && op.dst == LU_CODE_FP)
        return op.src == LU_CODE_SP && op.value == 0;
    }
  return FALSE;
}

/* Returns whether the first instruction of a function may be at an offset: one that uses a register
 * of the caller without saving it, or the result of a call, is not. */
static gboolean
may_begin_function (LuFlow *self, gsize at)
{
  LuOp op;

  if (!lu_decoder_decode (self->range.bytes + at, self->range.size - at, self->range.start + at,
                          &op))
    return FALSE;
  return op.kind == LU_OP_PUSH || op.kind == LU_OP_STORE || op.kind == LU_OP_ZERO
         || (op.reads & (CALLEE_SAVED | 1u << LU_CODE_AX)) == 0;
}

/* Returns whether zeros begin at an offset, at least up to where functions are aligned. */
static gboolean
is_zero_padding (const LuFlow *self, gsize at)
{
  return self->range.bytes[at] == 0
         && (at + 1 == self->range.size || self->range.bytes[at + 1] == 0
             || (self->range.start + at + 1) % LU_FLOW_ALIGNMENT == 0);
}

/* Returns whether another function or padding begins behind a call, which then never returns. Of
 * code in a gap, nothing shows that it is a function: if it calls without a frame of its own, it is
 * rather the cold part of another one. */
static gboolean
is_beyond_end (LuFlow *self, guint32 id, guint64 address, const LuPath *path)
{
  gsize at = address - self->range.start;

  if (!lu_flow_is_in_range (self, address))
    return FALSE;
  if (is_zero_padding (self, at))
    return TRUE;
  if (!lu_flow_is_at_home (self, address) && lu_code_hints_is_part (self->file->hints, address))
    return TRUE;
  if (lu_path_is_balanced (path))
    return lu_flow_function_at (self, id)->kind == LU_START_GAP && address % LU_FLOW_ALIGNMENT == 0
           && lu_code_is_behind_padding (&self->range, at);
  return (lu_code_hints_has (self->file->hints, address) && may_begin_function (self, at))
         || (address % LU_FLOW_ALIGNMENT == 0 && seems_function (self, address))
         || sets_up_frame (self, address);
}

/* Returns where a path goes on that leads behind a lock prefix, as in glibc's code for processes
 * with one thread. */
static guint64
before_prefix (const LuFlow *self, guint64 address)
{
  gsize at = address - self->range.start;

  return at > 0 && self->cells[at] == LU_CELL_INSIDE && self->cells[at - 1] > LU_CELL_INSIDE
                 && self->range.bytes[at - 1] == 0xf0
             ? address - 1
             : address;
}

/* Follows one path to its end. */
static void
follow (LuFlow *self, LuFlowItem *item)
{
  guint64 address = item->address;
  guint32 id = item->function;
  gboolean is_behind_call = item->is_behind_call;

  if (!can_go_to (self, id, address, &item->path, BEHIND_CALL)
      || (is_behind_call && is_beyond_end (self, id, address, &item->path)))
    return;
  address = before_prefix (self, address);
  while (self->work > 0 && arrive (self, id, address, &item->path))
    {
      gsize at = address - self->range.start;
      LuOp op;

      self->work--;
      if (!lu_decoder_decode (self->range.bytes + at, self->range.size - at, address, &op)
          || !claim (self, id, at, op.size))
        {
          give_up (self, id);
          return;
        }
      address = step (self, id, address, &op, &item->path);
      is_behind_call = op.kind == LU_OP_CALL || op.kind == LU_OP_CALL_INDIRECT
                       || (is_behind_call && op.is_padding);
      if (address == 0 || (is_behind_call && is_beyond_end (self, id, address, &item->path))
          || (op.kind != LU_OP_JUMP
              && !can_go_to (self, id, address, &item->path,
                             is_behind_call ? BEHIND_CALL : BY_GOING_ON)))
        return;
      address = before_prefix (self, address);
    }
}

static gboolean
follow_all (LuFlow *self)
{
  while (self->items->len > 0)
    {
      LuFlowItem item = g_array_index (self->items, LuFlowItem, self->items->len - 1);

      g_array_set_size (self->items, self->items->len - 1);
      if (self->work == 0 || (self->is_cancelled != NULL && g_atomic_int_get (self->is_cancelled)))
        return FALSE;
      follow (self, &item);
    }
  return self->work > 0;
}

gboolean
lu_flow_run (LuFlow *self)
{
  do
    if (!follow_all (self))
      return FALSE;
  while (lu_flow_add_labels (self));
  return TRUE;
}

gboolean
lu_flow_add_start (LuFlow *self, guint64 address, LuStartKind kind, gboolean is_entry)
{
  if (!lu_flow_is_at_home (self, address))
    return FALSE;
  if (kind != LU_START_CERTAIN && self->cells[address - self->range.start] != LU_CELL_EMPTY)
    return FALSE;
  add_function (self, address, kind, is_entry);
  return TRUE;
}

gboolean
lu_flow_run_pointers (LuFlow *self)
{
  /* Following them adds more of them. */
  for (guint i = 0; i < self->pointers->len; i++)
    if (lu_flow_add_start (self, g_array_index (self->pointers, guint64, i), LU_START_POINTER,
                           FALSE)
        && !lu_flow_run (self))
      return FALSE;
  return TRUE;
}

gboolean
lu_flow_run_hints (LuFlow *self)
{
  gsize first = self->home.start - self->range.start, end = first + self->home.size;

  for (gsize at = first + (-self->home.start & (LU_FLOW_ALIGNMENT - 1)); at < end;
       at += LU_FLOW_ALIGNMENT)
    if (lu_code_hints_is_start (self->file->hints, &self->range, at)
        && lu_flow_add_start (self, self->range.start + at, LU_START_HINT, FALSE)
        && !(lu_flow_run (self) && lu_flow_run_pointers (self)))
      return FALSE;
  return TRUE;
}

/* Adds and follows those of the words that look like the start of a function, or the others. */
static gboolean
run_words (LuFlow *self, const guint64 *words, guint n, gboolean is_save)
{
  for (guint i = 0; i < n; i++)
    if (lu_flow_is_at_home (self, words[i]) && begins_with_save (self, words[i]) == is_save
        && lu_flow_add_start (self, words[i], LU_START_WORD, FALSE)
        && !(lu_flow_run (self) && lu_flow_run_pointers (self)))
      return FALSE;
  return TRUE;
}

gboolean
lu_flow_run_words (LuFlow *self, const guint64 *words, guint n)
{
  return run_words (self, words, n, TRUE) && run_words (self, words, n, FALSE);
}

/* Returns the number of bytes of padding at a place. */
static guint
padding_at (const LuFlow *self, gsize at)
{
  LuOp op;

  if (self->range.bytes[at] == 0)
    return 1;
  return lu_decoder_decode (self->range.bytes + at, self->range.size - at, self->range.start + at,
                            &op)
                 && op.is_padding
             ? op.size
             : 0;
}

/* Returns where code that is not understood may end: an instruction begins there, as far as bytes
 * are instructions, at a multiple of the alignment. */
static gsize
behind_bad (LuFlow *self, gsize at)
{
  LuOp op;

  do
    {
      self->work -= MIN (self->work, 1);
      if (!lu_decoder_decode (self->range.bytes + at, self->range.size - at, self->range.start + at,
                              &op))
        return (at + LU_FLOW_ALIGNMENT) & ~(gsize) (LU_FLOW_ALIGNMENT - 1);
      at += op.size;
    }
  while (at % LU_FLOW_ALIGNMENT != 0);
  return at;
}

gboolean
lu_flow_run_gaps (LuFlow *self)
{
  gsize at = self->home.start - self->range.start, end = at + self->home.size;

  while (at < end && self->work > 0)
    {
      guint padding;

      if (self->cells[at] != LU_CELL_EMPTY)
        {
          at++;
          continue;
        }
      self->work--;
      padding = padding_at (self, at);
      if (padding > 0)
        {
          at += padding;
          continue;
        }
      lu_flow_add_start (self, self->range.start + at, LU_START_GAP, FALSE);
      if (!lu_flow_run (self))
        return FALSE;
      if (lu_flow_function_at (self, lu_flow_find_function (self, self->range.start + at))->is_bad)
        at = behind_bad (self, at);
    }
  return self->work > 0;
}

static gsize
cells_size (const LuFlow *self)
{
  return (self->range.size + 1) * sizeof *self->cells;
}

static gsize
owners_size (const LuFlow *self)
{
  return (self->range.size + 1) * sizeof *self->owners;
}

static gsize
starts_size (const LuFlow *self)
{
  return self->range.size / 8 + 1;
}

void
lu_flow_set_home (LuFlow *self, const LuCodeBytes *home)
{
  self->home = *home;
  self->work = WORK_PER_BYTE * (guint64) home->size + MIN_WORK;
  self->open_work = LU_FLOW_OPEN_WORK * (guint64) home->size + MIN_WORK;
}

LuFlow *
lu_flow_new (const LuCodeBytes *range, const LuFlowFile *file)
{
  LuFlow *self = g_new0 (LuFlow, 1);
  const LuFlowFunction nobody = { .is_bad = TRUE };
  const LuFlowLink none = { 0 };
  const LuFlowLabel no_label = { 0 };

  self->range = *range;
  self->file = file;
  lu_flow_set_home (self, range);
  self->cells = (guint16 *) lu_pages_new (0, cells_size (self));
  self->owners = (guint32 *) lu_pages_new (0, owners_size (self));
  self->starts = lu_pages_new (0, starts_size (self));
  self->away = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->functions = g_array_new (FALSE, FALSE, sizeof (LuFlowFunction));
  self->by_start = g_hash_table_new (NULL, NULL);
  self->items = g_array_new (FALSE, FALSE, sizeof (LuFlowItem));
  self->links = g_array_new (FALSE, FALSE, sizeof (LuFlowLink));
  self->jumps = g_array_new (FALSE, FALSE, sizeof (LuFlowJump));
  self->open_jumps = g_array_new (FALSE, FALSE, sizeof (LuFlowOpenJump));
  self->labels = g_array_new (FALSE, FALSE, sizeof (LuFlowLabel));
  self->to_labels = g_array_new (FALSE, FALSE, sizeof (LuFlowOpenJump));
  self->far_jumps = g_array_new (FALSE, FALSE, sizeof (LuFunctionJump));
  self->returning = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->pointers = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->facts = lu_facts_list_new (LU_CELL_FIRST);
  g_array_append_val (self->functions, nobody); /* function 0 */
  g_array_append_val (self->links, none);       /* link 0 */
  g_array_append_val (self->labels, no_label);  /* label 0 */
  return self;
}

void
lu_flow_free (LuFlow *self)
{
  lu_pages_free ((guint8 *) self->cells, 0, cells_size (self));
  lu_pages_free ((guint8 *) self->owners, 0, owners_size (self));
  lu_pages_free (self->starts, 0, starts_size (self));
  g_array_unref (self->away);
  g_array_unref (self->functions);
  g_hash_table_unref (self->by_start);
  g_array_unref (self->items);
  g_array_unref (self->links);
  g_array_unref (self->jumps);
  g_array_unref (self->open_jumps);
  g_array_unref (self->labels);
  g_array_unref (self->to_labels);
  g_array_unref (self->far_jumps);
  g_array_unref (self->returning);
  g_array_unref (self->pointers);
  lu_facts_list_free (self->facts);
  g_free (self);
}

void
lu_flow_set_cancelled (LuFlow *self, const gint *is_cancelled)
{
  self->is_cancelled = is_cancelled;
}
