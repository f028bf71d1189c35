/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* functions.h - the functions that interpreters ran: their names, and the addresses that stand for
 * them (lu_is_function()).
 *
 * A function is announced with its names once for each process, before the first chain that has it;
 * code address and check tell it apart in its process. Functions of equal names, paths and first
 * lines have one address in all processes, and one more for each line that was seen to run. Names
 * are kept until the end, in bounded memory; what a process has announced goes with the process.
 * Owned by the writer's thread. */

#pragma once

#include "lu/event.h"
#include "lu/interp.h"

#include <glib.h>

#define LU_FUNCTION_UNREADABLE_NAME "[python: unreadable]"

typedef struct _LuFunctions LuFunctions;

LuFunctions *lu_functions_new (void);
void lu_functions_free (LuFunctions *self);

/* Takes an announcement of the process with that number (lu_process_id()) and pid. */
void lu_functions_learn (LuFunctions *self, guint64 process, gint32 pid,
                         const LuInterpFunction *function);
/* Whose function it is. */
typedef struct
{
  guint64 process; /* its number */
  gint32 pid;
  guint32 language; /* enum lu_interp_language */
} LuFunctionsOf;

/* Returns the address that stands for a function of a chain, and its line that runs if there is
 * room for it: 0 if it is one of the interpreter's own, which nobody has written,
 * LU_FUNCTION_UNREADABLE of the language if it could not be read, LU_FUNCTION_TOO_MANY if there was
 * no room for it. A function that awaits (LU_INTERP_AWAITS) is another one than the same function
 * that runs: "work [awaits] (app.py:12)". Its announcement may still come, by way of another CPU.
 */
guint64 lu_functions_find (LuFunctions *self, const LuFunctionsOf *of,
                           const struct lu_interp_frame *frame);
/* Returns how many of the functions that were found have no name, as of now. */
guint64 lu_functions_unnamed (const LuFunctions *self);
/* The processes with that pid have ended: forgets what they have announced, after some more have.
 */
void lu_functions_end (LuFunctions *self, gint32 pid);

typedef struct
{
  const char *name;   /* "work (app.py:12)", or a text in brackets */
  const char *source; /* "/srv/app.py:12"; NULL: none, or not announced yet */
  guint32 first_line; /* 12 */
  guint32 line;       /* that runs; 0: not known */
  guint32 number;     /* of the function, the same for all its lines */
} LuFunctionNames;

/* Returns the names of an address that lu_functions_find() returned, or of LU_FUNCTION_UNMATCHED.
 * Borrowed until the end. */
LuFunctionNames lu_functions_names (const LuFunctions *self, guint64 address);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuFunctions, lu_functions_free)
