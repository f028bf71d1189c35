/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-functions.c - functions and their parts; see code-functions.h. */

#include "symbolize/code-functions.h"

#include "arch/arch.h"
#include "symbolize/elf-cold.h"
#include "symbolize/elf-fdes.h"

#include <elf.h>
#include <string.h>

#define CHUNK    (1u << 20)
#define POINTERS (64 * 1024 / 24 * 24) /* a multiple of the size of both kinds */
/* Bytes. */
#define ALIGNMENT 16
#define MIN_GAP   2
#define LEAD_MAX  6 /* bytes of an instruction that leads somewhere */
#define N_TABLES  4

struct _LuCodeFunctions
{
  const LuNameFile *name;
  LuElfFile file;        /* until there are symbols */
  LuElfSymbols *symbols; /* NULL: not needed yet */
  LuElfFdes *fdes;       /* NULL: not needed yet, or none */
  gboolean has_read_fdes;
  const LuElfSectionHeader *tables[N_TABLES]; /* of linkage, borrowed from the file; NULL: none */
};

static void
find_linkage_tables (LuCodeFunctions *self)
{
  static const char *const names[N_TABLES] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };

  for (guint i = 0; i < N_TABLES; i++)
    self->tables[i] = lu_elf_headers_find_section (&self->file.headers, names[i]);
}

LuCodeFunctions *
lu_code_functions_new (LuElfFile *file, const LuNameFile *name)
{
  LuCodeFunctions *self = g_new0 (LuCodeFunctions, 1);

  self->name = name;
  self->file = *file;
  *file = (LuElfFile){ .input = { .fd = -1 } };
  find_linkage_tables (self);
  return self;
}

void
lu_code_functions_free (LuCodeFunctions *self)
{
  if (self == NULL)
    return;
  lu_elf_file_clear (&self->file);
  lu_elf_symbols_free (self->symbols);
  if (self->fdes != NULL)
    lu_elf_fdes_free (self->fdes);
  g_free (self);
}

const LuElfFile *
lu_code_functions_file (const LuCodeFunctions *self)
{
  return self->symbols != NULL ? lu_elf_symbols_file (self->symbols) : &self->file;
}

gboolean
lu_code_functions_is_linkage (const LuCodeFunctions *self, guint64 address)
{
  for (guint i = 0; i < N_TABLES; i++)
    if (self->tables[i] != NULL && address - self->tables[i]->vaddr < self->tables[i]->size)
      return TRUE;
  return FALSE;
}

gboolean
lu_code_functions_find (LuCodeFunctions *self, guint64 address, guint64 *start, guint64 *end)
{
  if (!self->has_read_fdes)
    self->fdes = lu_elf_fdes_new (lu_code_functions_file (self), self->name->budget);
  self->has_read_fdes = TRUE;
  /* An FDE may cover a whole linkage table. */
  return self->fdes != NULL && !lu_code_functions_is_linkage (self, address)
         && lu_elf_fdes_find (self->fdes, address, start, end) && *start < *end;
}

/* Symbols */

static void
ask_symbols (LuCodeFunctions *self, const GArray *offsets)
{
  LuElfFile debug_file;
  guint candidate = 0;

  if (self->symbols != NULL)
    {
      lu_elf_symbols_want (self->symbols, offsets);
      return;
    }
  self->symbols = lu_elf_symbols_new (&self->file, offsets, self->name->budget);
  while (lu_elf_symbols_wants_debug_file (self->symbols)
         && lu_elf_file_open_debug (&debug_file, lu_elf_symbols_file (self->symbols), self->name,
                                    &candidate))
    if (!lu_elf_symbols_take_debug_file (self->symbols, &debug_file))
      lu_elf_file_clear (&debug_file);
}

/* Compilers name parts and thunks so; the mangled names of C++ for thunks are _ZTh, _ZTv, _ZTc. */
static LuCodeFunctionKind
kind_of_name (const char *name)
{
  g_autofree char *function = lu_cold_function_name (name);

  return function != NULL || g_str_has_prefix (name, "_ZTh") || g_str_has_prefix (name, "_ZTv")
                 || g_str_has_prefix (name, "_ZTc")
             ? LU_CODE_PART
             : LU_CODE_WHOLE;
}

