/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.h - fills the maps of the BPF program in the simplest way: whole tables of all files of an
 * address space, one after the other; only rules are shared, and nothing is freed.
 *
 * For tests and measurements of the program itself; src/bpf publishes while recording. */

#pragma once

#include "bpf/interps.h"
#include "lu/bpf.h"
#include "process/address-space.h"
#include "arch/arch.h"

typedef struct
{
  /* Returns the words of a new entry of memory, all zeros, or NULL if there are no more. */
  guint32 *(*add_entry) (gpointer data, guint entry);
  gpointer data;
  struct lu_bpf_dictionary *dictionary;
  struct lu_bpf_module *modules;
  struct lu_bpf_known *known; /* NULL: files are not known */
  LuBpfInterps interps;       /* without a backing: interpreters are not known */
  /* private */
  GHashTable *rule_ids; /* struct lu_rule, owned -> id */
  GHashTable *slots;    /* lu_module_id() -> slot */
  guint n_rules, n_modules, n_entries;
  guint32 *words; /* of the last entry */
  guint at;       /* the next free one */
} BpfImage;

void bpf_image_init (BpfImage *self);
void bpf_image_clear (BpfImage *self);
/* Publishes the tables and mappings of the address space; its modules must be opened. Returns FALSE
 * if memory is full or there are no mappings. */
gboolean bpf_image_add_space (BpfImage *self, LuAddressSpace *space, guint32 tgid,
                              struct lu_bpf_process *process);
