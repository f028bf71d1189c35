/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decoder.h - instructions, as far as they matter for the frame of a function: what moves the stack
 * pointer, where registers are saved, and where the code goes on.
 *
 * A library takes the bytes apart. It is loaded when the first file needs it, because linking it
 * would make each start slower. Numbers of registers are those of the instruction set. */

#pragma once

#include <glib.h>

enum
{
  LU_CODE_AX = 0,
  LU_CODE_BX = 3,
  LU_CODE_SP = 4,
  LU_CODE_FP = 5,
  LU_CODE_N_REGISTERS = 16,
  LU_CODE_NO_REGISTER = 255,
};

/* Values have 64 bits unless said. [m] is the memory at base + value. */
typedef enum
{
  LU_OP_OTHER,        /* only `writes` matters */
  LU_OP_PUSH,         /* src, or another value */
  LU_OP_POP,          /* dst, or memory */
  LU_OP_ADD,          /* dst += value */
  LU_OP_COPY,         /* dst = src + value */
  LU_OP_COPY_32,      /* dst = the low 32 bits of src, in any extension */
  LU_OP_CONSTANT,     /* dst = target */
  LU_OP_ALIGN,        /* dst &= a negative number */
  LU_OP_LIMIT,        /* dst is now 0 to value, for unsigned numbers */
  LU_OP_EXTEND,       /* dst = the lowest bytes (`scale` of them) of src, or of the memory at base +
                       * index * target + value, unsigned */
  LU_OP_ZERO,         /* dst = 0 */
  LU_OP_SUM,          /* dst += src */
  LU_OP_DIFFERENCE,   /* dst -= src */
  LU_OP_STORE,        /* [m] = src, or another value, of any size */
  LU_OP_LOAD,         /* dst = [m] */
  LU_OP_LOAD_32,      /* dst = 32 bits of [m] */
  LU_OP_LOAD_TABLE_4, /* dst = 32 bits at base + index * scale + value */
  LU_OP_LOAD_TABLE_8, /* dst = 64 bits at base + index * scale + value */
  LU_OP_SCALE,        /* dst = src * scale */
  LU_OP_COMPARE,      /* src, or the memory at base + index * scale + value if there is a base, with
                       * target; without both something that is not known */
  LU_OP_LEAVE,        /* sp = fp, then fp is popped */
  LU_OP_RETURN,
  LU_OP_CALL,          /* target */
  LU_OP_CALL_INDIRECT, /* target: the address of the pointer, or 0 */
  LU_OP_JUMP,          /* target */
  LU_OP_JUMP_INDIRECT, /* src, or the pointer at base + index * scale + value */
  LU_OP_BRANCH,        /* target, or the next instruction; see condition */
  LU_OP_SYSTEM_CALL,
  LU_OP_STOP, /* the code does not go on */
} LuOpKind;

/* The condition of a branch, after a comparison of unsigned numbers. */
typedef enum
{
  LU_CONDITION_OTHER,
  LU_CONDITION_ABOVE,
  LU_CONDITION_ABOVE_OR_EQUAL,
  LU_CONDITION_BELOW,
  LU_CONDITION_BELOW_OR_EQUAL,
} LuCondition;

typedef struct
{
  guint8 size; /* bytes */
  guint8 kind; /* LuOpKind */
  guint8 condition;
  guint8 dst, src, base, index; /* numbers, or LU_CODE_NO_REGISTER */
  guint8 scale;
  gboolean is_padding;  /* it does nothing */
  gboolean is_relative; /* CONSTANT: relative to the instruction, so it is an address */
  gint64 value;
  guint64 target;
  guint32 writes; /* bit for each register that changes, those of the kind included */
  guint32 reads;  /* bit for each register that matters, but not as a part of an address */
} LuOp;

/* Loads the library. FALSE: it is not there, and nothing can be decoded. Any thread. */
gboolean lu_decoder_load (void);
/* Decodes the instruction at the start of `bytes`, which is at `address`. FALSE: there is none. Any
 * thread. */
gboolean lu_decoder_decode (const guint8 *bytes, gsize size, guint64 address, LuOp *op);
