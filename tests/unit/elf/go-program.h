/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-program.h - writes small Go programs for tests: an ELF file with a table of functions.
 *
 * The code is at GO_TEXT, the table in a segment of its own. It is written after the description in
 * Go's debug/gosym/pclntab.go. */

#pragma once

#include "elf/go-table.h"

#include <elf.h>
#include <string.h>

#define GO_BASE       0x400000u /* of the file's first byte */
#define GO_TEXT       0x400400u
#define GO_TEXT_SIZE  0x800u
#define GO_TABLE      0xc40u                    /* offset of the table in the file */
#define GO_RELOCATION (GO_BASE + GO_TABLE + 24) /* where the start of the text is */

typedef struct
{
  const char *name;
  guint32 start;      /* from GO_TEXT on */
  const char *depths; /* as in the file, with a 0 at the end; NULL: a function of C */
  guint8 flags;
} GoFunction;

typedef struct
{
  guint32 magic;
  const GoFunction *functions;
  guint n_functions;
  guint32 end;              /* of the last function, from GO_TEXT on */
  guint64 text;             /* in the head of the table */
  const char *section_name; /* NULL: the file has no section headers */
  guint64 relocated;        /* what the dynamic linker writes there; 0: nothing */
} GoProgram;

static inline void
go_put (GByteArray *to, guint64 value, guint size)
{
  g_byte_array_append (to, (const guint8 *) &value, size);
}

/* Returns the offset of what is appended. */
static inline guint32
go_append (GByteArray *to, const char *text)
{
  guint32 at = to->len;

  g_byte_array_append (to, (const guint8 *) text, (guint) strlen (text) + 1);
  return at;
}

static inline void
go_put_function (GByteArray *to, const GoProgram *program, const GoFunction *function, guint32 name,
                 guint32 depths)
{
  gboolean is_short = program->magic >= 0xfffffff0 && program->magic <= 0xfffffff1;

  go_put (to, is_short ? function->start : GO_TEXT + function->start, is_short ? 4 : 8);
  go_put (to, name, 4);
  go_put (to, 0, 8);
  go_put (to, depths, 4);
  go_put (to, 0, 8);                                    /* files, lines */
  go_put (to, 0, 4);                                    /* number of more tables */
  go_put (to, 0, program->magic != 0xfffffffb ? 4 : 0); /* compilation unit */
  go_put (to, 0, program->magic == 0xfffffff1 ? 4 : 0); /* first line */
  go_put (to, 0, 1);
  go_put (to, function->flags, 1);
  go_put (to, 0, 2);
}

static inline void
go_put_place (GByteArray *to, gboolean is_short, guint64 start, guint64 entry)
{
  go_put (to, is_short ? start : GO_TEXT + start, is_short ? 4 : 8);
  go_put (to, entry, is_short ? 4 : 8);
}

/* Writes places and entries. names, depths: of the first function. */
static inline void
go_put_functions (GByteArray *to, const GoProgram *program, const guint32 *names,
                  const guint32 *depths)
{
  gboolean is_short = program->magic >= 0xfffffff0 && program->magic <= 0xfffffff1;
  guint32 base = program->magic == 0xfffffffb ? 0 : to->len;
  guint entry_size = is_short ? (program->magic == 0xfffffff1 ? 44 : 40)
                              : (program->magic == 0xfffffffb ? 40 : 44);
  guint n_places = 2 * program->n_functions + 1;
  guint first = to->len - base + n_places * (is_short ? 4 : 8);

  for (guint i = 0; i < program->n_functions; i++)
    go_put_place (to, is_short, program->functions[i].start, first + i * entry_size);
  go_put (to, is_short ? program->end : GO_TEXT + program->end, is_short ? 4 : 8);
  for (guint i = 0; i < program->n_functions; i++)
    go_put_function (to, program, &program->functions[i], names[i], depths[i]);
}

