/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-pprof-none.c - a build without protobuf-c: no file name means pprof; see format.h. */

#include "output/format.h"

const LuFormat lu_format_pprof = { .name = "pprof" };
