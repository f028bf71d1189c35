/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-symbols.c - functions of an ELF file by address; see elf-symbols.h.
 *
 * Functions may be nested and may have several names. The innermost function with a size that
 * contains the address wins; a label without a size counts only outside all of them, up to the next
 * symbol. Among several names of one address the choice is the same as perf's: strong before weak,
 * global before local, fewer leading underscores, the longer name. */

#include "symbolize/elf-symbols.h"

#include "arch/arch.h"
#include "elf/go-table.h"
#include "symbolize/elf-plt.h"
#include "symbolize/unxz.h"

#include <string.h>

#define MAX_ENTRIES       (512u << 10)
#define MAX_DEBUG_DATA    (16u << 20)
#define MAX_UNPACKED      (64u << 20)
#define MAX_NAME          65536
#define MAX_STRINGS       (128u << 20) /* read at once; browsers have 60 MB */
#define SYMBOLS_PER_CHUNK 4096
/* How many entries before an address may contain it. */
#define MAX_NESTING 256

typedef enum
{
  SOURCE_FILE,   /* .symtab or .dynsym of the file itself */
  SOURCE_DEBUG,  /* .symtab of its debug file */
  SOURCE_PACKED, /* .symtab of .gnu_debugdata */
  SOURCE_PLT,    /* .dynsym, as a name in the PLT */
  SOURCE_GO,     /* the table of a Go program */
  N_SOURCES
} SourceKind;

/* A symbol table that a file may have. */
typedef struct
{
  const char *symbols, *strings; /* names of its sections */
  SourceKind source;
  gboolean has_labels; /* symbols without a size count */
} Table;

static const Table symtab = { ".symtab", ".strtab", SOURCE_FILE, TRUE };
static const Table debug_symtab = { ".symtab", ".strtab", SOURCE_DEBUG, TRUE };
static const Table packed_symtab = { ".symtab", ".strtab", SOURCE_PACKED, FALSE };
static const Table dynsym = { ".dynsym", ".dynstr", SOURCE_FILE, FALSE };

/* The texts that names are read from. */
typedef struct
{
  LuElfInput input;
  guint64 file_offset, size;
} Strings;

/* A table of symbols in a file. */
typedef struct
{
  LuElfInput input;
  guint64 file_offset, size;
  gboolean is_64bit;
  SourceKind source;
} Symbols;

typedef struct
{
  guint64 start;
  guint32 size; /* bytes, at most 4 GB; 0: a label */
  guint32 name; /* offset in the strings of its source; in the PLT, index of its symbol; not 0 */
  guint8 source, bind;
} Entry;

struct _LuElfSymbols
{
  LuElfFile file, debug_file;
  guint8 *unpacked; /* .gnu_debugdata; NULL: none, or not read */
  Strings strings[N_SOURCES];
  Symbols symtab;  /* the best one; size 0: none */
  GArray *entries; /* of Entry */
  guint64
      *reaches; /* by entry: the largest end of this entry and all before it; NULL: not sorted */
  gboolean has_symtab;
  gboolean is_whole; /* the PLT was added, and what replaces a missing .symtab */
  LuBudget *budget;  /* borrowed; NULL: no limits */
  GArray *wanted;    /* of Wanted, sorted; NULL: everything */
  /* The name that was chosen last among those of one address: */
  gint chosen_index; /* of its first entry; -1: none */
  Entry chosen;
  char *chosen_name; /* owned; NULL: there is none */
};

/* An address that will be looked up, and the nearest symbols on both sides that do not contain it:
 * the one before it may be a label, which ends at the one after it. Their kinds do not matter. */
typedef struct
{
  guint64 vaddr;
  Entry before, after; /* name 0: none */
} Wanted;

/* Adding symbols */

/* Returns the number of wanted addresses below that one. */
static guint
first_wanted_at (const LuElfSymbols *self, guint64 vaddr)
{
  guint low = 0, high = self->wanted->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->wanted, Wanted, middle).vaddr < vaddr)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Keeps the entry if it can matter to a wanted address. */
