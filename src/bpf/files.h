/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* files.h - tables of files in the maps: what is published, and what goes when there is no room.
 *
 * A published table belongs to a file, not to a module: modules of equal files share it, each by a
 * slot of its own. It is seen when its word is stored in the slot, after everything that leads to
 * it; it is gone when that word is 0, and then its memory and its rules rest (aging.h). Belongs to
 * the publisher. */

#pragma once

#include "bpf/arena.h"
#include "bpf/backing.h"
#include "bpf/rules.h"
#include "bpf/table-copy.h"
#include "module/module.h"

/* What was used within this time is not evicted. */
#define LU_BPF_MIN_UNUSED_NS G_GUINT64_CONSTANT (1000000000)

/* A file's table in the maps, or the wish for it. */
typedef struct
{
  LuTableSlot *table_slot; /* reference; NULL: the image is the key */
  LuImage *image;          /* reference; NULL if there is a slot */
  LuBpfCopy *copy;         /* owned; NULL: not published */
  GArray *slots;           /* of guint32, that it is published in */
  guint64 key;             /* of the last publication, for what the program remembers */
  guint64 entry;           /* ELF address */
  guint64 last_use;        /* ns */
  guint64 last_refused;    /* ns, for want of memory; 0: never */
  guint64 last_asked;      /* ns, for a table that was not there; 0: never */
  gboolean is_hopeless;    /* too large, or it cannot be compiled */
} LuBpfFile;

typedef struct
{
  LuBpfBacking *backing; /* borrowed */
  guint64 rest_ns;
  guint max_entries, max_mapping_entries;
  guint n_entries, n_mapping_entries; /* in use: all, those for mappings alone */
  gboolean has_shared;                /* and one is for both, among the arena's */
  guint8 *is_entry_used;              /* owned; LU_BPF_MAX_ENTRIES */
  LuBpfArena arena;
  LuBpfRules rules;
  GHashTable *files; /* owned; table slot or image -> LuBpfFile */
  guint64 last_key;
  gsize bytes; /* of tables that are published */
  guint n_tables;
  guint64 n_published, n_evicted, n_refused, n_hopeless;
} LuBpfFiles;

void lu_bpf_files_init (LuBpfFiles *self, LuBpfBacking *backing, guint max_entries,
                        guint max_mapping_entries, guint64 rest_ns);
void lu_bpf_files_clear (LuBpfFiles *self);

/* Of the first entry that mappings get; the rest is for tables. Most recordings need no more
 * mappings than that, those of a small program no more memory at all. */
#define LU_BPF_FIRST_MAPPINGS (LU_BPF_ENTRY_WORDS / 4)

/* One more entry for mappings (*number), taken from what tables do not need, of which the first
 * *n_words are theirs; NULL: none. */
guint32 *lu_bpf_files_grow_mappings (LuBpfFiles *self, guint *number, guint *n_words);

/* The file of a module that is READY, which has that slot from now on: if it is published, it can
 * be looked up by it. */
LuBpfFile *lu_bpf_files_attach (LuBpfFiles *self, LuModule *module, guint32 slot);
/* The slot leads nowhere from now on; a file without slots is forgotten. */
void lu_bpf_files_detach (LuBpfFiles *self, LuBpfFile *file, guint32 slot);

/* Publishes a table of the file in all its slots. What was not used for longest goes for it. FALSE:
 * there is no room now. TRUE also if it is hopeless. */
gboolean lu_bpf_files_publish (LuBpfFiles *self, LuBpfFile *file, const LuTable *table,
                               const LuImage *image);
/* A file without unwind information: nothing is known anywhere. */
gboolean lu_bpf_files_publish_nothing (LuBpfFiles *self, LuBpfFile *file, const LuImage *image);
/* It will never be published. */
void lu_bpf_files_give_up (LuBpfFiles *self, LuBpfFile *file);
/* Little enough is in use for a table that may never be needed. */
gboolean lu_bpf_files_is_cheap (const LuBpfFiles *self, const LuTable *table);
