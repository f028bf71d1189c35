/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-system.h - what a capture says of the recording and of the machine it was made on. */

#pragma once

#include "output/sink.h"
#include "output/syscap-writer.h"

/* Metadata of the recording: what readers of a capture have to know of it. */
gboolean lu_syscap_write_recording (LuSyscapWriter *writer, const LuRecording *recording,
                                    GError **error);
/* The same for a capture that is ours alone, with its time and program; and of the machine and its
 * mounts, if the recording is live. */
gboolean lu_syscap_write_system (LuSyscapWriter *writer, const LuRecording *recording,
                                 GError **error);
