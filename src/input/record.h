/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record.h - one perf record, bytes to LuEvent: the only decoder, for rings and files alike.
 *
 * The layout of a record follows from the sample_type of the event it belongs to; nothing is
 * counted back from the end except the sample_id trailer, which is defined so (perf_event.h,
 * PERF_RECORD_MMAP). */

#pragma once

#include "lu/event.h"

#include <glib.h>
#include <linux/perf_event.h>

/* Record types from here on are perf's own, in files only (tools/perf, enum perf_user_event_type).
 */
#define LU_RECORD_USER_FIRST 64

/* What of an event's attributes decides how its records look. */
typedef struct
{
  guint64 sample_type;
  guint64 read_format;
  guint64 branch_sample_type;
  guint64 regs_user, regs_intr; /* masks */
  gboolean sample_id_all;
  gboolean is_output; /* samples are the records of our BPF program: LU_EVENT_WALKED */
} LuRecordLayout;

/* is_output stays FALSE: others have events of that kind, too. */
void lu_record_layout_init (LuRecordLayout *self, const struct perf_event_attr *attr);

/* Decodes one record of `size` bytes (header included; the bytes are 8-aligned; header.size == size
 * is checked here). FALSE: malformed, the event's content is then undefined. Unknown types and
 * perf's own give LU_EVENT_NONE. The event borrows from the bytes; nothing is allocated. */
gboolean lu_record_decode (const LuRecordLayout *layout, gconstpointer bytes, gsize size,
                           LuEvent *event);

/* The event id of a record, for choosing the layout in files with several events:
 * PERF_SAMPLE_IDENTIFIER makes its place the same in all of them. FALSE if there is none. */
gboolean lu_record_event_id (const LuRecordLayout *any, gconstpointer bytes, gsize size,
                             guint64 *id);
