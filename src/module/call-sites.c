/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* call-sites.c - a small set-associative cache of words; see call-sites.h. */

#include "module/call-sites.h"

#include <stdatomic.h>

#define N_WAYS   8 /* one cache line */
#define SET_BITS 8

/* A word has the file offset above the two bits of the kind. 0 is empty, because no answer is
 * UNKNOWN. */
struct _LuCallSites
{
  _Atomic guint64 words[1 << SET_BITS][N_WAYS];
  guint8 next[1 << SET_BITS]; /* the way to replace next; used by the writer only */
};

static guint
set_of (guint64 file_offset)
{
  return (guint) ((file_offset * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> (64 - SET_BITS));
}

LuCallSites *
lu_call_sites_new (void)
{
  return g_new0 (LuCallSites, 1);
}

void
lu_call_sites_free (LuCallSites *self)
{
  g_free (self);
}

LuCallKind
lu_call_sites_find (const LuCallSites *self, guint64 file_offset)
{
  guint set = set_of (file_offset);

  for (guint i = 0; i < N_WAYS; i++)
    {
      guint64 word = atomic_load_explicit (&self->words[set][i], memory_order_relaxed);

      if (word >> 2 == file_offset && (word & 3) != LU_CALL_UNKNOWN)
        return (LuCallKind) (word & 3);
    }
  return LU_CALL_UNKNOWN;
}

void
lu_call_sites_add (LuCallSites *self, guint64 file_offset, LuCallKind kind)
{
  guint set = set_of (file_offset);
  guint way = self->next[set];

  if (file_offset >> 62 != 0 || kind == LU_CALL_UNKNOWN)
    return;
  for (guint i = 0; i < N_WAYS; i++)
    if (atomic_load_explicit (&self->words[set][i], memory_order_relaxed) >> 2 == file_offset)
      way = i;
  if (way == self->next[set])
    self->next[set] = (guint8) ((way + 1) % N_WAYS);
  atomic_store_explicit (&self->words[set][way], file_offset << 2 | (guint64) kind,
                         memory_order_relaxed);
}

void
lu_call_sites_foreach (const LuCallSites *self, LuCallSiteFunc func, gpointer user_data)
{
  for (guint set = 0; set < 1u << SET_BITS; set++)
    for (guint way = 0; way < N_WAYS; way++)
      {
        guint64 word = atomic_load_explicit (&self->words[set][way], memory_order_relaxed);

        if (word != 0)
          func (word >> 2, (LuCallKind) (word & 3), user_data);
      }
}
