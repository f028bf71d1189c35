/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* files.h - tables of files in the maps: publishes them, and evicts them when there is no room.
 *
 * A published table belongs to a file, not to a module: modules of equal files share it, each with
 * a slot of its own. The program sees it once its address is stored in the slot, after everything
 * that the address leads to. It no longer sees it once that word is 0; then the memory and the
 * rules rest (deferred-reclamation.h). Belongs to the publisher. */

#pragma once

#include "bpf/backing.h"
#include "bpf/table-copy.h"
#include "bpf/interps.h"
#include "module/module.h"

/* A table that was used within this time is not evicted. */
#define LU_BPF_MIN_UNUSED_NS G_GUINT64_CONSTANT (1000000000)

/* A file whose table is in the maps, or is wanted there. */
typedef struct
{
  LuTableSlot *table_slot; /* reference; NULL: the file is found by its image */
  LuImage *image;          /* reference */
  LuBpfCopy *copy;         /* owned; NULL: not published */
  GArray *slots;           /* of guint32; the table is published in these */
  guint64 key;             /* of the last publication; the program's remembered rules have it */
  guint64 serial;          /* of the table that was published last */
  guint64 last_renewed;    /* ns, when a table with other rows took its place; 0: never */
  guint64 entry;           /* ELF address */
  guint64 last_use;        /* ns */
  guint64 last_refused;    /* ns, because memory was short; 0: never */
  guint64 last_asked;      /* ns, when its missing table was requested; 0: never */
  guint interp;            /* number of its interpreter (interps.h); 0: none */
  gboolean is_hopeless;    /* too large, or cannot be compiled */
} LuBpfFile;

typedef struct
{
  LuBpfBacking *backing; /* borrowed */
  guint64 rest_ns;
  guint max_entries, max_mapping_entries;
  guint n_entries, n_mapping_entries; /* in use: all, and those only for mappings */
  gboolean has_shared;                /* one of the arena's entries also holds mappings */
  guint8 *is_entry_used;              /* owned; LU_BPF_MAX_ENTRIES */
  LuBpfArena arena;
  LuBpfRules rules;
  LuBpfInterps interps;
  GHashTable *files; /* owned; table slot or image -> LuBpfFile */
  guint64 last_key;
  gsize bytes; /* of published tables */
  guint n_tables;
  LuCounters counters;
} LuBpfFiles;

void lu_bpf_files_init (LuBpfFiles *self, LuBpfBacking *backing, guint max_entries,
                        guint max_mapping_entries, guint64 rest_ns);
void lu_bpf_files_clear (LuBpfFiles *self);

/* Words of the first entry that are for mappings; the rest is for tables. Most recordings need no
 * more mappings than that, and small programs no more memory at all. */
#define LU_BPF_FIRST_MAPPINGS (LU_BPF_ENTRY_WORDS / 4)

/* Adds an entry for mappings out of what tables do not need. Sets *number to the entry and *n_words
 * to the number of its first words that are for mappings. Returns the words, or NULL if there is
 * none. */
guint32 *lu_bpf_files_grow_mappings (LuBpfFiles *self, guint *number, guint *n_words);

/* Returns the file of a READY module and gives the module the slot. If the file is published, the
 * program can look it up by the slot from then on. */
LuBpfFile *lu_bpf_files_attach (LuBpfFiles *self, LuModule *module, guint32 slot);
/* Takes the slot from the file. Forgets a file that has no slot left. */
void lu_bpf_files_detach (LuBpfFiles *self, LuBpfFile *file, guint32 slot);

/* Publishes a table of the file in all its slots, and evicts the least recently used tables for it.
 * Returns FALSE if there is no room now; TRUE if it is published or hopeless. */
gboolean lu_bpf_files_publish (LuBpfFiles *self, LuBpfFile *file, const LuTable *table,
                               const LuImage *image);
/* Returns whether a table with rows from code is another one than that which is published: it may
 * have as many rows, but others. */
gboolean lu_bpf_files_is_outdated (const LuBpfFile *file, const LuTable *table);
/* Publishes a table in place of the published one. Walks that need it fall back meanwhile, and
 * until it is requested again if there is no room. */
void lu_bpf_files_renew (LuBpfFiles *self, LuBpfFile *file, const LuTable *table);
/* Publishes an empty table for a file without unwind information. */
gboolean lu_bpf_files_publish_nothing (LuBpfFiles *self, LuBpfFile *file, const LuImage *image);
/* Marks a file that will never be published. */
void lu_bpf_files_give_up (LuBpfFiles *self, LuBpfFile *file);
/* Returns whether enough memory is free for a table that may never be needed. */
gboolean lu_bpf_files_is_cheap (const LuBpfFiles *self, const LuTable *table);
