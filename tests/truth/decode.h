/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decode.h - the effect of an x86-64 instruction on the stack of calls.
 *
 * The tracer uses it for every new pc. Only calls have a length: the return address is the address
 * after them. All kinds of jumps are distinguished from other instructions because a frame can be
 * left by one. */

#pragma once

#include <glib.h>

typedef enum
{
  INSTRUCTION_OTHER,
  INSTRUCTION_CALL,
  INSTRUCTION_RETURN,
  INSTRUCTION_JUMP,
  INSTRUCTION_SYSCALL,
  INSTRUCTION_MOVE_STACK, /* the stack pointer is loaded, as where stacks are switched */
} InstructionKind;

typedef struct
{
  guint8 kind;   /* InstructionKind */
  guint8 length; /* in bytes, of calls only */
} Instruction;

/* An instruction has at most 15 bytes (Intel SDM volume 2, 2.3.11). */
#define MAX_INSTRUCTION 15

/* `bytes` starts with an instruction; a truncated one is INSTRUCTION_OTHER. */
Instruction instruction_decode (const guint8 *bytes, gsize size);
