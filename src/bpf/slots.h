/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* slots.h - gives modules slots of the map "modules"; the drain's half of publishing tables.
 *
 * A module has a slot from its first mapping on. Some slots of modules that are no longer mapped
 * are kept for the next run of the same program; the publisher takes the tables out of the others,
 * which then rest. Belongs to the drain thread; allocates nothing after it is made. */

#pragma once

#include "base/queue.h"
#include "deferred-reclamation.h"
#include "bpf/backing.h"
#include "bpf/index.h"
#include "module/module.h"

/* Returns whether the table of a READY module will surely be needed. is_likely: the program that
 * maps it will probably be sampled. */
typedef gboolean (*LuBpfIsWantedFunc) (LuModule *module, gboolean is_likely);

/* Executable segments of a file. */
#define LU_BPF_KNOWN_PER_SLOT 3

typedef struct
{
  LuModule *module; /* reference, while mappings name it */
  guint32 id;       /* of the module; 0: free or being retired */
  guint32 item;     /* of the index */
  guint32 n_mappings;
  guint32 known[LU_BPF_KNOWN_PER_SLOT]; /* places in "known" that refer to it, + 1; 0: none */
  guint32 before, after;                /* in the list of slots without mappings; 0: none */
} LuBpfSlot;

typedef struct
{
  LuBpfBacking *backing; /* borrowed */
  LuQueue *requests;     /* borrowed; the publisher's */
  LuBpfIndex by_module;  /* values: slots */
  LuBpfReclaim numbers;
  LuBpfSlot *slots;       /* owned; LU_BPF_MAX_MODULES */
  guint32 oldest, newest; /* without mappings */
  guint n_idle, end;      /* end: slots from it on were never used */
  guint known_turn;       /* the place of a full group to replace next */
  gboolean has_news;      /* the publisher has to be woken */
  guint64 n_refused;
} LuBpfSlots;

void lu_bpf_slots_init (LuBpfSlots *self, LuBpfBacking *backing, LuQueue *requests);
void lu_bpf_slots_clear (LuBpfSlots *self);

/* Returns the slot of the module, or 0. */
guint32 lu_bpf_slots_find (const LuBpfSlots *self, const LuModule *module);
/* Returns whether the publisher has written a table into the slot. */
gboolean lu_bpf_slots_has_table (const LuBpfSlots *self, guint32 slot);
/* Counts one more mapping of the READY module and returns its slot, or 0 if there is none.
 * is_wanted: its table will certainly be needed. */
guint32 lu_bpf_slots_take (LuBpfSlots *self, LuModule *module, gboolean is_wanted);
void lu_bpf_slots_give_back (LuBpfSlots *self, guint32 slot);
/* Passes the program's requests for tables on to the publisher. */
void lu_bpf_slots_pass_wishes (LuBpfSlots *self);
/* Wakes the publisher if anything was requested since the last call. */
void lu_bpf_slots_wake_publisher (LuBpfSlots *self);
/* Lets the slot rest: the publisher has retired it. */
void lu_bpf_slots_retired (LuBpfSlots *self, guint32 slot);
