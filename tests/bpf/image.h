/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.h - fills the maps of the BPF program the plain way: whole tables of all files of a space,
 * one behind the other, nothing shared but rules, nothing ever taken back.
 *
 * For tests and measurements of the program itself; src/bpf publishes while recording. */

#pragma once

#include "lu/bpf.h"
#include "process/space.h"
#include "unwind/arch.h"

typedef struct
{
  /* The words of a new entry of memory, all zeros; NULL: no more. */
  guint32 *(*add_entry) (gpointer data, guint entry);
  gpointer data;
  struct lu_rule *rules;
  struct lu_bpf_module *modules;
  struct lu_bpf_known *known; /* NULL: nothing is known of files */
  /* private */
  GHashTable *rule_ids; /* struct lu_rule, owned -> id */
  GHashTable *slots;    /* lu_module_id() -> slot */
  guint n_rules, n_modules, n_entries;
  guint32 *words; /* of the last entry */
  guint at;       /* the next free one */
} BpfImage;

void bpf_image_init (BpfImage *self);
void bpf_image_clear (BpfImage *self);
/* Publishes what the space's mappings need; its modules must be opened. FALSE: memory is full, or
 * there are no mappings. */
gboolean bpf_image_add_space (BpfImage *self, LuSpace *space, guint32 tgid,
                              struct lu_bpf_process *process);
