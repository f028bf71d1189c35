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
  const guint8 *data; /* after the control page */
  gsize data_size;    /* bytes, a power of two */
  guint64 tail;       /* our copy; published by lu_ring_consume() */
  gsize record_size;  /* bytes of the record peeked last */
  guint8 *scratch;    /* records that wrap are copied here; 64 KiB */
  gboolean is_view;   /* reads ahead in another reader's ring: releases nothing, unmaps nothing */
} LuRing;

/* Maps the ring of a perf descriptor. data_size: bytes, a power of two of pages. Returns FALSE with
 * errno set on failure. */
gboolean lu_ring_map (LuRing *self, int fd, gsize data_size);
void lu_ring_unmap (LuRing *self);

/* Makes a second reader of the same records, ahead of the first. Unmap it before the first. */
void lu_ring_view (LuRing *self, const LuRing *of);

/* Returns the kernel's write position (acquire): records before it may be read. */
guint64 lu_ring_head (const LuRing *self);

/* Returns the oldest unread record before `head`, or NULL. If its size is impossible, skips
 * everything up to `head` and sets *corrupt. */
gconstpointer lu_ring_peek (LuRing *self, guint64 head, gsize *size, gboolean *corrupt);

/* Returns the record after the one peeked last, or NULL if it is not complete before `head` or
 * wraps. Does not move the ring. */
gconstpointer lu_ring_peek_next (const LuRing *self, guint64 head, gsize *size);

/* Bytes of the fields, a kernel chain and registers. */
#define LU_RING_EXPECTED_BYTES 384

/* Prefetches the bytes that will be read first of the record `skipped` bytes after the one peeked
 * last, assuming that both have the same layout: its start, and its last word (the stack size). */
void lu_ring_expect (const LuRing *self, guint64 head, gsize skipped);

/* Releases the record peeked last to the kernel (release). */
void lu_ring_consume (LuRing *self);
