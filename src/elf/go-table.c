/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-table.c - reads .gopclntab; see go-table.h. */

#include "elf/go-table.h"

#include <elf.h>

/* Larger tables are not read. kubelet, of 110 MB, has 24 MB. */
#define MAX_TABLE (128u << 20)
/* The table is read in windows, because a helper has little memory: pages, and so many bytes more.
 * No name that matters is longer. */
#define PAGE      4096u
#define OVERLAP   1024u
#define N_WINDOWS 256
/* Two numbers have at most this many bytes. */
#define PAIR 10
/* Without section headers, so much of a segment is searched, in pieces; a table begins at a
 * multiple of its alignment. */
#define MAX_SEARCHED (64u << 20)
#define PIECE        (64u << 10)
#define TABLE_ALIGN  32
/* A relocation gives the start of the text in a position-independent program. */
#define RELOCATIONS_PER_PIECE 2048
#define MAX_RELOCATIONS       (4u << 20)

/* Differences between the forms. Offsets of fields of an entry count from its start. */
typedef struct
{
  guint32 magic;
  guint8 head;       /* words of 8 bytes after the first 8 bytes */
  gboolean is_short; /* addresses of functions are 4 bytes, counted from the start of the text */
  gboolean is_whole; /* offsets count from the start of the table; there are no parts */
} Form;

static const Form forms[] = {
  { 0xfffffffb, 1, FALSE, TRUE },  /* Go 1.2 */
  { 0xfffffffa, 7, FALSE, FALSE }, /* Go 1.16 */
  { 0xfffffff0, 8, TRUE, FALSE },  /* Go 1.18 */
  { 0xfffffff1, 8, TRUE, FALSE },  /* Go 1.20 */
};

typedef struct
{
  guint64 at; /* offset in the table; G_MAXUINT64: nothing was read */
  gsize size;
  guint8 bytes[PAGE + OVERLAP];
} Window;

struct _LuGoTable
{
  const LuElfInput *input; /* borrowed */
  Window *windows;         /* owned: N_WINDOWS */
  guint64 file_offset, size;
  const Form *form;
  guint quantum; /* bytes of the smallest instruction */
  guint n_functions;
  guint64 text;                     /* ELF address that short addresses count from */
  guint64 names, depths, functions; /* offsets of parts */
  guint64 code_offset;              /* in the file, of code_start */
  guint64 code_start, code_end;     /* the segment that functions are in */
  gboolean has_flags;
};

/* Returns a cursor over the bytes from there to the end of their window. */
static LuCursor
cursor_at (const LuGoTable *self, guint64 offset)
{
  guint64 at = offset - offset % PAGE;
  Window *window = &self->windows[at / PAGE % N_WINDOWS];
  LuCursor cursor;

  if (window->at != at && offset < self->size)
    {
      window->size = (gsize) MIN (PAGE + OVERLAP, self->size - at);
      window->at = at;
      if (!lu_elf_input_read (self->input, self->file_offset + at, window->bytes, window->size))
        window->size = 0;
    }
  lu_cursor_init (&cursor, window->bytes, window->at == at ? window->size : 0);
  lu_cursor_take (&cursor, (gsize) (offset - at));
  return cursor;
}

/* Finding the table */

static const Form *
form_of (guint32 magic)
{
  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    if (forms[i].magic == magic)
      return &forms[i];
  return NULL;
}

/* Returns the form if a table begins here: a magic number, two zeros, the sizes of the smallest
 * instruction and of an address. */
static const Form *
form_at (const guint8 *bytes)
{
  guint32 magic;

  memcpy (&magic, bytes, sizeof magic);
  if (bytes[4] != 0 || bytes[5] != 0 || bytes[7] != 8
      || (bytes[6] != 1 && bytes[6] != 2 && bytes[6] != 4))
    return NULL;
  return form_of (magic);
}

