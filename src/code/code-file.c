/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-file.c - see code-file.h. */

#include "code/code-file.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_TABLE_BYTES (64u << 20)
/* The longest entry of a procedure linkage table, up to the end of its jump */
#define MAX_LINKAGE 17
/* Files with more sections, or more ranges of code by them, are not made by a linker. */
#define MAX_SECTIONS 1024
#define MAX_RANGES   1024
/* Data is read in pieces of this size, when something asks for it. */
#define DATA_PIECE 4096

typedef struct
{
  LuCodeFile *file;
  const LuElfInput *input;
  gsize bytes_left; /* of code that may still be read */
  gsize data_left;  /* of data that may still be loaded */
} Reading;

/* Functions of the C and C++ libraries that never return. */
static const char *const noreturn_names[] = {
  "abort",
  "exit",
  "_exit",
  "_Exit",
  "quick_exit",
  "longjmp",
  "_longjmp",
  "__longjmp_chk",
  "siglongjmp",
  "pthread_exit",
  "thrd_exit",
  "__assert_fail",
  "__assert_perror_fail",
  "__assert",
  "__stack_chk_fail",
  "__fortify_fail",
  "__chk_fail",
  "__libc_fatal",
  "__libc_start_main",
  "err",
  "errx",
  "verr",
  "verrx",
  "g_assertion_message",
  "g_assertion_message_expr",
  "g_assertion_message_cmpnum",
  "g_assertion_message_cmpstr",
  "__cxa_throw",
  "__cxa_rethrow",
  "__cxa_bad_cast",
  "__cxa_bad_typeid",
  "__cxa_throw_bad_array_new_length",
  "__cxa_pure_virtual",
  "__cxa_call_unexpected",
  "__cxa_call_terminate",
  "_Unwind_Resume",
  "_ZSt9terminatev",
  "_ZSt10unexpectedv",
};

static gboolean
is_noreturn_name (const char *name)
{
  /* std::__throw_...() */
  if (strncmp (name, "_ZSt", 4) == 0 && strstr (name, "__throw_") != NULL)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (noreturn_names); i++)
    if (strcmp (name, noreturn_names[i]) == 0)
      return TRUE;
  return FALSE;
}

/* Reads a section of records. NULL: there is none of that type. */
static gpointer
read_table (const Reading *self, const LuElfSectionHeader *section, gsize record, gsize *n)
{
  g_autofree guint8 *bytes = NULL;

  if (section == NULL || section->size > MAX_TABLE_BYTES)
    return NULL;
  *n = section->size / record;
  bytes = g_malloc0 (section->size + 1); /* names end */
  if (!lu_elf_input_read (self->input, section->file_offset, bytes, section->size))
    return NULL;
  return g_steal_pointer (&bytes);
}

/* Segments */

static gint
compare_ranges (gconstpointer a, gconstpointer b)
{
  guint64 one = ((const LuCodeBytes *) a)->start, other = ((const LuCodeBytes *) b)->start;

  return one < other ? -1 : one > other;
}

/* Reads a part of a segment of code. */
static gboolean
read_part (Reading *self, const LuElfProgramHeader *header, guint64 start, guint64 size)
{
  LuCodeFile *file = self->file;
  LuCodeBytes range = { .start = start, .size = size };
  guint8 *bytes;

  if (size > self->bytes_left)
    return FALSE;
  self->bytes_left -= size;
  range.bytes = bytes = g_malloc (size);
  g_array_append_val (file->segments, range);
  g_array_append_val (file->ranges, range);
  return lu_elf_input_read (self->input, header->file_offset + (start - header->vaddr), bytes,
                            size);
}

/* Notes where data are. */
static gboolean
note_data (Reading *self, guint64 start, guint64 end)
{
  const LuCodeBytes range = { .start = start, .size = end - start };

  if (range.size > self->data_left)
    return FALSE;
  self->data_left -= range.size;
  if (range.size > 0)
    g_array_append_val (self->file->segments, range);
  return TRUE;
}

