/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* doctor.h - tries every step that a recording needs and says what to do about those that fail. */

#pragma once

#include <glib.h>

/* Prints one line per step. FALSE: a user's own command cannot be recorded. */
gboolean lu_doctor_run (void);
