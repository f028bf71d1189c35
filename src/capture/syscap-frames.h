/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-frames.h - one function per kind of frame, which appends the frame to a writer.
 *
 * A text that does not fit into its frame is cut at a UTF-8 boundary. */

#pragma once

#include "syscap-maps.h"
#include "syscap-writer.h"

/* head->type is ignored. */
gboolean lu_syscap_write_sample (LuSyscapWriter *writer, const LuSyscapHead *head,
                                 const LuSyscapSample *sample, GError **error);
gboolean lu_syscap_write_map (LuSyscapWriter *writer, gint32 pid, const LuSyscapMapping *mapping,
                              GError **error);
gboolean lu_syscap_write_process (LuSyscapWriter *writer, guint64 time, gint32 pid,
                                  const LuLabels *labels, GError **error);
gboolean lu_syscap_write_fork (LuSyscapWriter *writer, guint64 time, gint32 pid, gint32 child_pid,
                               GError **error);
gboolean lu_syscap_write_exit (LuSyscapWriter *writer, guint64 time, gint32 pid, GError **error);
gboolean lu_syscap_write_metadata (LuSyscapWriter *writer, const char *key, const char *text,
                                   GError **error);
gboolean lu_syscap_write_log (LuSyscapWriter *writer, guint64 time, const char *message,
                              GError **error);
/* Names all end states and the marker of omitted frames. */
gboolean lu_syscap_write_jitmap (LuSyscapWriter *writer, GError **error);
/* Writes names as a reader returned them. */
gboolean lu_syscap_write_jit_names (LuSyscapWriter *writer, const LuSyscapJitName *names,
                                    guint n_names, GError **error);
/* Readers join all pieces of a path up to the last one. A piece may be empty. */
gboolean lu_syscap_write_file (LuSyscapWriter *writer, const LuSyscapFile *file, GError **error);
