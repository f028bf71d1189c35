/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rights.h - gives up what reading a recording does not need (docs/sandbox.md). */

#pragma once

#include <glib.h>

/* Gives up rights for good, before the recording is read; a failure is reported on standard error.
 * `output` is the file to be created, NULL or "-" if there is none. `makes_tables` tells that
 * stacks will be unwound, whose tables are stored. Main thread, after the fetcher has started and
 * while there is no other thread. */
void lu_report_give_up_rights (const char *output, gboolean makes_tables);
