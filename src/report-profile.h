/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-profile.h - a capture added up by function: what `live-unwinder report` prints.
 *
 * Reads only the capture and, for names, the files it mentions. Any bytes are fine. */

#pragma once

#include "lu/status.h"
#include "output/model.h"

#include <glib.h>

typedef struct
{
  char *name;   /* readable, or a text in parentheses where there is no symbol */
  char *text;   /* as it is shown: with file and line, where lines are told apart */
  char *file;   /* in that case; else NULL */
  guint32 line; /* likewise; else 0 */
  gboolean is_inlined;
  const char *module; /* base name of the file, "kernel"; borrowed from the profile */
  guint64 self;       /* samples with this function at the leaf */
  guint64 total;      /* samples with this function anywhere, once each */
  guint64 last_stack; /* number of the last stack that was counted in total */
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
  GPtrArray *functions; /* of LuReportFunction, owned; no order */
  GPtrArray *states; /* of LuReportState, owned: how stacks that are not complete ended; no order */
  guint64 n_samples;
  guint64 n_user;       /* samples with a user stack, complete or not, without the excluded ones */
  guint64 n_complete;   /* of these, without a synthetic root */
  gint64 n_lost;        /* -1: the capture does not say */
  gint64 begin, end;    /* ns: first and last sample */
  gboolean is_cut;      /* the recorder was stopped in the middle of a frame */
  gboolean is_finished; /* the recorder wrote the end of the capture */
  gboolean has_kernel_names;
  GStringChunk *strings; /* owned */
} LuProfile;

/* Of a model with names. */
LuProfile *lu_profile_new (LuModel *model);
/* Of a whole capture; "-" is standard input. debuginfod: see LuModel. */
LuProfile *lu_profile_load (const char *path, LuDebuginfod *debuginfod, GError **error);
void lu_profile_free (LuProfile *self);
/* GCompareFunc for `functions`: those with the most samples at the leaf first. */
int lu_profile_compare_self (gconstpointer a, gconstpointer b);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProfile, lu_profile_free)
