/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-reader.h - reads from /proc what processes are called and which files they see.
 *
 * The drain decides when (process-info.h). Worker thread. */

#pragma once

#include "process/process.h"

typedef struct _LuProcessReader LuProcessReader;

/* own_mounts_are_known: readers of the recording know our own mount table, so it is not read for
 * processes that share our root. */
LuProcessReader *lu_process_reader_new (gboolean own_mounts_are_known);
void lu_process_reader_free (LuProcessReader *self);

/* Sets the command line, unless it is known: the child of a fork has that of its parent. */
void lu_process_reader_read_name (LuProcessReader *self, LuProcess *process);
/* Sets the mount table, with which viewers find the files of a container. space: the newest version
 * of the process's address space. */
void lu_process_reader_read_mounts (LuProcessReader *self, LuProcess *process,
                                    LuAddressSpace *space);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProcessReader, lu_process_reader_free)