/* Reads the pieces of some code that are asked for. */
static gboolean
read_pieces (Reading *self, const LuElfProgramHeader *header, const LuCodeRange *code,
             const GArray *pieces)
{
  for (guint i = 0; i < pieces->len; i++)
    {
      const LuCodeRange *piece = &g_array_index (pieces, LuCodeRange, i);
      guint64 start = MAX (piece->start, code->start), end = MIN (piece->end, code->end);

      if (start < end && !read_part (self, header, start, end - start))
        return FALSE;
    }
  return TRUE;
}

static gint
compare_sections (gconstpointer a, gconstpointer b)
{
  guint64 one = (*(const LuElfSectionHeader *const *) a)->vaddr;
  guint64 other = (*(const LuElfSectionHeader *const *) b)->vaddr;

  return one < other ? -1 : one > other;
}

/* Returns the sections that are loaded from the file, by their addresses; none if they are too
 * many. Owned; the sections are borrowed. */
static GPtrArray *
find_sections (const LuElfHeaders *headers)
{
  GPtrArray *sections = g_ptr_array_new ();

  for (guint i = 0; i < headers->n_section_headers; i++)
    {
      LuElfSectionHeader *section = &headers->section_headers[i];

      if ((section->flags & SHF_ALLOC) != 0 && section->type != SHT_NOBITS && section->size > 0)
        g_ptr_array_add (sections, section);
    }
  if (sections->len > MAX_SECTIONS)
    g_ptr_array_set_size (sections, 0);
  g_ptr_array_sort (sections, compare_sections);
  return sections;
}

/* Adds the code of a segment: from a section of code up to the next one of data. */
static void
add_code (const LuElfProgramHeader *header, const GPtrArray *sections, GArray *found)
{
  const LuCodeRange all = { .start = header->vaddr, .end = header->vaddr + header->file_size };
  LuCodeRange range = all;
  guint n_before = found->len;
  gboolean is_code = FALSE;

  for (guint i = 0; i < sections->len; i++)
    {
      const LuElfSectionHeader *section = g_ptr_array_index (sections, i);
      gboolean was_code = is_code;

      if (section->vaddr < all.start || section->vaddr >= all.end)
        continue;
      is_code = (section->flags & SHF_EXECINSTR) != 0;
      if (is_code && !was_code)
        range.start = section->vaddr;
      range.end = section->vaddr;
      if (was_code && !is_code && range.end > range.start)
        g_array_append_val (found, range);
    }
  range.end = all.end;
  if (is_code || found->len == n_before)
    g_array_append_vals (found, is_code ? &range : &all, 1);
}

static void
find_ranges (const LuElfHeaders *headers, const GPtrArray *sections, GArray *found)
{
  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &headers->program_headers[i];

      if (header->type == PT_LOAD && header->file_size > 0 && (header->flags & PF_X) != 0
          && header->vaddr <= G_MAXUINT64 - header->file_size)
        add_code (header, sections, found);
    }
}

GArray *
lu_code_find_ranges (const LuElfHeaders *headers)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (LuCodeRange));
  g_autoptr (GPtrArray) sections = find_sections (headers);

  find_ranges (headers, sections, found);
  if (found->len > MAX_RANGES) /* segments that overlap have the same sections */
    {
      g_ptr_array_set_size (sections, 0);
      g_array_set_size (found, 0);
      find_ranges (headers, sections, found);
    }
  return found;
}

/* Reads the code of a segment, and notes where the data between it are. */
static gboolean
read_code (Reading *self, const LuElfProgramHeader *header, const GArray *code,
           const GArray *pieces)
{
  guint64 at = header->vaddr, end = at + header->file_size;

  for (guint i = 0; i < code->len; i++)
    {
      const LuCodeRange *range = &g_array_index (code, LuCodeRange, i);

      if (range->start < at || range->end > end)
        continue; /* of another segment */
      if (!note_data (self, at, range->start)
          || (pieces != NULL ? !read_pieces (self, header, range, pieces)
                             : !read_part (self, header, range->start, range->end - range->start)))
        return FALSE;
      at = range->end;
    }
  return note_data (self, at, end);
}

