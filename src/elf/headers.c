/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* headers.c - reads and checks ELF headers; see headers.h.
 *
 * Headers are decoded field by field, with one code for both classes. libelf never sees headers
 * from a file, only those that image.c writes. */

#include "elf/headers.h"

#include "base/cursor.h"
#include "base/error.h"
#include "base/fd.h"

#include <elf.h>

/* Real files have a few dozen program headers at most and, linked, a few hundred sections. */
#define MAX_PROGRAM_HEADERS 1024
#define MAX_SECTION_NAMES   (4u << 20)
#define MAX_NOTES           65536
#define MAX_DYNAMIC         65536

/* Positions of the header tables, needed only while reading. */
typedef struct
{
  guint64 program_headers, section_headers;
  guint16 program_header_size, n_program_headers;
  guint16 section_header_size, n_section_headers, section_names;
} Tables;

gboolean
lu_elf_input_read (const LuElfInput *self, guint64 offset, gpointer bytes, gsize size)
{
  if (offset > self->size || size > self->size - offset)
    return FALSE;
  if (self->fd < 0)
    {
      memcpy (bytes, self->bytes + offset, size);
      return TRUE;
    }
  /* A file that was truncated meanwhile returns less. */
  return lu_fd_pread_all (self->fd, bytes, size, (gint64) offset) == (gssize) size;
}

static guint64
read_word (LuCursor *cursor, gboolean is_64bit)
{
  return is_64bit ? lu_cursor_u64 (cursor) : lu_cursor_u32 (cursor);
}

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID, why);
  return FALSE;
}

static gboolean
decode_file_header (LuElfHeaders *self, Tables *tables, LuCursor *cursor, GError **error)
{
  const guint8 *ident = lu_cursor_take (cursor, EI_NIDENT);

  if (ident == NULL || memcmp (ident, ELFMAG, SELFMAG) != 0)
    return refuse (error, "not an ELF file");
  if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
    return refuse (error, "ELF file of an unknown class");
  if (ident[EI_DATA] != ELFDATA2LSB)
    return refuse (error, "ELF file that is not little-endian");
  self->is_64bit = ident[EI_CLASS] == ELFCLASS64;
  self->type = lu_cursor_u16 (cursor);
  self->machine = lu_cursor_u16 (cursor);
  lu_cursor_u32 (cursor); /* e_version */
  self->entry = read_word (cursor, self->is_64bit);
  tables->program_headers = read_word (cursor, self->is_64bit);
  tables->section_headers = read_word (cursor, self->is_64bit);
  lu_cursor_u32 (cursor); /* e_flags */
  lu_cursor_u16 (cursor); /* e_ehsize */
  tables->program_header_size = lu_cursor_u16 (cursor);
  tables->n_program_headers = lu_cursor_u16 (cursor);
  tables->section_header_size = lu_cursor_u16 (cursor);
  tables->n_section_headers = lu_cursor_u16 (cursor);
  tables->section_names = lu_cursor_u16 (cursor);
  if (cursor->failed)
    return refuse (error, "ELF file that ends within its header");
  if (self->type != ET_EXEC && self->type != ET_DYN)
    return refuse (error, "ELF file that is neither an executable nor a shared object");
  return TRUE;
}

static void
decode_program_header (LuElfProgramHeader *self, LuCursor *cursor, gboolean is_64bit)
{
  self->type = lu_cursor_u32 (cursor);
  if (is_64bit)
    self->flags = lu_cursor_u32 (cursor);
  self->file_offset = read_word (cursor, is_64bit);
  self->vaddr = read_word (cursor, is_64bit);
  read_word (cursor, is_64bit); /* p_paddr */
  self->file_size = read_word (cursor, is_64bit);
  self->memory_size = read_word (cursor, is_64bit);
  if (!is_64bit)
    self->flags = lu_cursor_u32 (cursor);
  self->align = read_word (cursor, is_64bit);
}

static gboolean
is_sane_load (const LuElfProgramHeader *self)
{
  return self->memory_size <= G_MAXUINT64 - self->vaddr
         && self->file_size <= G_MAXUINT64 - self->file_offset
         && self->file_size <= self->memory_size;
}