/* Returns the file offset of an ELF address; 0, where no code is, if it is none of code. */
static guint64
offset_of (const LuCodeFunctions *self, guint64 address)
{
  const LuElfProgramHeader *code =
      lu_elf_file_code_at_address (lu_code_functions_file (self), address);

  return code != NULL ? address - code->vaddr + code->file_offset : 0;
}

static void
judge_by_symbols (LuCodeFunctions *self, const GArray *starts, LuCodeFunctionKind *kinds)
{
  g_autoptr (GArray) offsets = g_array_new (FALSE, FALSE, sizeof (guint64));
  LuElfSymbol symbol;

  for (guint i = 0; i < starts->len; i++)
    {
      guint64 offset = offset_of (self, g_array_index (starts, guint64, i));

      g_array_append_val (offsets, offset);
    }
  ask_symbols (self, offsets);
  for (guint i = 0; i < starts->len; i++)
    {
      guint64 offset = g_array_index (offsets, guint64, i);

      if (lu_elf_symbols_find (self->symbols, offset, &symbol))
        kinds[i] = symbol.start == offset ? kind_of_name (symbol.name) : LU_CODE_PART;
    }
}

/* Stripped files */

typedef struct
{
  GHashTable *starts; /* address -> whether something leads there */
  guint64 low, high;  /* of these */
} Leads;

static void
note_lead (Leads *self, guint64 target)
{
  gpointer key = (gpointer) (guintptr) target;

  if (target >= self->low && target <= self->high && g_hash_table_contains (self->starts, key))
    g_hash_table_insert (self->starts, key, GUINT_TO_POINTER (TRUE));
}

/* Notes the address that the distance at `at` leads to, from the byte behind it. */
static void
note_distance (Leads *self, const guint8 *at, guint64 address)
{
  gint32 distance;

  memcpy (&distance, at, sizeof distance);
  note_lead (self, address + sizeof distance + (guint64) (gint64) distance);
}

/* Returns the next byte with that value, or NULL. */
static const guint8 *
next_byte (const guint8 *at, const guint8 *end, guint8 value)
{
  return memchr (at, value, (gsize) (end - at));
}

/* Notes the calls, and the addresses that are taken relative to an instruction, in LEAD_MAX bytes
 * more than `size`. Where instructions begin is not known, and by chance hardly any bytes lead to a
 * start. */
static void
note_leads (Leads *self, const guint8 *code, gsize size, guint64 address)
{
  const guint8 *end = code + size;

  /* call */
  for (const guint8 *at = code; (at = next_byte (at, end, 0xe8)) != NULL; at++)
    note_distance (self, at + 1, address + (guint64) (at + 1 - code));
  /* lea distance(%rip) */
  for (const guint8 *at = code; (at = next_byte (at, end, 0x8d)) != NULL; at++)
    if ((at[1] & 0xc7) == 0x05)
      note_distance (self, at + 2, address + (guint64) (at + 2 - code));
}

static void
read_segment (const LuCodeFunctions *self, const LuElfProgramHeader *segment, Leads *leads)
{
  g_autofree guint8 *code = g_malloc (CHUNK + LEAD_MAX);
  const LuElfFile *file = lu_code_functions_file (self);

  for (guint64 at = 0; at + LEAD_MAX < segment->file_size; at += CHUNK)
    {
      gsize n = (gsize) MIN (segment->file_size - at, CHUNK + LEAD_MAX);

      if (n <= LEAD_MAX || !lu_budget_read (self->name->budget, n)
          || !lu_elf_input_read (&file->input, segment->file_offset + at, code, n))
        return;
      note_leads (leads, code, n - LEAD_MAX, segment->vaddr + at);
    }
}

/* Notes the words of a segment with data, whose addresses are those of a program that is not moved.
 */
static void
note_words (Leads *self, const guint8 *bytes, gsize size)
{
  for (gsize i = 0; i + sizeof (guint64) <= size; i += sizeof (guint64))
    {
      guint64 word;

      memcpy (&word, bytes + i, sizeof word);
      note_lead (self, word);
    }
}

/* Notes the addresses that relocations put into data. */
static void
note_relocations (Leads *self, const LuElfFile *file, const guint8 *bytes, gsize size)
{
  const LuArch *arch = lu_arch_with_tables (file->headers.machine);

  for (gsize i = 0; arch != NULL && i + sizeof (Elf64_Rela) <= size; i += sizeof (Elf64_Rela))
    {
      Elf64_Rela rela;

      memcpy (&rela, bytes + i, sizeof rela);
      if (ELF64_R_TYPE (rela.r_info) == arch->files.rela_relative)
        note_lead (self, (guint64) rela.r_addend);
    }
}

