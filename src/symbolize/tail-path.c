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
  LuTailPlace to;
  guint32 on_way[MAX_LENGTH];
  guint n_on_way;
  LuTailStep steps[LU_TAIL_PATH_MAX]; /* of the way so far */
  guint n_steps;
  guint n_visits;
  LuTailPath *found;     /* the steps that all ways found begin with */
  gboolean is_anywhere;  /* functions that jump through pointers may come there */
  gboolean is_open;      /* there may be ways that are not found */
  gboolean has_indirect; /* one of those may be through a pointer */
} Search;

/* Finds where a jump leads to; FALSE if that is not known. */
static gboolean
place_of (const Search *self, guint32 file, const LuTailEdge *edge, LuTailPlace *place)
{
  *place = (LuTailPlace){ file, edge->address };
  return edge->name == NULL
         || lu_tail_graph_place (self->graph, file, self->to.file, edge->name, place);
}

static gboolean
is_there (const Search *self, const LuTailPlace *place)
{
  return place->file == self->to.file && place->address == self->to.address;
}

static gboolean
is_on_way (const Search *self, guint32 node)
{
  for (guint i = 0; i < self->n_on_way; i++)
    if (self->on_way[i] == node)
      return TRUE;
  return FALSE;
}

/* Functions of Go may continue on another stack. */
static gboolean
can_jump_anywhere (const LuTailGraph *graph, const LuTailNode *node)
{
  const LuTailFile *file = g_ptr_array_index (graph->files, node->file);

  return node->has_indirect && !file->is_go;
}

/* Which of those on the way are functions, and which parts of them, matters now. */
static void
want_kinds (Search *self)
{
  for (guint i = 0; i < self->n_on_way; i++)
    self->found->is_open |= lu_tail_graph_want_kind (self->graph, self->on_way[i]);
}

/* Takes a way that leads there. */
static void
take_way (Search *self)
{
  LuTailPath *found = self->found;
  guint n = 0;

  want_kinds (self);
  if (found->n == 0)
    {
      found->n = self->n_steps;
      for (guint i = 0; i < found->n; i++)
        found->steps[i] = self->steps[i];
      return;
    }
  for (; n < MIN (found->n, self->n_steps) && found->steps[n].node == self->steps[n].node; n++)
    if (found->steps[n].from != self->steps[n].from)
      found->steps[n].from = 0;
  found->n = n;
}

/* Takes the jumps of a function, or of a part of one, whose targets are not known. */
static void
take_unknown (Search *self, const LuTailNode *node)
{
  self->is_open |= node->may_have_more;
  if (!node->has_indirect)
    return;
  if (!self->is_anywhere || !can_jump_anywhere (self->graph, node))
    {
      self->is_open = TRUE;
      return;
    }
  self->steps[self->n_steps - 1].from = 0;
  take_way (self);
}

static void visit (Search *self, guint32 number, gboolean is_part);

static void
take_edge (Search *self, guint32 file, gboolean is_part, const LuTailEdge *edge)
{
  LuTailPlace place;
  guint n_steps = self->n_steps;
  guint32 next;
  const LuTailNode *node;

  if (!place_of (self, file, edge, &place))
    {
      /* A function of another file, or one that is chosen at run time, perhaps. */
      self->is_open = self->has_indirect = TRUE;
      return;
    }
  if (!is_part)
    self->steps[n_steps - 1].from = edge->from;
  if (is_there (self, &place))
    {
      take_way (self);
      return;
    }
  next = lu_tail_graph_at (self->graph, place.file, place.address);
  if (next == LU_TAIL_NONE || is_on_way (self, next))
    return;
  node = lu_tail_graph_node (self->graph, next);
  /* A jump into the middle is none to a function. */
  visit (self, next, node->kind == LU_CODE_PART || node->start != place.address);
  self->n_steps = n_steps;
}

static void
visit (Search *self, guint32 number, gboolean is_part)
{
  const LuTailNode *node;
  GArray *edges;
  guint32 file;

  if (self->n_on_way == MAX_LENGTH || self->n_visits == MAX_VISITS
      || !lu_budget_read (self->graph->budget, 0)
      || (!is_part && self->n_steps == LU_TAIL_PATH_MAX))
    {
      want_kinds (self);
      self->is_open = TRUE;
      return;
    }
  node = lu_tail_graph_read (self->graph, number);
  edges = node->edges;
  file = node->file;
  self->n_visits++;
  self->on_way[self->n_on_way++] = number;
  if (!is_part)
    self->steps[self->n_steps++] = (LuTailStep){ number, 0 };
  take_unknown (self, node);
  for (guint i = 0; i < edges->len; i++)
    take_edge (self, file, is_part, &g_array_index (edges, LuTailEdge, i));
  self->n_on_way--;
}

/* Returns whether functions that jump through pointers may come to that one. A loader's resolver
 * has the frame of a function before that begins. */
static gboolean
may_be_anywhere (const LuTailGraph *graph, const LuTailNode *to)
{
  const LuTailFile *file = g_ptr_array_index (graph->files, to->file);

  return !file->is_loader && !file->is_go;
}

/* Takes the jumps from the first function to the last one. */
static void
take_direct (Search *self, const LuTailNode *first, guint32 from)
{
  for (guint i = 0; i < first->edges->len; i++)
    {
      const LuTailEdge *edge = &g_array_index (first->edges, LuTailEdge, i);
      LuTailPlace place;

      self->steps[0] = (LuTailStep){ from, edge->from };
      self->n_steps = 1;
      if (place_of (self, first->file, edge, &place) && is_there (self, &place))
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

/* Takes all other ways. */
static void
take_others (Search *self, guint32 from)
{
  LuTailPath *path = self->found;

  visit (self, from, FALSE);
  /* Where the rest is not certain, the call still is. */
  if (path->n > 0 && self->is_open)
    path->n = 1;
}

void
lu_tail_path_find (LuTailGraph *graph, guint32 from, guint32 to, LuTailPath *path)
{
  const LuTailNode *first = lu_tail_graph_read (graph, from);
  const LuTailNode *last = lu_tail_graph_node (graph, to);
  Search self = { .graph = graph,
                  .to = { last->file, last->start },
                  .found = path,
                  .is_anywhere = may_be_anywhere (graph, last) };

  *path = (LuTailPath){ .n = 0 };
  if (last->kind == LU_CODE_PART)
    return;
  take_direct (&self, first, from);
  if (path->n == 0 && can_jump_anywhere (graph, first) && self.is_anywhere)
    take_first (path, from);
  if (path->n == 0)
    take_others (&self, from);
  if (path->n == 0 && self.has_indirect && self.is_anywhere)
    take_first (path, from);
  if (path->n > 0)
    path->is_open |= lu_tail_graph_want_kind (graph, to);
}
