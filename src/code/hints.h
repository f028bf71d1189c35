/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* hints.h - where functions and data may begin: places to which bytes lead that look like a call or
 * like the use of an address, anywhere in the code.
 *
 * Code is analysed in parts, and this is what a part knows of the others. A hint proves nothing:
 * the bytes may be in the middle of an instruction. Three bits for each byte of a segment. One
 * thread. */

#pragma once

#include <glib.h>

typedef struct
{
  guint64 start;       /* ELF address */
  gsize size;          /* bytes */
  const guint8 *bytes; /* borrowed */
} LuCodeBytes;

typedef struct _LuCodeHints LuCodeHints;

/* Looks through the ranges of code for what leads into the segments (both of LuCodeBytes,
 * ascending, without overlaps; those of data have no bytes; a reference to the segments is taken).
 * Linear in the size of the code, but for a search of the segments. */
LuCodeHints *lu_code_hints_new (const GArray *ranges, GArray *segments);
void lu_code_hints_free (LuCodeHints *self); /* NULL is allowed */
/* Adds a place that something else leads to. */
void lu_code_hints_add (LuCodeHints *self, guint64 address);
gboolean lu_code_hints_has (const LuCodeHints *self, guint64 address);
/* Returns whether bytes of code lead there from two places, which no accident does. */
gboolean lu_code_hints_has_often (const LuCodeHints *self, guint64 address);

/* Returns whether bytes of code branch there from far away: a cold part of a function begins. */
gboolean lu_code_hints_is_part (const LuCodeHints *self, guint64 address);

/* Returns whether code seems to begin at an offset of a range: padding ends there. */
gboolean lu_code_is_behind_padding (const LuCodeBytes *range, gsize at);
/* Returns whether a function seems to begin there: code leads there, too. Pointers, which were
 * added, may be a table of jumps, and loops have padding before them as well. */
gboolean lu_code_hints_is_start (const LuCodeHints *self, const LuCodeBytes *range, gsize at);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCodeHints, lu_code_hints_free)
