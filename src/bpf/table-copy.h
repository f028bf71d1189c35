/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table-copy.h - the table of a file as the BPF program reads it: pages of 4 KiB, each with its own
 * run of rows, and rules of the shared dictionary (include/lu/bpf.h).
 *
 * It says what the table says, and what unwinding knows besides: the functions of Go that nobody
 * has called (LU_BPF_RULE_TOP) or that change the stack; where the table is not the last word, as
 * in a file with damaged entries, it says "complex", so that the program falls back. Made by the
 * publisher; nobody sees it before its index is stored in a slot. */

#pragma once

#include "bpf/arena.h"
#include "bpf/rules.h"
#include "elf/image.h"
#include "table/table.h"

typedef struct
{
  guint32 address;
  guint n_words;
} LuBpfExtent;

typedef struct
{
  guint64 base;  /* ELF address of the first page */
  guint32 index; /* word address of the pages */
  guint n_pages;
  GArray *extents; /* owned; of LuBpfExtent */
  guint16 *ids;    /* owned; rules in use, for the dictionary */
  guint n_ids;
  gsize bytes;
} LuBpfCopy;

/* Words that a copy takes at most; 0: its pages do not fit into an index. */
gsize lu_bpf_copy_words (const LuTable *table, const LuImage *image);
/* NULL: there is no room in the arena. */
LuBpfCopy *lu_bpf_copy_new (const LuTable *table, const LuImage *image, LuBpfArena *arena,
                            LuBpfRules *rules);
/* Nothing points to it any more: its memory and its rules rest. */
void lu_bpf_copy_free (LuBpfCopy *self, LuBpfArena *arena, LuBpfRules *rules);
