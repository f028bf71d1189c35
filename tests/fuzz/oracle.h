/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* oracle.h - compares a section of call frame information that a fuzzer made with libdw.
 *
 * Used by the targets of the compiler. libdw sees only entries that passed cfi-guard.h, as in the
 * program. */

#pragma once

#include "table/cfi.h"

/* Compares the rules of every FDE (of the first few) with libdw's. Each FDE is in a section of its
 * own with its CIE, so that overlaps and the order of entries do not matter. Aborts at a
 * difference; entries that libdw refuses or that are complex to us are skipped. Returns how many
 * places were compared. */
guint oracle_compare (const LuCfiInput *input, LuCfiSectionId which);
