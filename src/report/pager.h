/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pager.h - shows what is printed to a terminal page by page, as Git does. */

#pragma once

#include <glib.h>

#define LU_PAGER_HELP N_ ("Do not show long output page by page on a terminal")

/* If standard output is a terminal, starts the pager that LIVE_UNWINDER_PAGER or PAGER names, or
 * less, and makes it read standard output; at exit, waits for it. "" and "cat" stand for none. Call
 * it after the last process that keeps standard output open was started, and before rights are
 * given up. */
void lu_pager_start (void);
