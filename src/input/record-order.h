/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-order.h - puts the records of a perf.data file into the order of their times.
 *
 * perf writes its rings one after the other, round by round, and ends each round with
 * FINISHED_ROUND: no later record is older than the newest one of the round before. So records wait
 * here until the round after theirs has ended. What waits is only (time, place): 24 bytes for a
 * record of a file, which is read again when its turn comes; records of pipes and of inflated
 * parts, which cannot be read again, wait with their bytes.
 *
 * Bounded: over LU_ORDER_MAX_RECORDS or LU_ORDER_MAX_HELD bytes the older half is let go early, as
 * perf does; records that turn out to be older than one already given out are counted as late and
 * come at once. Belongs to one thread. */

#pragma once

#include <glib.h>

#define LU_ORDER_MAX_RECORDS (1u << 20) /* 24 MiB */
#define LU_ORDER_MAX_HELD                                                                          \
  (64u << 20) /* bytes; a round is twice perf's rings at most, 1 MiB per CPU */

typedef struct
{
  guint64 time;
  guint64 place; /* position in the stream << 16 | size of the record */
  gpointer held; /* the record's bytes, or NULL: read them at the position */
} LuOrderEntry;

#define LU_ORDER_POSITION(entry) ((entry)->place >> 16)
#define LU_ORDER_SIZE(entry)     ((guint32) ((entry)->place & 0xffff))

typedef struct
{
  GArray *entries;    /* LuOrderEntry: given out, then ready in order of time, then waiting */
  gsize next, ready;  /* first not given out; end of those ready */
  gsize held;         /* bytes */
  guint64 round_time; /* newest time seen so far */
  guint64 flush_time; /* newest time of the rounds before the current one */
  guint64 given_time; /* newest time given out */
  guint64 n_late;
} LuRecordOrder;

void lu_record_order_init (LuRecordOrder *self);
void lu_record_order_clear (LuRecordOrder *self);

/* Adds a record of `size` (< 65,536) bytes at `position` (< 2^48). A time of 0 means that it is not
 * known: the record comes before everything that waits. `bytes` is copied if not NULL. Only while
 * nothing is ready. */
void lu_record_order_add (LuRecordOrder *self, guint64 time, guint64 position, guint32 size,
                          gconstpointer bytes);

/* The round is over. */
void lu_record_order_finish_round (LuRecordOrder *self);

/* Nothing more will come: everything that waits is ready. */
void lu_record_order_finish (LuRecordOrder *self);

/* The next record to give out, NULL if none is ready. Stays the same until lu_record_order_pop().
 */
const LuOrderEntry *lu_record_order_peek (const LuRecordOrder *self);
void lu_record_order_pop (LuRecordOrder *self);
