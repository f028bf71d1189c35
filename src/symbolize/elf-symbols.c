/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-symbols.c - functions of an ELF file by address; see elf-symbols.h.
 *
 * Functions may lie inside each other and have several names. The innermost one with a size that
 * holds the address wins; a label without a size counts only outside of all of them, up to the next
 * symbol. Of several names of one address the choice is that of perf: strong before weak, global
 * before local, fewer underscores in front, the longer one. */

#include "symbolize/elf-symbols.h"

#include "base/error.h"
#include "symbolize/elf-identity.h"
#include "symbolize/elf-plt.h"
#include "symbolize/unxz.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_ENTRIES       (4u << 20)
#define MAX_DEBUG_DATA    (16u << 20)
#define MAX_UNPACKED      (64u << 20)
#define MAX_NAME          65536
#define SYMBOLS_PER_CHUNK 4096
/* How far back functions are looked at that may reach over an address. */
#define MAX_NESTING 256

typedef enum
{
  SOURCE_FILE,   /* .symtab or .dynsym of the file itself */
  SOURCE_DEBUG,  /* .symtab of its debug file */
  SOURCE_PACKED, /* .symtab of .gnu_debugdata */
  SOURCE_PLT,    /* .dynsym, as a name in the PLT */
  N_SOURCES
} SourceKind;

/* Where names are read from. */
typedef struct
{
  LuElfInput input;
  guint64 file_offset, size;
} Strings;

typedef struct
{
  guint64 start;
  guint32 size; /* 0: a label. Nothing has 4 GB. */
  guint32 name; /* in its source's strings */
  guint8 source, bind;
} Entry;

struct _LuElfSymbols
{
  LuElfInput input;
  LuElfHeaders headers;
  LuElfIdentity identity;
  guint8 *unpacked; /* of .gnu_debugdata */
  Strings strings[N_SOURCES];
  GArray *entries;  /* of Entry */
  guint64 *reaches; /* the furthest end of this entry and all before it; NULL: not sorted yet */
  gboolean has_symtab, is_whole;
};

/* Symbols */

static const LuElfProgramHeader *
find_code (const LuElfSymbols *self, guint64 vaddr)
{
  for (guint i = 0; i < self->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &self->headers.program_headers[i];

      if (header->type == PT_LOAD && (header->flags & PF_X) && vaddr >= header->vaddr
          && vaddr - header->vaddr < header->file_size)
        return header;
    }
  return NULL;
}

static void
add_entry (LuElfSymbols *self, const Elf64_Sym *symbol, SourceKind source, gboolean labels)
{
  guint type = ELF64_ST_TYPE (symbol->st_info);
  Entry entry = { .start = symbol->st_value,
                  .size = (guint32) MIN (symbol->st_size, G_MAXUINT32),
                  .name = symbol->st_name,
                  .source = (guint8) source,
                  .bind = ELF64_ST_BIND (symbol->st_info) };
  gboolean is_function = type == STT_FUNC || type == STT_GNU_IFUNC;

  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_name == 0
      || (!is_function && type != STT_NOTYPE) || (entry.size == 0 && !labels)
      || self->entries->len >= MAX_ENTRIES || find_code (self, entry.start) == NULL)
    return;
  /* "$x" and "$d", which tell code from data */
  if (!is_function && entry.bind == STB_LOCAL
      && (self->headers.machine == EM_AARCH64 || self->headers.machine == EM_ARM))
    return;
  g_array_append_val (self->entries, entry);
}

static void
widen (Elf64_Sym *wide, const Elf32_Sym *symbol)
{
  *wide = (Elf64_Sym){ .st_name = symbol->st_name,
                       .st_info = symbol->st_info,
                       .st_shndx = symbol->st_shndx,
                       .st_value = symbol->st_value,
                       .st_size = symbol->st_size };
}

