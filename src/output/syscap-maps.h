/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-maps.h - which MAP frames of one pid to write, so that the viewer keeps the right ones.
 *
 * Sysprof joins all mappings a pid ever had into one table, without time. It sorts them by (start,
 * end, time) and drops each one that reaches over the start of the next in that order. What is
 * wanted of that table: the newest mapping at every address, and of the older ones what is not
 * covered. So a range is written in pieces, cut wherever a mapping that was written before starts,
 * and remainders are written again. Where an older, longer mapping starts at the same address, the
 * piece begins one byte later, else the viewer would keep the older one.
 *
 * Owned by the writer thread. */

#pragma once

#include <glib.h>

/* Mappings written per pid at most; a process beyond that is generating code. */
#define LU_SYSCAP_MAPS_MAX 16384

typedef struct
{
  guint64 start, end;
  guint64 file_offset; /* of start */
  guint64 time;        /* ns */
  guint32 module_id;   /* equal ids are equal files; a shortcut for comparing names */
  char *name;          /* a GRefString; equal texts are equal files */
} LuSyscapMapping;

typedef struct _LuSyscapMaps LuSyscapMaps;
typedef gboolean (*LuSyscapMapsFunc) (const LuSyscapMapping *mapping, gpointer user_data,
                                      GError **error);

LuSyscapMaps *lu_syscap_maps_new (void);
void lu_syscap_maps_free (LuSyscapMaps *self);

/* Whether the mapping is known already, so that add() would write nothing; its name is not looked
 * at. */
gboolean lu_syscap_maps_has (const LuSyscapMaps *self, const LuSyscapMapping *mapping);

/* The newest mapping that holds the address, or NULL; borrowed until the next add(). */
const LuSyscapMapping *lu_syscap_maps_find (const LuSyscapMaps *self, guint64 address);

/* Calls `each` for all current mappings, until it returns FALSE. */
typedef gboolean (*LuSyscapMapsEachFunc) (const LuSyscapMapping *mapping, gpointer user_data);
void lu_syscap_maps_foreach (const LuSyscapMaps *self, LuSyscapMapsEachFunc each,
                             gpointer user_data);

/* Puts a mapping on top of older ones (beneath those with a later time) and calls `emit` for each
 * frame to write. *shadowed is set if it covers a part of another file's mapping. Does nothing when
 * the limit is reached; *dropped is set then. */
gboolean lu_syscap_maps_add (LuSyscapMaps *self, const LuSyscapMapping *mapping,
                             LuSyscapMapsFunc emit, gpointer user_data, gboolean *shadowed,
                             gboolean *dropped, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapMaps, lu_syscap_maps_free)
