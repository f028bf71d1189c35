/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* aging.h - numbers that are given out, given back, and rest before they are given out again.
 *
 * Walks in the kernel hold no references: what is taken from them may still be looked at by walks
 * that are under way. So what is given back rests: first it gathers, then all that has gathered is
 * sealed, and goes free together when every walk is over that was under way at the seal. Three bits
 * for each number, no other memory, so neither a storm nor a week makes it larger. Belongs to one
 * thread. */

#pragma once

#include <glib.h>

typedef struct
{
  guint n;                            /* numbers from 0, a multiple of 64 */
  guint n_free;                       /* neither in use nor resting */
  guint n_gathered, n_sealed;         /* resting */
  guint next;                         /* where the next search begins */
  guint64 sealed_at;                  /* ns */
  guint64 *taken, *gathered, *sealed; /* owned; taken: in use or resting */
} LuBpfAging;

/* n is rounded up to a multiple of 64; what is added is never given out. */
void lu_bpf_aging_init (LuBpfAging *self, guint n);
void lu_bpf_aging_clear (LuBpfAging *self);

/* The first of `count` free numbers in a row (at most self->n), from now on in use; -1: none. */
gint64 lu_bpf_aging_take (LuBpfAging *self, guint count);
/* Of the longest runs of free numbers, one with at least `least` and at most `most`. */
gint64 lu_bpf_aging_take_some (LuBpfAging *self, guint least, guint most, guint *count);
/* Nobody has seen these since they were taken: they are free at once. */
void lu_bpf_aging_put_back (LuBpfAging *self, guint first, guint count);
/* These rest from now on. */
void lu_bpf_aging_give_back (LuBpfAging *self, guint first, guint count);

/* Seals what has gathered, unless something sealed rests already. TRUE if something was sealed. */
gboolean lu_bpf_aging_seal (LuBpfAging *self, guint64 now);
/* Every walk is over that was under way at the last seal: what it sealed is free. */
void lu_bpf_aging_release (LuBpfAging *self);
/* The two by time: what is sealed for `rest` ns is free, and what has gathered is sealed. */
void lu_bpf_aging_pass (LuBpfAging *self, guint64 now, guint64 rest);

static inline gboolean
lu_bpf_aging_is_unused (const LuBpfAging *self)
{
  return self->n_free == self->n;
}
