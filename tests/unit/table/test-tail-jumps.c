/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-tail-jumps.c - the jumps of a function with CFI that count as going on in another one: those
 * that leave it while only the return address is on the stack. */

#include "code/decoder.h"
#include "code/tail-jumps.h"
#include "section.h"

#include <elf.h>

#define START 0x4000

/* je START + 0x100; push rbx; jmp START + 0x200; je START; pop rbx; jmp *rax; jmp START + 0x300 */
static const guint8 code[] = {
  0x0f, 0x84, 0xfa, 0x00, 0x00, 0x00,       /* 0 */
  0x53,                                     /* 6: CFA = rsp + 16 behind it */
  0xe9, 0xf4, 0x01, 0x00, 0x00,             /* 7 */
  0x74, 0xf2,                               /* 12 */
  0x5b,                                     /* 14: CFA = rsp + 8 behind it */
  0xff, 0xe0,                               /* 15 */
  0xe9, 0xea, 0x02, 0x00, 0x00,             /* 17 */
  0xe8, 0xe6, 0x03, 0x00, 0x00,             /* 22: call START + 0x401 */
  0x48, 0x8d, 0x05, 0xe0, 0x03, 0x00, 0x00, /* 27: lea START + 0x402(rip), rax */
  0xb8, 0x03, 0x44, 0x00, 0x00,             /* 34: mov $(START + 0x403), eax: a number */
};

static void
test_jumps (void)
{
  const LuFunctionJump expected[] = { { START, START + 0x100 },
                                      { START, LU_JUMP_ANYWHERE },
                                      { START, START + 0x300 } };
  /* START + 0x100 is not in a gap. */
  const LuCodeLead led_to[] = { { START + 0x200, LU_START_CERTAIN },
                                { START + 0x300, LU_START_CERTAIN },
                                { START + 0x401, LU_START_CERTAIN },
                                { START + 0x402, LU_START_POINTER } };
  g_autoptr (Section) section = section_new (TRUE);
  LuCfiInput input = { .machine = EM_X86_64 };
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuCompiler) compiler = NULL;
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  g_autoptr (GArray) gaps = g_array_new (FALSE, FALSE, sizeof (LuCodeRange));
  g_autoptr (GArray) leads = g_array_new (FALSE, FALSE, sizeof (LuCodeLead));
  const LuCodeRange gap = { START + 0x200, START + 0x301 },
                    other = { START + 0x400, START + 0x500 };
  const LuTailJumps found = { rows, gaps, leads };
  const LuFde *fdes;
  guint n;

  g_array_append_val (gaps, gap);
  g_array_append_val (gaps, other);
  section_add_fde (section, section_add_cie (section, &(CieSpec){ 0 }), START, sizeof code,
                   BYTES (0x47, 0x0e, 16, 0x48, 0x0e, 8));
  section_add_u32 (section, 0);
  input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
  cfi = lu_cfi_new (&input);
  compiler = lu_compiler_new (cfi);
  fdes = lu_cfi_fdes (cfi, LU_CFI_EH_FRAME, &n);
  g_assert_cmpuint (n, ==, 1);
  lu_tail_jumps_add (&found, compiler, fdes, code);
  g_assert_cmpmem (rows->jumps->data, rows->jumps->len * sizeof (LuFunctionJump), expected,
                   sizeof expected);
  g_assert_cmpuint (leads->len, ==, G_N_ELEMENTS (led_to));
  for (guint i = 0; i < leads->len; i++)
    {
      g_assert_cmphex (g_array_index (leads, LuCodeLead, i).address, ==, led_to[i].address);
      g_assert_cmpint (g_array_index (leads, LuCodeLead, i).kind, ==, led_to[i].kind);
    }
}

/* Jumps are sorted, and each stands there once. */
static void
test_sorted (void)
{
  const LuFunctionJump expected[] = { { 1, 2 }, { 1, 3 }, { 2, 1 } };
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();

  lu_extra_rows_add_jump (rows, 2, 1);
  lu_extra_rows_add_jump (rows, 1, 3);
  lu_extra_rows_add_jump (rows, 1, 2);
  lu_extra_rows_add_jump (rows, 1, 3);
  lu_extra_rows_sort_jumps (rows);
  g_assert_cmpmem (rows->jumps->data, rows->jumps->len * sizeof (LuFunctionJump), expected,
                   sizeof expected);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (!lu_decoder_load ())
    {
      g_print ("1..0 # SKIP no library that decodes instructions is installed\n");
      return 0;
    }
  g_test_add_func ("/tail-jumps/found", test_jumps);
  g_test_add_func ("/tail-jumps/sorted", test_sorted);
  return g_test_run ();
}
