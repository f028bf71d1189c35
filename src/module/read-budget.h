/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* read-budget.h - how much CPU time reading files may take, per process, per user and in total.
 *
 * A process chooses which files it maps, so it could otherwise keep the worker busy and everybody
 * else waiting. Each account fills up with time, to at most what it gets in two seconds: a process
 * gets an eighth of a CPU, all processes of a user a quarter, all together a half. On a slow
 * machine an account holds more, so that the files of a program that starts are read there, too.
 * While the thread waits for a CPU, accounts do not fill up. What a file costs is known afterwards,
 * so an account may be overdrawn, and then has to fill up first. One thread: the one that reads. */

#pragma once

#include <glib.h>

typedef struct _LuReadBudget LuReadBudget;

/* slowness: as lu_machine_slowness(). */
LuReadBudget *lu_read_budget_new (guint slowness);
void lu_read_budget_free (LuReadBudget *self);

/* Returns whether a file may be read for this process now; always TRUE for pid 0 (unknown). */
gboolean lu_read_budget_has (LuReadBudget *self, gint32 pid);
/* Charges what reading took, in ns of CPU time. */
void lu_read_budget_charge (LuReadBudget *self, gint32 pid, guint64 ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuReadBudget, lu_read_budget_free)
