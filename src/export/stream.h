/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stream.h - writes text and bytes to a descriptor, optionally compressed with gzip.
 *
 * Errors are sticky and reported by lu_stream_finish(). Used by one thread at a time. */

#pragma once

#include <glib.h>

typedef struct _LuStream LuStream;

/* Takes `fd`. */
LuStream *lu_stream_new (int fd, gboolean gzip);
void lu_stream_free (LuStream *self);

void lu_stream_write (LuStream *self, gconstpointer bytes, gsize size);
void lu_stream_text (LuStream *self, const char *text);
void lu_stream_printf (LuStream *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Writes a text as a quoted JSON string, which is also safe inside <script>. */
void lu_stream_json (LuStream *self, const char *text);
/* Returns the number of bytes written, before compression. */
guint64 lu_stream_size (const LuStream *self);
/* Replaces bytes that were written. Works only without gzip and if the file is seekable. */
void lu_stream_patch (LuStream *self, guint64 offset, gconstpointer bytes, gsize size);
/* Writes buffered bytes. Returns FALSE if this or an earlier write failed. */
gboolean lu_stream_finish (LuStream *self, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuStream, lu_stream_free)
