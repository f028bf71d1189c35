/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-code-file.c - which symbols of a file tell that a function begins: not those of parts that
 * compilers and BOLT move away from the rest of a function, because they begin in the middle of its
 * frame. */

#include "code/code-file.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define CODE_AT 0x1000
#define CODE    0x100 /* bytes */
#define PART    0x10  /* from one symbol to the next */

static const struct
{
  const char *name;
  gboolean is_function;
} symbols[] = {
  { "plain", TRUE },       { "plain.cold", FALSE },     { "plain.cold.1", FALSE },
  { "plain.warm", FALSE }, { "plain.isra.0", TRUE },    { "plain.llvm.17.warm", FALSE },
  { "warm", TRUE },        { "plain.unlikely", FALSE },
};

/* Everything in the file before its code. */
typedef struct
{
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  Elf64_Shdr sections[3];
  Elf64_Sym symbols[G_N_ELEMENTS (symbols)];
  char names[512];
} Start;

static void
write_symbols (Start *start)
{
  gsize at = 1;

  for (guint i = 0; i < G_N_ELEMENTS (symbols); i++)
    {
      start->symbols[i] = (Elf64_Sym){ .st_name = (Elf64_Word) at,
                                       .st_info = ELF64_ST_INFO (STB_LOCAL, STT_FUNC),
                                       .st_shndx = 1,
                                       .st_value = CODE_AT + i * PART,
                                       .st_size = PART };
      at += g_strlcpy (start->names + at, symbols[i].name, sizeof start->names - at) + 1;
    }
}

static void
write_section (Start *start, guint i, const char *name, gsize offset, gsize size)
{
  gsize at = sizeof start->names - 64 + 16 * i;

  g_strlcpy (start->names + at, name, 16);
  start->sections[i] = (Elf64_Shdr){
    .sh_name = (Elf64_Word) at, .sh_type = SHT_STRTAB, .sh_offset = offset, .sh_size = size
  };
}

static void
write_start (Start *start)
{
  start->header = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                             ELFDATA2LSB, EV_CURRENT },
                                .e_type = ET_DYN,
                                .e_machine = EM_X86_64,
                                .e_version = EV_CURRENT,
                                .e_phoff = offsetof (Start, segment),
                                .e_shoff = offsetof (Start, sections),
                                .e_ehsize = sizeof start->header,
                                .e_phentsize = sizeof start->segment,
                                .e_phnum = 1,
                                .e_shentsize = sizeof start->sections[0],
                                .e_shnum = G_N_ELEMENTS (start->sections),
                                .e_shstrndx = 2 };
  start->segment = (Elf64_Phdr){ .p_type = PT_LOAD,
                                 .p_flags = PF_R | PF_X,
                                 .p_offset = CODE_AT,
                                 .p_vaddr = CODE_AT,
                                 .p_filesz = CODE,
                                 .p_memsz = CODE };
  write_symbols (start);
  write_section (start, 1, ".symtab", offsetof (Start, symbols), sizeof start->symbols);
  write_section (start, 2, ".strtab", offsetof (Start, names), sizeof start->names);
}

static void
test_symbols (void)
{
  guint8 bytes[CODE_AT + CODE] = { 0 };
  FILE *stream = tmpfile ();
  g_autoptr (LuCodeFile) file = NULL;
  Start start = { 0 };
  guint n = 0;

  write_start (&start);
  memcpy (bytes, &start, sizeof start);
  g_assert_cmpuint (fwrite (bytes, 1, sizeof bytes, stream), ==, sizeof bytes);
  g_assert_cmpint (fflush (stream), ==, 0);
  file = lu_code_file_read (fileno (stream), CODE, NULL);
  g_assert_nonnull (file);
  for (guint i = 0; i < G_N_ELEMENTS (symbols); i++)
    if (symbols[i].is_function)
      {
        g_test_message ("%s", symbols[i].name);
        g_assert_cmpuint (n, <, file->functions->len);
        g_assert_cmphex (g_array_index (file->functions, guint64, n++), ==, CODE_AT + i * PART);
      }
  g_assert_cmpuint (file->functions->len, ==, n);
  fclose (stream);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/code-file/symbols", test_symbols);
  return g_test_run ();
}
