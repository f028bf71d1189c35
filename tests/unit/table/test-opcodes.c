/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-opcodes.c - every call frame instruction and every shape of expression: hand-assembled bytes
 * in, rows as text out. */

#include "section.h"

#include "table/compile.h"
#include "table/rule.h"

#include <elf.h>

#define START 0x4000
#define SIZE  0x100

/* The registers of a row in which only the CFA matters. */
#define USUAL "rbp=same rbx=same ra=*(cfa-8)"

typedef struct
{
  const char *name;
  Bytes program;
  const char *want; /* "offset rule" lines; NULL: the FDE is refused for `cfi_error` */
  LuCfiError cfi_error;
} Case;

static char *
rows_to_text (const LuCompiler *compiler)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < compiler->fde_rows.n; i++)
    {
      const LuRawRow *row = &compiler->fde_rows.rows[i];
      g_autofree char *rule =
          lu_rule_to_text (&compiler->rules.rules[row->rule], lu_cfi_arch (compiler->cfi));

      g_string_append_printf (text, "%s%#x %s", i > 0 ? "\n" : "", (guint) (row->address - START),
                              rule);
    }
  return g_string_free (text, FALSE);
}

static void
check_case (const Case *c, guint16 machine, const CieSpec *spec)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuCompiler) compiler = NULL;
  g_autofree char *text = NULL;
  LuCfiInput input = { .machine = machine };
  const LuFde *fdes;
  gboolean is_good;
  guint n;

  section_add_fde (section, section_add_cie (section, spec), START, SIZE, c->program);
  input.sections[LU_CFI_EH_FRAME] = section_bytes (section);
  cfi = lu_cfi_new (&input);
  fdes = lu_cfi_fdes (cfi, LU_CFI_EH_FRAME, &n);
  g_test_message ("%s", c->name);
  g_assert_cmpuint (n, ==, 1);
  compiler = lu_compiler_new (cfi);
  is_good = lu_compiler_run (compiler, &fdes[0], START, START + SIZE);
  text = rows_to_text (compiler);
  if (c->want != NULL)
    g_assert_cmpstr (text, ==, c->want);
  else
    {
      g_assert_cmpstr (text, ==, "0 nothing known");
      g_assert_cmpuint (lu_cfi_errors (cfi)[c->cfi_error], ==, 1);
    }
  g_assert_cmpint (is_good, ==, c->want != NULL);
}

static void
check_cases (const Case *cases, guint n, guint16 machine, const CieSpec *spec)
{
  for (guint i = 0; i < n; i++)
    check_case (&cases[i], machine, spec);
}

