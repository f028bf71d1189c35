/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record.h - one perf record, bytes to LuEvent: the only decoder, for rings and files alike.
 *
 * The layout of a record follows from the sample_type of the event it belongs to; nothing is counted back
 * from the end except the sample_id trailer, which is defined so (perf_event.h, PERF_RECORD_MMAP). */

#pragma once

#include "lu/event.h"

#include <glib.h>
#include <linux/perf_event.h>

/* What of an event's attributes decides how its records look. */
typedef struct
{
  guint64 sample_type;
  guint64 read_format;
  guint64 branch_sample_type;
  guint64 regs_user, regs_intr; /* masks */
  gboolean sample_id_all;
} LuRecordLayout;

void lu_record_layout_init (LuRecordLayout *self, const struct perf_event_attr *attr);

/* Decodes one record of `size` bytes (header included, 8-aligned, header.size == size checked here). FALSE:
 * malformed. Unknown types give LU_EVENT_NONE. The event borrows from the bytes. */
gboolean lu_record_decode (const LuRecordLayout *layout, gconstpointer bytes, gsize size,
                           LuEvent *event);

/* The event id of a record, for choosing the layout in files with several events: PERF_SAMPLE_IDENTIFIER
 * makes its place the same in all of them. FALSE if there is none. */
gboolean lu_record_event_id (const LuRecordLayout *any, gconstpointer bytes, gsize size,
                             guint64 *id);
