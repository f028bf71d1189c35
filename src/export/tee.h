/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tee.h - gives the frames of a capture to other formats while they are recorded.
 *
 * Formats see the same frames as in the file. The sink of the capture owns the tee; the writer
 * thread uses it, then the main thread. */

#pragma once

#include "capture/syscap.h"
#include "format.h"

typedef struct _LuTee LuTee;

LuTee *lu_tee_new (void);
void lu_tee_free (LuTee *self);
/* Takes the export. */
void lu_tee_add (LuTee *self, LuExport *export);
/* Also gives the frames to a model, which is borrowed. */
void lu_tee_add_model (LuTee *self, LuModel *model);

/* The tap that feeds a tee, its user_data. Its end() completes all formats and returns the first
 * error. */
extern const LuSyscapTapOps lu_tee_tap_ops;

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTee, lu_tee_free)
