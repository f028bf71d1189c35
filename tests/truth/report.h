/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report.h - prints a tally as TAP comments and says whether it is good. */

#pragma once

#include "known.h"

typedef struct
{
  guint n_worse;    /* places that libdw has right and the other has not */
  guint n_unlisted; /* wrong, and not in known.txt */
} ReportResult;

ReportResult report_tally (const Tally *tally, const Known *known);
