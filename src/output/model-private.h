/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-private.h - a model while it is read, as its parts share it; for them only.
 *
 * model.c reads a capture and answers questions, model-processes.c knows who ran with which
 * mappings, model-stacks.c makes the tree. */

#pragma once

#include "output/model.h"
#include "output/syscap-maps.h"

/* A pid, until another process has it. */
typedef struct
{
  LuSyscapMaps *maps; /* NULL: none yet */
  guint32 epoch;      /* another one after each mapping, and for each incarnation */
  guint32 process;    /* number + 1 */
  guint32 sweep;      /* number of the last one before it was used */
  gboolean has_exited;
} LuModelPid;

/* For g_hash_table_new_full() and the like. */
void lu_model_pid_free (gpointer pointer);
void lu_model_module_free (gpointer pointer);
void lu_model_process_free (gpointer pointer);

/* Never NULL; valid until the next call. */
LuModelPid *lu_model_get_pid (LuModel *self, gint32 pid);
/* The number of the thread of a sample; pid is lu_model_get_pid() of its process. */
guint32 lu_model_get_thread (LuModel *self, const LuSyscapRecord *record, LuModelPid *pid);
/* The name of a synthetic address; nothing for others, and for what has a name. */
void lu_model_learn_state (LuModel *self, guint64 address, const char *name);

/* Records of the kind that they are named after. */
void lu_model_take_map (LuModel *self, const LuSyscapRecord *record);
void lu_model_take_process (LuModel *self, const LuSyscapRecord *record);
void lu_model_take_exit (LuModel *self, const LuSyscapRecord *record);
void lu_model_take_fork (LuModel *self, const LuSyscapRecord *record);
void lu_model_take_sample (LuModel *self, const LuSyscapRecord *record);