static void
keep_entry (LuElfSymbols *self, const Entry *entry)
{
  guint next = self->wanted != NULL ? first_wanted_at (self, entry->start) : 0;
  Wanted *wanted = self->wanted != NULL ? (Wanted *) (gpointer) self->wanted->data : NULL;
  gboolean is_near = FALSE;

  if (wanted != NULL && next > 0)
    {
      Entry *after = &wanted[next - 1].after;

      if (after->name == 0 || entry->start < after->start)
        *after = *entry;
    }
  if (wanted != NULL && next < self->wanted->len
      && wanted[next].vaddr - entry->start >= entry->size)
    {
      Entry *before = &wanted[next].before;

      /* All names of one label are kept. */
      is_near = before->name != 0 && entry->start == before->start;
      if (before->name == 0 || entry->start > before->start)
        *before = *entry;
    }
  else
    is_near = wanted == NULL || next < self->wanted->len;
  if (!is_near)
    return;
  if (self->entries->len < MAX_ENTRIES)
    g_array_append_val (self->entries, *entry);
  else if (self->budget != NULL)
    self->budget->state = LU_BUDGET_TOO_LARGE;
}

static void
add_entry (LuElfSymbols *self, const Elf64_Sym *symbol, const Table *table)
{
  guint type = ELF64_ST_TYPE (symbol->st_info);
  Entry entry = { .start = symbol->st_value,
                  .size = (guint32) MIN (symbol->st_size, G_MAXUINT32),
                  .name = symbol->st_name,
                  .source = (guint8) table->source,
                  .bind = ELF64_ST_BIND (symbol->st_info) };
  gboolean is_function = type == STT_FUNC || type == STT_GNU_IFUNC;

  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_name == 0
      || (!is_function && type != STT_NOTYPE) || (entry.size == 0 && !table->has_labels)
      || lu_elf_file_code_at_address (&self->file, entry.start) == NULL)
    return;
  /* On such machines, local labels such as "$x" and "$d" tell code from data. */
  if (!is_function && entry.bind == STB_LOCAL
      && lu_arch_has_mapping_symbols (self->file.headers.machine))
    return;
  keep_entry (self, &entry);
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
read_symbol (Elf64_Sym *symbol, const guint8 *bytes, gboolean is_64bit)
{
  Elf32_Sym narrow;

  if (is_64bit)
    memcpy (symbol, bytes, sizeof *symbol);
  else
    {
      memcpy (&narrow, bytes, sizeof narrow);
      widen (symbol, &narrow);
    }
}

typedef void (*SymbolFunc) (const Elf64_Sym *symbol, gpointer user_data);

/* FALSE if they cost too much. */
static gboolean
each_symbol (const LuElfSymbols *self, const Symbols *symbols, SymbolFunc func, gpointer user_data)
{
  gsize entry_size = symbols->is_64bit ? sizeof (Elf64_Sym) : sizeof (Elf32_Sym);
  g_autofree guint8 *bytes = g_malloc (SYMBOLS_PER_CHUNK * entry_size);
  guint64 at = symbols->file_offset, left = symbols->size / entry_size;

  if (!lu_budget_read (self->budget, symbols->size))
    return FALSE;
  while (left > 0)
    {
      gsize n = MIN (left, SYMBOLS_PER_CHUNK);

      if (!lu_budget_read (self->budget, 0))
        return FALSE;
      if (!lu_elf_input_read (&symbols->input, at, bytes, n * entry_size))
        return TRUE;
      for (gsize i = 0; i < n; i++)
        {
          Elf64_Sym symbol;

          read_symbol (&symbol, bytes + i * entry_size, symbols->is_64bit);
          func (&symbol, user_data);
        }
      at += n * entry_size;
      left -= n;
    }
  return TRUE;
}

typedef struct
{
  LuElfSymbols *self;
  const Table *table;
} Adder;

static void
add_symbol (const Elf64_Sym *symbol, gpointer user_data)
{
  const Adder *adder = user_data;

  add_entry (adder->self, symbol, adder->table);
}

/* Adds the symbols of a table and notes where their names are; FALSE if the file does not have it.
 */
