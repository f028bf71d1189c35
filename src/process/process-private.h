/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-private.h - functions on processes for this room only. */

#pragma once

#include "process/process.h"

/* A version of the address space, valid from `time` on. */
typedef struct
{
  guint64 time;
  LuAddressSpace *space; /* owned */
} LuAddressSpaceVersion;

LuProcess *lu_process_new (gint32 pid, guint64 start_time, const char *comm, LuAddressSpace *space);
/* Before any other thread knows the process: it begins with an exec. */
void lu_process_set_executed (LuProcess *self);
/* Replaces the address space from `time` on; takes it. lu_process_address_space_at() still finds
 * the old one. */
void lu_process_take_address_space (LuProcess *self, guint64 time, LuAddressSpace *space);
/* Puts a mapping on top of the address space, from `time` on. Returns FALSE if nothing changes. If
 * there are very many versions since the last round, changes the newest one instead of adding
 * another. */
gboolean lu_process_add_mapping (LuProcess *self, guint64 time, const LuMapping *mapping);
LuAddressSpace *lu_process_address_space_at (LuProcess *self, guint64 time); /* borrowed */
/* Drops versions that were replaced before `time`. */
void lu_process_trim (LuProcess *self, guint64 time);
gboolean lu_process_has_history (const LuProcess *self);

/* Calls `func` for each version of the address space. */
typedef void (*LuAddressSpaceFunc) (LuAddressSpace *space, gpointer user_data);
void lu_process_foreach_address_space (LuProcess *self, LuAddressSpaceFunc func,
                                       gpointer user_data);