static gboolean
read_segments (Reading *self, const GArray *pieces)
{
  LuCodeFile *file = self->file;
  g_autoptr (GArray) code = lu_code_find_ranges (&file->headers);

  for (guint i = 0; i < file->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &file->headers.program_headers[i];
      gboolean is_done;

      if (header->type != PT_LOAD || header->file_size == 0)
        continue;
      if (header->vaddr > G_MAXUINT64 - header->file_size)
        return FALSE;
      if ((header->flags & PF_X) != 0)
        is_done = read_code (self, header, code, pieces);
      else
        is_done = note_data (self, header->vaddr, header->vaddr + header->file_size);
      if (!is_done)
        return FALSE;
    }
  g_array_sort (file->segments, compare_ranges);
  g_array_sort (file->ranges, compare_ranges);
  return file->ranges->len > 0;
}

/* Returns the one of the sorted ranges that an address can be in: the last that does not begin
 * above it. NULL: none. */
static const LuCodeBytes *
range_below (const GArray *ranges, guint64 address)
{
  guint n = lu_code_file_first (ranges, address + 1); /* no code is at the last address */

  return n > 0 ? &g_array_index (ranges, LuCodeBytes, n - 1) : NULL;
}

/* Returns the part of the file that holds all bytes at an address, or NULL. */
static const LuCodeBytes *
segment_of (const LuCodeFile *self, guint64 address, gsize size)
{
  const LuCodeBytes *range = range_below (self->segments, address);

  return range != NULL && address - range->start < range->size
                 && range->size - (address - range->start) >= size
             ? range
             : NULL;
}

/* Returns where data is in the file. */
static guint64
file_offset_of (const LuCodeFile *self, const LuCodeBytes *segment)
{
  const LuElfProgramHeader *header = self->headers.program_headers;

  while (header->type != PT_LOAD || segment->start - header->vaddr >= header->file_size
         || segment->size > header->file_size - (segment->start - header->vaddr))
    header++;
  return header->file_offset + (segment->start - header->vaddr);
}

/* Reads data, at most DATA_PIECE bytes; what is behind them, too. */
static gboolean
read_data (LuCodeFile *self, const LuCodeBytes *segment, guint64 address, guint8 *bytes, gsize size)
{
  gsize n = MIN (DATA_PIECE, segment->size - (address - segment->start));

  if (address < self->piece_start || address - self->piece_start > self->piece_size
      || self->piece_size - (address - self->piece_start) < size)
    {
      self->piece_size = 0;
      if (!lu_elf_input_read (&self->input,
                              file_offset_of (self, segment) + (address - segment->start),
                              self->piece, n))
        return FALSE;
      self->piece_start = address;
      self->piece_size = n;
    }
  memcpy (bytes, self->piece + (address - self->piece_start), size);
  return TRUE;
}

/* Reads the procedure linkage tables, unless their segments were read. */
static void
read_linkage (Reading *self)
{
  static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
  LuCodeFile *file = self->file;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const LuElfSectionHeader *found = lu_elf_headers_find_section (&file->headers, names[i]);
      LuCodeBytes range;
      guint8 *bytes;

      if (found == NULL || found->size == 0 || found->size > self->bytes_left
          || found->vaddr > G_MAXUINT64 - found->size || segment_of (file, found->vaddr, 1) != NULL)
        continue;
      self->bytes_left -= found->size;
      range.start = found->vaddr;
      range.size = found->size;
      range.bytes = bytes = g_malloc (range.size);
      if (lu_elf_input_read (self->input, found->file_offset, bytes, range.size))
        g_array_append_val (file->segments, range);
      else
        g_free (bytes);
      g_array_sort (file->segments, compare_ranges);
    }
}

/* Symbols */