static gboolean
read_program_headers (LuElfHeaders *self, const Tables *tables, const LuElfInput *input,
                      GError **error)
{
  gsize entry = self->is_64bit ? sizeof (Elf64_Phdr) : sizeof (Elf32_Phdr);
  gsize size = entry * tables->n_program_headers;
  g_autofree guint8 *bytes = NULL;
  gboolean has_load = FALSE;
  LuCursor cursor;

  if (tables->n_program_headers == 0 || tables->n_program_headers > MAX_PROGRAM_HEADERS
      || tables->program_header_size != entry)
    return refuse (error, "ELF file without usable program headers");
  bytes = g_malloc (size);
  if (!lu_elf_input_read (input, tables->program_headers, bytes, size))
    return refuse (error, "ELF file that ends before its program headers");

  self->n_program_headers = tables->n_program_headers;
  self->program_headers = g_new0 (LuElfProgramHeader, self->n_program_headers);
  lu_cursor_init (&cursor, bytes, size);
  for (guint i = 0; i < self->n_program_headers; i++)
    {
      LuElfProgramHeader *header = &self->program_headers[i];

      decode_program_header (header, &cursor, self->is_64bit);
      if (header->type != PT_LOAD)
        continue;
      if (!is_sane_load (header))
        return refuse (error, "ELF file with an impossible segment");
      has_load = TRUE;
    }
  return has_load ? TRUE : refuse (error, "ELF file that loads nothing");
}

static void
decode_section_header (LuElfSectionHeader *self, LuCursor *cursor, gboolean is_64bit)
{
  self->name = lu_cursor_u32 (cursor);
  self->type = lu_cursor_u32 (cursor);
  self->flags = read_word (cursor, is_64bit);
  self->vaddr = read_word (cursor, is_64bit);
  self->file_offset = read_word (cursor, is_64bit);
  self->size = read_word (cursor, is_64bit);
  lu_cursor_u64 (cursor); /* sh_link, sh_info */
  read_word (cursor, is_64bit);
  read_word (cursor, is_64bit);
}

static void
drop_section_headers (LuElfHeaders *self)
{
  g_clear_pointer (&self->section_headers, g_free);
  g_clear_pointer (&self->section_names, g_free);
  self->n_section_headers = 0;
  self->section_names_size = 0;
}

static void
read_section_names (LuElfHeaders *self, const Tables *tables, const LuElfInput *input)
{
  const LuElfSectionHeader *names = &self->section_headers[tables->section_names];

  if (names->type == SHT_NOBITS || names->size > MAX_SECTION_NAMES)
    return;
  self->section_names = g_malloc0 (names->size + 1);
  if (lu_elf_input_read (input, names->file_offset, self->section_names, names->size))
    self->section_names_size = names->size;
}

/* Extended numbering, for more than 65,279 sections (e_shnum 0), occurs in object files only and is
 * not supported. */
static void
read_section_headers (LuElfHeaders *self, const Tables *tables, const LuElfInput *input)
{
  gsize entry = self->is_64bit ? sizeof (Elf64_Shdr) : sizeof (Elf32_Shdr);
  gsize size = entry * tables->n_section_headers;
  g_autofree guint8 *bytes = NULL;
  LuCursor cursor;

  if (tables->section_headers == 0 || tables->n_section_headers == 0
      || tables->section_header_size != entry || tables->section_names >= tables->n_section_headers
      || size > input->size)
    return;
  bytes = g_malloc (size);
  if (!lu_elf_input_read (input, tables->section_headers, bytes, size))
    return;
  self->n_section_headers = tables->n_section_headers;
  self->section_headers = g_new0 (LuElfSectionHeader, self->n_section_headers);
  lu_cursor_init (&cursor, bytes, size);
  for (guint i = 0; i < self->n_section_headers; i++)
    decode_section_header (&self->section_headers[i], &cursor, self->is_64bit);
  read_section_names (self, tables, input);
  if (self->section_names_size == 0)
    drop_section_headers (self);
}

/* Returns whether the file says that it is a program (DF_1_PIE, which static ones have, too). */
static gboolean
says_program (const LuElfHeaders *self, const LuElfInput *input)
{
  const LuElfProgramHeader *header = lu_elf_headers_find_program_header (self, PT_DYNAMIC);
  gsize size = header != NULL ? MIN (header->file_size, MAX_DYNAMIC) : 0;
  g_autofree guint8 *bytes = g_malloc0 (size + 1);
  guint64 tag, value;
  LuCursor cursor;

  if (size == 0 || !lu_elf_input_read (input, header->file_offset, bytes, size))
    return FALSE;
  lu_cursor_init (&cursor, bytes, size);
  do
    {
      tag = read_word (&cursor, self->is_64bit);
      value = read_word (&cursor, self->is_64bit);
      if (!cursor.failed && tag == DT_FLAGS_1)
        return (value & DF_1_PIE) != 0;
    }
  while (!cursor.failed && tag != DT_NULL);
  return FALSE;
}

/* Returns whether the entry is only where the code begins: linkers have said so of shared libraries
 * without _start (ld of 2021 did, that of 2023 does not), and nothing starts there. */
