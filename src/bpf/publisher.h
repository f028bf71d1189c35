/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* publisher.h - the thread that copies tables of whole files into the maps; see maps.h.
 *
 * The drain asks, by a bounded queue, and gets its answers by another one; it never waits. Slots
 * of modules are the drain's to give out (processes.h); what they hold is the publisher's. */

#pragma once

#include "base/queue.h"
#include "bpf/maps.h"

typedef enum
{
  /* The slot is that of the module (a reference comes with it), which is READY. Its table is
   * published if that is cheap, or if is_wanted. */
  LU_BPF_REQUEST_MODULE,
  /* Nothing is mapped of it now; the table stays until its memory is needed. */
  LU_BPF_REQUEST_IDLE,
  /* The slot is given up; answered by RETIRED. */
  LU_BPF_REQUEST_RETIRE,
  /* One more entry for mappings; answered by ENTRY. */
  LU_BPF_REQUEST_GROW,
  /* Wait until all walks have ended that are under way; answered by GRACE. */
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
  LU_BPF_ANSWER_RETIRED, /* the slot rests from now on */
  LU_BPF_ANSWER_ENTRY,   /* words: NULL if there is none to be had; the first n_words are meant */
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

/* Everything is borrowed and outlives it. max_entries: of tables and mappings together. */
LuBpfPublisher *lu_bpf_publisher_new (LuBpfBacking *backing, const LuBpfMapsOptions *options,
                                      LuQueue *requests, LuQueue *answers);
/* Ends the thread; `requests` has to be closed. */
void lu_bpf_publisher_free (LuBpfPublisher *self);
/* Any thread but the drain: look again at what is waited for. */
void lu_bpf_publisher_poke (LuBpfPublisher *self);
/* Any thread; fills what is the publisher's. */
void lu_bpf_publisher_get_stats (LuBpfPublisher *self, LuBpfMapsStats *stats);

/* Entries by the budget, and those of them that mappings may take beside what they share. */
guint lu_bpf_max_entries (const LuBpfBacking *backing, const LuBpfMapsOptions *options);
guint lu_bpf_max_mapping_entries (guint max_entries);
