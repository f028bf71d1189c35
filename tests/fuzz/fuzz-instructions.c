/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-instructions.c - arbitrary answers of a disassembler: instructions follow each other. */

#include "fuzz.h"
#include "symbolize/instructions.h"

#define START 0x1000
#define END   0x1010

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GArray) found = lu_instructions_decode (data, size, START, END);
  guint64 at = START;

  for (guint i = 0; i < found->len; i++)
    {
      const LuInstruction *instruction = &g_array_index (found, LuInstruction, i);

      g_assert_cmpuint (instruction->address, ==, at);
      g_assert_cmpuint (instruction->size, >, 0);
      g_assert_true (g_utf8_validate (instruction->text, -1, NULL));
      at += instruction->size;
    }
  g_assert_cmpuint (at, <=, END);
  return 0;
}
