/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf-unwound.h - stacks that BPF unwound (include/lu/bpf.h): how much of one can be trusted, and
 * the frames it consists of.
 *
 * BPF may still use a process's earlier mappings when side-band has already reported new ones. So
 * the drain checks each stack once: at every frame, the mapping that BPF used must be the one of
 * the sample's time. */

#pragma once

#include "messages.h"

/* How much of a stack can be trusted. */
typedef struct
{
  LuStatus status; /* the record's, or STALE_MAPPING: BPF used another file at the last frame that
                      stays, or did not know all code when it went by frame pointer from there; or
                      NO_MAPPING: the frame after it is in no mapping */
  guint32 n_user;  /* user frames that stay, from the leaf */
  guint64 end_pc;  /* as in LuStack */
} LuBpfUnwoundResult;

/* Checks a BPF_UNWOUND event. Drain thread. */
LuBpfUnwoundResult lu_bpf_unwound_check (const LuLocatedEvent *located);

/* Where in the kernel the sample hit, 0 if it did not. */
static inline guint64
lu_bpf_unwound_kernel_ip (const LuBpfUnwoundStack *stack)
{
  return (stack->flags & LU_BPF_RECORD_KERNEL) != 0 ? stack->ip : 0;
}

/* Converts the user's words of a record, which need not be aligned. Returns all flags that some
 * frame has. */
guint32 lu_bpf_unwound_user_frames (const guint8 *words, guint32 n_words, LuFrame *frames);
/* Converts the kernel's words of a record, without context words; without any, the frame is that of
 * kernel_ip. Returns how many frames there are, at most LU_BPF_MAX_KERNEL; 0 if kernel_ip is 0. */
guint32 lu_bpf_unwound_kernel_frames (const guint8 *words, guint32 n_words, guint64 kernel_ip,
                                      LuFrame *frames);

/* For tests (--engine check-bpf), two stacks of one sample: what BPF unwound is kept until the same
 * sample comes with a copy. The program emits a stack and lets the kernel write the sample as well,
 * so the sample is the next one of that CPU. Drain thread; keeping allocates. */
typedef struct
{
  gint32 tid;   /* -1: belongs to no further sample */
  guint64 time; /* ns */
  guint64 sp;   /* the user stack pointer */
  LuBpfPart part;
  guint64 words[LU_BPF_MAX_KERNEL + LU_BPF_MAX_FRAMES]; /* part.n_kernel, then part.n_user */
} LuBpfPair;

/* Returns an empty table of the pairs by their CPUs, owned by the caller. */
GHashTable *lu_bpf_pairs_new (void);

/* Keeps what can be trusted of a BPF_UNWOUND event. */
void lu_bpf_pairs_keep (GHashTable *self, const LuLocatedEvent *located);
/* Returns the stack that BPF unwound for this sample, with its stack pointer and at about its time;
 * NULL: none. Valid until the next call. */
const LuBpfPair *lu_bpf_pairs_find (GHashTable *self, const LuEvent *event);
/* The sample has been handled, so later ones of its CPU do not match. */
void lu_bpf_pairs_forget (GHashTable *self, const LuEvent *event);
