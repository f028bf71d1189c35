/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-path.c - searches the graph of jumps; see tail-path.h. */

#include "symbolize/tail-path.h"

/* Functions and parts of them on one way. */
#define MAX_LENGTH (3 * LU_TAIL_PATH_MAX)
/* Functions that one search looks at, on all ways. */
#define MAX_VISITS 256

typedef struct
{
  LuTailGraph *graph;
  guint32 to, to_file;
  guint32 on_way[MAX_LENGTH];
  guint n_on_way;
  LuTailStep steps[LU_TAIL_PATH_MAX]; /* of the way so far */
  guint n_steps;
  guint n_visits;
  LuTailPath *found;
  gboolean is_ambiguous;  /* there are several ways */
  gboolean is_open;       /* there may be ways that are not found */
  gboolean has_indirect;  /* a function on some way jumps through a pointer */
  gboolean has_questions; /* the graph was asked */
} Search;

/* Finds where a jump leads to; FALSE if that is not known. */
static gboolean
place_of (const Search *self, guint32 file, const LuTailEdge *edge, LuTailPlace *place)
{
  *place = (LuTailPlace){ file, edge->address };
  return edge->name == NULL
         || lu_tail_graph_place (self->graph, file, self->to_file, edge->name, place);
}

/* Returns the function or part that a jump leads to. */
static guint32
follow (Search *self, guint32 file, const LuTailEdge *edge)
{
  LuTailPlace place;
  guint32 next = place_of (self, file, edge, &place)
                     ? lu_tail_graph_at (self->graph, place.file, place.address)
                     : LU_TAIL_NONE;
  const LuTailNode *node;

  self->has_questions |= next == LU_TAIL_UNKNOWN;
  if (next >= LU_TAIL_UNKNOWN)
    return next;
  node = &g_array_index (self->graph->nodes, LuTailNode, next);
  /* A jump into the middle of a function is none to the function. */
  return edge->name != NULL || node->is_part || node->start == edge->address ? next : LU_TAIL_NONE;
}

static gboolean
is_on_way (const Search *self, guint32 node)
{
  for (guint i = 0; i < self->n_on_way; i++)
    if (self->on_way[i] == node)
      return TRUE;
  return FALSE;
}

/* Takes a way that leads there. */
static void
take_way (Search *self)
{
  LuTailPath *found = self->found;

  if (found->n == 0)
    {
      found->n = self->n_steps;
      for (guint i = 0; i < found->n; i++)
        found->steps[i] = self->steps[i];
      return;
    }
  self->is_ambiguous |= found->n != self->n_steps;
  for (guint i = 0; i < MIN (found->n, self->n_steps); i++)
    {
      self->is_ambiguous |= found->steps[i].node != self->steps[i].node;
      if (found->steps[i].from != self->steps[i].from)
        found->steps[i].from = 0;
    }
}

/* Functions of Go may continue on another stack. */
static gboolean
can_jump_anywhere (const LuTailGraph *graph, const LuTailNode *node)
{
  const LuTailFile *file = g_ptr_array_index (graph->files, node->file);

  return node->has_indirect && !file->is_go;
}

static void visit (Search *self, guint32 number);

static void
take_edge (Search *self, guint32 file, gboolean is_part, const LuTailEdge *edge)
{
  guint32 next = follow (self, file, edge);
  guint n_steps = self->n_steps;

  if (next == LU_TAIL_UNKNOWN || (next == LU_TAIL_NONE && edge->name != NULL))
    self->is_open = TRUE;
  /* A function that is chosen at run time, perhaps. */
  self->has_indirect |= next == LU_TAIL_NONE && edge->name != NULL;
  if (next >= LU_TAIL_UNKNOWN || is_on_way (self, next))
    return;
  if (!is_part)
    self->steps[n_steps - 1].from = edge->from;
  if (next == self->to)
    {
      take_way (self);
      return;
    }
  visit (self, next);
  self->n_steps = n_steps;
}

static void
visit (Search *self, guint32 number)
{
  const LuTailNode *node = lu_tail_graph_node (self->graph, number);

  if (!node->is_read)
    self->has_questions = TRUE;
  if (!node->is_read || self->n_on_way == MAX_LENGTH || self->n_visits == MAX_VISITS
      || !lu_budget_read (self->graph->budget, 0)
      || (!node->is_part && self->n_steps == LU_TAIL_PATH_MAX))
    {
      self->is_open = TRUE;
      return;
    }
  self->n_visits++;
  self->is_open |= node->has_indirect || node->may_have_more;
  self->has_indirect |= can_jump_anywhere (self->graph, node);
  self->on_way[self->n_on_way++] = number;
  if (!node->is_part)
    self->steps[self->n_steps++] = (LuTailStep){ number, 0 };
  for (guint i = 0; i < node->edges->len; i++)
    take_edge (self, node->file, node->is_part, &g_array_index (node->edges, LuTailEdge, i));
  self->n_on_way--;
}

/* Returns whether functions that jump through pointers may come to that one. A loader's resolver
 * has the frame of a function before that begins. */
static gboolean
may_be_anywhere (const LuTailGraph *graph, guint32 to)
{
  const LuTailNode *node = &g_array_index (graph->nodes, LuTailNode, to);
  const LuTailFile *file = g_ptr_array_index (graph->files, node->file);

  return !file->is_loader && !file->is_go;
}

/* Takes the jumps from the first function to the last one. */
static void
take_direct (Search *self, const LuTailNode *first, guint32 from)
{
  const LuTailNode *to = &g_array_index (self->graph->nodes, LuTailNode, self->to);

  for (guint i = 0; i < first->edges->len; i++)
    {
      const LuTailEdge *edge = &g_array_index (first->edges, LuTailEdge, i);

      LuTailPlace place;

      self->steps[0] = (LuTailStep){ from, edge->from };
      self->n_steps = 1;
      if (place_of (self, first->file, edge, &place) && place.file == to->file
          && place.address == to->start)
        take_way (self);
    }
  self->n_steps = 0;
}

/* Only the function that was called is certain, and not which of its jumps it was. */
static void
take_first (LuTailPath *path, guint32 from)
{
  path->n = 1;
  path->steps[0] = (LuTailStep){ from, 0 };
}

void
lu_tail_path_find (LuTailGraph *graph, guint32 from, guint32 to, LuTailPath *path)
{
  Search self = { .graph = graph,
                  .to = to,
                  .to_file = g_array_index (graph->nodes, LuTailNode, to).file,
                  .found = path };
  const LuTailNode *first = lu_tail_graph_node (graph, from);

  *path = (LuTailPath){ .n = 0 };
  if (!first->is_read)
    return;
  take_direct (&self, first, from);
  if (path->n == 0 && can_jump_anywhere (graph, first) && may_be_anywhere (graph, to))
    take_first (path, from);
  path->is_final = path->n > 0;
  if (path->is_final)
    return;
  visit (&self, from);
  /* Where the rest is not certain, the call still is. */
  if (path->n > 0 && (self.is_ambiguous || self.is_open))
    path->n = 1;
  if (path->n == 0 && self.has_indirect && may_be_anywhere (graph, to))
    take_first (path, from);
  path->is_final = !self.has_questions;
}
