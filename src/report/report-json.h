/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-json.h - a report for programs: one JSON object on standard output. */

#pragma once

#include "report-profile.h"

void lu_report_print_json (LuProfile *profile);
