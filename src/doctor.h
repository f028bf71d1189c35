/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* doctor.h - tries every step that a recording needs and says what to do about those that fail. */

#pragma once

/* Prints one line per step. Returns the exit code: 0 if a user's own command can be recorded. */
int lu_doctor_run (void);