static void
add_symbols (LuElfSymbols *self, const LuElfInput *input, guint64 at, guint64 left,
             gboolean is_64bit, SourceKind source, gboolean labels)
{
  gsize entry_size = is_64bit ? sizeof (Elf64_Sym) : sizeof (Elf32_Sym);
  g_autofree guint8 *bytes = g_malloc (SYMBOLS_PER_CHUNK * entry_size);

  while (left > 0)
    {
      gsize n = MIN (left, SYMBOLS_PER_CHUNK);

      if (!lu_elf_input_read (input, at, bytes, n * entry_size))
        return;
      for (gsize i = 0; i < n; i++)
        {
          Elf64_Sym symbol;
          Elf32_Sym narrow;

          if (is_64bit)
            memcpy (&symbol, bytes + i * entry_size, sizeof symbol);
          else
            {
              memcpy (&narrow, bytes + i * entry_size, sizeof narrow);
              widen (&symbol, &narrow);
            }
          add_entry (self, &symbol, source, labels);
        }
      at += n * entry_size;
      left -= n;
    }
}

/* Takes a table and remembers where its names are; FALSE if the file has none. */
static gboolean
add_table (LuElfSymbols *self, const LuElfInput *input, const LuElfHeaders *headers,
           const char *table_name, const char *strings_name, SourceKind source, gboolean labels)
{
  const LuElfSectionHeader *table = lu_elf_headers_find_section (headers, table_name);
  const LuElfSectionHeader *strings = lu_elf_headers_find_section (headers, strings_name);
  gsize entry_size = headers->is_64bit ? sizeof (Elf64_Sym) : sizeof (Elf32_Sym);

  if (table == NULL || strings == NULL || ((table->flags | strings->flags) & SHF_COMPRESSED) != 0
      || table->size < 2 * entry_size)
    return FALSE;
  self->strings[source] = (Strings){ *input, strings->file_offset, strings->size };
  add_symbols (self, input, table->file_offset, table->size / entry_size, headers->is_64bit, source,
               labels);
  return TRUE;
}

static void
add_debug_data (LuElfSymbols *self)
{
  const LuElfSectionHeader *section =
      lu_elf_headers_find_section (&self->headers, ".gnu_debugdata");
  g_autofree guint8 *packed = NULL;
  gsize size = 0;
  LuElfInput input = { .fd = -1 };
  LuElfHeaders headers;

  if (section == NULL || section->size == 0 || section->size > MAX_DEBUG_DATA)
    return;
  packed = g_malloc (section->size);
  if (!lu_elf_input_read (&self->input, section->file_offset, packed, section->size))
    return;
  self->unpacked = lu_unxz (packed, section->size, MAX_UNPACKED, &size);
  if (self->unpacked == NULL)
    return;
  input.bytes = self->unpacked;
  input.size = size;
  if (!lu_elf_headers_read (&headers, &input, NULL))
    return;
  add_table (self, &input, &headers, ".symtab", ".strtab", SOURCE_PACKED, FALSE);
  lu_elf_headers_clear (&headers);
}

static void
add_plt_entry (guint64 start, guint64 size, guint32 symbol, gpointer user_data)
{
  LuElfSymbols *self = user_data;
  const LuElfSectionHeader *table = lu_elf_headers_find_section (&self->headers, ".dynsym");
  Elf64_Sym target;
  Entry entry = { .start = start, .size = (guint32) size, .source = SOURCE_PLT };

  if (table == NULL || symbol >= table->size / sizeof target
      || !lu_elf_input_read (&self->input, table->file_offset + symbol * sizeof target, &target,
                             sizeof target)
      || target.st_name == 0 || find_code (self, start) == NULL)
    return;
  entry.name = target.st_name;
  g_array_append_val (self->entries, entry);
}

static void
add_plt (LuElfSymbols *self)
{
  const LuElfSectionHeader *strings = lu_elf_headers_find_section (&self->headers, ".dynstr");

  if (strings == NULL)
    return;
  self->strings[SOURCE_PLT] = (Strings){ self->input, strings->file_offset, strings->size };
  lu_elf_plt_each (&self->input, &self->headers, add_plt_entry, self);
}

/* Life */

static LuElfSymbols *
symbols_new (const LuElfInput *input, GError **error)
{
  g_autoptr (LuElfSymbols) self = g_new0 (LuElfSymbols, 1);

  self->input = *input;
  self->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  if (!lu_elf_headers_read (&self->headers, input, error))
    return NULL;
  lu_elf_identity_read (&self->identity, input, &self->headers);
  self->has_symtab =
      add_table (self, input, &self->headers, ".symtab", ".strtab", SOURCE_FILE, TRUE);
  return g_steal_pointer (&self);
}

