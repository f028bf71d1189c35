/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-private.h - shared by record.c, record-sample.c and record-bpf-unwound.c only. */

#pragma once

#include "base/cursor.h"
#include "input/record.h"

/* Decodes a sample's body. `cursor` is after the header; event->sample.cpumode is set. */
gboolean lu_record_decode_sample (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event);
/* Decodes a record that the BPF program wrote. */
gboolean lu_record_decode_bpf_unwound (const LuRecordLayout *layout, LuCursor *cursor,
                                       LuEvent *event);
