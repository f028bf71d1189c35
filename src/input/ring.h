/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ring.h - one perf mmap ring: the kernel writes records, we read them in place.
 *
 * Belongs to one thread. A record stays valid until the next call on the ring. */

#pragma once

#include <glib.h>

typedef struct
{
  guint8 *base;       /* control page, then data; NULL when not mapped */
  const guint8 *data; /* behind that page */
  gsize data_size;    /* bytes, a power of two */
  guint64 tail;       /* our copy; published by lu_ring_consume() */
  gsize record_size;  /* of the record last peeked */
  guint8 *scratch;    /* a record that wraps is put together here; 64 KiB */
  gboolean is_view;   /* reads ahead in another's ring: gives nothing back, unmaps nothing */
} LuRing;

/* Maps the ring of a perf descriptor. data_size: bytes, a power of two of pages. FALSE with errno
 * set. */
gboolean lu_ring_map (LuRing *self, int fd, gsize data_size);
void lu_ring_unmap (LuRing *self);

/* A second reader of the same records, ahead of the first; unmap it before the first. */
void lu_ring_view (LuRing *self, const LuRing *of);

/* Where the kernel has got to (acquire): records before it may be read. */
guint64 lu_ring_head (const LuRing *self);

/* The oldest unread record before `head`, or NULL. A record whose size cannot be is the end:
 * everything up to `head` is skipped and *corrupt set. */
gconstpointer lu_ring_peek (LuRing *self, guint64 head, gsize *size, gboolean *corrupt);

/* The record behind the one last peeked, if all of it is there before `head`, and in one piece;
 * else NULL. The ring stays where it is. */
gconstpointer lu_ring_peek_next (const LuRing *self, guint64 head, gsize *size);

/* Fields, a kernel chain and registers. */
#define LU_RING_EXPECTED_BYTES 384

/* Lets the CPU fetch what will be read first of the record that is `skipped` bytes behind the one
 * last peeked, if it is the like of that one: its start, and its last word, the size of a stack. */
void lu_ring_expect (const LuRing *self, guint64 head, gsize skipped);

/* Gives the record last peeked back to the kernel (release). */
void lu_ring_consume (LuRing *self);
