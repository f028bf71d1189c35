/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* asking.h - when /proc is asked what a process is called and which files it sees.
 *
 * Only what lives can be asked, and most processes of a build end before it would be of use, so
 * each is given a while to end or to be sampled first. For the drain thread; the worker asks. */

#pragma once

#include "dispatch.h"
#include "process/process-table.h"

typedef struct _LuAsking LuAsking;

/* Both are borrowed. Nothing is asked where processes are not `live`. */
LuAsking *lu_asking_new (LuProcessTable *table, LuDispatch *dispatch, gboolean live);
void lu_asking_free (LuAsking *self);

/* What of `needs` was not asked before. */
void lu_asking_now (LuAsking *self, LuProcess *process, LuProcessNeeds needs);
/* At the end of a round, if it lives and is LU_PACE_NAME_AGE_MS old by then. */
void lu_asking_later (LuAsking *self, LuProcess *process);
/* When all side-band of the round is known. */
void lu_asking_end_round (LuAsking *self);
/* Processes that are to be asked about later. */
guint lu_asking_n_young (const LuAsking *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuAsking, lu_asking_free)