static gboolean
search_segment (const LuElfProgramHeader *segment, const LuElfInput *input,
                LuElfSectionHeader *found)
{
  g_autofree guint8 *bytes = g_malloc (PIECE);
  guint64 size = MIN (segment->file_size, MAX_SEARCHED);

  for (guint64 at = 0; at + TABLE_ALIGN <= size; at += PIECE)
    {
      gsize n = (gsize) MIN (size - at, PIECE);

      if (!lu_elf_input_read (input, segment->file_offset + at, bytes, n))
        return FALSE;
      for (gsize i = (gsize) (-(segment->vaddr + at) % TABLE_ALIGN); i + 8 <= n; i += TABLE_ALIGN)
        if (form_at (bytes + i) != NULL)
          {
            *found = (LuElfSectionHeader){ .vaddr = segment->vaddr + at + i,
                                           .file_offset = segment->file_offset + at + i,
                                           .size = segment->file_size - at - i };
            return TRUE;
          }
    }
  return FALSE;
}

static const char *const section_names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

gboolean
lu_go_table_has_section (const LuElfHeaders *headers)
{
  for (guint i = 0; i < G_N_ELEMENTS (section_names); i++)
    if (lu_elf_headers_find_section (headers, section_names[i]) != NULL)
      return TRUE;
  return FALSE;
}

static gboolean
find_section (const LuElfHeaders *headers, const LuElfInput *input, LuElfSectionHeader *found)
{
  for (guint i = 0; i < G_N_ELEMENTS (section_names); i++)
    {
      const LuElfSectionHeader *section = lu_elf_headers_find_section (headers, section_names[i]);

      if (section == NULL || (section->flags & SHF_COMPRESSED) != 0)
        continue;
      *found = *section;
      return TRUE;
    }
  /* GNU ld puts it into .data.rel.ro. */
  if (headers->section_headers != NULL
      && lu_elf_headers_find_section (headers, ".go.buildinfo") == NULL)
    return FALSE;
  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *segment = &headers->program_headers[i];

      if (segment->type == PT_LOAD && (segment->flags & PF_X) == 0
          && search_segment (segment, input, found))
        return TRUE;
    }
  return FALSE;
}

/* Reading its head */

/* Finds the executable segment with the address. */
static gboolean
find_code (LuGoTable *self, const LuElfHeaders *headers, guint64 address)
{
  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *segment = &headers->program_headers[i];

      if (segment->type != PT_LOAD || (segment->flags & PF_X) == 0 || address < segment->vaddr
          || address - segment->vaddr >= segment->memory_size
          || segment->memory_size > G_MAXUINT64 - segment->vaddr)
        continue;
      self->code_start = segment->vaddr;
      self->code_offset = segment->file_offset;
      self->code_end = segment->vaddr + segment->memory_size;
      return TRUE;
    }
  return FALSE;
}

/* Sets `value` to what the dynamic linker writes at an address; FALSE if it is not in this table.
 */
static gboolean
find_in_relocations (const LuElfSectionHeader *section, const LuElfInput *input, guint64 address,
                     guint64 *value)
{
  g_autofree Elf64_Rela *piece = g_new (Elf64_Rela, RELOCATIONS_PER_PIECE);
  guint64 n = MIN (section->size / sizeof *piece, MAX_RELOCATIONS);

  for (guint64 at = 0; at < n; at += RELOCATIONS_PER_PIECE)
    {
      gsize n_read = (gsize) MIN (n - at, RELOCATIONS_PER_PIECE);

      if (!lu_elf_input_read (input, section->file_offset + at * sizeof *piece, piece,
                              n_read * sizeof *piece))
        return FALSE;
      for (gsize i = 0; i < n_read; i++)
        if (piece[i].r_offset == address)
          {
            *value = (guint64) piece[i].r_addend;
            return TRUE;
          }
    }
  return FALSE;
}

/* Finds the start of the text among the relocations: .rela.dyn, or Go's .rela. */
static guint64
find_relocation (const LuElfHeaders *headers, const LuElfInput *input, guint64 address)
{
  guint64 value = 0;

  for (guint i = 0; i < headers->n_section_headers; i++)
    {
      const LuElfSectionHeader *section = &headers->section_headers[i];

      if (section->type == SHT_RELA && (section->flags & SHF_ALLOC) != 0
          && find_in_relocations (section, input, address, &value))
        break;
    }
  return value;
}

