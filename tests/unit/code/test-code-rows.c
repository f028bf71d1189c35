/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-code-rows.c - rows of a file whose code is written so that each byte has a row of its own:
 * it gets some rows, but no more than memory should be used for. */

#include "code/code-rows.h"
#include "code/decoder.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define CODE_AT  0x1000
#define FUNCTION 128         /* bytes */
#define CODE     (12u << 20) /* bytes */
#define MOST     (6u << 20)  /* rows: those of one part more than are allowed */
#define PUSH     0x50
#define POP      0x58
#define RETURN   0xc3
#define NO_OP    0x90

static void
write_header (guint8 *file)
{
  const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                           ELFDATA2LSB, EV_CURRENT },
                              .e_type = ET_DYN,
                              .e_machine = EM_X86_64,
                              .e_version = EV_CURRENT,
                              .e_entry = CODE_AT,
                              .e_phoff = sizeof header,
                              .e_ehsize = sizeof header,
                              .e_phentsize = sizeof (Elf64_Phdr),
                              .e_phnum = 1,
                              .e_shentsize = sizeof (Elf64_Shdr) };
  const Elf64_Phdr segment = { .p_type = PT_LOAD,
                               .p_flags = PF_R | PF_X,
                               .p_offset = CODE_AT,
                               .p_vaddr = CODE_AT,
                               .p_filesz = CODE,
                               .p_memsz = CODE };

  memcpy (file, &header, sizeof header);
  memcpy (file + sizeof header, &segment, sizeof segment);
}

static void
write_code (guint8 *code)
{
  for (gsize i = 0; i < CODE; i++)
    {
      gsize at = i % FUNCTION;

      code[i] = at == FUNCTION - 1 ? NO_OP : at == FUNCTION - 2 ? RETURN : at % 2 ? POP : PUSH;
    }
}

static void
test_many (void)
{
  g_autofree guint8 *bytes = g_malloc0 (CODE_AT + CODE);
  FILE *file = tmpfile ();
  g_autoptr (LuCodeRows) code = NULL;
  const LuExtraRows *rows;

  write_header (bytes);
  write_code (bytes + CODE_AT);
  g_assert_cmpuint (fwrite (bytes, 1, CODE_AT + CODE, file), ==, CODE_AT + CODE);
  g_assert_cmpint (fflush (file), ==, 0);
  code = lu_code_rows_new (fileno (file), &(LuCodeWanted){ 0 });
  g_assert_nonnull (code);
  for (guint i = 0; i < lu_code_rows_n_units (code); i++)
    g_assert_true (lu_code_rows_run_unit (code, i));
  rows = lu_code_rows_collect (code);
  g_assert_nonnull (rows);
  g_assert_cmpuint (rows->rows->len, >=, LU_CODE_WHOLE / 2);
  g_assert_cmpuint (rows->rows->len, <, MOST);
  fclose (file);
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
  g_test_add_func ("/code-rows/many", test_many);
  return g_test_run ();
}
