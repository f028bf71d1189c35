/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* root.h - recognizes code that stacks made by hand begin with: what their first function returns
 * to.
 *
 * Nothing calls this code, and no unwind information describes it. Both engines and the BPF program
 * look here when a caller's frame has no rule. */

#pragma once

#include <stdint.h>

#define LU_ROOT_BYTES 16
