/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* queue.h - bounded single-producer, single-consumer queue of variable-size messages, as bytes.
 *
 * The producer reserves, fills and commits; the consumer peeks and releases. Neither allocates,
 * locks or waits for the other; if the queue is full, the producer decides what to do. A futex
 * wakes a sleeping consumer, so no descriptor is needed. Messages are 8-aligned and never wrap. */

#pragma once

#include <glib.h>

typedef struct _LuQueue LuQueue;

/* Makes a queue of `capacity` bytes, rounded up to a power of two. Memory is touched only when it
 * is used. */
LuQueue *lu_queue_new (gsize capacity);
void lu_queue_free (LuQueue *self);

/* Producer. Reserves room for a message of `size` bytes; NULL when there is none now. A message
 * larger than lu_queue_max_message() never fits. */
gpointer lu_queue_reserve (LuQueue *self, gsize size);
gsize lu_queue_max_message (const LuQueue *self);
/* Producer. Publishes the reserved message; `size` may be smaller than what was reserved. */
void lu_queue_commit (LuQueue *self, gsize size);
/* Producer. Publishes the message without waking the consumer; lu_queue_wake() does that. */
void lu_queue_commit_quietly (LuQueue *self, gsize size);
void lu_queue_wake (LuQueue *self);
/* Producer, about once a second, with nothing reserved. Gives memory back that a burst touched, if
 * the burst ended before the last call. */
void lu_queue_trim (LuQueue *self);
/* Producer. No more messages will come. */
void lu_queue_close (LuQueue *self);
/* Any thread. Ends the current wait of the consumer, or its next one. */
void lu_queue_poke (LuQueue *self);

/* Consumer. Returns the oldest message, or NULL if there is none now. It is valid until released.
 */
gpointer lu_queue_peek (LuQueue *self, gsize *size);
void lu_queue_release (LuQueue *self);
/* Consumer. Returns TRUE if no message is left and none will come. */
gboolean lu_queue_is_finished (LuQueue *self);
/* Consumer. Waits until there is a message, the queue is closed or poked, or timeout_ms
 * passed (-1: for ever); may return early. */
void lu_queue_wait (LuQueue *self, int timeout_ms);

/* Any thread. Returns whether more than half of the queue is in use, as a snapshot: messages will
 * be dropped if the consumer waits. */
gboolean lu_queue_is_behind (LuQueue *self);

/* Producer. Returns the bytes of messages that are not released yet, as a snapshot. */
gsize lu_queue_used (LuQueue *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuQueue, lu_queue_free)
