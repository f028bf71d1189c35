/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* flow-write.c - writes what an analysis has found; see flow.h. */

#include "code/flow-private.h"

#include "arch/arch.h"

#include <string.h>

/* mov $15, %rax; syscall: the restorer of signal frames (rt_sigreturn()). */
static const guint8 restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };

typedef struct
{
  const LuFlow *flow;
  LuExtraRows *rows;
  LuFlowRows which;
  guint32 owner; /* of the last instruction; 0: none */
} Writer;

static const LuFlowFunction *
function_at (const LuFlow *self, guint32 id)
{
  return &g_array_index (self->functions, LuFlowFunction, id);
}

/* Returns whether functions of this code are aligned. Those that are made as small as possible are
 * not. */
static gboolean
has_alignment (const LuFlow *flow)
{
  return 2 * flow->n_aligned >= flow->n_called;
}

/* Returns whether rows of a function can be believed: something shows that it is one. A label in a
 * function may also begin with a push. */
static gboolean
is_sound (const LuFlow *flow, const LuFlowFunction *function)
{
  gboolean is_aligned = function->start % LU_FLOW_ALIGNMENT == 0;

  return !function->is_bad
         && (function->kind == LU_START_CERTAIN || function->has_exit || function->is_called
             || (function->kind == LU_START_POINTER && is_aligned)
             || (function->kind == LU_START_HINT
                 && lu_code_hints_has_often (flow->file->hints, function->start))
             || (function->begins_with_save && (is_aligned || !has_alignment (flow))));
}

/* Returns whether other code hardly says something else about the code of a function. */
static gboolean
is_certain (const LuFlowFunction *function)
{
  return function->kind == LU_START_CERTAIN;
}

static gboolean
is_restorer (const LuFlow *flow, gsize at)
{
  return flow->range.size - at >= sizeof restorer
         && memcmp (flow->range.bytes + at, restorer, sizeof restorer) == 0;
}

/* Code of a function that does not follow its other code counts as a function to which it jumps. */
static void
write_start (Writer *self, guint32 owner, guint64 address)
{
  guint64 start = function_at (self->flow, owner)->start;

  lu_extra_rows_add_start (self->rows, address);
  if (address != start)
    lu_extra_rows_add_jump (self->rows, start, address);
}

/* Returns the function that an instruction belongs to. */
static guint32
find_owner (const LuFlow *flow, gsize at)
{
  guint64 address = flow->range.start + at;

  return lu_flow_is_start (flow, address) ? lu_flow_find_function (flow, address)
                                          : flow->owners[at];
}

static gboolean
make_rule (const LuFlow *flow, const LuFlowFunction *function, gsize at, struct lu_rule *rule)
{
  const LuFrameFacts *facts = lu_facts_list_get (flow->facts, flow->cells[at]);

  return is_sound (flow, function)
         && (function->loses_fp ? lu_frame_facts_rule_without_fp (facts, rule)
                                : lu_frame_facts_rule (facts, rule));
}

static void
write_instruction (Writer *self, gsize at)
{
  const LuFlow *flow = self->flow;
  guint64 address = flow->range.start + at;
  guint32 owner = find_owner (flow, at);
  const LuFlowFunction *function = function_at (flow, owner);
  gboolean is_wanted = self->which == LU_FLOW_ALL || self->which == LU_FLOW_AWAY
                       || is_certain (function) == (self->which == LU_FLOW_CERTAIN);
  struct lu_rule rule;
  gboolean is_known = is_wanted && make_rule (flow, function, at, &rule);

  lu_extra_rows_add (self->rows, address, is_known ? &rule : NULL);
  if (self->which == LU_FLOW_AWAY && !is_known)
    owner = 0; /* nothing is known of this code: a start would cut that which others know */
  else if (is_wanted && (owner != self->owner || function->start == address))
    write_start (self, owner, address);
  self->owner = owner;
}

/* A return address in the restorer is looked up at the byte before it. */
static void
write_restorer (Writer *self, gsize at)
{
  lu_extra_rows_add (self->rows, self->flow->range.start + at - 1, self->flow->file->kernel_frame);
  self->owner = 0;
}

static void
write_jumps (const LuFlow *flow, LuExtraRows *rows)
{
  for (guint i = 0; i < flow->jumps->len; i++)
    {
      const LuFlowJump *found = &g_array_index (flow->jumps, LuFlowJump, i);

      lu_extra_rows_add_jump (rows, function_at (flow, found->from)->start,
                              found->to != LU_FLOW_ANYWHERE ? function_at (flow, found->to)->start
                                                            : LU_JUMP_ANYWHERE);
    }
  g_array_append_vals (rows->jumps, flow->far_jumps->data, flow->far_jumps->len);
}

static void
write_home (Writer *writer)
{
  const LuFlow *flow = writer->flow;
  gsize at = flow->home.start - flow->range.start, end = at + flow->home.size;

  for (; at < end; at++)
    {
      if (flow->cells[at] <= LU_CELL_INSIDE && at + 1 < end && is_restorer (flow, at + 1))
        {
          write_restorer (writer, at + 1);
          at += sizeof restorer;
        }
      else if (flow->cells[at] > LU_CELL_INSIDE)
        write_instruction (writer, at);
      else if (flow->cells[at] == LU_CELL_EMPTY)
        {
          lu_extra_rows_add (writer->rows, flow->range.start + at, NULL);
          writer->owner = 0;
        }
    }
  lu_extra_rows_add (writer->rows, flow->range.start + end, NULL);
}

/* Instructions may have been reached more than once, and given up. */
static void
write_away (Writer *writer)
{
  const LuFlow *flow = writer->flow;
  gsize end = 0;

  g_array_sort (flow->away, lu_code_compare_addresses);
  for (guint i = 0; i < flow->away->len; i++)
    {
      gsize at = g_array_index (flow->away, guint64, i) - flow->range.start;

      if (flow->cells[at] <= LU_CELL_INSIDE || at < end)
        continue;
      if (at != end)
        writer->owner = 0;
      write_instruction (writer, at);
      for (end = at + 1; end < flow->range.size && flow->cells[end] == LU_CELL_INSIDE;)
        end++;
      lu_extra_rows_add (writer->rows, flow->range.start + end, NULL);
    }
}

void
lu_flow_write (LuFlow *self, LuFlowRows which, LuExtraRows *rows)
{
  Writer writer = { .flow = self, .rows = rows, .which = which };

  if (which == LU_FLOW_AWAY)
    write_away (&writer);
  else
    write_home (&writer);
  if (which == LU_FLOW_ALL || which == LU_FLOW_CERTAIN)
    write_jumps (self, rows);
}

const LuFrameFacts *
lu_flow_facts_at (const LuFlow *self, guint64 address)
{
  gsize at = address - self->range.start;

  if (at >= self->range.size || self->cells[at] <= LU_CELL_INSIDE
      || !is_sound (self, function_at (self, self->owners[at])))
    return NULL;
  return lu_facts_list_get (self->facts, self->cells[at]);
}

gboolean
lu_flow_is_certain_at (const LuFlow *self, guint64 address)
{
  gsize at = address - self->range.start;

  return at < self->range.size && self->cells[at] > LU_CELL_INSIDE
         && is_certain (function_at (self, self->owners[at]));
}

gboolean
lu_flow_rule_at (const LuFlow *self, guint64 address, struct lu_rule *rule)
{
  gsize at = address - self->range.start;

  return at < self->range.size && self->cells[at] > LU_CELL_INSIDE
         && make_rule (self, function_at (self, self->owners[at]), at, rule);
}
