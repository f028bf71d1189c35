/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-copy.h - frames that were read from a capture, into another one. */

#pragma once

#include "output/syscap-reader.h"
#include "output/syscap-writer.h"

/* Of the kinds of frames that lu_syscap_write_*() knows; others are left out. */
gboolean lu_syscap_copy_frame (LuSyscapWriter *writer, const LuSyscapRecord *record,
                               GError **error);
