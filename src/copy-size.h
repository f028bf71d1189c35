/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copy-size.h - how much of its stack a sample brings, and when that becomes more.
 *
 * The copy doubles when more than 1 % of the stacks of a window were cut off by its size. Drain
 * thread, but for lu_copy_size_get(). */

#pragma once

#include "dispatch.h"
#include "input/source.h"
#include "writer.h"

typedef struct _LuCopySize LuCopySize;

/* All are borrowed. `bytes`: as of now; `may_grow`: where the source can do it. */
LuCopySize *lu_copy_size_new (LuSource *source, LuDispatch *dispatch, LuWriter *writer,
                              guint32 bytes, gboolean may_grow);
void lu_copy_size_free (LuCopySize *self);

/* Once for each round. */
void lu_copy_size_tick (LuCopySize *self);
gboolean lu_copy_size_may_grow (const LuCopySize *self);
/* Stacks were cut off, and larger copies may follow. */
gboolean lu_copy_size_is_short (const LuCopySize *self);
/* Any thread. Bytes asked for now; *n_grown: how often that was changed. */
guint32 lu_copy_size_get (const LuCopySize *self, guint *n_grown);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCopySize, lu_copy_size_free)
