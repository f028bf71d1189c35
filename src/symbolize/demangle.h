/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle.h - C++ and Rust symbol names as people write them. */

#pragma once

#include <glib.h>

/* The readable name, or a copy of the symbol itself where it is not mangled, this was built
 * without a demangler, or the result would be huge. Hashes in Rust's names are left out. */
char *lu_demangle (const char *symbol);
