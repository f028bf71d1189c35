/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* publisher.h - the thread that copies tables of whole files into the maps; see maps.h.
 *
 * The drain sends requests through a bounded queue and gets answers through another one; it never
 * waits. The drain hands out slots of modules (slots.h); the publisher writes them. */

#pragma once

#include "base/queue.h"
#include "bpf/maps.h"

typedef enum
{
  /* The READY module (a reference comes with it) has the slot. Publish its table if that is cheap
   * or if is_wanted. */
  LU_BPF_REQUEST_MODULE,
  /* No process maps the module now; its table stays until the memory is needed. */
  LU_BPF_REQUEST_IDLE,
  /* Take the table out of the slot; answered by RETIRED. */
  LU_BPF_REQUEST_RETIRE,
  /* Add an entry for mappings; answered by ENTRY. */
  LU_BPF_REQUEST_GROW,
  /* Wait until all walks under way have ended; answered by GRACE. */
  LU_BPF_REQUEST_GRACE,
} LuBpfRequestKind;

typedef struct
{
  LuBpfRequestKind kind;
  guint32 slot;
  gboolean is_wanted;
  LuModule *module; /* reference */
} LuBpfRequest;

typedef enum
{
  LU_BPF_ANSWER_RETIRED, /* the slot rests */
  LU_BPF_ANSWER_ENTRY,   /* the first n_words are for mappings; words: NULL if there is no entry */
  LU_BPF_ANSWER_GRACE,   /* is_done: FALSE if the kernel cannot tell */
} LuBpfAnswerKind;

typedef struct
{
  LuBpfAnswerKind kind;
  guint32 slot, entry;
  gboolean is_done;
  guint32 *words, n_words;
} LuBpfAnswer;

typedef struct _LuBpfPublisher LuBpfPublisher;

/* Starts the thread. Everything is borrowed and outlives it. */
LuBpfPublisher *lu_bpf_publisher_new (LuBpfBacking *backing, const LuBpfMapsOptions *options,
                                      LuQueue *requests, LuQueue *answers);
/* Ends the thread. The caller has closed `requests`. */
void lu_bpf_publisher_free (LuBpfPublisher *self);
/* Adds what was counted to *sum. Any thread. */
void lu_bpf_publisher_add_counters (const LuBpfPublisher *self, LuCounters *sum);

/* Return how many entries the budget allows, and how many of them may be for mappings alone. */
guint lu_bpf_max_entries (const LuBpfBacking *backing, const LuBpfMapsOptions *options);
guint lu_bpf_max_mapping_entries (guint max_entries);
