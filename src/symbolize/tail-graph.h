/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-graph.h - functions of several files, and where each jumps to; used by tail-calls.c.
 *
 * The graph grows where it is asked. Only whether code is a function or a part of one is asked for
 * beforehand, by lu_tail_graph_want_kind(), because lu_tail_graph_judge() has to read all symbols
 * of a file for it. Nodes are counted from 0. Everything it reads is hostile, so files, nodes,
 * code, jumps and time have limits; beyond them nothing more is learned. One thread. */

#pragma once

#include "base/id-table.h"
#include "symbolize/code-functions.h"
#include "symbolize/linkage.h"

/* Instead of the number of a node: there is no such function. */
#define LU_TAIL_NONE G_MAXUINT32

/* A jump out of a function: to an ELF address in its file, or to a name. */
typedef struct
{
  guint64 from;     /* ELF address of the instruction */
  guint64 address;  /* if there is no name */
  const char *name; /* borrowed from the file's linkage; NULL: there is none */
} LuTailEdge;

typedef struct
{
  guint32 file;
  guint64 start, end;      /* ELF addresses */
  LuCodeFunctionKind kind; /* of a part: it may belong to the function that jumps there */
  gboolean is_wanted;      /* the kind is */
  gboolean has_indirect;   /* it jumps through pointers */
  gboolean may_have_more;  /* it may jump to functions that `edges` does not have */
  GArray *edges;           /* of LuTailEdge, owned; NULL: they, and the two above, are not read */
} LuTailNode;

typedef struct
{
  LuNameFile name;
  gboolean was_tried;
  LuCodeFunctions *functions; /* NULL: the file cannot be used, or was not needed yet */
  LuLinkage *linkage;         /* NULL: not needed yet */
  gboolean is_loader;         /* it resolves symbols when they are first called */
  gboolean is_go;
  GArray *wanted; /* of guint32: nodes whose kind is wanted; owned */
} LuTailFile;

typedef struct
{
  guint32 file;
  guint64 address; /* ELF address */
} LuTailPlace;

typedef struct
{
  GPtrArray *files;             /* of LuTailFile, owned */
  GArray *nodes;                /* of LuTailNode */
  LuIdTable *ids;               /* (file, start) of nodes */
  LuBudget *budget;             /* borrowed */
  guint64 kept_left, code_left; /* bytes */
  guint edges_left;
  guint n_open; /* files */
} LuTailGraph;

void lu_tail_graph_init (LuTailGraph *self, LuBudget *budget);
void lu_tail_graph_clear (LuTailGraph *self);
void lu_tail_graph_add_file (LuTailGraph *self, const LuNameFile *name);

/* Returns an opened file, or NULL if it is not the one that was mapped or its code is not known. */
LuTailFile *lu_tail_graph_file (LuTailGraph *self, guint32 file);
/* Returns what is linked to a file that is open, borrowed. */
LuLinkage *lu_tail_file_linkage (LuTailFile *self);
/* Returns the node with the byte at an ELF address, or LU_TAIL_NONE. */
guint32 lu_tail_graph_at (LuTailGraph *self, guint32 file, guint64 address);
/* Finds what a name means to a file, if that or `other` defines it, but not both. FALSE: it is not
 * one function of these. */
gboolean lu_tail_graph_place (LuTailGraph *self, guint32 file, guint32 other, const char *name,
                              LuTailPlace *place);
/* Returns a node, borrowed until lu_tail_graph_at(); its edges are there only after _read(). */
LuTailNode *lu_tail_graph_node (const LuTailGraph *self, guint32 node);
/* Returns a node with its edges, borrowed likewise. */
const LuTailNode *lu_tail_graph_read (LuTailGraph *self, guint32 node);
/* Notes that the kind of a node matters. Returns whether it is not known yet. */
gboolean lu_tail_graph_want_kind (LuTailGraph *self, guint32 node);
/* Finds the kinds of all nodes that were noted. */
void lu_tail_graph_judge (LuTailGraph *self);
