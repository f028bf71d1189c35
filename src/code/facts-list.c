/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* facts-list.c - see facts-list.h. */

#include "code/facts-list.h"

#include <string.h>

#define BUCKET_BITS 17
#define MAX_FACTS   65000u

struct _LuFactsList
{
  LuFrameFacts *facts; /* owned */
  guint n, n_allocated;
  guint16 first;
  guint last;                        /* most instructions repeat the facts of the one before */
  guint16 buckets[1 << BUCKET_BITS]; /* index + 1; 0: empty */
};

static void
append (LuFactsList *self, const LuFrameFacts *facts)
{
  if (self->n == self->n_allocated)
    {
      self->n_allocated = MAX (2 * self->n_allocated, 256);
      self->facts = g_renew (LuFrameFacts, self->facts, self->n_allocated);
    }
  self->facts[self->n++] = *facts;
}

LuFactsList *
lu_facts_list_new (guint16 first)
{
  LuFactsList *self = g_new0 (LuFactsList, 1);
  const LuFrameFacts nothing = { 0 };

  self->first = first;
  append (self, &nothing);
  return self;
}

void
lu_facts_list_free (LuFactsList *self)
{
  g_free (self->facts);
  g_free (self);
}

static guint
bucket_of (const LuFrameFacts *facts)
{
  guint64 words[sizeof *facts / sizeof (guint64)], hash = 0;

  memcpy (words, facts, sizeof words);
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    hash = (hash ^ words[i]) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return (guint) (hash >> (64 - BUCKET_BITS));
}

guint16
lu_facts_list_intern (LuFactsList *self, const LuFrameFacts *facts)
{
  guint bucket;

  if (memcmp (&self->facts[self->last], facts, sizeof *facts) == 0)
    return (guint16) (self->first + self->last);
  bucket = bucket_of (facts);
  while (self->buckets[bucket] != 0
         && memcmp (&self->facts[self->buckets[bucket] - 1], facts, sizeof *facts) != 0)
    bucket = (bucket + 1) % (1 << BUCKET_BITS);
  if (self->buckets[bucket] == 0 && self->n == MAX_FACTS)
    return self->first;
  if (self->buckets[bucket] == 0)
    {
      append (self, facts);
      self->buckets[bucket] = (guint16) self->n;
    }
  self->last = self->buckets[bucket] - 1u;
  return (guint16) (self->first + self->last);
}

const LuFrameFacts *
lu_facts_list_get (const LuFactsList *self, guint16 number)
{
  return &self->facts[number - self->first];
}
