/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* space.h - one version of an address space: executable mappings, sorted, never overlapping.
 *
 * Immutable once published, so that a sample can hold the version of its own time while the process
 * moves on; a new mapping makes a new version. References are atomic. */

#pragma once

#include "module/module.h"

#include <glib.h>

typedef struct
{
  guint64 start, end;  /* run-time addresses, end exclusive */
  guint64 file_offset; /* of start */
  guint64 time;        /* ns, when this mapping came into being */
  LuModule *module;    /* owned by the space */
} LuMapping;

typedef struct _LuSpace LuSpace;

/* An empty space; all are the same one. */
LuSpace *lu_space_new (void);
LuSpace *lu_space_ref (LuSpace *self);
void lu_space_unref (LuSpace *self);

/* A new version with `mapping` on top: what it covers of others is cut away, remainders stay. The
 * module is referenced, not taken. Returns self with a new reference if nothing changes. */
LuSpace *lu_space_with_mapping (LuSpace *self, const LuMapping *mapping);

/* The same, and takes `self`: if nobody else has a reference, it is changed in place, which does
 * not cost as much as the space is large. For spaces that are being built. */
LuSpace *lu_space_take_with_mapping (LuSpace *self, const LuMapping *mapping);

/* Puts the mapping where nothing was before into a space that nobody else has a reference to, and
 * references the module. FALSE: something is there, or somebody has; nothing was changed. */
gboolean lu_space_insert (LuSpace **self, const LuMapping *mapping);
const LuMapping *lu_space_mappings (const LuSpace *self, guint *n_mappings);
/* The mapping that holds the address, or NULL. */
const LuMapping *lu_space_find (const LuSpace *self, guint64 address);
/* Differs between any two versions of any spaces in this run. */
guint64 lu_space_serial (const LuSpace *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSpace, lu_space_unref)