static gboolean
add_table (LuElfSymbols *self, const LuElfFile *file, const Table *table)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (&file->headers, table->symbols);
  const LuElfSectionHeader *strings = lu_elf_headers_find_section (&file->headers, table->strings);
  gsize entry_size = file->headers.is_64bit ? sizeof (Elf64_Sym) : sizeof (Elf32_Sym);
  Adder adder = { self, table };
  Symbols symbols;

  if (section == NULL || strings == NULL
      || ((section->flags | strings->flags) & SHF_COMPRESSED) != 0
      || section->size < 2 * entry_size)
    return FALSE;
  self->strings[table->source] = (Strings){ file->input, strings->file_offset, strings->size };
  symbols = (Symbols){ file->input, section->file_offset, section->size, file->headers.is_64bit,
                       table->source };
  if (table != &dynsym)
    self->symtab = symbols;
  return each_symbol (self, &symbols, add_symbol, &adder);
}

static void
add_debug_data (LuElfSymbols *self)
{
  const LuElfSectionHeader *section =
      lu_elf_headers_find_section (&self->file.headers, ".gnu_debugdata");
  g_autofree guint8 *packed = NULL;
  gsize size = 0;
  g_auto (LuElfFile) file = { .input = { .fd = -1 } };

  if (section == NULL || section->size == 0 || section->size > MAX_DEBUG_DATA)
    return;
  packed = g_malloc (section->size);
  if (!lu_elf_input_read (&self->file.input, section->file_offset, packed, section->size))
    return;
  g_free (self->unpacked);
  self->unpacked = lu_unxz (packed, section->size, MAX_UNPACKED, &size);
  if (self->unpacked != NULL && lu_budget_read (self->budget, size)
      && lu_elf_file_open_memory (&file, self->unpacked, size, NULL))
    add_table (self, &file, &packed_symtab);
}

static void
add_plt_entry (guint64 start, guint64 size, guint32 symbol, gpointer user_data)
{
  LuElfSymbols *self = user_data;

  if (lu_elf_file_code_at_address (&self->file, start) != NULL)
    keep_entry (
        self,
        &(Entry){ .start = start, .size = (guint32) size, .name = symbol, .source = SOURCE_PLT });
}

static void
add_plt (LuElfSymbols *self)
{
  const LuElfSectionHeader *strings = lu_elf_headers_find_section (&self->file.headers, ".dynstr");

  if (strings == NULL)
    return;
  self->strings[SOURCE_PLT] = (Strings){ self->file.input, strings->file_offset, strings->size };
  lu_elf_linkage_each (&self->file, self->budget, add_plt_entry, self, NULL);
}

/* Adds the functions of a Go program, which a stripped one still knows. */
static void
add_go (LuElfSymbols *self)
{
  g_autoptr (LuGoTable) table = lu_go_table_read (&self->file.headers, &self->file.input);
  LuGoTableFunction function;
  Strings names = { .input = self->file.input };

  if (table == NULL)
    return;
  lu_go_table_extent (table, &names.file_offset, &names.size);
  if (!lu_budget_read (self->budget, names.size))
    return;
  self->strings[SOURCE_GO] = names;
  for (guint i = 0; i < lu_go_table_n_functions (table); i++)
    if (lu_go_table_function (table, i, &function))
      keep_entry (self,
                  &(Entry){ .start = function.start,
                            .size = (guint32) MIN (function.end - function.start, G_MAXUINT32),
                            .name = (guint32) MIN (function.name, G_MAXUINT32),
                            .source = SOURCE_GO });
}

/* Life */

