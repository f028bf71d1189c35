/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* library.h - libraries that are loaded when they are needed, because linking them would make each
 * start of the program slower. */

#pragma once

#include <glib.h>

typedef struct
{
  const char *name;
  void *target; /* receives the address of the function */
} LuLibraryFunction;

/* Loads a library for good, and finds its functions. FALSE if it is not installed or lacks one. Any
 * thread. */
gboolean lu_library_load (const char *name, const LuLibraryFunction *functions, guint n);
