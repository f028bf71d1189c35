/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-capture.h - prints where the time went in a capture, as tables. */

#pragma once

#include "report-profile.h"

/* Prints one line about the whole recording. */
void lu_report_print_head (const LuProfile *profile, const char *path);
/* Prints at most `limit` functions by self and by total, and the end states. Sorts them. */
void lu_report_print_tables (LuProfile *profile, guint limit);
