/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copy-size.h - how many bytes of its stack a sample copies, and when that number grows.
 *
 * The size grows when more than 1 % of the stacks of a window were cut off by it: to the smallest
 * of its doublings that, as far as is known, cuts off no more than that. Drain thread, unless a
 * function says otherwise. */

#pragma once

#include "input/source.h"

typedef struct _LuCopySize LuCopySize;

/* The source is borrowed. bytes: the size now. may_grow: grow it if the source can. */
LuCopySize *lu_copy_size_new (LuSource *source, guint32 bytes, gboolean may_grow);
void lu_copy_size_free (LuCopySize *self);

/* Counts a stack that was unwound from a copy, for which stack_asked bytes were asked. `needed`: as
 * LuStack.stack_needed. NULL counts nothing. Any thread. */
void lu_copy_size_count (LuCopySize *self, LuStatus status, guint32 stack_asked, guint64 needed);
/* Grows the size if that is due; once for each round. n_bpf_unwound: stacks so far that needed no
 * copy. FALSE: the source cannot grow it, and is not asked again. */
gboolean lu_copy_size_tick (LuCopySize *self, guint64 n_bpf_unwound, GError **error);
gboolean lu_copy_size_may_grow (const LuCopySize *self);
/* Returns whether stacks were cut off and the size may still grow. */
gboolean lu_copy_size_is_short (const LuCopySize *self);
/* Returns the size now, in bytes. Any thread. */
guint32 lu_copy_size_get (const LuCopySize *self);
