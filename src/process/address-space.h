/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* address-space.h - one version of an address space: executable mappings, sorted, never
 * overlapping.
 *
 * Immutable once published, so that a sample can hold the version of its own time while the process
 * moves on. A new mapping makes a new version. References are atomic. */

#pragma once

#include "module/module.h"

typedef struct
{
  guint64 start, end;  /* run-time addresses, end exclusive */
  guint64 file_offset; /* file offset of `start` */
  guint64 time;        /* ns, when it was mapped */
  LuModule *module;    /* owned by the address space */
  gboolean is_fixed;   /* cannot be written to, as far as is known */
  gboolean is_moved;   /* code of its module that the program has moved there (moved-text.h) */
  gboolean is_copy;    /* a copy of code that is in its module elsewhere (copied-text.h) */
} LuMapping;

typedef struct _LuAddressSpace LuAddressSpace;

/* Returns the empty address space. */
LuAddressSpace *lu_address_space_new (void);
LuAddressSpace *lu_address_space_ref (LuAddressSpace *self);
void lu_address_space_unref (LuAddressSpace *self);

/* Takes `self` and returns a version with `mapping` on top: mappings below it are cut, their
 * remainders stay. References the module. Changes `self` in place if there is no other reference,
 * which avoids a copy of all mappings; returns it if nothing changes. */
LuAddressSpace *lu_address_space_take_with_mapping (LuAddressSpace *self, const LuMapping *mapping);

/* Inserts a mapping where nothing was mapped, and references its module. Returns FALSE and changes
 * nothing if something is mapped there or there is another reference. */
gboolean lu_address_space_insert (LuAddressSpace **self, const LuMapping *mapping);
const LuMapping *lu_address_space_mappings (const LuAddressSpace *self, guint *n_mappings);
/* Returns the mapping that contains the address, or NULL. */
const LuMapping *lu_address_space_find (const LuAddressSpace *self, guint64 address);
/* Returns whether HotSpot, the Java virtual machine, is mapped. */
gboolean lu_address_space_has_hotspot (const LuAddressSpace *self);
/* Returns a number that is unique to this version in this run. */
guint64 lu_address_space_serial (const LuAddressSpace *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuAddressSpace, lu_address_space_unref)
