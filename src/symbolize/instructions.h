/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* instructions.h - the answers of the process that takes code apart (disassembly.h).
 *
 *   instruction: u64 address | u32 bytes | u32 size of the text | text
 *
 * It may have ended at any byte, or the code may have taken it over: any bytes are fine. */

#pragma once

#include <glib.h>

/* Bytes of an instruction, on the machine that has the longest. */
#define LU_MAX_INSTRUCTION 15

typedef struct
{
  guint64 address; /* ELF */
  guint size;      /* bytes */
  char *text;      /* in the syntax of Intel, UTF-8; owned */
} LuInstruction;

/* Returns the instructions (of LuInstruction), owned by the caller, from `start` on up to the first
 * one that does not begin where the last one ends, or is not before `end`. */
GArray *lu_instructions_decode (gconstpointer bytes, gsize size, guint64 start, guint64 end);
