/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* backing-kernel.h - the maps of the program that is loaded, for what publishes into them. */

#pragma once

#include "bpf/backing.h"
#include "bpf/program.h"

/* The program is borrowed and outlives it. */
LuBpfBacking *lu_bpf_backing_kernel_new (LuBpfProgram *program, GError **error);
