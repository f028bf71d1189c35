/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory-reader.h - a process of its own that reads the memory of sampled processes.
 *
 * A page of theirs may belong to a file system or a program that never answers. Whoever reads it
 * then sleeps, and not even SIGKILL ends that. So only this process reads such pages; when it
 * hangs, it is left behind, has nothing open, and is not replaced. Worker thread, except new() and
 * free(). */

#pragma once

#include <glib.h>

typedef struct _LuMemoryReader LuMemoryReader;

/* Forks, so call it before rights are given up; the process gives up its own. Never NULL; a reader
 * that cannot be started reads nothing. */
LuMemoryReader *lu_memory_reader_new (void);
/* Ends the process, without waiting for it. */
void lu_memory_reader_free (LuMemoryReader *self);

/* Makes pages of a sampled stack present that the program has never touched. The kernel's copy of a
 * stack ends at the first such page, for example inside a large array, in every sample of the
 * thread. Reads a byte of each page from `start`, which need not be page-aligned, up to `end`. Does
 * nothing while an earlier request is under way. */
void lu_memory_reader_prefault (LuMemoryReader *self, gint32 pid, guint64 start, guint64 end);
/* Returns whether the process hangs, so that it gets no more requests. */
gboolean lu_memory_reader_hangs (const LuMemoryReader *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuMemoryReader, lu_memory_reader_free)
