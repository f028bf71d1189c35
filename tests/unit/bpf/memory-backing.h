/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory-backing.h - the maps of the BPF program in memory of our own, and a reader that finds its
 * way through them as the program does, so that publishing is tested without any privilege.
 *
 * What is given back is unmapped, so a reader that still looks at it crashes. */

#pragma once

#include "bpf/backing.h"

/* has_grace: wait_for_walks() works. */
LuBpfBacking *memory_backing_new (guint max_entries, guint max_processes, gboolean has_grace);

/* A walk: what it reads stays as it is until its end. */
void memory_backing_begin_walk (LuBpfBacking *self);
void memory_backing_end_walk (LuBpfBacking *self);

/* The entry of a process; FALSE if there is none or it is torn. */
gboolean memory_backing_find_process (LuBpfBacking *self, guint32 tgid,
                                      struct lu_bpf_process *process);
/* The mapping of an address; FALSE if there is none. Asserts that they are sorted. */
gboolean memory_backing_find_mapping (LuBpfBacking *self, const struct lu_bpf_process *process,
                                      guint64 address, struct lu_bpf_mapping *mapping);
/* The rule id of an ELF address in the table of a slot; -1: there is no table. Asserts that the run
 * of rows is what it must be. */
gint memory_backing_find_rule (LuBpfBacking *self, guint32 slot, guint64 address);

guint memory_backing_n_entries (LuBpfBacking *self);
guint memory_backing_n_graces (LuBpfBacking *self);
