/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* flow.h - follows the code of a file from where functions begin, along every path, and finds what
 * is known of the frame at each instruction.
 *
 * A call goes on only if the function that it calls has a path that returns. Where paths meet, what
 * they do not agree on is lost. A function in which a path returns with the stack pointer or the
 * frame pointer wrong is not understood, and all of it is left out. The work is linear in the size
 * of the code, and so is the memory, about ten bytes for each byte of code. One thread. */

#pragma once

#include "code/frame-facts.h"
#include "code/hints.h"
#include "table/extra-rows.h"

/* Answers about the file. */
typedef struct
{
  /* Reads bytes at an ELF address: the contents of tables of jumps. */
  gboolean (*read) (gpointer data, guint64 address, gpointer bytes, gsize size);
  /* Reads a pointer, as it is when the program runs. */
  gboolean (*read_pointer) (gpointer data, guint64 address, guint64 *pointer);
  /* Returns whether the pointer at an address is to a function of another file that never returns.
   */
  gboolean (*is_noreturn) (gpointer data, guint64 address);
  /* Returns the address of the pointer through which an entry of a procedure linkage table jumps;
   * 0: no such entry is at the address. */
  guint64 (*linkage_at) (gpointer data, guint64 address);
  gpointer data;
  const struct lu_rule *kernel_frame; /* LuArch.kernel_frame */
  const LuCodeHints *hints;           /* borrowed */
  /* Returns FALSE if the function at an address, elsewhere in the file, never returns. NULL: nobody
   * knows. */
  gboolean (*returns) (gpointer data, guint64 address);
  /* Returns the function of this file to which the pointer at an address leads, unless another file
   * has one of its name; 0: none. NULL: nobody knows. */
  guint64 (*function_at) (gpointer data, guint64 address);
  /* The file can be loaded anywhere, so only what is relative to an instruction is an address of
   * its code; other constants are numbers. */
  gboolean is_movable;
} LuFlowFile;

/* How certain it is that a function begins somewhere. What is less certain gives way. */
typedef enum
{
  LU_START_CERTAIN, /* a symbol, the entry, the target of a call from a function that is certain */
  LU_START_POINTER, /* an instruction uses its address */
  LU_START_HINT,    /* code elsewhere seems to call it */
  LU_START_WORD,    /* data has its address, which may be a table of jumps as well */
  LU_START_GAP,     /* it is the first code after padding */
} LuStartKind;

/* Compilers align functions, and rarely anything else whose address an instruction uses. */
#define LU_FLOW_ALIGNMENT 16

typedef struct _LuFlow LuFlow;

/* `file` and the bytes of the range are borrowed. */
LuFlow *lu_flow_new (const LuCodeBytes *range, const LuFlowFile *file);
void lu_flow_free (LuFlow *self);
/* Sets the part of the range in which functions begin, before any is added: the whole range
 * otherwise. Paths lead out of it where a function goes on elsewhere, as in its cold part. */
void lu_flow_set_home (LuFlow *self, const LuCodeBytes *home);
/* Stops early when the integer is not 0; atomic, borrowed. */
void lu_flow_set_cancelled (LuFlow *self, const gint *is_cancelled);

/* Adds a function; FALSE if the address is outside of the code, or inside of code that was already
 * understood otherwise. is_entry: where the program starts, so it has no caller. */
gboolean lu_flow_add_start (LuFlow *self, guint64 address, LuStartKind kind, gboolean is_entry);
/* Follows all functions that were added, and those that they call. FALSE: it was cancelled, or is
 * too much work. */
gboolean lu_flow_run (LuFlow *self);
/* Follows the jumps through tables of pointers whose size nothing tells, when it is known where
 * functions begin: those pointers that lead into the function itself. What lies behind the table
 * may be another one of the function, but others have no pointers into it. */
gboolean lu_flow_run_tables (LuFlow *self);
/* Adds and follows the code that the addresses of code in instructions lead to. */
gboolean lu_flow_run_pointers (LuFlow *self);
/* Adds and follows the code at places where functions seem to begin that code elsewhere may call
 * (LuFlowFile.hints). */
gboolean lu_flow_run_hints (LuFlow *self);
/* Adds and follows the code at the addresses in data, those first that begin as functions do: other
 * words may be numbers or text. */
gboolean lu_flow_run_words (LuFlow *self, const guint64 *words, guint n);
/* Adds and follows code after padding that nothing else has led to. */
gboolean lu_flow_run_gaps (LuFlow *self);

/* Which rows are written. */
typedef enum
{
  LU_FLOW_ALL,     /* all of the home */
  LU_FLOW_CERTAIN, /* those of functions that are certain */
  LU_FLOW_WEAK,    /* the others: an analysis of other code may know better */
  LU_FLOW_AWAY,    /* all outside of the home */
} LuFlowRows;

/* Adds rows and starts, in order, and jumps, which are yet to be sorted. All jumps between
 * functions come with ALL or CERTAIN. */
void lu_flow_write (LuFlow *self, LuFlowRows which, LuExtraRows *rows);

/* Returns the facts at an instruction; NULL if the address is not the start of one that
 * was understood. For tests and the arbiter. */
const LuFrameFacts *lu_flow_facts_at (const LuFlow *self, guint64 address);

/* Returns whether the instruction at an address belongs to a function that is certain. */
gboolean lu_flow_is_certain_at (const LuFlow *self, guint64 address);

/* Orders arrays of guint64. */
gint lu_code_compare_addresses (gconstpointer a, gconstpointer b);

/* Returns the rule at an instruction. FALSE: there is none. For tests. */
gboolean lu_flow_rule_at (const LuFlow *self, guint64 address, struct lu_rule *rule);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuFlow, lu_flow_free)
