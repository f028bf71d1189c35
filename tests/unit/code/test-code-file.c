/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-code-file.c - where a file has code, and which symbols tell that a function begins: not
 * those of parts that compilers and BOLT move away from the rest of a function, because they begin
 * in the middle of its frame. */

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

/* A section in the segment of the file, or outside. */
typedef struct
{
  guint64 start, size;
  char kind; /* of code, data, zeros; unloaded */
} Section;

static LuElfSectionHeader
section_header (const Section *section)
{
  return (LuElfSectionHeader){ .type = section->kind == 'z' ? SHT_NOBITS : SHT_PROGBITS,
                               .flags = (section->kind == 'u' ? 0u : SHF_ALLOC)
                                        | (section->kind == 'c' ? SHF_EXECINSTR : 0u),
                               .vaddr = section->start,
                               .file_offset = section->start,
                               .size = section->size };
}

static const struct
{
  const char *name;
  Section sections[6];   /* not in order */
  LuCodeRange ranges[3]; /* that are found in a segment from 0x1000 to 0x2000 */
} layouts[] = {
  { "no sections", { { 0 } }, { { 0x1000, 0x2000 } } },
  { "code only", { { 0x1000, 0x10, 'c' }, { 0x1020, 0xf00, 'c' } }, { { 0x1000, 0x2000 } } },
  { "headers before code", { { 0x1100, 0x100, 'c' } }, { { 0x1100, 0x2000 } } },
  { "data around code",
    { { 0x1400, 0x100, 'd' },
      { 0x1200, 0x10, 'c' },
      { 0x1100, 0x80, 'd' },
      { 0x1240, 0x180, 'c' } },
    { { 0x1200, 0x1400 } } },
  { "code around data",
    { { 0x1000, 0x100, 'c' }, { 0x1100, 0x80, 'd' }, { 0x1200, 0x100, 'c' }, { 0x1300, 8, 'd' } },
    { { 0x1000, 0x1100 }, { 0x1200, 0x1300 } } },
  { "data only", { { 0x1000, 0x100, 'd' } }, { { 0x1000, 0x2000 } } },
  { "sections that are not there",
    { { 0x1000, 0x100, 'c' }, { 0x1100, 0x100, 'z' }, { 0x1200, 0x100, 'u' }, { 0x1300, 0, 'd' } },
    { { 0x1000, 0x2000 } } },
  { "sections elsewhere", { { 0xf00, 0x200, 'd' }, { 0x2000, 1, 'd' } }, { { 0x1000, 0x2000 } } },
  { "sections that overlap",
    { { 0x1000, 0x800, 'c' }, { 0x1004, 0x10, 'd' }, { 0x1008, G_MAXUINT64, 'c' } },
    { { 0x1000, 0x1004 }, { 0x1008, 0x2000 } } },
};

/* Older linkers put data into the segment of code. */
static void
test_ranges (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++)
    {
      LuElfProgramHeader segments[] = {
        { .type = PT_LOAD, .flags = PF_R, .file_size = 0x1000, .memory_size = 0x1000 },
        { .type = PT_LOAD, .flags = PF_R | PF_X, .vaddr = 0x1000, .file_size = 0x1000 },
      };
      LuElfSectionHeader sections[G_N_ELEMENTS (layouts[i].sections)];
      const LuElfHeaders headers = { .program_headers = segments,
                                     .n_program_headers = G_N_ELEMENTS (segments),
                                     .section_headers = sections,
                                     .n_section_headers = G_N_ELEMENTS (sections) };
      g_autoptr (GArray) found = NULL;
      guint n = 0;

      for (guint j = 0; j < G_N_ELEMENTS (sections); j++)
        sections[j] = section_header (&layouts[i].sections[j]);
      g_test_message ("%s", layouts[i].name);
      found = lu_code_find_ranges (&headers);
      for (const LuCodeRange *range = layouts[i].ranges; range->end != 0; range++, n++)
        {
          g_assert_cmpuint (n, <, found->len);
          g_assert_cmphex (g_array_index (found, LuCodeRange, n).start, ==, range->start);
          g_assert_cmphex (g_array_index (found, LuCodeRange, n).end, ==, range->end);
        }
      g_assert_cmpuint (found->len, ==, n);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/code-file/ranges", test_ranges);
  g_test_add_func ("/code-file/symbols", test_symbols);
  return g_test_run ();
}
