/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* apart.h - code that the arbiter counts apart: what was written in assembly, as the debug
 * information of the file says, and what only exceptions lead to. */

#pragma once

#include "code/code-file.h"

/* Returns the code of the file that was written in assembly (of LuCodeRange, ascending; owned).
 * Empty if the file's debug information is not installed. */
GArray *arbiter_read_assembly (const char *path);

/* Follows code from each landing pad, as long as `is_known` is FALSE. pads: a file of addresses,
 * one a line; NULL for none. Returns the addresses of the instructions there, owned. */
GHashTable *arbiter_follow_pads (const char *pads, const LuCodeFile *file,
                                 gboolean (*is_known) (gpointer data, guint64 address),
                                 gpointer data);
/* The set's key for an address. */
#define ARBITER_KEY(address) GSIZE_TO_POINTER (address)

/* Returns the code at an ELF address, borrowed from the file, and how much there is from there on;
 * or NULL. */
const guint8 *arbiter_bytes_at (const LuCodeFile *file, guint64 address, gsize *left);