LuElfSymbols *
lu_elf_symbols_new (int fd, GError **error)
{
  LuElfInput input = { .fd = fd };
  struct stat info;

  if (fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID, "not a file");
      return NULL;
    }
  input.size = (guint64) info.st_size;
  return symbols_new (&input, error);
}

LuElfSymbols *
lu_elf_symbols_new_from_memory (gconstpointer bytes, gsize size, GError **error)
{
  LuElfInput input = { .fd = -1, .bytes = bytes, .size = size };

  return symbols_new (&input, error);
}

void
lu_elf_symbols_free (LuElfSymbols *self)
{
  if (self == NULL)
    return;
  lu_elf_headers_clear (&self->headers);
  g_array_unref (self->entries);
  g_free (self->reaches);
  g_free (self->unpacked);
  lu_elf_identity_clear (&self->identity);
  g_free (self);
}

const char *
lu_elf_symbols_build_id (const LuElfSymbols *self)
{
  return self->identity.build_id;
}

gboolean
lu_elf_symbols_wants_debug_file (const LuElfSymbols *self)
{
  return !self->has_symtab;
}

const char *
lu_elf_symbols_debug_link (const LuElfSymbols *self)
{
  return self->identity.debug_link;
}

gboolean
lu_elf_symbols_is_debug_file (const LuElfSymbols *self, int fd)
{
  LuElfInput input;
  LuElfHeaders headers;
  gboolean ok;

  if (!lu_elf_file_read_headers (fd, &input, &headers))
    return FALSE;
  ok = lu_elf_identity_is_debug_file (&self->identity, &input, &headers);
  lu_elf_headers_clear (&headers);
  return ok;
}

gboolean
lu_elf_symbols_add_debug_file (LuElfSymbols *self, int fd)
{
  LuElfInput input;
  LuElfHeaders headers;
  gboolean ok;

  if (!lu_elf_file_read_headers (fd, &input, &headers))
    return FALSE;
  ok = lu_elf_identity_is_debug_file (&self->identity, &input, &headers)
       && add_table (self, &input, &headers, ".symtab", ".strtab", SOURCE_DEBUG, TRUE);
  lu_elf_headers_clear (&headers);
  self->has_symtab |= ok;
  g_clear_pointer (&self->reaches, g_free);
  return ok;
}

/* Look-up */

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->size != y->size ? (x->size > y->size ? -1 : 1) : 0;
}

static void
prepare (LuElfSymbols *self)
{
  guint64 reach = 0;

  if (!self->is_whole)
    {
      self->is_whole = TRUE;
      if (!self->has_symtab)
        {
          add_table (self, &self->input, &self->headers, ".dynsym", ".dynstr", SOURCE_FILE, FALSE);
          add_debug_data (self);
        }
      add_plt (self);
    }
  g_array_sort (self->entries, compare_entries);
  self->reaches = g_new (guint64, self->entries->len + 1);
  for (guint i = 0; i < self->entries->len; i++)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);

      reach = MAX (reach, entry->start + MAX (entry->size, 1u));
      self->reaches[i] = reach;
    }
}

/* The last entry that starts at the address or before it; -1: none. */
static gint
find_last (const LuElfSymbols *self, guint64 vaddr)
{
  guint low = 0, high = self->entries->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->entries, Entry, middle).start <= vaddr)
        low = middle + 1;
      else
        high = middle;
    }
  return (gint) low - 1;
}

/* The innermost function with a size that holds the address, else the label in front of it. */
static gint
find_entry (const LuElfSymbols *self, guint64 vaddr)
{
  gint last = find_last (self, vaddr);

  for (gint i = last; i >= 0 && i > last - MAX_NESTING && self->reaches[i] > vaddr; i--)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);

      if (entry->size > 0 && vaddr - entry->start < entry->size)
        return i;
    }
  return last >= 0 && g_array_index (self->entries, Entry, last).size == 0 ? last : -1;
}

