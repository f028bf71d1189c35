/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* slots.h - which slot of the map "modules" is whose; the drain's half of publishing tables.
 *
 * A slot belongs to a module from the first mapping that names it on. Some that nothing maps any
 * more are kept, for the next run of the same program; of the others the publisher takes back the
 * table, and then the slot rests. Belongs to the drain thread; allocates nothing after it is made.
 */

#pragma once

#include "base/queue.h"
#include "bpf/aging.h"
#include "bpf/backing.h"
#include "bpf/index.h"
#include "module/module.h"

/* Different executable parts of a file. */
#define LU_BPF_KNOWN_PER_SLOT 3

typedef struct
{
  LuModule *module; /* reference, while mappings name it */
  guint32 id;       /* of the module; 0: free or being given up */
  guint32 item;     /* of the index */
  guint32 n_mappings;
  guint32 known[LU_BPF_KNOWN_PER_SLOT]; /* places of "known" that name it, + 1; 0: none */
  guint32 before, after;                /* in the list of those without mappings; 0: none */
} LuBpfSlot;

typedef struct
{
  LuBpfBacking *backing; /* borrowed */
  LuQueue *requests;     /* borrowed; the publisher's */
  LuBpfIndex by_module;  /* values: slots */
  LuBpfAging numbers;
  LuBpfSlot *slots;       /* owned; LU_BPF_MAX_MODULES */
  guint32 oldest, newest; /* without mappings */
  guint n_idle, end;      /* end: above all that were ever used */
  guint known_turn;       /* which place of a full group goes next */
  gboolean has_news;      /* the publisher is to be woken */
  guint64 n_refused;
} LuBpfSlots;

void lu_bpf_slots_init (LuBpfSlots *self, LuBpfBacking *backing, LuQueue *requests);
void lu_bpf_slots_clear (LuBpfSlots *self);

/* 0: it has none. */
guint32 lu_bpf_slots_find (const LuBpfSlots *self, const LuModule *module);
/* Whether the publisher has written one. */
gboolean lu_bpf_slots_has_table (const LuBpfSlots *self, guint32 slot);
/* One more mapping names the module, which is READY; 0: there is no slot. is_wanted: its table will
 * surely be needed. */
guint32 lu_bpf_slots_take (LuBpfSlots *self, LuModule *module, gboolean is_wanted);
void lu_bpf_slots_give_back (LuBpfSlots *self, guint32 slot);
/* Passes on which tables the program or somebody here asked for. */
void lu_bpf_slots_pass_wishes (LuBpfSlots *self);
/* Once for all that was asked for since the last call. */
void lu_bpf_slots_wake_publisher (LuBpfSlots *self);
void lu_bpf_slots_want (LuBpfSlots *self, LuModule *module);
/* The publisher has taken it back. */
void lu_bpf_slots_retired (LuBpfSlots *self, guint32 slot);
