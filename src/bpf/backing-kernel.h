/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* backing-kernel.h - the maps of the loaded program, as a backing (backing.h). */

#pragma once

#include "bpf/backing.h"
#include "bpf/program.h"

/* The program is borrowed and outlives the backing. */
LuBpfBacking *lu_bpf_backing_kernel_new (LuBpfProgram *program, GError **error);
