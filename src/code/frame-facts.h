/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-facts.h - what is known of a function's frame before one instruction, and how instructions
 * change it.
 *
 * Places on the stack are given relative to the CFA, or, after a function has aligned its stack
 * pointer, relative to the aligned one. Paths that meet keep what all of them agree on, so that a
 * row is only made of what holds on every path. Pure functions, without memory of their own. */

#pragma once

#include "code/decoder.h"
#include "lu/row.h"

typedef enum
{
  LU_FACT_UNKNOWN, /* of a slot: there is none */
  LU_FACT_ENTRY,   /* the register has the value that it had when the function was called */
  LU_FACT_CFA,     /* CFA + offset */
  LU_FACT_ALIGNED, /* aligned stack pointer + offset */
} LuFactKind;

/* Registers, and the slots on the stack that have a register's first value, or a place relative to
 * the CFA. A function that has aligned its stack pointer keeps such a place in a slot or, as a
 * leaf, in another register. */
enum
{
  LU_FACT_SP,
  LU_FACT_FP,
  LU_FACT_BX,
  LU_FACT_FP_SLOT,
  LU_FACT_BX_SLOT,
  LU_FACT_CFA_SLOT,
  LU_FACT_CFA_VALUE, /* the place that CFA_SLOT has; UNKNOWN if there is no slot */
  LU_FACT_CFA_KEPT,  /* the place that the register cfa_register has; UNKNOWN if there is none */
  LU_N_FACTS
};

typedef struct
{
  guint8 kinds[LU_N_FACTS]; /* LuFactKind */
  guint8 is_root;           /* the outermost frame of its stack */
  guint8 has_entered;       /* the kernel was called on the way here */
  guint8 cfa_register;      /* 0 if CFA_KEPT is UNKNOWN */
  guint8 unused[5];
  gint32 offsets[LU_N_FACTS];
} LuFrameFacts;

_Static_assert(sizeof (LuFrameFacts) == 48, "compared and hashed as bytes");

/* Facts about other registers, which may hold the CFA or lead through a table of jumps. */
typedef enum
{
  LU_KNOWN_NOTHING,
  LU_KNOWN_CONSTANT, /* value */
  LU_KNOWN_CFA,      /* CFA + value */
  LU_KNOWN_LIMIT,    /* an unsigned number below n */
  LU_KNOWN_SCALED,   /* such a number times 4 or 8 */
  LU_KNOWN_OFFSET,   /* one of n offsets of 32 bits, in the table at value; n 0: not known */
  LU_KNOWN_POINTER,  /* one of n pointers, in the table at value; n 0: not known */
  LU_KNOWN_TARGET,   /* base + one of n offsets of 32 bits, in the table at value; n as there */
} LuKnownKind;

typedef struct
{
  guint8 kind;    /* LuKnownKind */
  guint8 is_weak; /* n is only what fits into the kept bits; tables may have fewer entries */
  guint32 n;
  gint64 value, base;
} LuKnown;

/* Memory at base + index * scale + value. */
typedef struct
{
  guint8 base, index; /* LU_CODE_NO_REGISTER: none; without a base it is no memory */
  guint8 scale;       /* 0 without an index */
  gint64 value;
} LuIndexed;

/* The way to one instruction. */
typedef struct
{
  LuFrameFacts facts;
  LuKnown known[LU_CODE_N_REGISTERS];
  guint8 compared;       /* of the last comparison; LU_CODE_NO_REGISTER */
  LuIndexed compared_at; /* of the last comparison: memory */
  LuIndexed limited_at;  /* memory that is below limit */
  guint32 compared_with, limit;
} LuPath;

/* Sets the state in which a function begins. */
void lu_path_enter (LuPath *self);
/* Applies an instruction that is neither a call, a jump nor a branch. */
void lu_path_apply (LuPath *self, const LuOp *op);
/* Applies a call that has returned. */
void lu_path_call (LuPath *self);
/* Returns whether a call should keep a register that it may lose: the only one that has the CFA, or
 * rax, if it may be the size of a frame that is too large to be set up before its pages were
 * touched. */
gboolean lu_path_needs_register (const LuPath *self, guint8 *reg);
/* Applies a call of a function that returns with a register as it was. */
void lu_path_call_keeping (LuPath *self, guint8 reg);
/* Applies a branch that is taken, or not. */
void lu_path_branch (LuPath *self, const LuOp *op, gboolean is_taken);
/* Returns whether a function may return or jump to another one here: the return address is on top
 * of the stack, and the frame pointer is the caller's. */
gboolean lu_path_is_balanced (const LuPath *self);

/* Returns whether the only thing that forbids it is that the frame pointer is not the caller's. */
gboolean lu_path_lacks_fp (const LuPath *self);
/* Applies a call of a function that returns with another frame pointer. */
void lu_path_lose_fp (LuPath *self);

/* Keeps what both agree on; FALSE if that changes nothing. */
gboolean lu_frame_facts_meet (LuFrameFacts *self, const LuFrameFacts *other);
/* Makes the rule of an instruction. FALSE: not enough is known. */
gboolean lu_frame_facts_rule (const LuFrameFacts *self, struct lu_rule *rule);
/* Like it, for a function that does not save the frame pointer that it changes: it need not be
 * known. */
gboolean lu_frame_facts_rule_without_fp (const LuFrameFacts *self, struct lu_rule *rule);

/* Finds the table of bytes in which an instruction looks up an index: its address and number of
 * entries. FALSE: it is none, or its size is not known. */
gboolean lu_path_byte_table (const LuPath *self, const LuOp *op, guint64 *address, guint32 *n);
/* Notes that a register has an unsigned number below `n`. */
void lu_path_limit (LuPath *self, guint8 reg, guint32 n);

/* A table of addresses of code, for a jump. */
typedef struct
{
  guint64 address;  /* of the first entry */
  guint64 base;     /* added to offsets */
  guint32 n;        /* entries; 0: not known */
  gboolean is_wide; /* pointers, otherwise offsets of 32 bits */
} LuJumpTable;

/* Finds the table that an indirect jump goes through. FALSE: there is none. */
gboolean lu_path_jump_table (const LuPath *self, const LuOp *op, LuJumpTable *table);