/* A part of a function that the compiler has moved away begins in the middle of a frame. */
static gboolean
is_part (const char *name)
{
  const char *dot = strrchr (name, '.');

  return strstr (name, ".cold") != NULL || strstr (name, ".warm") != NULL
         || (dot != NULL && strcmp (dot, ".unlikely") == 0);
}

static void
read_symbols (const Reading *self, const char *section, const char *names_section)
{
  const LuElfSectionHeader *found = lu_elf_headers_find_section (&self->file->headers, section);
  const LuElfSectionHeader *strings =
      lu_elf_headers_find_section (&self->file->headers, names_section);
  gsize n = 0, size = 0;
  g_autofree Elf64_Sym *symbols = read_table (self, found, sizeof *symbols, &n);
  g_autofree char *names = read_table (self, strings, 1, &size);

  if (symbols == NULL || names == NULL)
    return;
  for (gsize i = 0; i < n; i++)
    {
      guint type = ELF64_ST_TYPE (symbols[i].st_info);
      guint64 start = symbols[i].st_value;

      if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbols[i].st_shndx != SHN_UNDEF
          && symbols[i].st_name < size && !is_part (names + symbols[i].st_name))
        g_array_append_val (self->file->functions, start);
    }
}

/* Pointers */

typedef struct
{
  Elf64_Sym *symbols; /* owned */
  char *names;        /* owned */
  gsize n, names_size;
} Dynamic;

/* Returns whether a symbol of another file is a function that never returns. */
static gboolean
is_noreturn_symbol (const Dynamic *self, guint64 symbol)
{
  return symbol < self->n && self->symbols[symbol].st_name < self->names_size
         && is_noreturn_name (self->names + self->symbols[symbol].st_name);
}

/* Returns a symbol that is a function of this file, or NULL. */
static const Elf64_Sym *
own_function (const Dynamic *self, guint64 symbol)
{
  return symbol < self->n && self->symbols[symbol].st_shndx != SHN_UNDEF
                 && ELF64_ST_TYPE (self->symbols[symbol].st_info) == STT_FUNC
             ? &self->symbols[symbol]
             : NULL;
}

/* Notes a pointer that is filled in by the name of a function. */
static void
add_named (LuCodeFile *file, const Dynamic *dynamic, guint64 symbol, LuCodePointer pointer)
{
  const Elf64_Sym *own = own_function (dynamic, symbol);

  if (is_noreturn_symbol (dynamic, symbol))
    g_array_append_val (file->noreturn, pointer.address);
  else if (own != NULL)
    {
      pointer.value += own->st_value;
      g_array_append_val (file->own, pointer);
    }
}

static void
read_pointers (const Reading *self, const char *section, const Dynamic *dynamic)
{
  LuCodeFile *file = self->file;
  const LuElfSectionHeader *found = lu_elf_headers_find_section (&file->headers, section);
  gsize n = 0;
  g_autofree Elf64_Rela *entries = read_table (self, found, sizeof *entries, &n);

  for (gsize i = 0; entries != NULL && i < n; i++)
    {
      guint64 type = ELF64_R_TYPE (entries[i].r_info);
      LuCodePointer pointer = { entries[i].r_offset, (guint64) entries[i].r_addend };

      if (type == file->arch->files.rela_relative)
        g_array_append_val (file->pointers, pointer);
      else if (type == file->arch->files.rela_slot || type == file->arch->files.rela_data)
        add_named (file, dynamic, ELF64_R_SYM (entries[i].r_info), pointer);
    }
}

static void
read_relocations (const Reading *self)
{
  const LuElfHeaders *headers = &self->file->headers;
  Dynamic dynamic = { 0 };

  dynamic.symbols = read_table (self, lu_elf_headers_find_section (headers, ".dynsym"),
                                sizeof *dynamic.symbols, &dynamic.n);
  dynamic.names =
      read_table (self, lu_elf_headers_find_section (headers, ".dynstr"), 1, &dynamic.names_size);
  if (dynamic.symbols == NULL || dynamic.names == NULL)
    dynamic.n = 0;
  read_pointers (self, ".rela.dyn", &dynamic);
  read_pointers (self, ".rela.plt", &dynamic);
  g_array_sort (self->file->pointers, lu_code_compare_addresses);
  g_array_sort (self->file->noreturn, lu_code_compare_addresses);
  g_array_sort (self->file->own, lu_code_compare_addresses);
  g_free (dynamic.symbols);
  g_free (dynamic.names);
}