static gboolean
is_made_up_entry (const LuElfHeaders *self, const LuElfInput *input)
{
  const LuElfSectionHeader *text = lu_elf_headers_find_section (self, ".text");

  return self->type == ET_DYN && text != NULL && text->vaddr == self->entry
         && lu_elf_headers_find_program_header (self, PT_INTERP) == NULL
         && !says_program (self, input);
}

gboolean
lu_elf_headers_read (LuElfHeaders *self, const LuElfInput *input, GError **error)
{
  guint8 bytes[sizeof (Elf64_Ehdr)] = { 0 };
  gsize size = MIN (sizeof bytes, input->size);
  Tables tables = { 0 };
  LuCursor cursor;

  memset (self, 0, sizeof *self);
  if (!lu_elf_input_read (input, 0, bytes, size))
    return refuse (error, "the file cannot be read");
  lu_cursor_init (&cursor, bytes, size);
  if (!decode_file_header (self, &tables, &cursor, error)
      || !read_program_headers (self, &tables, input, error))
    {
      lu_elf_headers_clear (self);
      return FALSE;
    }
  read_section_headers (self, &tables, input);
  if (is_made_up_entry (self, input))
    self->entry = 0;
  return TRUE;
}

void
lu_elf_headers_clear (LuElfHeaders *self)
{
  drop_section_headers (self);
  g_clear_pointer (&self->program_headers, g_free);
  self->n_program_headers = 0;
}

const LuElfSectionHeader *
lu_elf_headers_find_section (const LuElfHeaders *self, const char *name)
{
  for (guint i = 0; i < self->n_section_headers; i++)
    {
      const LuElfSectionHeader *section = &self->section_headers[i];

      if (section->type != SHT_NULL && section->type != SHT_NOBITS
          && section->name < self->section_names_size
          && strcmp (self->section_names + section->name, name) == 0)
        return section;
    }
  return NULL;
}

const LuElfProgramHeader *
lu_elf_headers_find_program_header (const LuElfHeaders *self, guint32 type)
{
  for (guint i = 0; i < self->n_program_headers; i++)
    if (self->program_headers[i].type == type)
      return &self->program_headers[i];
  return NULL;
}

/* Notes are 4-aligned; the 8-aligned ones (.note.gnu.property) contain no build-id. */
static gsize
find_build_id (const guint8 *notes, gsize size, guint8 *build_id)
{
  LuCursor cursor;

  lu_cursor_init (&cursor, notes, size);
  while (lu_cursor_left (&cursor) >= sizeof (Elf64_Nhdr)) /* identical in both classes */
    {
      guint32 name_size = lu_cursor_u32 (&cursor), id_size = lu_cursor_u32 (&cursor);
      guint32 type = lu_cursor_u32 (&cursor);
      const guint8 *name = lu_cursor_take (&cursor, ((gsize) name_size + 3) & ~(gsize) 3);
      const guint8 *id = lu_cursor_take (&cursor, id_size);

      if (id != NULL && type == NT_GNU_BUILD_ID && name_size == sizeof ELF_NOTE_GNU
          && memcmp (name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && id_size <= LU_MAX_BUILD_ID)
        {
          memcpy (build_id, id, id_size);
          return id_size;
        }
      lu_cursor_take (&cursor, -(gsize) id_size & 3);
    }
  return 0;
}

static gsize
read_notes (const LuElfInput *input, guint64 offset, guint64 size, guint8 *build_id)
{
  g_autofree guint8 *notes = NULL;

  if (size > MAX_NOTES)
    return 0;
  notes = g_malloc (size + 1);
  return lu_elf_input_read (input, offset, notes, size) ? find_build_id (notes, size, build_id) : 0;
}

/* Debug files keep the section, while their program headers lead nowhere. */
gsize
lu_elf_headers_read_build_id (const LuElfHeaders *self, const LuElfInput *input,
                              guint8 build_id[LU_MAX_BUILD_ID])
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (self, ".note.gnu.build-id");
  gsize found = 0;

  for (guint i = 0; found == 0 && i < self->n_program_headers; i++)
    if (self->program_headers[i].type == PT_NOTE)
      found = read_notes (input, self->program_headers[i].file_offset,
                          self->program_headers[i].file_size, build_id);
  return found > 0 || section == NULL
             ? found
             : read_notes (input, section->file_offset, section->size, build_id);
}

gboolean
lu_elf_headers_read_at (const LuElfHeaders *self, const LuElfInput *input, guint64 address,
                        gpointer bytes, gsize size)
{
  for (guint i = 0; i < self->n_program_headers; i++)
    {
      const LuElfProgramHeader *segment = &self->program_headers[i];
      guint64 at = address - segment->vaddr;

      if (segment->type == PT_LOAD && address >= segment->vaddr && at < segment->file_size
          && size <= segment->file_size - at)
        return lu_elf_input_read (input, segment->file_offset + at, bytes, size);
    }
  return FALSE;
}
