/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle.h - turns symbol names of C++, Rust, D and Ada into the names that people write. */

#pragma once

#include <glib.h>

/* Returns the readable name without the hashes of Rust, owned by the caller. It is a copy of the
 * symbol if that is not mangled, if the result would be huge, or in a build without a demangler. */
char *lu_demangle (const char *symbol);

/* Returns the name with parameters that a symbol of D, or of Ada's own packages or its main program
 * has, owned by the caller; NULL: it is neither, or there is no demangler. */
char *lu_demangle_d_or_ada (const char *symbol);
