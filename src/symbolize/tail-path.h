/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-path.h - which functions jumped from one to the next; used by tail-calls.c. */

#pragma once

#include "symbolize/tail-graph.h"

/* Jumps from one function to another that are followed, parts of functions left out. */
#define LU_TAIL_PATH_MAX 4

typedef struct
{
  guint32 node;
  guint64 from; /* ELF address of the jump; 0: it is not known which it is */
} LuTailStep;

typedef struct
{
  LuTailStep steps[LU_TAIL_PATH_MAX]; /* from the function called to the last before the frame's */
  guint n;                            /* 0: the function called does not lead there */
  gboolean is_open;                   /* kinds of nodes, which the graph was told, may change it */
} LuTailPath;

/* Finds how the function `from` comes to `to`: the steps that all ways have, up to the last one or
 * where they part, or where one jumps through a pointer; only the first step if there may be other
 * ways. If *path is open, search again after lu_tail_graph_judge(); if it still is, no more
 * than the first step is certain, and that only if `to` is a function. */
void lu_tail_path_find (LuTailGraph *graph, guint32 from, guint32 to, LuTailPath *path);
