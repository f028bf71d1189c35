/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* queue.h - bounded single-producer, single-consumer queue of variable-size messages, as bytes.
 *
 * The producer reserves, fills and commits; the consumer peeks and releases. Neither allocates,
 * locks or waits for the other; a full queue says so and the producer decides. A consumer that
 * sleeps is woken by a futex: no descriptor is needed. Messages are 8-aligned and never wrap. */

#pragma once

#include <glib.h>

typedef struct _LuQueue LuQueue;

/* capacity: bytes, rounded up to a power of two; the memory is touched only as far as it is used.
 */
LuQueue *lu_queue_new (gsize capacity);
void lu_queue_free (LuQueue *self);

/* Producer. Reserves room for a message of `size` bytes; NULL when there is none now. A message
 * larger than lu_queue_max_message() never fits. */
gpointer lu_queue_reserve (LuQueue *self, gsize size);
gsize lu_queue_max_message (const LuQueue *self);
/* Producer. Publishes the reserved message; `size` may be smaller than what was reserved. */
void lu_queue_commit (LuQueue *self, gsize size);
/* Producer. The same, but a consumer that sleeps goes on sleeping, until lu_queue_wake(). */
void lu_queue_commit_quietly (LuQueue *self, gsize size);
void lu_queue_wake (LuQueue *self);
/* Producer, about once a second, with nothing reserved: gives memory back that a burst touched,
 * when it is over since the last call. */
void lu_queue_trim (LuQueue *self);
/* Producer. No more messages will come. */
void lu_queue_close (LuQueue *self);
/* Any thread. Ends the wait of the consumer, or else its next one. */
void lu_queue_poke (LuQueue *self);

/* Consumer. The oldest message, or NULL when there is none now; stays valid until released. */
gpointer lu_queue_peek (LuQueue *self, gsize *size);
void lu_queue_release (LuQueue *self);
/* Consumer. Nothing is left and nothing will come. */
gboolean lu_queue_is_finished (LuQueue *self);
/* Consumer. Waits until a message is there, the queue is closed, somebody pokes, or timeout_ms
 * passed (-1: for ever); may return early. */
void lu_queue_wait (LuQueue *self, int timeout_ms);

/* Producer. A snapshot: bytes of messages that are not released. */
gsize lu_queue_used (LuQueue *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuQueue, lu_queue_free)
