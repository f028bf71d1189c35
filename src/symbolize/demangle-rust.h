/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle-rust.h - Rust's "v0" symbol names (RFC 2603) as people write them. Used by
 * demangle.c. */

#pragma once

#include <glib.h>

/* NULL for what is no such name, or would be huge. Hashes of crates are left out. */
char *lu_demangle_rust (const char *symbol);
