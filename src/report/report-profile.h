/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-profile.h - a capture added up by function: what `live-unwinder report` prints.
 *
 * It reads only the capture and, for names, the files that the capture mentions. Any bytes are
 * valid input. */

#pragma once

#include "profile/model.h"
#include "symbolize/kallsyms.h"

typedef struct
{
  const LuModelFunction *source; /* of the model */
  char *text;                    /* as printed: with file and line if lines are split */
  gsize name_length;             /* of the name at its beginning */
  guint64 self;                  /* samples with this function at the leaf */
  guint64 total;                 /* samples with this function anywhere, once each */
  guint64 last_stack;            /* number of the last stack that was counted in total */
} LuReportFunction;

typedef struct
{
  char *name;      /* as the capture calls it, without brackets */
  guint64 address; /* the synthetic one that stands for it */
  guint64 n;
  gboolean excluded; /* from complete %, see lu_status_is_excluded() */
} LuReportState;

typedef struct
{
  LuModel *model;       /* owned */
  GPtrArray *functions; /* of LuReportFunction, owned; no order */
  GPtrArray *states; /* of LuReportState, owned: how stacks that are not complete ended; no order */
  gint64 n_lost;     /* -1: the capture does not say */
} LuProfile;

/* Adds up a model that has names; takes it. Owned by the caller. */
LuProfile *lu_profile_new (LuModel *model);
/* The options of loading a profile; pointers are borrowed. */
typedef struct
{
  LuModelFlags flags;
  LuDebuginfod *debuginfod; /* see LuModel */
  LuKallsymsFile *kallsyms; /* see replay.h */
} LuProfileLoad;

/* Loads a whole capture ("-": standard input), or replays a file of perf. */
LuProfile *lu_profile_load (const char *path, const LuProfileLoad *options, GError **error);
/* Returns the functions (of LuReportFunction, borrowed) with samples whose name, short or full, is
 * the text, or else those with a name that contains it in upper or lower case. The array is owned
 * by the caller. */
GPtrArray *lu_profile_find (const LuProfile *self, const char *text);
/* Has the function printed with its full name. */
void lu_profile_show_full_name (LuReportFunction *function);
void lu_profile_free (LuProfile *self);
/* A GCompareFunc for `functions`: the most samples at the leaf first. */
int lu_profile_compare_self (gconstpointer a, gconstpointer b);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProfile, lu_profile_free)
