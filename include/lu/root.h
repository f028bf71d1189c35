/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* root.h - how much code shows that a stack made by hand begins at a return address.
 *
 * Nothing calls this code, and no unwind information describes it. Both engines and the BPF program
 * ask lu_root_is(), which each architecture has (src/arch), when a caller's frame has no rule. */

#pragma once

#include <stdint.h>

#define LU_ROOT_BYTES 16
