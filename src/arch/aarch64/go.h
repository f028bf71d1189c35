/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go.h - the frames of Go's runtime. */

#pragma once

#include "arch/aarch64/walk-arch.h"
#include "arch/arch.h"

/* The register that holds the current g in Go's code. */
#define LU_AARCH64_GO_G ARCH_GO_REGISTER

/* Bytes that pushCall() puts between the interrupted stack and a frame of runtime.asyncPreempt. */
#define LU_AARCH64_GO_PUSHED 16

/* See LuArchFiles and LuArch. */
gboolean lu_aarch64_find_go_switch (const char *name, const LuArchText *code, LuArchRange *where,
                                    struct lu_rule *rule);
void lu_aarch64_complete_go_preempt (struct lu_rule *rule);
