/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* redact.h - makes of the frames of a capture those that a recording with --redact would have
 * written: of command lines the program, nothing of the machine but its kernel's version, functions
 * of the kernel at invented addresses, and nothing that we do not know.
 *
 * Two passes over the capture: names of the kernel's functions may come behind the samples. Any
 * frames are fine. */

#pragma once

#include "output/syscap-reader.h"

typedef struct _LuRedaction LuRedaction;

/* Borrowed for the call. */
typedef void (*LuRedactionFunc) (const LuSyscapRecord *record, gpointer user_data);

LuRedaction *lu_redaction_new (LuRedactionFunc emit, gpointer user_data);
void lu_redaction_free (LuRedaction *self);

/* First pass. */
void lu_redaction_learn (LuRedaction *self, const LuSyscapRecord *record);
/* Second pass: begin, every frame, end. */
void lu_redaction_begin (LuRedaction *self);
void lu_redaction_take (LuRedaction *self, const LuSyscapRecord *record);
void lu_redaction_end (LuRedaction *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuRedaction, lu_redaction_free)
