/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* known.h - the parts of files that were published for some process (bpf.h, "known"). The BPF
 * program recognizes them in the kernel's own mappings of processes that are not published.
 *
 * Belongs to the drain thread, like slots. A slot is known as long as it belongs to a module. */

#pragma once

#include "bpf/slots.h"
#include "unwind/dwfl-address-space.h"

/* Fills in how a mapping of kind TABLE is recognized. FALSE: nothing tells its file from others. */
gboolean lu_bpf_known_describe (const LuDwflMapping *mapping, guint32 slot,
                                struct lu_bpf_known *known);
/* Enters a mapping of kind TABLE with its slot. */
void lu_bpf_known_add (LuBpfSlots *slots, guint32 slot, const LuDwflMapping *mapping);
/* Removes a slot that is about to belong to another module. */
void lu_bpf_known_remove (LuBpfSlots *slots, guint32 slot);
