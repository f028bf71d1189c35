/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-opcodes.c - the interpreter of call frame instructions. Input: a byte of choices, a byte
 * with the alignment factors, a byte with the length of the CIE's instructions, these instructions,
 * and those of the FDE.
 *
 * The entries around them are valid, so that the fuzzer only invents instructions. Compiling a
 * single address must give the same rule as the rows, and libdw must agree. */

#include "fuzz.h"
#include "oracle.h"

#include "table/compile.h"

#include <elf.h>
#include <string.h>

#define HEAD          3
#define SECTION_VADDR 0x20000
#define CODE          0x400000
#define CODE_SIZE     0x10000

enum
{
  IS_AARCH64 = 1 << 0,
  IS_DEBUG_FRAME = 1 << 1,
  IS_SIGNAL = 1 << 2,
};

static void
add_u8 (GByteArray *bytes, guint8 value)
{
  g_byte_array_append (bytes, &value, 1);
}

static void
add_u32 (GByteArray *bytes, guint32 value)
{
  g_byte_array_append (bytes, (const guint8 *) &value, sizeof value);
}

static void
add_u64 (GByteArray *bytes, guint64 value)
{
  g_byte_array_append (bytes, (const guint8 *) &value, sizeof value);
}

static void
end_entry (GByteArray *bytes, guint at)
{
  guint32 length;

  while (bytes->len % 4 != 0)
    add_u8 (bytes, 0); /* DW_CFA_nop */
  length = bytes->len - at - 4;
  memcpy (bytes->data + at, &length, sizeof length);
}

static void
add_cie (GByteArray *bytes, guint8 choices, guint8 factors, const guint8 *program, gsize size)
{
  static const gint8 data_factors[] = { -8, -4, 8, 1 };
  gboolean is_eh_frame = (choices & IS_DEBUG_FRAME) == 0;
  const char *letters = !is_eh_frame ? "" : (choices & IS_SIGNAL) != 0 ? "zRS" : "zR";

  add_u32 (bytes, 0);
  add_u32 (bytes, is_eh_frame ? 0 : G_MAXUINT32);
  add_u8 (bytes, 1);
  g_byte_array_append (bytes, (const guint8 *) letters, (guint) strlen (letters) + 1);
  add_u8 (bytes, factors & 7);
  add_u8 (bytes, (guint8) (data_factors[factors >> 3 & 3] & 0x7f));
  add_u8 (bytes, (choices & IS_AARCH64) != 0 ? 30 : 16);
  if (is_eh_frame)
    {
      add_u8 (bytes, 1);
      add_u8 (bytes, 0x04); /* udata8, absolute */
    }
  g_byte_array_append (bytes, program, (guint) size);
  end_entry (bytes, 0);
}

static void
add_fde (GByteArray *bytes, gboolean is_eh_frame, const guint8 *program, gsize size)
{
  guint at = bytes->len;

  add_u32 (bytes, 0);
  add_u32 (bytes, is_eh_frame ? at + 4 : 0);
  add_u64 (bytes, CODE);
  add_u64 (bytes, CODE_SIZE);
  if (is_eh_frame)
    add_u8 (bytes, 0);
  g_byte_array_append (bytes, program, (guint) size);
  end_entry (bytes, at);
}

/* Compares the rows of the FDE with compiling each of their addresses alone. */
static void
check_rows (const LuCfiInput *input, LuCfiSectionId which)
{
  g_autoptr (LuCfi) cfi = lu_cfi_new (input);
  g_autoptr (LuCompiler) compiler = lu_compiler_new (cfi);
  guint n;
  const LuFde *fdes = lu_cfi_fdes (cfi, which, &n);
  LuCfaRun *run;

  if (n == 0)
    return;
  g_assert_cmpuint (n, ==, 1);
  if (!lu_compiler_run (compiler, &fdes[0], fdes[0].start, fdes[0].end))
    return;
  run = g_new (LuCfaRun, 1);
  for (guint i = 0; i < MIN (compiler->fde_rows.n, 64); i++)
    {
      const LuRawRow *row = &compiler->fde_rows.rows[i];
      struct lu_rule alone = lu_compile_at (cfi, run, row->address);

      g_assert_cmpuint (row->address, >=, fdes[0].start);
      g_assert_cmpuint (row->address, <, fdes[0].end);
      g_assert_cmpmem (&alone, sizeof alone, &compiler->rules.rules[row->rule], sizeof alone);
    }
  g_free (run);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GByteArray) made = NULL;
  g_autofree guint8 *bytes = NULL;
  LuCfiInput input = { .machine = EM_X86_64 };
  LuCfiSectionId which;
  gsize cie_size;

  if (size < HEAD)
    return 0;
  made = g_byte_array_new ();
  if ((data[0] & IS_AARCH64) != 0)
    input.machine = EM_AARCH64;
  which = (data[0] & IS_DEBUG_FRAME) != 0 ? LU_CFI_DEBUG_FRAME : LU_CFI_EH_FRAME;
  cie_size = MIN (data[2], size - HEAD);
  add_cie (made, data[0], data[1], data + HEAD, cie_size);
  add_fde (made, which == LU_CFI_EH_FRAME, data + HEAD + cie_size, size - HEAD - cie_size);
  /* The copies have exactly the right size, so that a sanitizer sees an access beyond them. */
  bytes = g_memdup2 (made->data, made->len);
  input.sections[which] = (LuCfiBytes){
    .bytes = bytes,
    .size = made->len,
    .is_eh_frame = which == LU_CFI_EH_FRAME,
    .vaddr = which == LU_CFI_EH_FRAME ? SECTION_VADDR : 0,
  };
  check_rows (&input, which);
  oracle_compare (&input, which);
  return 0;
}