static int
compare_wanted (gconstpointer a, gconstpointer b)
{
  const Wanted *x = a, *y = b;

  return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Sets the ELF addresses of the wanted offsets, each once. */
static void
set_wanted (LuElfSymbols *self, const GArray *offsets)
{
  guint n = 0;

  self->wanted = g_array_new (FALSE, FALSE, sizeof (Wanted));
  for (guint i = 0; i < offsets->len; i++)
    {
      guint64 offset = g_array_index (offsets, guint64, i);
      const LuElfProgramHeader *code = lu_elf_file_code_at_offset (&self->file, offset);
      Wanted wanted = { .vaddr = code != NULL ? offset - code->file_offset + code->vaddr : 0 };

      if (code != NULL)
        g_array_append_val (self->wanted, wanted);
    }
  g_array_sort (self->wanted, compare_wanted);
  for (guint i = 0; i < self->wanted->len; i++)
    if (n == 0
        || g_array_index (self->wanted, Wanted, n - 1).vaddr
               != g_array_index (self->wanted, Wanted, i).vaddr)
      g_array_index (self->wanted, Wanted, n++) = g_array_index (self->wanted, Wanted, i);
  g_array_set_size (self->wanted, n);
}

LuElfSymbols *
lu_elf_symbols_new (LuElfFile *file, const GArray *wanted, LuBudget *budget)
{
  LuElfSymbols *self = g_new0 (LuElfSymbols, 1);

  self->budget = budget;
  self->chosen_index = -1;
  self->file = *file;
  if (wanted != NULL)
    set_wanted (self, wanted);
  *file = self->debug_file = (LuElfFile){ .input = { .fd = -1 } };
  self->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  self->has_symtab = add_table (self, &self->file, &symtab);
  return self;
}

LuElfSymbols *
lu_elf_symbols_new_from_memory (gconstpointer bytes, gsize size, GError **error)
{
  LuElfFile file;

  return lu_elf_file_open_memory (&file, bytes, size, error)
             ? lu_elf_symbols_new (&file, NULL, NULL)
             : NULL;
}

void
lu_elf_symbols_free (LuElfSymbols *self)
{
  if (self == NULL)
    return;
  lu_elf_file_clear (&self->file);
  lu_elf_file_clear (&self->debug_file);
  g_array_unref (self->entries);
  if (self->wanted != NULL)
    g_array_unref (self->wanted);
  g_free (self->chosen_name);
  g_free (self->reaches);
  g_free (self->unpacked);
  g_free (self);
}

const LuElfFile *
lu_elf_symbols_file (const LuElfSymbols *self)
{
  return &self->file;
}

gboolean
lu_elf_symbols_wants_debug_file (const LuElfSymbols *self)
{
  return !self->has_symtab;
}

gboolean
lu_elf_symbols_take_debug_file (LuElfSymbols *self, LuElfFile *debug_file)
{
  if (!add_table (self, debug_file, &debug_symtab))
    return FALSE;
  lu_elf_file_clear (&self->debug_file);
  self->debug_file = *debug_file;
  *debug_file = (LuElfFile){ .input = { .fd = -1 } };
  self->has_symtab = TRUE;
  self->chosen_index = -1;
  g_clear_pointer (&self->reaches, g_free);
  return TRUE;
}

void
lu_elf_symbols_want (LuElfSymbols *self, const GArray *wanted)
{
  g_clear_pointer (&self->wanted, g_array_unref);
  g_clear_pointer (&self->reaches, g_free);
  g_array_set_size (self->entries, 0);
  self->is_whole = FALSE;
  self->chosen_index = -1;
  set_wanted (self, wanted);
  if (self->debug_file.input.fd >= 0 || self->debug_file.input.bytes != NULL)
    add_table (self, &self->debug_file, &debug_symtab);
  else
    add_table (self, &self->file, &symtab);
}

/* Reading the whole table */

typedef struct
{
  const LuElfSymbols *self;
  LuElfSymbolFunc func;
  gpointer user_data;
  const char *names; /* end in NUL */
  guint64 size;
} Reading;

static void
pass_on (const Elf64_Sym *symbol, gpointer user_data)
{
  const Reading *reading = user_data;

  reading->func (reading->self, symbol,
                 symbol->st_name < reading->size ? reading->names + symbol->st_name : "",
                 reading->user_data);
}

gboolean
lu_elf_symbols_each (const LuElfSymbols *self, LuElfSymbolFunc func, gpointer user_data)
{
  const Strings *strings = &self->strings[self->symtab.source];
  g_autofree char *names = NULL;
  Reading reading = { self, func, user_data, NULL, strings->size };

  if (self->symtab.size == 0 || strings->size > MAX_STRINGS
      || !lu_budget_read (self->budget, strings->size))
    return FALSE;
  names = g_malloc (strings->size + 1);
  if (!lu_elf_input_read (&strings->input, strings->file_offset, names, strings->size))
    return FALSE;
  names[strings->size] = 0;
  reading.names = names;
  return each_symbol (self, &self->symtab, pass_on, &reading);
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
          add_table (self, &self->file, &dynsym);
          add_debug_data (self);
          add_go (self);
        }
      add_plt (self);
    }
  for (guint i = 0; self->wanted != NULL && i < self->wanted->len; i++)
    {
      const Wanted *wanted = &g_array_index (self->wanted, Wanted, i);

      if (wanted->before.name != 0)
        g_array_append_val (self->entries, wanted->before);
      if (wanted->after.name != 0)
        g_array_append_val (self->entries, wanted->after);
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

/* Returns the last entry that starts at or before the address; -1 if there is none. */
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

/* Returns the innermost function with a size that contains the address, or else the label in front
 * of it; -1 if there is neither. */
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

/* Returns the offset of a name in the strings of its source; 0: there is none. */
static guint32
name_offset (const LuElfSymbols *self, const Entry *entry)
{
  const LuElfSectionHeader *table;
  Elf64_Sym symbol;

  if (entry->source != SOURCE_PLT)
    return entry->name;
  table = lu_elf_headers_find_section (&self->file.headers, ".dynsym");
  return table != NULL && entry->name < table->size / sizeof symbol
                 && lu_budget_read (self->budget, sizeof symbol)
                 && lu_elf_input_read (&self->file.input,
                                       table->file_offset + entry->name * sizeof symbol, &symbol,
                                       sizeof symbol)
             ? symbol.st_name
             : 0;
}

static char *
read_name (const LuElfSymbols *self, const Entry *entry)
{
  const Strings *strings = &self->strings[entry->source];
  guint32 offset = name_offset (self, entry);
  gsize size = 128;

  while (offset != 0 && offset < strings->size)
    {
      gsize room = (gsize) MIN (size, strings->size - offset);
      g_autofree char *text = g_malloc (room + 1);

      if (!lu_budget_read (self->budget, room)
          || !lu_elf_input_read (&strings->input, strings->file_offset + offset, text, room))
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

/* Chooses among the entries that start where that one does. As those before it are larger, all of
 * them contain an address that it contains. */
static char *
choose_name (const LuElfSymbols *self, gint index, Entry *chosen)
{
  const Entry *first = &g_array_index (self->entries, Entry, index);
  char *best_name = NULL;

  for (gint i = index; i >= 0; i--)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);
      g_autofree char *name = NULL;

      if (entry->start != first->start || index - i > MAX_NESTING)
        break;
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

static void
choose (LuElfSymbols *self, gint index)
{
  g_autofree char *name = choose_name (self, index, &self->chosen);

  g_free (self->chosen_name);
  self->chosen_name = name != NULL && self->chosen.source == SOURCE_PLT
                          ? g_strconcat (name, "@plt", NULL)
                          : g_steal_pointer (&name);
  self->chosen_index = index;
}

gboolean
lu_elf_symbols_find (LuElfSymbols *self, guint64 file_offset, LuElfSymbol *symbol)
{
  const LuElfProgramHeader *code = lu_elf_file_code_at_offset (&self->file, file_offset);
  guint64 vaddr;
  gint index;
  Entry chosen;

  if (self->reaches == NULL)
    prepare (self);
  /* A part of the symbols could give wrong names. */
  if (code == NULL || (self->budget != NULL && self->budget->state != LU_BUDGET_WITHIN))
    return FALSE;
  vaddr = file_offset - code->file_offset + code->vaddr;
  index = find_entry (self, vaddr);
  if (index < 0)
    return FALSE;
  if (index != self->chosen_index)
    choose (self, index);
  if (self->chosen_name == NULL)
    return FALSE;
  chosen = self->chosen;
  symbol->name = self->chosen_name;
  if (chosen.start < code->vaddr) /* it began in the segment before this one */
    chosen.size = chosen.size > 0 ? (guint32) (chosen.size - (code->vaddr - chosen.start)) : 0;
  chosen.start = MAX (chosen.start, code->vaddr);
  symbol->start = chosen.start - code->vaddr + code->file_offset;
  symbol->end = end_of (self, &chosen, index, code) - code->vaddr + code->file_offset;
  return TRUE;
}
