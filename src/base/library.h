/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* library.h - a shared library that is loaded when it is first used: linked, it would cost each
 * start of the program, and come into the process that has privileges. */

#pragma once

#include <glib.h>

typedef struct
{
  const char *name;
  void *place; /* of the pointer to the function */
} LuLibraryFunction;

/* Loads the library, which stays, and sets the pointers. FALSE: it is not there, or lacks one, or
 * libraries may no longer be loaded; *reason then is what the loader says (owned). */
gboolean lu_library_load (const char *name, const LuLibraryFunction *functions, guint n_functions,
                          char **reason);
