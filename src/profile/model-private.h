/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-private.h - what the parts of a model share while it is read; for them only.
 *
 * They call each other in one direction: model.c reads a capture, model-stacks.c builds the tree of
 * stacks, model-processes.c knows which processes ran with which mappings. */

#pragma once

#include "capture/syscap-maps.h"
#include "model.h"

/* A pid as long as one process has it. */
typedef struct
{
  LuSyscapMaps *maps; /* NULL: none yet */
  guint32 process;    /* number + 1; 0: none yet */
  guint32 sweep;      /* value of LuModel.sweep when it was last used */
  gboolean has_exited;
} LuModelPid;

/* model-processes.c */

/* Free functions for containers. */
void lu_model_pid_free (gpointer pointer);
void lu_model_module_free (gpointer pointer);
void lu_model_process_free (gpointer pointer);

/* Returns the state of a pid, which is made if there is none; valid until the next call. */
LuModelPid *lu_model_get_pid (LuModel *self, gint32 pid);
/* Returns the number of the thread of a sample; `pid` is that of its process. */
guint32 lu_model_get_thread (LuModel *self, const LuSyscapRecord *record, LuModelPid *pid);
/* Notes the name of a synthetic address. Other addresses, and later names, are ignored. */
void lu_model_learn_state (LuModel *self, guint64 address, const char *name);

/* model-counters.c */

void lu_model_counter_clear (gpointer pointer);
void lu_model_take_counters (LuModel *self, const LuSyscapRecord *record);
void lu_model_take_values (LuModel *self, const LuSyscapRecord *record);

/* Each takes a record of the kind in its name. */
void lu_model_take_map (LuModel *self, const LuSyscapRecord *record);
void lu_model_take_process (LuModel *self, const LuSyscapRecord *record);
void lu_model_take_exit (LuModel *self, const LuSyscapRecord *record);
/* Takes a LU_SYSCAP_KEY_THREAD. */
void lu_model_take_thread_name (LuModel *self, const char *text);
void lu_model_name_threads (LuModel *self);
void lu_model_take_fork (LuModel *self, const LuSyscapRecord *record);

/* model-stacks.c */

void lu_model_take_sample (LuModel *self, const LuSyscapRecord *record);

/* model-tree.c */

/* `n` frames from the first one on. */
typedef struct
{
  guint32 first, n;
} LuModelRun;

typedef struct
{
  const LuModelRun *runs;
  const guint32 *frames; /* by what `first` counts: the frame; NULL: it counts frames */
} LuModelRuns;

/* Makes a new tree, with a run between each node and its caller (before: by node) and one between
 * each frame and its callees (after: by frame). Either may be NULL. */
void lu_model_expand (LuModel *model, const LuModelRuns *before, const LuModelRuns *after);

/* model-names.c */

/* Gives the frames from `first` on functions of their own. */
void lu_model_name_tail_calls (LuModel *model, guint32 first);
