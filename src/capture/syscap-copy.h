/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-copy.h - copies frames from one capture into another. */

#pragma once

#include "syscap-reader.h"
#include "syscap-writer.h"

/* Writes the frame, or nothing if no lu_syscap_write_*() function writes frames of its type. */
gboolean lu_syscap_copy_frame (LuSyscapWriter *writer, const LuSyscapRecord *record,
                               GError **error);
