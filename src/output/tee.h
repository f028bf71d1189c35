/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tee.h - frames on their way into a capture, taken into other formats as well.
 *
 * So formats see while recording what they would see in the file. Owned by the capture's sink; the
 * writer thread's, then the main thread's. */

#pragma once

#include "output/format.h"

typedef struct _LuTee LuTee;

LuTee *lu_tee_new (void);
void lu_tee_free (LuTee *self);
/* Takes the export. */
void lu_tee_add (LuTee *self, LuExport *export);
/* Also into a model, which is borrowed. */
void lu_tee_add_model (LuTee *self, LuModel *model);
guint lu_tee_size (const LuTee *self);
/* Whole frames in the order of the file, the first time behind the file's header. */
void lu_tee_feed (LuTee *self, gconstpointer bytes, gsize size);
/* Completes all formats; the error is the first one. */
gboolean lu_tee_end (LuTee *self, GError **error);
/* Bytes of all formats. */
guint64 lu_tee_written (const LuTee *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTee, lu_tee_free)
