/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record.h - decodes one perf record into an LuEvent; the only decoder, for rings and files.
 *
 * The sample_type of a record's event determines its layout. Nothing is counted from the end except
 * the sample_id trailer, which is defined that way (perf_event.h, PERF_RECORD_MMAP). */

#pragma once

#include "lu/event.h"

#include <glib.h>
#include <linux/perf_event.h>

/* Record types from here on are perf's own and occur in files only (tools/perf, enum
 * perf_user_event_type). */
#define LU_RECORD_USER_FIRST 64
/* PERF_RECORD_CALLCHAIN_DEFERRED; Linux 6.19 */
#define LU_RECORD_CALLCHAIN_DEFERRED 22

/* The attributes of an event that determine the layout of its records. */
typedef struct
{
  guint64 sample_type;
  guint64 read_format;
  guint64 branch_sample_type;
  guint64 regs_user, regs_intr; /* masks */
  gboolean sample_id_all;
  gboolean is_output; /* samples are records of our BPF program: LU_EVENT_BPF_UNWOUND */
} LuRecordLayout;

/* Fills the layout in. is_output stays FALSE, because other programs have such events too. */
void lu_record_layout_init (LuRecordLayout *self, const struct perf_event_attr *attr);

/* Decodes one record of `size` bytes, header included and 8-aligned; checks that header.size is
 * `size`. Returns FALSE if it is malformed; the event is undefined then. Unknown types and perf's
 * own become LU_EVENT_NONE. The event borrows the bytes; nothing is allocated. */
gboolean lu_record_decode (const LuRecordLayout *layout, gconstpointer bytes, gsize size,
                           LuEvent *event);

/* Reads the event id of a record, to choose the layout in files with several events.
 * PERF_SAMPLE_IDENTIFIER puts the id at the same offset for all events. Returns FALSE if there is
 * no id. */
gboolean lu_record_event_id (const LuRecordLayout *any, gconstpointer bytes, gsize size,
                             guint64 *id);