/* Reads what follows the first 8 bytes. */
static gboolean
read_head (LuGoTable *self)
{
  LuCursor cursor = cursor_at (self, 8);
  guint64 words[8] = { 0 };
  guint64 *parts = &words[self->form->is_short ? 3 : 2];

  for (guint i = 0; i < self->form->head; i++)
    words[i] = lu_cursor_u64 (&cursor);
  if (cursor.failed || words[0] > self->size / 8)
    return FALSE;
  self->n_functions = (guint) words[0];
  if (self->form->is_whole)
    {
      self->functions = 8 + 8;
      return TRUE;
    }
  self->text = self->form->is_short ? words[2] : 0;
  /* In between: file names of compilation units, file names. */
  self->names = parts[0];
  self->depths = parts[3];
  self->functions = parts[4];
  return self->names <= self->size && self->depths <= self->size && self->functions <= self->size;
}

/* Finds the start of the text. Since Go 1.26 the table does not have it, and in a
 * position-independent program the dynamic linker puts it there. */
static gboolean
find_text (LuGoTable *self, const LuElfHeaders *headers, const LuElfInput *input,
           const LuElfSectionHeader *section)
{
  const LuElfSectionHeader *text = lu_elf_headers_find_section (headers, ".text");

  if (!self->form->is_short)
    return TRUE;
  if (self->text == 0)
    self->text = find_relocation (headers, input, section->vaddr + 8 + 2 * 8);
  if (self->text == 0 && text != NULL)
    self->text = text->vaddr;
  return find_code (self, headers, self->text);
}

/* Returns the address and the offset of the entry of a function, or of the end of all. */
static gboolean
read_place (const LuGoTable *self, guint number, guint64 *start, guint64 *entry)
{
  guint64 size = self->form->is_short ? 4 : 8;
  LuCursor cursor = cursor_at (self, self->functions + 2 * size * number);

  *start = self->form->is_short ? self->text + lu_cursor_u32 (&cursor) : lu_cursor_u64 (&cursor);
  /* The end of all has no entry. */
  *entry = 0;
  if (number < self->n_functions)
    *entry = self->form->is_short ? lu_cursor_u32 (&cursor) : lu_cursor_u64 (&cursor);
  return !cursor.failed;
}

/* Reads how the table begins. */
static gboolean
read_start (LuGoTable *self, const LuElfSectionHeader *section)
{
  const guint8 *start;
  LuCursor cursor;

  if (section->file_offset >= self->input->size)
    return FALSE;
  self->file_offset = section->file_offset;
  self->size = MIN (section->size, self->input->size - section->file_offset);
  if (self->size > MAX_TABLE)
    return FALSE;
  cursor = cursor_at (self, 0);
  start = lu_cursor_take (&cursor, 8);
  if (start == NULL)
    return FALSE;
  self->form = form_at (start);
  self->quantum = start[6];
  return self->form != NULL;
}

/* Go 1.16 and 1.17 have one form, but only the later one has flags. Each program of it has
 * functions with flags. */
static gboolean
find_flags (const LuGoTable *self)
{
  LuGoTableFunction function;

  for (guint i = 0; !self->form->is_whole && i < self->n_functions; i++)
    if (lu_go_table_function (self, i, &function) && function.flags != 0)
      return TRUE;
  return FALSE;
}

LuGoTable *
lu_go_table_read (const LuElfHeaders *headers, const LuElfInput *input)
{
  g_autoptr (LuGoTable) self = NULL;
  LuElfSectionHeader section;
  guint64 start, entry;

  if (!headers->is_64bit || !find_section (headers, input, &section))
    return NULL;
  self = g_new0 (LuGoTable, 1);
  self->input = input;
  self->windows = g_new (Window, N_WINDOWS);
  for (guint i = 0; i < N_WINDOWS; i++)
    self->windows[i].at = G_MAXUINT64;
  if (!read_start (self, &section) || !read_head (self) || self->n_functions == 0
      || !find_text (self, headers, input, &section) || !read_place (self, 0, &start, &entry)
      || !find_code (self, headers, start))
    return NULL;
  self->has_flags = find_flags (self);
  return g_steal_pointer (&self);
}