/* Pointers to code lead to functions; tables of jumps hold no pointers in such files. */
static void
find_hints (LuCodeFile *self)
{
  self->flow_file.hints = self->hints = lu_code_hints_new (self->ranges, self->segments);
  for (guint i = 0; i < self->pointers->len; i++)
    lu_code_hints_add (self->hints, g_array_index (self->pointers, LuCodePointer, i).value);
}

/* Answers to the analysis */

static gboolean
read_bytes (gpointer data, guint64 address, gpointer bytes, gsize size)
{
  LuCodeFile *self = data;
  const LuCodeBytes *segment = size <= DATA_PIECE ? segment_of (self, address, size) : NULL;

  if (segment == NULL)
    return FALSE;
  if (segment->bytes == NULL)
    return read_data (self, segment, address, bytes, size);
  memcpy (bytes, segment->bytes + (address - segment->start), size);
  return TRUE;
}

static gboolean
read_pointer (gpointer data, guint64 address, guint64 *pointer)
{
  const LuCodeFile *self = data;
  guint place;

  if (g_array_binary_search (self->pointers, &address, lu_code_compare_addresses, &place))
    {
      *pointer = g_array_index (self->pointers, LuCodePointer, place).value;
      return TRUE;
    }
  return read_bytes (data, address, pointer, sizeof *pointer);
}

static gboolean
is_noreturn (gpointer data, guint64 address)
{
  const LuCodeFile *self = data;

  return g_array_binary_search (self->noreturn, &address, lu_code_compare_addresses, NULL);
}

static guint64
function_at (gpointer data, guint64 address)
{
  const LuCodeFile *self = data;
  guint place;

  return g_array_binary_search (self->own, &address, lu_code_compare_addresses, &place)
             ? g_array_index (self->own, LuCodePointer, place).value
             : 0;
}

static gboolean
returns (gpointer data, guint64 address)
{
  const LuCodeFile *self = data;

  return lu_code_returns_from (self->returns, address);
}

/* Code that is not looked at was not read, except for procedure linkage tables. */
static guint64
linkage_at (gpointer data, guint64 address)
{
  const LuCodeFile *self = data;
  const LuCodeBytes *range = range_below (self->segments, address);
  guint8 code[MAX_LINKAGE] = { 0 };
  gsize at = 0;
  LuOp op;

  if (range == NULL || range->bytes == NULL || address - range->start >= range->size
      || self->arch->is_plt_entry == NULL)
    return 0;
  memcpy (code, range->bytes + (address - range->start),
          MIN (MAX_LINKAGE, range->size - (address - range->start)));
  if (!self->arch->is_plt_entry (code))
    return 0;
  while (lu_decoder_decode (code + at, MAX_LINKAGE - at, address + at, &op))
    {
      if (op.kind == LU_OP_JUMP_INDIRECT)
        return op.target;
      at += op.size;
    }
  return 0;
}

/* The file */

static void
free_segment (gpointer range)
{
  g_free ((guint8 *) ((LuCodeBytes *) range)->bytes);
}

