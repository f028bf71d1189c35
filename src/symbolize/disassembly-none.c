/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* disassembly-none.c - knows no instructions, in a build without Zydis; see disassembly.h. */

#include "symbolize/disassembly.h"

gboolean
lu_disassembly_load (void)
{
  return FALSE;
}

GArray *
lu_disassemble (const LuElfFile *file, guint64 start, guint64 end)
{
  return lu_instructions_decode (NULL, 0, start, end);
}
