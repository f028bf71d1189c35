/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-cfi.h - makes call frame information from the table of a Go program (go-table.h).
 *
 * Used by image.c. The entries say what Go's own .debug_frame says, which is often left out or
 * stripped, and where the frame pointer is saved, which that does not say. So everything that uses
 * CFI works for Go. */

#pragma once

#include "elf/go-table.h"
#include "elf/synthetic.h"

/* Makes `debug_frame`, or leaves it alone if the machine's frames are not known. The bytes are
 * g_malloc'ed. */
void lu_go_describe (const LuGoTable *table, guint16 machine, LuSyntheticSection *debug_frame);