/* Reads pointers in data: those of a program that is not moved, or else relocations. */
static void
read_pointers (const LuCodeFunctions *self, guint64 offset, guint64 size, Leads *leads)
{
  const LuElfFile *file = lu_code_functions_file (self);
  g_autofree guint8 *bytes = g_malloc (POINTERS);

  for (guint64 at = 0; at < size; at += POINTERS)
    {
      gsize n = (gsize) MIN (size - at, POINTERS);

      if (!lu_budget_read (self->name->budget, n)
          || !lu_elf_input_read (&file->input, offset + at, bytes, n))
        return;
      if (file->headers.type == ET_EXEC)
        note_words (leads, bytes, n);
      else
        note_relocations (leads, file, bytes, n);
    }
}

/* Finds out to which of the starts without a symbol something leads. */
static void
find_leads (const LuCodeFunctions *self, Leads *leads)
{
  const LuElfHeaders *headers = &lu_code_functions_file (self)->headers;
  const LuElfSectionHeader *relocations = lu_elf_headers_find_section (headers, ".rela.dyn");

  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *segment = &headers->program_headers[i];

      if (segment->type == PT_LOAD && (segment->flags & PF_X) != 0)
        read_segment (self, segment, leads);
      else if (segment->type == PT_LOAD && (segment->flags & PF_W) != 0 && headers->type == ET_EXEC)
        read_pointers (self, segment->file_offset, segment->file_size, leads);
    }
  if (relocations != NULL && headers->type != ET_EXEC)
    read_pointers (self, relocations->file_offset, relocations->size, leads);
}

/* Compilers align functions, and fill the gaps between them; the parts that they move away follow
 * each other, but the first one is aligned as its section is. Tools that move parts of linked
 * programs align these, too. */
static gboolean
is_aligned (const LuCodeFunctions *self, guint64 start)
{
  const LuElfHeaders *headers = &lu_code_functions_file (self)->headers;
  const LuElfSectionHeader *text = lu_elf_headers_find_section (headers, ".text");
  guint64 at, end;

  if (start % ALIGNMENT != 0 || text == NULL || start - text->vaddr >= text->size
      || start - text->vaddr < MIN_GAP
      || lu_elf_headers_find_section (headers, ".text.cold") != NULL
      || lu_elf_headers_find_section (headers, ".note.bolt_info") != NULL)
    return FALSE;
  for (guint64 i = 1; i <= MIN_GAP; i++)
    if (lu_elf_fdes_find (self->fdes, start - i, &at, &end))
      return FALSE;
  return TRUE;
}

static void
judge_stripped (LuCodeFunctions *self, const GArray *starts, LuCodeFunctionKind *kinds)
{
  Leads leads = { .starts = g_hash_table_new (NULL, NULL), .low = G_MAXUINT64 };

  for (guint i = 0; i < starts->len; i++)
    {
      guint64 start = g_array_index (starts, guint64, i);

      if (kinds[i] != LU_CODE_UNKNOWN)
        continue;
      kinds[i] = is_aligned (self, start) ? LU_CODE_WHOLE : LU_CODE_PART;
      if (kinds[i] == LU_CODE_WHOLE)
        continue;
      leads.low = MIN (leads.low, start);
      leads.high = MAX (leads.high, start);
      g_hash_table_insert (leads.starts, (gpointer) (guintptr) start, NULL);
    }
  if (g_hash_table_size (leads.starts) > 0)
    find_leads (self, &leads);
  for (guint i = 0; i < starts->len; i++)
    if (g_hash_table_lookup (leads.starts, (gpointer) (guintptr) g_array_index (starts, guint64, i))
        != NULL)
      kinds[i] = LU_CODE_WHOLE;
  g_hash_table_unref (leads.starts);
}

LuCodeFunctionKind *
lu_code_functions_judge (LuCodeFunctions *self, const GArray *starts)
{
  LuCodeFunctionKind *kinds = g_new0 (LuCodeFunctionKind, starts->len + 1);

  judge_by_symbols (self, starts, kinds);
  judge_stripped (self, starts, kinds);
  return kinds;
}
