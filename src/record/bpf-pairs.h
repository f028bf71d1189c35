/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf-pairs.h - two stacks of one sample, for comparing engines: what BPF unwound, kept until the
 * same sample comes with a copy.
 *
 * The program emits a stack and lets the kernel write the sample as well, so the sample is the next
 * one of that CPU. Drain thread; allocates, so it is for tests only (--engine check-bpf). */

#pragma once

#include "messages.h"

typedef struct
{
  gint32 tid;   /* -1: belongs to no further sample */
  guint64 time; /* ns */
  LuBpfPart part;
  guint64 words[LU_BPF_MAX_KERNEL + LU_BPF_MAX_FRAMES]; /* part.n_kernel, then part.n_user */
} LuBpfPair;

/* Returns an empty table of the pairs by their CPUs, owned by the caller. */
GHashTable *lu_bpf_pairs_new (void);

/* Keeps what can be trusted of a BPF_UNWOUND event. */
void lu_bpf_pairs_keep (GHashTable *self, const LuLocatedEvent *located);
/* Returns the stack that BPF unwound for this sample; NULL: none. Valid until the next call. */
const LuBpfPair *lu_bpf_pairs_find (GHashTable *self, const LuEvent *sample);
/* The sample has been handled, so later ones of its CPU do not match. */
void lu_bpf_pairs_forget (GHashTable *self, const LuEvent *sample);
