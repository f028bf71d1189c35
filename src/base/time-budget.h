/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* time-budget.h - how much CPU time work for processes may take, per process, per user and in
 * total.
 *
 * A process chooses which files it maps and what its stacks look like, so it could otherwise keep a
 * thread busy and everybody else waiting. Each account fills up with time, to at most what it gets
 * in two seconds. On a slow machine an account holds more, so that the files of a program that
 * starts are read there, too. While the thread waits for a CPU, accounts do not fill up. What work
 * costs is known afterwards, so an account may be overdrawn, and then has to fill up first. The
 * user of a process is believed to stay the same for a tenth of a second, also if the process ends.
 * One thread: the one that works. */

#pragma once

#include <glib.h>

typedef struct _LuTimeBudget LuTimeBudget;

/* An account gets one ns in so many. */
typedef struct
{
  guint process, user, total;
} LuTimeShares;

/* For reading files: a process gets an eighth of a CPU, all processes of a user a quarter, all
 * together a half. */
extern const LuTimeShares lu_time_shares_for_files;

/* slowness: as lu_machine_slowness(). */
LuTimeBudget *lu_time_budget_new (const LuTimeShares *shares, guint slowness);
void lu_time_budget_free (LuTimeBudget *self);

/* Returns whether there may be work for this process now; always TRUE for pid 0 (unknown). */
gboolean lu_time_budget_has (LuTimeBudget *self, gint32 pid);
/* Charges what work took, in ns of CPU time. */
void lu_time_budget_charge (LuTimeBudget *self, gint32 pid, guint64 ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTimeBudget, lu_time_budget_free)