LuCodeFile *
lu_code_file_read (int fd, gsize max_bytes, const GArray *pieces)
{
  g_autoptr (LuCodeFile) self = g_new0 (LuCodeFile, 1);
  Reading reading = {
    .file = self, .input = &self->input, .bytes_left = max_bytes, .data_left = LU_CODE_MAX_LOADED
  };
  struct stat info;

  self->ranges = g_array_new (FALSE, FALSE, sizeof (LuCodeBytes));
  self->segments = g_array_new (FALSE, FALSE, sizeof (LuCodeBytes));
  self->piece = g_malloc (DATA_PIECE);
  self->functions = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->pointers = g_array_new (FALSE, FALSE, sizeof (LuCodePointer));
  self->noreturn = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->own = g_array_new (FALSE, FALSE, sizeof (LuCodePointer));
  self->flow_file = (LuFlowFile){ read_bytes, read_pointer, is_noreturn, linkage_at, self };
  g_array_set_clear_func (self->segments, free_segment);
  if (fstat (fd, &info) != 0 || info.st_size <= 0)
    return NULL;
  self->input = (LuElfInput){ .fd = fd, .size = (guint64) info.st_size };
  if (!lu_elf_headers_read (&self->headers, &self->input, NULL) || !self->headers.is_64bit)
    return NULL;
  self->arch = lu_arch_with_tables (self->headers.machine);
  if (self->arch == NULL || self->arch->files.decoded_bits == 0
      || !read_segments (&reading, pieces))
    return NULL;
  self->flow_file.kernel_frame = self->arch->kernel_frame;
  self->flow_file.is_movable = self->headers.type == ET_DYN;
  self->flow_file.returns = returns;
  self->flow_file.function_at = function_at;
  self->returns = lu_code_returns_new (self->ranges, &self->flow_file);
  read_linkage (&reading);
  read_symbols (&reading, ".symtab", ".strtab");
  read_symbols (&reading, ".dynsym", ".dynstr");
  g_array_sort (self->functions, lu_code_compare_addresses);
  read_relocations (&reading);
  find_hints (self);
  return g_steal_pointer (&self);
}

void
lu_code_file_free (LuCodeFile *self)
{
  if (self == NULL)
    return;
  lu_elf_headers_clear (&self->headers);
  lu_code_hints_free (self->hints);
  lu_code_returns_free (self->returns);
  g_array_unref (self->ranges);
  g_array_unref (self->segments);
  g_free (self->piece);
  g_array_unref (self->functions);
  g_array_unref (self->pointers);
  g_array_unref (self->noreturn);
  g_array_unref (self->own);
  g_free (self);
}

static gboolean
is_code (const LuCodeFile *self, guint64 address)
{
  const LuCodeBytes *range = range_below (self->ranges, address);

  return range != NULL && address - range->start < range->size;
}

/* The addresses of code that is loaded at a fixed address stand in data as they are. */
static void
search_words (LuCodeFile *self, const LuCodeBytes *segment, GArray *found)
{
  guint64 words[DATA_PIECE / sizeof (guint64)];
  gsize at = -segment->start % sizeof *words, size;

  for (; at + sizeof *words <= segment->size; at += size)
    {
      size = MIN (sizeof words, (segment->size - at) & ~(sizeof *words - 1));
      if (!read_data (self, segment, segment->start + at, (guint8 *) words, size))
        return;
      for (gsize i = 0; i < size / sizeof *words; i++)
        if (is_code (self, words[i]))
          g_array_append_val (found, words[i]);
    }
}

GArray *
lu_code_file_find_pointers (LuCodeFile *self)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; i < self->pointers->len; i++)
    {
      guint64 value = g_array_index (self->pointers, LuCodePointer, i).value;

      if (is_code (self, value))
        g_array_append_val (found, value);
    }
  for (guint i = 0; i < self->segments->len && self->headers.type == ET_EXEC; i++)
    {
      const LuCodeBytes *segment = &g_array_index (self->segments, LuCodeBytes, i);

      if (segment->bytes == NULL)
        search_words (self, segment, found);
    }
  g_array_sort (found, lu_code_compare_addresses);
  return found;
}

guint
lu_code_file_first (const GArray *elements, guint64 address)
{
  gsize size = g_array_get_element_size ((GArray *) elements);
  guint low = 0, high = elements->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      guint64 at;

      memcpy (&at, elements->data + middle * size, sizeof at);
      if (at < address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}
