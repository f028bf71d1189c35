/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf-pairs.c - see bpf-pairs.h. */

#include "bpf-pairs.h"

#include "bpf-unwound.h"

/* Unwinding takes less; the next sample of the CPU comes later, at up to 5 kHz. */
#define PAIR_NS (G_GUINT64_CONSTANT (100) * 1000)

GHashTable *
lu_bpf_pairs_new (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, g_free);
}

static LuBpfPair *
pair_of (GHashTable *self, const LuEvent *event)
{
  return g_hash_table_lookup (self, GINT_TO_POINTER (event->cpu));
}

void
lu_bpf_pairs_keep (GHashTable *self, const LuLocatedEvent *located)
{
  const LuEvent *event = located->event;
  const LuBpfUnwoundStack *stack = &event->bpf_unwound;
  LuBpfUnwoundResult result = lu_bpf_unwound_check (located);
  LuBpfPair *pair = pair_of (self, event);

  if (pair == NULL)
    {
      pair = g_new (LuBpfPair, 1);
      g_hash_table_insert (self, GINT_TO_POINTER (event->cpu), pair);
    }
  pair->tid = event->tid;
  pair->time = event->time;
  pair->part = (LuBpfPart){ .status = result.status,
                            .kernel_ip = lu_bpf_unwound_kernel_ip (stack),
                            .n_kernel = stack->n_kernel,
                            .n_user = result.n_user };
  memcpy (pair->words, stack->pcs, ((gsize) stack->n_kernel + result.n_user) * sizeof *pair->words);
}

const LuBpfPair *
lu_bpf_pairs_find (GHashTable *self, const LuEvent *sample)
{
  const LuBpfPair *pair = pair_of (self, sample);
  guint64 between;

  if (pair == NULL || pair->tid != sample->tid)
    return NULL;
  between = pair->time > sample->time ? pair->time - sample->time : sample->time - pair->time;
  return between < PAIR_NS ? pair : NULL;
}

void
lu_bpf_pairs_forget (GHashTable *self, const LuEvent *sample)
{
  LuBpfPair *pair = pair_of (self, sample);

  if (pair != NULL)
    pair->tid = -1;
}
