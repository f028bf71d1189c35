/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-order.h - sorts the records of a perf.data file by time.
 *
 * perf writes its rings one after another, round by round, and ends each round with FINISHED_ROUND:
 * no later record is older than the newest one of the round before. So records wait here until the
 * round after theirs has ended. A waiting record of a file costs 24 bytes (time and position) and
 * is read again when it is due. Records of pipes and of inflated parts cannot be read again and
 * wait with their bytes.
 *
 * Bounded: beyond LU_ORDER_MAX_RECORDS or LU_ORDER_MAX_HELD bytes the older half becomes ready
 * early, as in perf. A record that is older than one already delivered counts as late and is
 * delivered at once. Belongs to one thread. */

#pragma once

#include <glib.h>

#define LU_ORDER_MAX_RECORDS (1u << 20) /* 24 MiB */
#define LU_ORDER_MAX_HELD                                                                          \
  (64u << 20) /* bytes; a round is at most twice perf's rings, 1 MiB per CPU */

typedef struct
{
  guint64 time;
  guint64 location; /* position in the stream << 16 | size of the record */
  gpointer held;    /* the record's bytes, or NULL: read them at its position */
} LuOrderEntry;

#define LU_ORDER_POSITION(entry) ((entry)->location >> 16)
#define LU_ORDER_SIZE(entry)     ((guint32) ((entry)->location & 0xffff))

typedef struct
{
  GArray *entries; /* array of LuOrderEntry: delivered, then ready in order of time, then waiting */
  gsize next, ready;  /* first entry not delivered; end of the ready ones */
  gsize held;         /* bytes */
  guint64 round_time; /* newest time seen so far */
  guint64 flush_time; /* newest time of the rounds before the current one */
  guint64 given_time; /* newest time delivered */
  guint64 n_late;
} LuRecordOrder;

void lu_record_order_init (LuRecordOrder *self);
void lu_record_order_clear (LuRecordOrder *self);

/* Adds a record of `size` (< 65,536) bytes at `position` (< 2^48). Time 0 means unknown: the record
 * comes before all waiting ones. `bytes` is copied if not NULL. Call it only while nothing is
 * ready. */
void lu_record_order_add (LuRecordOrder *self, guint64 time, guint64 position, guint32 size,
                          gconstpointer bytes);

/* Ends the round. */
void lu_record_order_finish_round (LuRecordOrder *self);

/* Makes everything that waits ready; nothing more will be added. */
void lu_record_order_finish (LuRecordOrder *self);

/* Returns the next record to deliver, or NULL if none is ready. Does not change until
 * lu_record_order_pop(). */
const LuOrderEntry *lu_record_order_peek (const LuRecordOrder *self);
void lu_record_order_pop (LuRecordOrder *self);
