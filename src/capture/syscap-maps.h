/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-maps.h - chooses the MAP frames of one pid, so that the viewer keeps the right ones.
 *
 * Sysprof joins all mappings that a pid ever had into one table without time. It sorts them by
 * (start, end, time) and drops each one that reaches past the start of its successor. The table
 * should end up with the newest mapping at every address, and with the uncovered parts of older
 * ones. Therefore a range is written in pieces that end where an earlier written mapping starts,
 * and remainders are written again. Where an older, longer mapping starts at the same address, the
 * piece begins one byte later; otherwise the viewer would keep the older one.
 *
 * Samples of a process are not written in the order of their times: those from before an exec may
 * follow those from after it, on another CPU. A mapping that is older than what covers it is
 * written with its own time, so that readers that look at times find it; the viewer drops it.
 *
 * Owned by the writer thread. */

#pragma once

#include "base/file-id.h"

/* The most mappings that are written per pid; a process with more generates code. */
#define LU_SYSCAP_MAPS_MAX 16384

typedef struct
{
  guint64 start, end;
  guint64 file_offset; /* of start */
  guint64 time;        /* ns */
  guint32 module_id;   /* equal numbers are equal files, even if `file` became known later */
  LuFileId *file;      /* referenced; only to be compared with others of its LuFileIds */
} LuSyscapMapping;

typedef struct _LuSyscapMaps LuSyscapMaps;
/* Receives the frames of add(), and says what it did. */
typedef struct
{
  gboolean (*emit) (const LuSyscapMapping *frame, gpointer user_data, GError **error);
  gpointer user_data;    /* emit is NULL where frames are not needed */
  gboolean has_shadowed; /* set if a part of another file's mapping was covered */
  gboolean has_dropped;  /* set if the mapping was left out because the limit is reached */
} LuSyscapMapsOutput;

LuSyscapMaps *lu_syscap_maps_new (void);
void lu_syscap_maps_free (LuSyscapMaps *self);

/* Returns whether the mapping is known already, so that add() would write nothing. Its file may be
 * NULL. */
gboolean lu_syscap_maps_has (const LuSyscapMaps *self, const LuSyscapMapping *mapping);

/* Returns the newest mapping that contains the address, or NULL; borrowed until the next add(). */
const LuSyscapMapping *lu_syscap_maps_find (const LuSyscapMaps *self, guint64 address);

/* Calls `each` for all current mappings, until it returns FALSE. */
typedef gboolean (*LuSyscapMapsEachFunc) (const LuSyscapMapping *mapping, gpointer user_data);
void lu_syscap_maps_foreach (const LuSyscapMaps *self, LuSyscapMapsEachFunc each,
                             gpointer user_data);

/* Puts a mapping on top of older ones (beneath those with a later time) and calls output->emit()
 * for each frame to write. Fails only if emit() does. */
gboolean lu_syscap_maps_add (LuSyscapMaps *self, const LuSyscapMapping *mapping,
                             LuSyscapMapsOutput *output, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapMaps, lu_syscap_maps_free)
