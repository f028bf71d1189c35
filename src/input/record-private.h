/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-private.h - what record.c and record-sample.c share; for nobody else. */

#pragma once

#include "base/cursor.h"
#include "input/record.h"

/* Decodes a sample's body; `cursor` stands behind the header, event->sample.cpumode is set. */
gboolean lu_record_decode_sample (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event);
