/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* oracle.h - what libdw says of a section of call frame information that a fuzzer made.
 *
 * Used by the targets of the compiler. libdw sees only what it sees in the program: entries that
 * passed cfi-guard.h. */

#pragma once

#include "table/cfi.h"

/* Compares the rules of every FDE (of the first few) with libdw's, each FDE in a section of its own
 * with its CIE, so that overlaps and the order of entries play no part. Aborts at a difference;
 * what libdw refuses, or what is complex to us, is not compared. Returns how many places were. */
guint oracle_compare (const LuCfiInput *input, LuCfiSectionId which);
