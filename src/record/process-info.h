/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-info.h - when to query /proc for the name and the mounts of a process.
 *
 * Only living processes can be queried, and most processes of a build end without being sampled. So
 * a request waits until the process is sampled or LU_POLL_NAME_AGE_MS old. The drain decides; the
 * worker reads /proc (process-reader.h). Drain thread. */

#pragma once

#include "dispatch.h"
#include "process/process-table.h"

typedef struct _LuProcessInfo LuProcessInfo;

/* Both are borrowed. Nothing is requested unless processes are live. */
LuProcessInfo *lu_process_info_new (LuProcessTable *table, LuDispatch *dispatch, gboolean live);
void lu_process_info_free (LuProcessInfo *self);

/* Requests those of `needs` that were not requested before. */
void lu_process_info_request (LuProcessInfo *self, LuProcess *process, LuProcessNeeds needs);
/* Requests name and mounts at the end of a later round, if the process is old enough and still
 * lives. */
void lu_process_info_request_later (LuProcessInfo *self, LuProcess *process);
/* Sends the requests that are due, when all side-band of the round is known. */
void lu_process_info_end_round (LuProcessInfo *self);
/* Returns how many processes have requests that wait. */
guint lu_process_info_n_young (const LuProcessInfo *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProcessInfo, lu_process_info_free)