void
lu_go_table_free (LuGoTable *self)
{
  if (self == NULL)
    return;
  g_free (self->windows);
  g_free (self);
}

/* Functions */

guint
lu_go_table_n_functions (const LuGoTable *self)
{
  return self->n_functions;
}

gboolean
lu_go_table_has_flags (const LuGoTable *self)
{
  return self->has_flags;
}

/* struct _func of runtime/runtime2.go: address, name, arguments, deferreturn, depths, files, lines,
 * number of more tables, compilation unit; since 1.20 the first line; id, flags. */
gboolean
lu_go_table_function (const LuGoTable *self, guint number, LuGoTableFunction *function)
{
  guint64 entry, next;
  LuCursor cursor;

  if (number >= self->n_functions || !read_place (self, number, &function->start, &entry)
      || !read_place (self, number + 1, &function->end, &next))
    return FALSE;
  cursor = cursor_at (self, self->form->is_whole ? entry : self->functions + entry);
  lu_cursor_take (&cursor, self->form->is_short ? 4 : 8);
  function->name = self->names + lu_cursor_u32 (&cursor);
  lu_cursor_take (&cursor, 8);
  function->depths = lu_cursor_u32 (&cursor);
  function->flags = 0;
  if (!self->form->is_whole)
    {
      lu_cursor_take (&cursor, 16 + (self->form->magic == 0xfffffff1 ? 4 : 0) + 1);
      function->flags = lu_cursor_u8 (&cursor);
    }
  return !cursor.failed && function->start < function->end && function->start >= self->code_start
         && function->end <= self->code_end;
}

const char *
lu_go_table_name (const LuGoTable *self, const LuGoTableFunction *function)
{
  LuCursor cursor = cursor_at (self, function->name);

  return lu_cursor_string (&cursor);
}

void
lu_go_table_extent (const LuGoTable *self, guint64 *file_offset, guint64 *size)
{
  *file_offset = self->file_offset;
  *size = self->size;
}

gsize
lu_go_table_code (const LuGoTable *self, const LuGoTableFunction *function, guint8 *code,
                  gsize size)
{
  gsize n = (gsize) MIN (function->end - function->start, size);
  guint64 offset = self->code_offset + (function->start - self->code_start);

  return lu_elf_input_read (self->input, offset, code, n) ? n : 0;
}

/* Depths */

void
lu_go_table_depths (const LuGoTable *self, const LuGoTableFunction *function, LuGoDepths *depths)
{
  *depths = (LuGoDepths){ .table = self,
                          .next = self->depths + function->depths,
                          .pc = function->start,
                          .end = function->end,
                          .depth = -1 };
  depths->cursor = cursor_at (self, depths->next);
  /* A function without a table has offset 0. */
  if (function->depths == 0)
    depths->cursor.failed = TRUE;
}

/* Go's numbers have at most five bytes. */
static guint32
read_number (LuCursor *cursor)
{
  guint32 value = 0;

  for (guint shift = 0; shift < 35; shift += 7)
    {
      guint8 byte = lu_cursor_u8 (cursor);

      value |= (guint32) (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0)
        return value;
    }
  cursor->failed = TRUE;
  return 0;
}

gboolean
lu_go_depths_next (LuGoDepths *self, guint64 *start, guint64 *end, gint64 *depth)
{
  gsize left = lu_cursor_left (&self->cursor);
  guint32 change;
  guint64 size;

  if (left < PAIR && !self->cursor.failed)
    {
      self->cursor = cursor_at (self->table, self->next);
      left = lu_cursor_left (&self->cursor);
    }
  change = read_number (&self->cursor);
  size = (guint64) read_number (&self->cursor) * self->table->quantum;
  self->next += left - lu_cursor_left (&self->cursor);
  /* Only the first change may be 0; another 0 ends the table. */
  if (self->cursor.failed || (change == 0 && self->has_begun) || size == 0 || self->pc >= self->end)
    return FALSE;
  self->has_begun = TRUE;
  self->depth += (change & 1) != 0 ? ~(gint64) (change >> 1) : (gint64) (change >> 1);
  *start = self->pc;
  *end = self->pc += MIN (size, self->end - self->pc);
  *depth = self->depth;
  return TRUE;
}
