/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* known.h - what the BPF program may take a mapping for that no published process has: the same
 * part of the same file as one that was published (bpf.h, "known").
 *
 * Belongs to the drain thread, as slots do. A slot is known as long as it is some module's. */

#pragma once

#include "bpf/slots.h"
#include "unwind/dwfl-space.h"

/* What a mapping of kind TABLE is known by; FALSE: by nothing that tells files apart. */
gboolean lu_bpf_known_describe (const LuDwflMapping *mapping, guint32 slot,
                                struct lu_bpf_known *known);
/* A mapping of kind TABLE that is described so has that slot. */
void lu_bpf_known_add (LuBpfSlots *slots, guint32 slot, const LuDwflMapping *mapping);
/* The slot will be another module's. */
void lu_bpf_known_remove (LuBpfSlots *slots, guint32 slot);
