/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-pprof-none.c - the formats of builds without protobuf-c; no file name selects them. See
 * format.h. */

#include "format.h"

const LuFormat lu_format_pprof = { .name = "pprof" };
const LuFormat lu_format_perfetto = { .name = "perfetto" };
