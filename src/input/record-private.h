/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-private.h - what record.c, record-sample.c and record-walked.c share; for nobody else. */

#pragma once

#include "base/cursor.h"
#include "input/record.h"

/* Decodes a sample's body; `cursor` stands behind the header, event->sample.cpumode is set. */
gboolean lu_record_decode_sample (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event);
/* The same for what the BPF program has written. */
gboolean lu_record_decode_walked (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event);
