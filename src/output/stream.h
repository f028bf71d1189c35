/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stream.h - text and bytes onto a descriptor, perhaps through gzip.
 *
 * A failure is sticky and told at the end. One thread. */

#pragma once

#include <glib.h>

typedef struct _LuStream LuStream;

/* Takes `fd`. */
LuStream *lu_stream_new (int fd, gboolean gzip);
void lu_stream_free (LuStream *self);

void lu_stream_write (LuStream *self, gconstpointer bytes, gsize size);
void lu_stream_text (LuStream *self, const char *text);
void lu_stream_printf (LuStream *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* A text as a JSON string, quotes included, that may also stand inside of <script>. */
void lu_stream_json (LuStream *self, const char *text);
/* Bytes that came in so far. */
guint64 lu_stream_size (const LuStream *self);
/* Replaces bytes that were written; only without gzip, and where the file can be sought. */
void lu_stream_patch (LuStream *self, guint64 offset, gconstpointer bytes, gsize size);
/* Writes what is left; FALSE if anything failed. */
gboolean lu_stream_finish (LuStream *self, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuStream, lu_stream_free)
