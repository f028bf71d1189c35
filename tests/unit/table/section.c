/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* section.c - builds call frame information; see section.h. Layout: DWARF 5, 6.4.1 and LSB Core,
 * 10.6. */

#include "section.h"

#include <elf.h>
#include <string.h>

#define SECTION_AT 0x400 /* in the file */

Section *
section_new (gboolean is_eh_frame)
{
  Section *self = g_new0 (Section, 1);

  self->bytes = g_byte_array_new ();
  self->is_eh_frame = is_eh_frame;
  return self;
}

void
section_free (Section *self)
{
  g_byte_array_unref (self->bytes);
  g_free (self);
}

void
section_add_u32 (Section *self, guint32 value)
{
  g_byte_array_append (self->bytes, (const guint8 *) &value, sizeof value);
}

void
section_add_u64 (Section *self, guint64 value)
{
  g_byte_array_append (self->bytes, (const guint8 *) &value, sizeof value);
}

static void
add_u8 (Section *self, guint8 value)
{
  g_byte_array_append (self->bytes, &value, 1);
}

static void
add_bytes (Section *self, Bytes bytes)
{
  if (bytes.size > 0)
    g_byte_array_append (self->bytes, bytes.bytes, (guint) bytes.size);
}

/* Fills the length that stands `at`, once the entry is complete. */
static void
end_entry (Section *self, guint at, gboolean is_wide)
{
  guint64 length;

  while (self->bytes->len % 4 != 0)
    add_u8 (self, 0); /* DW_CFA_nop */
  length = self->bytes->len - at - (is_wide ? 12 : 4);
  memcpy (self->bytes->data + at + (is_wide ? 4 : 0), &length, is_wide ? 8 : 4);
}

guint
section_add_cie (Section *self, const CieSpec *spec)
{
  const char *augmentation = spec->augmentation != NULL ? spec->augmentation
                             : self->is_eh_frame        ? "zR"
                                                        : "";
  guint at = self->bytes->len;

  section_add_u32 (self, spec->is_wide ? 0xffffffff : 0);
  if (spec->is_wide)
    {
      section_add_u64 (self, 0);
      section_add_u64 (self, self->is_eh_frame ? 0 : G_MAXUINT64);
    }
  else
    section_add_u32 (self, self->is_eh_frame ? 0 : G_MAXUINT32);
  add_u8 (self, spec->version != 0 ? spec->version : 1);
  g_byte_array_append (self->bytes, (const guint8 *) augmentation,
                       (guint) strlen (augmentation) + 1);
  if (spec->version == 4)
    add_bytes (self, BYTES (8, 0)); /* sizes of an address and of a segment selector */
  add_u8 (self, spec->code_align != 0 ? spec->code_align : 1);
  add_u8 (self, 0x78); /* data alignment -8 */
  add_u8 (self, spec->return_column != 0 ? spec->return_column : 16);
  if (spec->augmentation_data.bytes != NULL)
    add_bytes (self, spec->augmentation_data);
  else if (augmentation[0] == 'z')
    add_bytes (self, BYTES (1, 0x1b));
  add_bytes (self, spec->program.bytes != NULL ? spec->program : BYTES (0x0c, 7, 8, 0x90, 1));
  end_entry (self, at, spec->is_wide);
  return at;
}

static guint
begin_fde (Section *self, guint cie)
{
  guint at = self->bytes->len;

  section_add_u32 (self, 0);
  section_add_u32 (self, self->is_eh_frame ? at + 4 - cie : cie);
  return at;
}

guint
section_add_fde (Section *self, guint cie, guint64 start, guint64 size, Bytes program)
{
  guint at = begin_fde (self, cie);

  if (self->is_eh_frame)
    {
      section_add_u32 (self, (guint32) (start - (SECTION_VADDR + self->bytes->len)));
      section_add_u32 (self, (guint32) size);
      add_u8 (self, 0); /* no augmentation data */
    }
  else
    {
      section_add_u64 (self, start);
      section_add_u64 (self, size);
    }
  add_bytes (self, program);
  end_entry (self, at, FALSE);
  return at;
}

guint
section_add_raw_fde (Section *self, guint cie, Bytes head, Bytes program)
{
  guint at = begin_fde (self, cie);

  add_bytes (self, head);
  add_bytes (self, program);
  end_entry (self, at, FALSE);
  return at;
}

LuCfiBytes
section_bytes (const Section *self)
{
  return (LuCfiBytes){
    .bytes = self->bytes->data,
    .size = self->bytes->len,
    .vaddr = self->is_eh_frame ? SECTION_VADDR : 0,
    .is_eh_frame = self->is_eh_frame,
  };
}

GByteArray *
section_make_file (const Section *self, guint16 machine, guint64 entry, guint64 code,
                   guint64 code_size)
{
  static const char names[] = "\0.eh_frame\0.shstrtab";
  gsize names_at = SECTION_AT + self->bytes->len;
  gsize headers_at = (names_at + sizeof names + 7) & ~(gsize) 7;
  Elf64_Phdr segment = { .p_type = PT_LOAD,
                         .p_flags = PF_R | PF_X,
                         .p_vaddr = code,
                         .p_filesz = code_size,
                         .p_memsz = code_size };
  Elf64_Shdr sections[] = {
    { 0 },
    { .sh_name = 1,
      .sh_type = SHT_PROGBITS,
      .sh_addr = SECTION_VADDR,
      .sh_offset = SECTION_AT,
      .sh_size = self->bytes->len },
    { .sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof names },
  };
  Elf64_Ehdr header = { .e_ident = ELFMAG,
                        .e_type = ET_DYN,
                        .e_machine = machine,
                        .e_entry = entry,
                        .e_phoff = sizeof header,
                        .e_shoff = headers_at,
                        .e_phentsize = sizeof segment,
                        .e_phnum = 1,
                        .e_shentsize = sizeof *sections,
                        .e_shnum = G_N_ELEMENTS (sections),
                        .e_shstrndx = 2 };
  GByteArray *file = g_byte_array_new ();

  g_byte_array_set_size (file, (guint) (headers_at + sizeof sections));
  memset (file->data, 0, file->len);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  memcpy (file->data, &header, sizeof header);
  memcpy (file->data + sizeof header, &segment, sizeof segment);
  memcpy (file->data + SECTION_AT, self->bytes->data, self->bytes->len);
  memcpy (file->data + names_at, names, sizeof names);
  memcpy (file->data + headers_at, sections, sizeof sections);
  return file;
}
