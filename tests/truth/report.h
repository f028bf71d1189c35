/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report.h - prints the counts as TAP comments. */

#pragma once

#include "known.h"

/* Returns the number of differences that are not listed. */
guint report_tally (const Tally *tally, const Known *known);
