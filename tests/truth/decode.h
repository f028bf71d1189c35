/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decode.h - what an x86-64 instruction does to the stack of calls.
 *
 * Used by the tracer for every new pc. Only calls have a length: the return address is what follows
 * them. Jumps of all kinds are told apart from the rest because a frame can be left by one. */

#pragma once

#include <glib.h>

typedef enum
{
  INSTRUCTION_OTHER,
  INSTRUCTION_CALL,
  INSTRUCTION_RETURN,
  INSTRUCTION_JUMP,
  INSTRUCTION_SYSCALL,
} InstructionKind;

typedef struct
{
  guint8 kind;   /* InstructionKind */
  guint8 length; /* in bytes, of calls only */
} Instruction;

/* An instruction has 15 bytes at most (Intel SDM volume 2, 2.3.11). */
#define MAX_INSTRUCTION 15

/* `bytes` begins with an instruction; one that is cut off is INSTRUCTION_OTHER. */
Instruction instruction_decode (const guint8 *bytes, gsize size);
