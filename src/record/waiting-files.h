/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* waiting-files.h - files that wait because their process has used up its time (time-budget.h).
 *
 * When there is time again, processes take turns: that which has had the fewest files opened comes
 * first, among those the one whose file was sampled most. Otherwise one process with hundreds of
 * files would use up the time of its user for as long as they last. Worker thread only. */

#pragma once

#include "messages.h"

typedef struct _LuWaitingFiles LuWaitingFiles;

LuWaitingFiles *lu_waiting_files_new (void);
void lu_waiting_files_free (LuWaitingFiles *self);
gboolean lu_waiting_files_is_empty (LuWaitingFiles *self);

/* Copies the message. Does nothing if too many wait: their samples stay over budget. */
void lu_waiting_files_add (LuWaitingFiles *self, const LuOpenMessage *message);
/* Notes that a sample needed the file. */
void lu_waiting_files_note_sample (LuWaitingFiles *self, const LuModule *module);

/* Returns whether the file need not wait any more. FALSE: its process has no time. */
typedef gboolean (*LuWaitingFilesFunc) (gpointer data, const LuOpenMessage *message);
/* Calls `func` for one file of each process and goes on, in turns, with those that have time. */
void lu_waiting_files_try (LuWaitingFiles *self, LuWaitingFilesFunc func, gpointer data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWaitingFiles, lu_waiting_files_free)
