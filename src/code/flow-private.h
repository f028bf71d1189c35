/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* flow-private.h - the data of an analysis, shared by flow.c, which follows paths, and
 * flow-write.c, which writes what was found. */

#pragma once

#include "code/facts-list.h"
#include "code/flow.h"

/* Cells; higher ones are numbers of facts. */
enum
{
  LU_CELL_EMPTY,
  LU_CELL_INSIDE,
  LU_CELL_FIRST,
};

typedef struct
{
  guint64 start;
  guint8 kind;               /* LuStartKind */
  gboolean is_bad;           /* it is not understood */
  gboolean returns;          /* or that is not known */
  gboolean has_exit;         /* a return or direct jump that is balanced was seen */
  gboolean is_called;        /* by a function that does not only follow padding */
  gboolean begins_with_save; /* its first instruction saves a register, or makes room for some */
  gboolean loses_fp;         /* it returns with another frame pointer, to callers that know */
  guint64 last;              /* the last instruction that it was the first to reach */
  guint32 waiters;           /* first link of those that go on when it returns; 0: none */
  guint32 labels;            /* its last label; 0: none */
} LuFlowFunction;

/* A path to be followed. */
typedef struct
{
  guint64 address;
  guint32 function;
  gboolean is_behind_call;
  LuPath path;
} LuFlowItem;

/* Something that waits for a function: a path behind a call, or another function. */
typedef struct
{
  gboolean is_call;
  LuFlowItem item; /* of a function only its number */
  guint32 next;    /* 0: none */
} LuFlowLink;

/* A jump through a table whose size is not known, or to a label. */
typedef struct
{
  guint64 address;
  LuJumpTable table;
  guint8 src; /* to a label: the register that has it; LU_CODE_NO_REGISTER: memory */
  guint32 function;
  LuPath path;
} LuFlowOpenJump;

/* An address of code that an instruction of a function loads, for a jump perhaps, or of data, which
 * may be a table of such addresses. */
typedef struct
{
  guint64 address;
  guint8 dst;
  guint32 next; /* of the same function; 0: none */
} LuFlowLabel;

typedef struct
{
  guint32 from, to;
} LuFlowJump;

#define LU_FLOW_ANYWHERE G_MAXUINT32

struct _LuFlow
{
  LuCodeBytes range; /* paths are followed here */
  LuCodeBytes home;  /* functions begin here */
  const LuFlowFile *file;
  const gint *is_cancelled;
  guint64 work; /* instructions that may still be decoded */
  /* Only the parts that paths come to take memory (lu_pages_new()). */
  guint16 *cells;
  guint32 *owners; /* for each byte, the function whose instruction begins there */
  guint8 *starts;  /* a bit for each byte: a function begins there */
  GArray *away;    /* of guint64: instructions outside of the home */
  GArray *functions, *items, *links, *jumps;
  GArray *open_jumps; /* of LuFlowOpenJump: through tables */
  GArray *labels;     /* of LuFlowLabel */
  GArray *to_labels;  /* of LuFlowOpenJump, that are not followed yet */
  guint64 open_work;  /* steps that both may still cost */
  /* Code from open_start on ended at open_end when there were open_n functions. */
  guint32 open_n;
  guint64 open_start, open_end;
  GArray *far_jumps;         /* of LuFunctionJump: out of the range */
  GArray *returning;         /* of guint32: functions that return, to be handled */
  GArray *pointers;          /* of guint64: addresses of code in instructions */
  guint n_called, n_aligned; /* functions that are called; those at multiples of 16 */
  GHashTable *by_start;
  LuFactsList *facts;
};

static inline LuFlowFunction *
lu_flow_function_at (const LuFlow *self, guint32 id)
{
  return &g_array_index (self->functions, LuFlowFunction, id);
}

/* Returns whether a function is known to begin at an address in the range. */
static inline gboolean
lu_flow_is_start (const LuFlow *self, guint64 address)
{
  gsize at = address - self->range.start;

  return (self->starts[at / 8] >> at % 8 & 1) != 0;
}

static inline gboolean
lu_flow_is_in_range (const LuFlow *self, guint64 address)
{
  return address - self->range.start < self->range.size;
}

static inline gboolean
lu_flow_is_at_home (const LuFlow *self, guint64 address)
{
  return address - self->home.start < self->home.size;
}

/* Returns the number of the function that begins at an address, or 0. */
guint32 lu_flow_find_function (const LuFlow *self, guint64 address);
/* Adds a path of a function that is to be followed from an address on. */
void lu_flow_add_item (LuFlow *self, guint64 address, guint32 function, const LuPath *path);

/* Follows a jump to an address, which may be of another function. */
void lu_flow_fork_to (LuFlow *self, guint32 id, guint64 address, const LuPath *path);
/* Does so with an entry of a table, which is in the range. */
void lu_flow_follow_entry (LuFlow *self, guint32 id, guint64 address, const LuPath *path);
/* Returns whether a register belongs to the caller of a function. reg: any number. */
gboolean lu_flow_is_callee_saved (guint8 reg);
/* Returns whether a function gives way to another one. */
gboolean lu_flow_is_weaker (const LuFlow *self, guint32 id, guint32 than);

/* Tables of jumps (flow-tables.c) */

/* Steps for each byte of code, at most, to find what of open jumps is within a function. */
#define LU_FLOW_OPEN_WORK 16

/* Reads where an entry of a table leads. FALSE: it cannot be read. */
gboolean lu_flow_read_entry (LuFlow *self, const LuJumpTable *table, guint32 i, guint64 *target);
/* Returns whether all entries that a table is thought to have can be its own. Another table begins
 * in between if the index was compared for something else. */
gboolean lu_flow_has_whole_table (const LuFlow *self, const LuJumpTable *table);
/* Returns a limit of what an instruction loads from a table of bytes, which has the index for a
 * table of jumps; 0: there is none. */
guint32 lu_flow_byte_table_limit (LuFlow *self, const LuOp *op, const LuPath *path);
/* Keeps the jump at an address, through a table of unknown size, for lu_flow_run_tables(). */
void lu_flow_note_open_jump (LuFlow *self, guint32 id, guint64 address, const LuJumpTable *table,
                             const LuPath *path);

/* Labels (flow-tables.c) */

/* Keeps the address of code that an instruction of a function loads. */
void lu_flow_note_label (LuFlow *self, guint32 id, const LuOp *op);
/* Keeps the jump at an address, in the middle of a function's frame, for lu_flow_add_labels(). */
void lu_flow_note_jump_to_label (LuFlow *self, guint32 id, guint64 address, const LuOp *op,
                                 const LuPath *path);
/* Adds the paths of the jumps to labels that were kept: they lead to the labels of their functions
 * that were loaded into the register that they go through. FALSE: there are none. */
gboolean lu_flow_add_labels (LuFlow *self);
