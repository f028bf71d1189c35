/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-frames.h - one function per kind of frame: arguments in, a frame in the writer's buffer
 * out.
 *
 * Texts are cut where a frame has no more room, at a UTF-8 boundary. */

#pragma once

#include "output/syscap-maps.h"
#include "output/syscap-reader.h"
#include "output/syscap-writer.h"

/* Where a mapping's name holds the path's end: what follows is "@" and the build-id in hexadecimal,
 * or "#" and the inode number. */
#define LU_SYSCAP_NAME_SEPARATOR '\n'

/* Of a command line the program alone, without its folder and arguments. Owned. */
char *lu_syscap_program_of (const char *command_line);

gboolean lu_syscap_write_sample (LuSyscapWriter *writer, guint64 time, gint32 cpu, gint32 pid,
                                 gint32 tid, const guint64 *addresses, guint n_addresses,
                                 GError **error);
gboolean lu_syscap_write_map (LuSyscapWriter *writer, gint32 pid, const LuSyscapMapping *mapping,
                              GError **error);
gboolean lu_syscap_write_process (LuSyscapWriter *writer, guint64 time, gint32 pid,
                                  const char *command_line, GError **error);
gboolean lu_syscap_write_fork (LuSyscapWriter *writer, guint64 time, gint32 pid, gint32 child_pid,
                               GError **error);
gboolean lu_syscap_write_exit (LuSyscapWriter *writer, guint64 time, gint32 pid, GError **error);
gboolean lu_syscap_write_metadata (LuSyscapWriter *writer, const char *key, const char *text,
                                   GError **error);
gboolean lu_syscap_write_log (LuSyscapWriter *writer, guint64 time, const char *message,
                              GError **error);
/* The names of all end states and of the marker for frames left out. */
gboolean lu_syscap_write_jitmap (LuSyscapWriter *writer, GError **error);
/* Names as a reader gave them. */
gboolean lu_syscap_write_jit_names (LuSyscapWriter *writer, const LuSyscapJitName *names,
                                    guint n_names, GError **error);
/* A file, or a piece of one: readers join all pieces of a path up to the one that is last. An empty
 * piece is fine. */
gboolean lu_syscap_write_file (LuSyscapWriter *writer, const char *path, const char *bytes,
                               gsize size, gboolean is_last, GError **error);