static inline GByteArray *
go_table_new (const GoProgram *program)
{
  GByteArray *table = g_byte_array_new (), *parts = g_byte_array_new ();
  gboolean is_old = program->magic == 0xfffffffb;
  gboolean is_short = program->magic == 0xfffffff0 || program->magic == 0xfffffff1;
  guint head = is_old ? 16 : is_short ? 72 : 64;
  guint32 names[16], depths[16], first_depth;

  g_assert_cmpuint (program->n_functions, <=, G_N_ELEMENTS (names));
  /* Old tables have names and depths after the functions, whose size is known. */
  if (is_old)
    head += (2 * program->n_functions + 1) * 8 + program->n_functions * 40;
  for (guint i = 0; i < program->n_functions; i++)
    names[i] = go_append (parts, program->functions[i].name) + (is_old ? head : 0);
  first_depth = parts->len;
  go_put (parts, 0, 1); /* offset 0 is none */
  for (guint i = 0; i < program->n_functions; i++)
    depths[i] = program->functions[i].depths == NULL
                    ? 0
                    : go_append (parts, program->functions[i].depths) + (is_old ? head : 0)
                          - (is_old ? 0 : first_depth);
  go_put (table, program->magic, 4);
  go_put (table, 0x08010000, 4);
  go_put (table, program->n_functions, 8);
  if (is_old)
    go_put_functions (table, program, names, depths);
  else
    {
      go_put (table, 0, 8); /* number of files */
      if (is_short)
        go_put (table, program->text, 8);
      go_put (table, head, 8);
      go_put (table, 0, 8);
      go_put (table, 0, 8);
      go_put (table, head + first_depth, 8);
      go_put (table, head + parts->len, 8);
    }
  g_byte_array_append (table, parts->data, parts->len);
  if (!is_old)
    go_put_functions (table, program, names, depths);
  g_byte_array_unref (parts);
  return table;
}

static inline void
go_put_segment (GByteArray *to, guint32 flags, guint64 offset, guint64 size)
{
  const Elf64_Phdr header = { .p_type = PT_LOAD,
                              .p_flags = flags,
                              .p_offset = offset,
                              .p_vaddr = GO_BASE + offset,
                              .p_filesz = size,
                              .p_memsz = size,
                              .p_align = 1 };

  g_byte_array_append (to, (const guint8 *) &header, sizeof header);
}

static inline void
go_put_section (GByteArray *to, guint32 name, guint32 type, guint64 offset, guint64 size)
{
  const Elf64_Shdr header = { .sh_name = name,
                              .sh_type = type,
                              .sh_flags = type == SHT_RELA ? SHF_ALLOC : 0,
                              .sh_addr = GO_BASE + offset,
                              .sh_offset = offset,
                              .sh_size = size };

  g_byte_array_append (to, (const guint8 *) &header, sizeof header);
}

/* Returns the whole file. */
static inline GByteArray *
go_program_new (const GoProgram *program)
{
  GByteArray *file = g_byte_array_new (), *table = go_table_new (program);
  Elf64_Rela relocation = { .r_offset = GO_RELOCATION, .r_addend = (gint64) program->relocated };
  Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
                        .e_type = ET_EXEC,
                        .e_machine = EM_X86_64,
                        .e_version = 1,
                        .e_phoff = sizeof header,
                        .e_ehsize = sizeof header,
                        .e_phentsize = sizeof (Elf64_Phdr),
                        .e_phnum = 2,
                        .e_shentsize = sizeof (Elf64_Shdr) };
  guint64 names_at = GO_TABLE + table->len, relocation_at = names_at + 128;
  char names[128] = "\0.rela.dyn\0.shstrtab\0";

  if (program->section_name != NULL)
    {
      strcpy (names + 21, program->section_name);
      header.e_shnum = 4;
      header.e_shstrndx = 2;
      header.e_shoff = relocation_at + sizeof relocation;
    }
  g_byte_array_append (file, (const guint8 *) &header, sizeof header);
  go_put_segment (file, PF_R | PF_X, 0, GO_TEXT - GO_BASE + GO_TEXT_SIZE);
  go_put_segment (file, PF_R, GO_TEXT - GO_BASE + GO_TEXT_SIZE,
                  relocation_at - (GO_TEXT - GO_BASE + GO_TEXT_SIZE));
  g_byte_array_set_size (file, GO_TABLE);
  memset (file->data + 64 + 2 * 56, 0xcc, GO_TABLE - 64 - 2 * 56);
  g_byte_array_append (file, table->data, table->len);
  g_byte_array_append (file, (const guint8 *) names, sizeof names);
  g_byte_array_append (file, (const guint8 *) &relocation, sizeof relocation);
  if (program->section_name != NULL)
    {
      go_put_section (file, 0, SHT_NULL, 0, 0);
      go_put_section (file, 1, SHT_RELA, relocation_at,
                      program->relocated != 0 ? sizeof relocation : 0);
      go_put_section (file, 11, SHT_STRTAB, names_at, sizeof names);
      go_put_section (file, 21, SHT_PROGBITS, GO_TABLE, table->len);
    }
  g_byte_array_unref (table);
  return file;
}

/* Reads the table of such a file. `input` has to stay until the table is freed. */
static inline LuGoTable *
go_program_read (const GByteArray *file, LuElfInput *input)
{
  LuElfHeaders headers = { 0 };
  LuGoTable *table;

  *input = (LuElfInput){ .fd = -1, .bytes = file->data, .size = file->len };
  g_assert_true (lu_elf_headers_read (&headers, input, NULL));
  table = lu_go_table_read (&headers, input);
  lu_elf_headers_clear (&headers);
  return table;
}