static void
test_cfa (void)
{
  const Case cases[] = {
    { "nothing: what the CIE says", BYTES (0), "0 cfa=rsp+8 " USUAL },
    { "def_cfa", BYTES (0x41, 0x0c, 6, 16), "0 cfa=rsp+8 " USUAL "\n0x1 cfa=rbp+16 " USUAL },
    { "def_cfa of rbx", BYTES (0x0c, 3, 24), "0 cfa=rbx+24 " USUAL },
    { "def_cfa of another register", BYTES (0x0c, 10, 0), "0 cfa=r10+0 (leaf) " USUAL },
    { "def_cfa_sf is factored", BYTES (0x12, 6, 0x7e), "0 cfa=rbp+16 " USUAL },
    { "def_cfa_register keeps the offset", BYTES (0x0e, 48, 0x0d, 6), "0 cfa=rbp+48 " USUAL },
    { "def_cfa_offset", BYTES (0x0e, 0x88, 0x80, 4), "0 cfa=rsp+65544 " USUAL },
    { "def_cfa_offset of 540,112 bytes", BYTES (0x0e, 0xd0, 0xfb, 0x20),
      "0 cfa=rsp+540112 " USUAL },
    { "def_cfa_offset_sf is factored", BYTES (0x13, 0x7c), "0 cfa=rsp+32 " USUAL },
    { "an offset beyond 2 GiB", BYTES (0x0e, 0x80, 0x80, 0x80, 0x80, 8), "0 complex" },
    { "an offset that is no multiple of 8", BYTES (0x0e, 13), "0 cfa=rsp+13 " USUAL },
    { "expression: PLT",
      BYTES (0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
      "0 cfa=rsp+8+((pc&15)>=11)*8 " USUAL },
    { "expression: PLT with another threshold",
      BYTES (0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22),
      "0 cfa=rsp+8+((pc&15)>=10)*8 " USUAL },
    { "expression: nearly a PLT",
      BYTES (0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22), "0 complex" },
    { "expression: *(rbp-8)", BYTES (0x0f, 3, 0x76, 0x78, 0x06), "0 cfa=*(rbp-8)+0 " USUAL },
    { "expression: *(rsp+24)+8", BYTES (0x0f, 5, 0x77, 24, 0x06, 0x23, 8),
      "0 cfa=*(rsp+24)+8 " USUAL },
    { "expression: a literal added", BYTES (0x0f, 5, 0x77, 24, 0x06, 0x38, 0x22),
      "0 cfa=*(rsp+24)+8 " USUAL },
    { "expression: *(r13)", BYTES (0x0f, 3, 0x7d, 0, 0x06), "0 complex" },
    { "expression: a plain register", BYTES (0x0f, 2, 0x76, 16), "0 cfa=rbp+16 " USUAL },
    { "expression: bregx", BYTES (0x0f, 3, 0x92, 6, 16), "0 cfa=rbp+16 " USUAL },
    { "expression: two dereferences", BYTES (0x0f, 4, 0x76, 0, 0x06, 0x06), "0 complex" },
    { "expression: empty", BYTES (0x0f, 0), "0 complex" },
    { "register after an expression: not known until the offset is said",
      BYTES (0x0f, 3, 0x76, 0x78, 0x06, 0x41, 0x0d, 7, 0x41, 0x0e, 48),
      "0 cfa=*(rbp-8)+0 " USUAL "\n0x1 complex\n0x2 cfa=rsp+48 " USUAL },
    { "offset after an expression: of what is not said",
      BYTES (0x0f, 3, 0x76, 0x78, 0x06, 0x41, 0x0e, 16),
      "0 cfa=*(rbp-8)+0 " USUAL "\n0x1 complex" },
    { "a register that does not exist", BYTES (0x0d, 0x81, 1), NULL, LU_CFI_ERROR_OPERAND },
  };

  check_cases (cases, G_N_ELEMENTS (cases), EM_X86_64, &(CieSpec){ 0 });
}

#define RBX_RA "rbx=same ra=*(cfa-8)"

static void
test_registers (void)
{
  const Case cases[] = {
    { "offset", BYTES (0x86, 2), "0 cfa=rsp+8 rbp=*(cfa-16) " RBX_RA },
    { "offset of rbx", BYTES (0x83, 3), "0 cfa=rsp+8 rbp=same rbx=*(cfa-24) ra=*(cfa-8)" },
    { "offset of a register that is not followed", BYTES (0x41, 0x8c, 2), "0 cfa=rsp+8 " USUAL },
    { "rax is saved by what goes on at a landing pad", BYTES (0x41, 0x80, 2, 0x41, 0xc0),
      "0 cfa=rsp+8 " USUAL "\n0x1 cfa=rsp+8 " USUAL " landing\n0x2 cfa=rsp+8 " USUAL },
    { "offset_extended", BYTES (0x05, 6, 2), "0 cfa=rsp+8 rbp=*(cfa-16) " RBX_RA },
    { "offset_extended_sf", BYTES (0x11, 6, 0x7e), "0 cfa=rsp+8 rbp=*(cfa+16) " RBX_RA },
    { "GNU_negative_offset_extended", BYTES (0x2f, 6, 2), "0 cfa=rsp+8 rbp=*(cfa+16) " RBX_RA },
    { "an offset that a rule cannot hold", BYTES (0x05, 6, 0x80, 0x80, 4),
      "0 cfa=rsp+8 rbp=unknown " RBX_RA },
    { "the far end of a large frame", BYTES (0x0e, 0xd0, 0xfb, 0x20, 0x86, 0xb9, 0x8f, 4),
      "0 cfa=rsp+540112 rbp=*(rsp+8) " RBX_RA },
    { "restore", BYTES (0x86, 2, 0x41, 0xc6),
      "0 cfa=rsp+8 rbp=*(cfa-16) " RBX_RA "\n0x1 cfa=rsp+8 " USUAL },
    { "restore_extended", BYTES (0x86, 2, 0x41, 0x06, 6),
      "0 cfa=rsp+8 rbp=*(cfa-16) " RBX_RA "\n0x1 cfa=rsp+8 " USUAL },
    { "same_value", BYTES (0x86, 2, 0x08, 6), "0 cfa=rsp+8 " USUAL },
    { "undefined frame pointer", BYTES (0x07, 6), "0 cfa=rsp+8 rbp=unknown " RBX_RA },
    { "undefined return address", BYTES (0x07, 16), "0 end of stack" },
    { "register: rbp in r10", BYTES (0x09, 6, 10), "0 cfa=rsp+8 rbp=unknown " RBX_RA },
    { "register: return address in rdi, as in vfork", BYTES (0x0e, 0, 0x09, 16, 5),
      "0 cfa=rsp+0 rbp=same rbx=same ra=rdi (leaf)" },
    { "return address elsewhere", BYTES (0x90, 3), "0 cfa=rsp+8 rbp=same rbx=same ra=*(cfa-24)" },
    { "return address in its own register", BYTES (0x08, 16), "0 complex" },
    { "val_offset of rbp", BYTES (0x14, 6, 2), "0 cfa=rsp+8 rbp=unknown " RBX_RA },
    { "val_offset_sf of rbp", BYTES (0x15, 6, 2), "0 cfa=rsp+8 rbp=unknown " RBX_RA },
    { "val_offset: rsp is the CFA", BYTES (0x14, 7, 0), "0 cfa=rsp+8 " USUAL },
    { "val_offset: rsp is not the CFA", BYTES (0x14, 7, 1), "0 complex" },
    { "rsp in memory", BYTES (0x87, 2), "0 complex" },
    { "expression: rbp at *(rbp-16)", BYTES (0x0c, 10, 0, 0x10, 6, 2, 0x76, 0x70),
      "0 cfa=r10+0 (leaf) rbp=*(rbp-16) " RBX_RA },
    { "expression: rbp at an offset of the CFA's register",
      BYTES (0x0c, 6, 16, 0x10, 6, 2, 0x76, 0), "0 cfa=rbp+16 rbp=*(cfa-16) " RBX_RA },
    { "expression: rbx at *(rsp+32), CFA on rbp", BYTES (0x0c, 6, 16, 0x10, 3, 2, 0x77, 32),
      "0 cfa=rbp+16 rbp=same rbx=*(rsp+32) ra=*(cfa-8)" },
    { "expression: the CFA, which is pushed first", BYTES (0x10, 6, 2, 0x23, 16),
      "0 cfa=rsp+8 rbp=*(cfa+16) " RBX_RA },
    { "expression: by another register", BYTES (0x10, 6, 2, 0x7d, 0),
      "0 cfa=rsp+8 rbp=unknown " RBX_RA },
    { "expression: return address by another register", BYTES (0x10, 16, 2, 0x7d, 0), "0 complex" },
    { "val_expression", BYTES (0x16, 6, 2, 0x76, 0), "0 cfa=rsp+8 rbp=unknown " RBX_RA },
    { "a register that does not exist", BYTES (0x07, 0x81, 1), NULL, LU_CFI_ERROR_OPERAND },
  };

  check_cases (cases, G_N_ELEMENTS (cases), EM_X86_64, &(CieSpec){ 0 });
}

#define AT_16 "cfa=rsp+16 " USUAL

static void
test_location (void)
{
  const Case cases[] = {
    { "advance_loc", BYTES (0x45, 0x0e, 16), "0 cfa=rsp+8 " USUAL "\n0x5 " AT_16 },
    { "advance_loc1", BYTES (0x02, 0x80, 0x0e, 16), "0 cfa=rsp+8 " USUAL "\n0x80 " AT_16 },
    { "advance_loc2", BYTES (0x03, 0x81, 0, 0x0e, 16), "0 cfa=rsp+8 " USUAL "\n0x81 " AT_16 },
    { "advance_loc4", BYTES (0x04, 0x82, 0, 0, 0, 0x0e, 16), "0 cfa=rsp+8 " USUAL "\n0x82 " AT_16 },
    { "MIPS_advance_loc8", BYTES (0x1d, 0x83, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16),
      "0 cfa=rsp+8 " USUAL "\n0x83 " AT_16 },
    { "advance beyond the end", BYTES (0x04, 0, 1, 0, 0, 0x0e, 16), "0 cfa=rsp+8 " USUAL },
    { "advance beyond all addresses",
      BYTES (0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0e, 16),
      "0 cfa=rsp+8 " USUAL },
    { "advance of 0: the last one holds", BYTES (0x0e, 32, 0x40, 0x0e, 16), "0 " AT_16 },
    { "advances without a change make one row", BYTES (0x41, 0x41, 0x41, 0x0e, 16),
      "0 cfa=rsp+8 " USUAL "\n0x3 " AT_16 },
    { "a change to the same makes no row", BYTES (0x41, 0x0e, 8, 0x41, 0x0e, 16),
      "0 cfa=rsp+8 " USUAL "\n0x2 " AT_16 },
    { "GNU_args_size says nothing about unwinding", BYTES (0x41, 0x2e, 0x90, 1, 0x41, 0x0e, 16),
      "0 cfa=rsp+8 " USUAL "\n0x2 " AT_16 },
    { "set_loc", BYTES (0x01, 0xe6, 0x3f, 0xf0, 0xff, 0x0e, 16),
      "0 cfa=rsp+8 " USUAL "\n0x10 " AT_16 },
    { "set_loc backward", BYTES (0x01, 0xc6, 0x3f, 0xf0, 0xff, 0x0e, 16), NULL,
      LU_CFI_ERROR_OPERAND },
    { "remember and restore", BYTES (0x0a, 0x0e, 16, 0x86, 2, 0x41, 0x0b),
      "0 cfa=rsp+16 rbp=*(cfa-16) " RBX_RA "\n0x1 cfa=rsp+8 " USUAL },
    { "remember twice", BYTES (0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x41, 0x0b, 0x41, 0x0b),
      "0 cfa=rsp+24 " USUAL "\n0x1 " AT_16 "\n0x2 cfa=rsp+8 " USUAL },
    { "restore without remember", BYTES (0x0b), NULL, LU_CFI_ERROR_STATE },
    { "an unknown instruction", BYTES (0x41, 0x0e, 16, 0x41, 0x17), NULL, LU_CFI_ERROR_OPCODE },
    { "a user instruction", BYTES (0x3f), NULL, LU_CFI_ERROR_OPCODE },
    { "GNU_window_save is of another machine", BYTES (0x2d), NULL, LU_CFI_ERROR_OPCODE },
    { "set_ra_state is of another machine", BYTES (0x2b, 0, 0), NULL, LU_CFI_ERROR_OPCODE },
    { "cut off", BYTES (0, 0, 0x0e), NULL, LU_CFI_ERROR_TRUNCATED },
    { "an expression longer than the program", BYTES (0, 0x0f, 9), NULL, LU_CFI_ERROR_TRUNCATED },
  };

  check_cases (cases, G_N_ELEMENTS (cases), EM_X86_64, &(CieSpec){ 0 });
}

static void
test_depth (void)
{
  guint8 program[3 * LU_CFA_MAX_DEPTH + 3];
  Case c = { "as deep as allowed", { program, 3 * LU_CFA_MAX_DEPTH }, NULL, LU_CFI_ERROR_NONE };

  for (guint i = 0; i < sizeof program; i++)
    program[i] = i < LU_CFA_MAX_DEPTH + 1 ? 0x0a : 0x00;
  program[LU_CFA_MAX_DEPTH] = 0x0b;
  c.want = "0 cfa=rsp+8 " USUAL;
  check_case (&c, EM_X86_64, &(CieSpec){ 0 });
  program[LU_CFA_MAX_DEPTH] = 0x0a;
  c = (Case){ "one deeper", c.program, NULL, LU_CFI_ERROR_STATE };
  check_case (&c, EM_X86_64, &(CieSpec){ 0 });
}

/* The C library describes the frame of a signal handler like this. */
static void
test_signal (void)
{
  const CieSpec spec = { .augmentation = "zRS" };
  const Case cases[] = {
    { "a frame interrupted by a signal",
      BYTES (0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 3, 3, 0x77, 0x80, 1,
             0x10, 7, 3, 0x77, 0xa0, 1, 0x10, 16, 3, 0x77, 0xa8, 1),
      "0 cfa=*(rsp+160)+0 rbp=*(rsp+120) rbx=*(rsp+128) ra=*(rsp+168) signal" },
    { "rsp from elsewhere than the CFA", BYTES (0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 7, 2, 0x77, 0),
      "0 complex" },
    { "plain, but marked", BYTES (0), "0 cfa=rsp+8 " USUAL " signal" },
  };

  check_cases (cases, G_N_ELEMENTS (cases), EM_X86_64, &spec);
}

static void
test_aarch64 (void)
{
  const CieSpec spec = { .return_column = 30, .program = BYTES (0x0c, 31, 0), .code_align = 4 };
  const Case cases[] = {
    { "leaf", BYTES (0), "0 cfa=sp+0 x29=same ra=x30" },
    { "frame record", BYTES (0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29),
      "0 cfa=sp+0 x29=same ra=x30\n0x4 cfa=sp+32 x29=*(cfa-32) ra=*(cfa-24)\n"
      "0x8 cfa=x29+32 x29=*(cfa-32) ra=*(cfa-24)" },
    { "signed return address", BYTES (0x41, 0x2d, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x41, 0x2d),
      "0 cfa=sp+0 x29=same ra=x30\n0x4 cfa=sp+0 x29=same ra=x30 signed\n"
      "0x8 cfa=sp+16 x29=*(cfa-16) ra=*(cfa-8) signed\n"
      "0xc cfa=sp+16 x29=*(cfa-16) ra=*(cfa-8)" },
    { "set_ra_state, with the place of the instruction",
      BYTES (0x41, 0x2b, 2, 0, 0x41, 0x2b, 0, 0x7f),
      "0 cfa=sp+0 x29=same ra=x30\n0x4 cfa=sp+0 x29=same ra=x30 signed\n"
      "0x8 cfa=sp+0 x29=same ra=x30" },
    { "set_ra_state cut off", BYTES (0x2b, 1, 0x80), NULL, LU_CFI_ERROR_TRUNCATED },
    { "negate_ra_state_with_pc", BYTES (0x2c), "0 cfa=sp+0 x29=same ra=x30 signed" },
    { "outermost", BYTES (0x07, 30), "0 end of stack" },
    { "CFA in another register", BYTES (0x0c, 19, 16), "0 cfa=x19+16 (leaf) x29=same ra=x30" },
  };

  check_cases (cases, G_N_ELEMENTS (cases), EM_AARCH64, &spec);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/opcodes/cfa", test_cfa);
  g_test_add_func ("/opcodes/registers", test_registers);
  g_test_add_func ("/opcodes/location", test_location);
  g_test_add_func ("/opcodes/depth", test_depth);
  g_test_add_func ("/opcodes/signal", test_signal);
  g_test_add_func ("/opcodes/aarch64", test_aarch64);
  return g_test_run ();
}
