/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory-backing.h - the maps of the BPF program in ordinary memory, and a reader that uses them as
 * the program does, so that publishing is tested without any privilege.
 *
 * Memory that is given back is unmapped, so a reader that still uses it crashes. */

#pragma once

#include "bpf/backing.h"

/* has_grace: wait_for_walks() works. */
LuBpfBacking *memory_backing_new (guint max_entries, guint max_processes, gboolean has_grace);

/* A walk: the data that it reads does not change until its end. */
void memory_backing_begin_walk (LuBpfBacking *self);
void memory_backing_end_walk (LuBpfBacking *self);

/* Returns the entry of a process; FALSE if there is none or it is torn. */
gboolean memory_backing_find_process (LuBpfBacking *self, guint32 tgid,
                                      struct lu_bpf_process *process);
/* Returns the mapping of an address; FALSE if there is none. Asserts that mappings are sorted. */
gboolean memory_backing_find_mapping (LuBpfBacking *self, const struct lu_bpf_process *process,
                                      guint64 address, struct lu_bpf_mapping *mapping);
/* Returns the rule id of an ELF address in the table of a slot, or -1 if there is no table. Asserts
 * that the run of rows is right. */
gint memory_backing_find_rule (LuBpfBacking *self, guint32 slot, guint64 address);

guint memory_backing_n_entries (LuBpfBacking *self);
guint memory_backing_n_graces (LuBpfBacking *self);
