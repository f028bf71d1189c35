/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* disassembly.h - the instructions of a piece of code in a file.
 *
 * The bytes may be hostile, so a library takes them apart in a process of its own (reader.h). One
 * thread. */

#pragma once

#include "symbolize/elf-file.h"
#include "symbolize/instructions.h"

/* Loads the library. FALSE: it is not there. Call this before rights are given up. */
gboolean lu_disassembly_load (void);

/* Returns the instructions (of LuInstruction) from one ELF address up to another, owned by the
 * caller: at most 1 MiB of them, and those before the first bytes that are none. There are none if
 * the library is not loaded, the machine is not known or if it takes more than a few seconds. */
GArray *lu_disassemble (const LuElfFile *file, guint64 start, guint64 end);
