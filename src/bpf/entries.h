/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* entries.h - the map "memory" of the BPF program (bpf.h), and pieces for it; part of program.c.
 *
 * The kernel makes whoever puts a piece in wait until all walks are over that might look at it,
 * some 10 ms. So the first one, for mappings and tables, is put in by a thread while the program is
 * verified; it is there when the first process starts. */

#pragma once

#include "bpf/program.h"

#include <pthread.h>

typedef struct
{
  int map_fd;                           /* owned until the thread has ended; -1: none */
  int first_fd;                         /* owned by begin() and the thread */
  guint32 *first[LU_BPF_FIRST_ENTRIES]; /* mapped, until they are taken; NULL: not there */
  guint64 first_bytes[LU_BPF_FIRST_ENTRIES];
  pthread_t thread;
  gboolean has_thread;
} LuBpfEntries;

/* Makes the map, with room for so many; FALSE with errno set. map_fd was -1. */
gboolean lu_bpf_entries_begin (LuBpfEntries *self, guint max_entries);
/* As lu_bpf_program_add_entries(); map_fd: of the same map, as the loaded program has it. */
guint lu_bpf_entries_add (LuBpfEntries *self, int map_fd, const guint32 *places, guint n,
                          guint32 **words, guint64 *bytes);
void lu_bpf_entries_end (LuBpfEntries *self);