static char *
read_name (const LuElfSymbols *self, const Entry *entry)
{
  const Strings *strings = &self->strings[entry->source];
  gsize size = 128;

  while (entry->name < strings->size)
    {
      gsize room = (gsize) MIN (size, strings->size - entry->name);
      g_autofree char *text = g_malloc (room + 1);

      if (!lu_elf_input_read (&strings->input, strings->file_offset + entry->name, text, room))
        return NULL;
      text[room] = 0;
      if (strlen (text) < room)
        {
          text[strcspn (text + (text[0] != 0), "@") + (text[0] != 0)] = 0;
          return text[0] != 0 ? g_steal_pointer (&text) : NULL;
        }
      if (room < size || size >= MAX_NAME)
        return NULL;
      size *= 8;
    }
  return NULL;
}

static guint
n_underscores (const char *name)
{
  return (guint) strspn (name, "_");
}

static gboolean
is_better (const Entry *entry, const char *name, const Entry *best, const char *best_name)
{
  gsize length = strlen (name), best_length = strlen (best_name);

  if ((entry->bind == STB_WEAK) != (best->bind == STB_WEAK))
    return best->bind == STB_WEAK;
  if ((entry->bind == STB_GLOBAL) != (best->bind == STB_GLOBAL))
    return entry->bind == STB_GLOBAL;
  if (n_underscores (name) != n_underscores (best_name))
    return n_underscores (name) < n_underscores (best_name);
  return length != best_length ? length > best_length : strcmp (name, best_name) < 0;
}

/* Of the entries that start where that one does, and hold the address. */
static char *
choose_name (const LuElfSymbols *self, gint index, guint64 vaddr, Entry *chosen)
{
  const Entry *first = &g_array_index (self->entries, Entry, index);
  char *best_name = NULL;

  for (gint i = index; i >= 0; i--)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);
      g_autofree char *name = NULL;

      if (entry->start != first->start || index - i > MAX_NESTING)
        break;
      if (first->size > 0 && vaddr - entry->start >= entry->size)
        continue;
      name = read_name (self, entry);
      if (name == NULL || (best_name != NULL && !is_better (entry, name, chosen, best_name)))
        continue;
      g_free (best_name);
      best_name = g_steal_pointer (&name);
      *chosen = *entry;
    }
  return best_name;
}

static guint64
end_of (const LuElfSymbols *self, const Entry *entry, gint index, const LuElfProgramHeader *code)
{
  guint64 end = code->vaddr + code->file_size;

  if (entry->size > 0)
    return MIN (end, entry->start + entry->size);
  for (guint i = (guint) index + 1; i < self->entries->len; i++)
    if (g_array_index (self->entries, Entry, i).start > entry->start)
      return MIN (end, g_array_index (self->entries, Entry, i).start);
  return end;
}

static const LuElfProgramHeader *
code_at_offset (const LuElfSymbols *self, guint64 file_offset)
{
  for (guint i = 0; i < self->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &self->headers.program_headers[i];

      if (header->type == PT_LOAD && (header->flags & PF_X) && file_offset >= header->file_offset
          && file_offset - header->file_offset < header->file_size)
        return header;
    }
  return NULL;
}

gboolean
lu_elf_symbols_find (LuElfSymbols *self, guint64 file_offset, LuElfSymbol *symbol)
{
  const LuElfProgramHeader *code = code_at_offset (self, file_offset);
  guint64 vaddr;
  gint index;
  Entry chosen = { 0 };

  if (self->reaches == NULL)
    prepare (self);
  if (code == NULL)
    return FALSE;
  vaddr = file_offset - code->file_offset + code->vaddr;
  index = find_entry (self, vaddr);
  if (index < 0)
    return FALSE;
  symbol->name = choose_name (self, index, vaddr, &chosen);
  if (symbol->name == NULL)
    return FALSE;
  if (chosen.start < code->vaddr) /* what ran on from the segment before this one */
    chosen.size = chosen.size > 0 ? (guint32) (chosen.size - (code->vaddr - chosen.start)) : 0;
  chosen.start = MAX (chosen.start, code->vaddr);
  symbol->start = chosen.start - code->vaddr + code->file_offset;
  symbol->end = end_of (self, &chosen, index, code) - code->vaddr + code->file_offset;
  if (chosen.source == SOURCE_PLT)
    {
      char *name = g_strconcat (symbol->name, "@plt", NULL);

      g_free (symbol->name);
      symbol->name = name;
    }
  return TRUE;
}
