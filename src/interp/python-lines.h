/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* python-lines.h - reads the tables by which code objects of CPython say which line each
 * instruction is of.
 *
 * The bytes are the sampled process's word. A table may be cut: it is right as far as it goes. */

#pragma once

#include "lu/interp.h"

#include <glib.h>

/* Instructions from `start` (byte offset) up to the next one's are of this line; 0: of none. */
typedef struct
{
  guint32 start, line;
} LuPythonLine;

/* Returns an array of LuPythonLine in the order of `start`, owned by the caller; the last one has
 * no line. bytes: as long as `table` says. */
GArray *lu_python_lines_decode (const struct lu_interp_table *table, const guint8 *bytes,
                                guint32 first_line);
/* Returns the line of the instruction at a byte offset; 0: not known. */
guint32 lu_python_lines_find (const GArray *lines, guint32 instr);
