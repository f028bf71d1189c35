/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* redact.h - turns the frames of a capture into those that a recording with --redact would have
 * written.
 *
 * Command lines are reduced to the program, the machine to its kernel version, and functions of the
 * kernel move to invented addresses. Frames and keys that we do not know are dropped. Two passes
 * over the capture are needed, because the names of kernel functions may come after the samples.
 * Any frames are fine. */

#pragma once

#include "capture/syscap-reader.h"

typedef struct _LuRedaction LuRedaction;

/* Receives a frame, borrowed for the call. */
typedef void (*LuRedactionFunc) (const LuSyscapRecord *record, gpointer user_data);

LuRedaction *lu_redaction_new (LuRedactionFunc emit, gpointer user_data);
void lu_redaction_free (LuRedaction *self);

/* The first pass: call this with every frame. */
void lu_redaction_learn (LuRedaction *self, const LuSyscapRecord *record);
/* The second pass: begin, every frame, end. */
void lu_redaction_begin (LuRedaction *self);
void lu_redaction_take (LuRedaction *self, const LuSyscapRecord *record);
void lu_redaction_end (LuRedaction *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuRedaction, lu_redaction_free)
