/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* published.h - address spaces of recorded samples, published as while recording (src/bpf), into
 * memory that the walker's C reads. image.h is the simple way. */

#pragma once

#include "lu/bpf.h"
#include "process/address-space.h"

typedef struct _Published Published;

/* add_entry is as in image.h. tables: of the modules, borrowed; NULL: none. */
Published *published_new (guint32 *(*add_entry) (gpointer data, guint entry), gpointer data,
                          struct lu_bpf_dictionary *dictionary, struct lu_bpf_module *modules,
                          LuTables *tables);
void published_free (Published *self);
/* Waits until all tables of the address space are published. Returns FALSE if they do not come. */
gboolean published_add_space (Published *self, LuAddressSpace *space,
                              struct lu_bpf_process *process);
