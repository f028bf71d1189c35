/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory-reader.h - a process of its own that reads the memory of sampled processes.
 *
 * A page of theirs may belong to a file system or a program that never answers. Whoever reads it
 * then sleeps, and not even SIGKILL ends that. So only this process reads such pages; when it
 * hangs, it is left behind, has nothing open, and is not replaced. It is the drain that asks it,
 * because the worker may wait for other things. */

#pragma once

#include "process/copied-text.h"

typedef struct _LuMemoryReader LuMemoryReader;

/* Forks, so call it before rights are given up; the process gives up its own. Never NULL; a reader
 * that cannot be started reads nothing. */
LuMemoryReader *lu_memory_reader_new (void);
/* Ends the process, without waiting for it. */
void lu_memory_reader_free (LuMemoryReader *self);

/* Makes pages of a sampled stack present that the program has never touched. The kernel's copy of a
 * stack ends at the first such page, for example inside a large array, in every sample of the
 * thread. Reads a byte of each page from `start`, which need not be page-aligned, up to `end`.
 * Returns whether it does so: not if the same page was the start a moment ago, nor while many
 * requests are under way. Drain thread; does not wait. */
gboolean lu_memory_reader_prefault (LuMemoryReader *self, gint32 pid, guint64 start, guint64 end);
/* Keeps the same request for lu_memory_reader_grant(), unless it has one for this page or too many.
 * Worker thread. */
void lu_memory_reader_wish (LuMemoryReader *self, gint32 pid, guint64 start, guint64 end);
/* Makes the requests that lu_memory_reader_wish() has kept. Returns whether there were any. Drain
 * thread. */
gboolean lu_memory_reader_grant (LuMemoryReader *self);
/* Has copied code compared (copied-text.h). Returns whether that is done: not while it is done for
 * other code, nor if the process hangs. Drain thread; does not wait. */
gboolean lu_memory_reader_compare (LuMemoryReader *self, const LuCopiedText *question);
/* Takes the answer to that. Returns FALSE if there is none yet. Drain thread. */
gboolean lu_memory_reader_take_compared (LuMemoryReader *self, LuCopiedText *answer);
/* Returns whether the process hangs, so that it gets no more requests. Drain thread. */
gboolean lu_memory_reader_hangs (const LuMemoryReader *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuMemoryReader, lu_memory_reader_free)
