/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* toucher.h - makes pages of sampled stacks present that were never touched.
 *
 * The kernel's copy of a stack ends at the first such page, as inside a large array, and would do
 * so in every sample of the thread. Reading one byte of the page makes it present, as if the
 * program had read it. What the page is mapped to may be a file system or a program that never
 * answers, so this has a thread of its own, for which nobody waits. */

#pragma once

#include <glib.h>

typedef struct _LuToucher LuToucher;

/* The thread starts with the first pages. */
LuToucher *lu_toucher_new (void);
/* While a page is waited for, the thread stays behind with it. */
void lu_toucher_free (LuToucher *self);

/* Soon reads a byte of each page of the process from `start`, which need not be the start of a
 * page, up to `end`; nothing while other pages are read. One thread only may call this. */
void lu_toucher_touch (LuToucher *self, gint32 pid, guint64 start, guint64 end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuToucher, lu_toucher_free)
