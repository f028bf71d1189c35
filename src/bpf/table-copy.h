/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* table-copy.h - the table of a file as the BPF program reads it: pages of 4 KiB, each with its own
 * run of rows, and rules of the shared dictionary (include/lu/bpf.h).
 *
 * Besides the rows of the table it has the functions of Go that have no caller (LU_BPF_RULE_TOP) or
 * that change the stack. Where the table is not reliable, as in a file with damaged entries, it has
 * complex rules, so that the program falls back. Made by the publisher; the program sees it once
 * its index is stored in a slot. */

#pragma once

#include "bpf/arena.h"
#include "bpf/rules.h"
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

/* Returns the most words that a copy can take; 0 if its pages do not fit into an index. */
gsize lu_bpf_copy_words (const LuTable *table, const LuImage *image);
/* Returns NULL if there is no room in the arena. */
LuBpfCopy *lu_bpf_copy_new (const LuTable *table, const LuImage *image, LuBpfArena *arena,
                            LuBpfRules *rules);
/* Lets its memory and its rules rest. Nothing points to it any more. */
void lu_bpf_copy_free (LuBpfCopy *self, LuBpfArena *arena, LuBpfRules *rules);
