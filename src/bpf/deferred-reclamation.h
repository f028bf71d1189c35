/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* deferred-reclamation.h - allocates numbers and delays the reuse of freed ones.
 *
 * Walks in the kernel hold no references, so a walk may still read memory that has just been freed.
 * Freed numbers therefore rest: they are gathered, then all gathered numbers are sealed, and they
 * become free together when every walk that ran at the time of the seal has ended. This never takes
 * more than three bits for each number. Belongs to one thread. */

#pragma once

#include <glib.h>

typedef struct
{
  guint n;                            /* numbers from 0, a multiple of 64 */
  guint n_free;                       /* neither in use nor resting */
  guint n_gathered, n_sealed;         /* resting */
  guint next;                         /* the next search begins here */
  guint64 sealed_at;                  /* ns */
  guint64 *taken, *gathered, *sealed; /* owned; taken: in use or resting */
} LuBpfReclaim;

/* Rounds n up to a multiple of 64; the added numbers are never handed out. */
void lu_bpf_reclaim_init (LuBpfReclaim *self, guint n);
void lu_bpf_reclaim_clear (LuBpfReclaim *self);

/* Takes `count` consecutive free numbers, at most self->n. Returns the first one, or -1. */
gint64 lu_bpf_reclaim_take (LuBpfReclaim *self, guint count);
/* Takes the longest available run of `least` to `most` free numbers, and sets *count. Returns its
 * first number, or -1. */
gint64 lu_bpf_reclaim_take_some (LuBpfReclaim *self, guint least, guint most, guint *count);
/* Frees numbers at once that no walk has seen since they were taken. */
void lu_bpf_reclaim_put_back (LuBpfReclaim *self, guint first, guint count);
/* Lets numbers rest. */
void lu_bpf_reclaim_give_back (LuBpfReclaim *self, guint first, guint count);

/* Frees the sealed numbers. Every walk that was under way at the last seal has ended. */
void lu_bpf_reclaim_release (LuBpfReclaim *self);
/* Frees numbers that were sealed for `rest` ns, and seals the gathered ones unless sealed ones rest
 * already. now: ns, monotonic. */
void lu_bpf_reclaim_pass (LuBpfReclaim *self, guint64 now, guint64 rest);
