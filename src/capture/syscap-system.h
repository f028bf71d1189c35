/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-system.h - writes metadata about a recording and its machine. */

#pragma once

#include "sink.h"
#include "syscap-writer.h"

/* Writes metadata that readers need to understand the capture. */
gboolean lu_syscap_write_recording (LuSyscapWriter *writer, const LuRecording *recording,
                                    GError **error);
/* Writes the metadata of a capture of our own: the recording, its time, the program, and for a live
 * recording the machine and its mounts. */
gboolean lu_syscap_write_system (LuSyscapWriter *writer, const LuRecording *recording,
                                 GError **error);
