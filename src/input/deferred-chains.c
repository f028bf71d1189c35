/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* deferred-chains.c - see deferred-chains.h. */

#include "input/deferred-chains.h"

#include <linux/perf_event.h>
#include <string.h>

/* PERF_CONTEXT_USER_DEFERRED, Linux 6.19 */
#define USER_DEFERRED ((guint64) -640)

typedef struct
{
  guint64 cookie;
  gint32 tid;
  guint32 n_words;
  guint64 words[];
} Chain;

struct _LuDeferredChains
{
  GHashTable *chains; /* set of Chain, owned */
  gsize size;         /* bytes of all */
  GArray *completed;  /* of guint64 */
};

static guint
hash_chain (gconstpointer key)
{
  const Chain *self = key;

  return (guint) (self->cookie ^ self->cookie >> 32) * 31 + (guint) self->tid;
}

static gboolean
is_same (gconstpointer a, gconstpointer b)
{
  const Chain *one = a, *other = b;

  return one->cookie == other->cookie && one->tid == other->tid;
}

LuDeferredChains *
lu_deferred_chains_new (void)
{
  LuDeferredChains *self = g_new0 (LuDeferredChains, 1);

  self->chains = g_hash_table_new_full (hash_chain, is_same, g_free, NULL);
  self->completed = g_array_new (FALSE, FALSE, sizeof (guint64));
  return self;
}

void
lu_deferred_chains_free (LuDeferredChains *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->chains);
  g_array_unref (self->completed);
  g_free (self);
}

void
lu_deferred_chains_add (LuDeferredChains *self, const LuEvent *event)
{
  gsize size = event->deferred_chain.n_words * sizeof (guint64);
  Chain *chain;

  if (sizeof *chain + size > LU_DEFERRED_MAX_BYTES - self->size)
    return;
  self->size += sizeof *chain + size;
  chain = g_malloc (sizeof *chain + size);
  chain->cookie = event->deferred_chain.cookie;
  chain->tid = event->tid;
  chain->n_words = event->deferred_chain.n_words;
  memcpy (chain->words, event->deferred_chain.words, size);
  g_hash_table_add (self->chains, chain);
}

void
lu_deferred_chains_complete (LuDeferredChains *self, LuEvent *event)
{
  static const guint64 user = PERF_CONTEXT_USER;
  LuSample *sample = &event->sample;
  Chain key = { .tid = event->tid };
  const Chain *chain;
  guint at = 0;

  while (at < sample->n_callchain && sample->callchain[at] != USER_DEFERRED)
    at++;
  if (sample->n_callchain - at < 2)
    return;
  key.cookie = sample->callchain[at + 1];
  chain = g_hash_table_lookup (self->chains, &key);
  if (chain == NULL)
    return;
  g_array_set_size (self->completed, 0);
  g_array_append_vals (self->completed, sample->callchain, at);
  g_array_append_val (self->completed, user);
  g_array_append_vals (self->completed, chain->words, chain->n_words);
  sample->callchain = (const guint64 *) (gpointer) self->completed->data;
  sample->n_callchain = self->completed->len;
}
