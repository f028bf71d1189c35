/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* short-name.h - the part of a function's name that people use. */

#pragma once

#include <glib.h>

/* Shortens the name of a function in a file. A demangled name of C++ or Rust loses its return type,
 * its parameters and the template arguments that are the standard library's defaults; arguments
 * longer than some 30 bytes become "<…>". A symbol of D, Ada, OCaml or Haskell becomes a path as in
 * the source. Every other name, one of more than 16 KiB, and one that is not understood as a whole
 * stays as it is. Any bytes are fine. Owned by the caller. */
char *lu_short_name (const char *name);

/* The parts for languages whose names have no template arguments in <>: NULL if the symbol is not
 * of these languages. */
char *lu_short_name_of_language (const char *symbol);
