/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* namer.c - finds the functions of addresses; see namer.h. */

#include "symbolize/namer.h"

#include "base/id-table.h"
#include "elf/own-vdso.h"
#include "symbolize/demangle.h"
#include "symbolize/elf-cold.h"
#include "symbolize/elf-fdes.h"
#include "symbolize/jit-names.h"
#include "symbolize/place-names.h"

#include <string.h>

#define PLT_SUFFIX "@plt"
/* Bytes of the names of places. The most addresses that a capture has take 16 MiB. */
#define MAX_PLACE_TEXT (64u << 20)

typedef struct
{
  LuNameFile file; /* not for generated code */
  gint32 pid;      /* of the process with the generated code; 0: a file */
  guint first, n;  /* its part of `queries`, once these are sorted */
  LuNamesResult result;
} File;

struct _LuNamer
{
  GArray *files;   /* of File */
  GArray *queries; /* of LuNameQuery */
  gboolean is_sorted;
  GHashTable *generated; /* pid -> number in `files` + 1 */
  GHashTable *jitdumps;  /* pid -> path, borrowed */
  GStringChunk *texts;
  LuBudget budget;               /* of the last lu_namer_run() */
  const LuNamerOptions *options; /* of the lu_namer_run() that goes on */
  guint n_done;                  /* files */
};

static gint n_given_up; /* atomic */

guint
lu_namer_n_given_up (void)
{
  return (guint) g_atomic_int_get (&n_given_up);
}

LuNamer *
lu_namer_new (GHashTable *jitdumps)
{
  LuNamer *self = g_new0 (LuNamer, 1);

  self->files = g_array_new (FALSE, FALSE, sizeof (File));
  self->queries = g_array_new (FALSE, FALSE, sizeof (LuNameQuery));
  self->generated = g_hash_table_new (NULL, NULL);
  self->jitdumps = jitdumps;
  self->texts = g_string_chunk_new (4096);
  return self;
}

void
lu_namer_free (LuNamer *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->files);
  g_array_unref (self->queries);
  g_hash_table_unref (self->generated);
  g_string_chunk_free (self->texts);
  g_free (self);
}

guint32
lu_namer_add_file (LuNamer *self, const LuNameFile *file)
{
  File added = { .file = *file, .result = LU_NAMES_NO_FILE };

  g_array_append_val (self->files, added);
  return self->files->len - 1;
}

void
lu_namer_add (LuNamer *self, guint32 file, guint64 file_offset, guint32 number)
{
  LuNameQuery query = {
    .file_offset = file_offset, .file = file, .number = number, .place = file_offset
  };

  self->is_sorted = FALSE;
  g_array_append_val (self->queries, query);
}

void
lu_namer_add_generated (LuNamer *self, const LuGeneratedQuery *generated, guint32 number)
{
  gpointer key = GINT_TO_POINTER (generated->pid);
  guint32 file = GPOINTER_TO_UINT (g_hash_table_lookup (self->generated, key));
  LuNameQuery query = { .file_offset = generated->address,
                        .time = generated->time,
                        .number = number,
                        .is_generated = TRUE };

  if (file == 0)
    {
      g_array_append_val (self->files, (File){ .pid = generated->pid });
      file = self->files->len;
      g_hash_table_insert (self->generated, key, GUINT_TO_POINTER (file));
    }
  query.file = file - 1;
  self->is_sorted = FALSE;
  g_array_append_val (self->queries, query);
}

const char *
lu_namer_intern (LuNamer *self, const char *text)
{
  return g_string_chunk_insert_const (self->texts, text);
}

/* Files */

static int
compare_queries (gconstpointer a, gconstpointer b)
{
  const LuNameQuery *x = a, *y = b;

  if (x->file != y->file)
    return x->file < y->file ? -1 : 1;
  if (x->file_offset != y->file_offset)
    return x->file_offset < y->file_offset ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static LuNameQuery *
query_at (const LuNamer *self, guint index)
{
  return &g_array_index (self->queries, LuNameQuery, index);
}

/* Sorts the queries and finds the part of each file. */
static void
sort (LuNamer *self)
{
  if (self->is_sorted)
    return;
  self->is_sorted = TRUE;
  g_array_sort (self->queries, compare_queries);
  for (guint i = 0; i < self->files->len; i++)
    g_array_index (self->files, File, i).n = 0;
  for (guint i = 0; i < self->queries->len; i++)
    {
      File *file = &g_array_index (self->files, File, query_at (self, i)->file);

      file->first = file->n++ > 0 ? file->first : i;
    }
}

/* Demangles a symbol; one in the PLT is mangled without its suffix. */
static char *
readable_name (const char *symbol)
{
  g_autofree char *stem = NULL, *readable = NULL;

  if (!g_str_has_suffix (symbol, PLT_SUFFIX))
    return lu_demangle (symbol);
  stem = g_strndup (symbol, strlen (symbol) - strlen (PLT_SUFFIX));
  readable = lu_demangle (stem);
  return g_strconcat (readable, PLT_SUFFIX, NULL);
}

static void
keep_name (LuNamer *self, LuNameQuery *query, const char *symbol)
{
  g_autofree char *readable = readable_name (symbol);

  if (lu_budget_keep (&self->budget, strlen (readable)))
    query->name = lu_namer_intern (self, readable);
}

/* last: the query before it in this file, or NULL. cold: of LuColdPart, gets one more if this is
 * one. */
static void
answer (LuNamer *self, LuElfSymbols *symbols, LuNameQuery *query, const LuNameQuery *last,
        GArray *cold)
{
  LuElfSymbol symbol;
  LuColdPart part;

  if (!lu_elf_symbols_find (symbols, query->file_offset, &symbol))
    return;
  query->start = query->beginning = symbol.start;
  query->end = symbol.end;
  if (last != NULL && last->has_symbol && last->start == query->start && last->end == query->end)
    query->name = last->name;
  else
    {
      keep_name (self, query, symbol.name);
      part = (LuColdPart){ lu_cold_function_name (symbol.name), symbol.start, G_MAXUINT64 };
      if (part.function_name != NULL)
        g_array_append_val (cold, part);
    }
  query->has_symbol = query->name != NULL;
}

/* Gives cold parts of functions the names of their functions. */
static void
join_cold (LuNamer *self, const File *file, LuElfSymbols *symbols, GArray *cold)
{
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (guint64));

  lu_cold_parts_join (symbols, cold);
  for (guint i = 0; i < cold->len; i++)
    g_array_append_val (wanted, g_array_index (cold, LuColdPart, i).function);
  lu_elf_symbols_want (symbols, wanted);
  for (guint i = file->first, k = 0; i < file->first + file->n; i++)
    {
      LuNameQuery *query = query_at (self, i);
      const LuColdPart *part;
      LuElfSymbol symbol;

      /* Both are in the order of addresses. */
      while (k < cold->len && query->has_symbol
             && g_array_index (cold, LuColdPart, k).start < query->start)
        k++;
      part = k < cold->len ? &g_array_index (cold, LuColdPart, k) : NULL;
      if (part == NULL || !query->has_symbol || part->start != query->start
          || !lu_elf_symbols_find (symbols, part->function, &symbol)
          || symbol.start != part->function)
        continue;
      query->beginning = symbol.start;
      if (i > file->first && (query - 1)->start == query->start)
        query->name = (query - 1)->name;
      else
        keep_name (self, query, symbol.name);
    }
}

/* Finds where the functions without a symbol begin. */
static void
find_places (LuNamer *self, const File *file, const LuElfFile *elf)
{
  g_autoptr (LuElfFdes) fdes = lu_elf_fdes_new (elf, &self->budget);

  for (guint i = file->first; i < file->first + file->n; i++)
    {
      LuNameQuery *query = query_at (self, i);
      const LuElfProgramHeader *code = lu_elf_file_code_at_offset (elf, query->file_offset);
      guint64 start, end, bias;

      if (query->has_symbol || code == NULL)
        continue;
      bias = code->vaddr - code->file_offset;
      query->place = query->file_offset + bias;
      query->start = query->file_offset;
      query->end = query->file_offset + 1;
      if (fdes == NULL || !lu_elf_fdes_find (fdes, query->place, &start, &end))
        continue;
      query->place = MAX (start, code->vaddr);
      query->start = query->place - bias;
      query->end = MIN (end, code->vaddr + code->file_size) - bias;
    }
}

/* All processes of a kernel have the same vDSO, so ours will do if the build-ids agree. */
static gboolean
open_vdso (LuElfFile *opened, const LuNameFile *file)
{
  gsize size = 0;
  gconstpointer bytes = lu_own_vdso (&size);

  if (bytes == NULL || !lu_elf_file_open_memory (opened, bytes, size, NULL))
    return FALSE;
  if (g_strcmp0 (file->id->build_id, opened->build_id) == 0)
    return TRUE;
  lu_elf_file_clear (opened);
  return FALSE;
}

static LuElfSymbols *
open_symbols (const LuNameFile *file, const GArray *wanted, LuNamesResult *result)
{
  gboolean is_no_elf = FALSE;
  guint candidate = 0;
  LuElfFile opened;
  LuElfSymbols *symbols;

  if (g_str_equal (file->id->path, "[vdso]") ? !open_vdso (&opened, file)
                                             : !lu_elf_file_open_mapped (&opened, file, &is_no_elf))
    {
      *result = is_no_elf ? LU_NAMES_NO_ELF : LU_NAMES_NO_FILE;
      return NULL;
    }
  *result = LU_NAMES_READ;
  symbols = lu_elf_symbols_new (&opened, wanted, file->budget);
  while (lu_elf_symbols_wants_debug_file (symbols)
         && lu_elf_file_open_debug (&opened, lu_elf_symbols_file (symbols), file, &candidate))
    if (!lu_elf_symbols_take_debug_file (symbols, &opened))
      lu_elf_file_clear (&opened);
  return symbols;
}

/* Returns the offsets, or for generated code the addresses, that have no name yet; sorted. */
static GArray *
wanted_of (const LuNamer *self, const File *file)
{
  GArray *wanted = g_array_sized_new (FALSE, FALSE, sizeof (guint64), file->n);

  for (guint i = file->first; i < file->first + file->n; i++)
    if (query_at (self, i)->name == NULL)
      g_array_append_val (wanted, query_at (self, i)->file_offset);
  return wanted;
}

/* Answers the queries of a file that have no name yet. Returns whether some still have none that
 * another file may have; `unnamed` then tells which. The vDSO has no file anywhere. */
static gboolean
name_file (LuNamer *self, guint32 number, const LuNameFetched *fetched, LuUnnamedFile *unnamed)
{
  File *file = &g_array_index (self->files, File, number);
  g_autoptr (GArray) wanted = wanted_of (self, file);
  g_autoptr (LuElfSymbols) symbols = NULL;
  g_autoptr (GArray) cold = g_array_new (FALSE, FALSE, sizeof (LuColdPart));
  const char *build_id = file->file.id->build_id;
  gboolean lacks_names = FALSE;

  g_array_set_clear_func (cold, lu_cold_part_clear);
  file->file.fetched = fetched;
  file->file.budget = &self->budget;
  symbols = open_symbols (&file->file, wanted, &file->result);
  file->file.fetched = NULL;
  file->file.budget = NULL;
  for (guint i = file->first; i < file->first + file->n; i++)
    {
      LuNameQuery *query = query_at (self, i);

      if (query->name == NULL && symbols != NULL)
        answer (self, symbols, query, i > file->first ? query - 1 : NULL, cold);
      lacks_names |= query->name == NULL;
    }
  if (cold->len > 0)
    join_cold (self, file, symbols, cold);
  if (symbols != NULL && lacks_names)
    find_places (self, file, lu_elf_symbols_file (symbols));
  if (symbols != NULL)
    build_id =
        lu_elf_symbols_wants_debug_file (symbols) ? lu_elf_symbols_file (symbols)->build_id : NULL;
  if (!lacks_names || build_id == NULL || file->file.id->path[0] == '['
      || self->budget.state != LU_BUDGET_WITHIN)
    return FALSE;
  *unnamed = (LuUnnamedFile){ .path = file->file.id->path,
                              .build_id = lu_namer_intern (self, build_id),
                              .is_gone = symbols == NULL,
                              .number = number };
  return TRUE;
}

/* Answers the queries about the generated code of a process. */
static void
name_generated (LuNamer *self, const File *file)
{
  g_autoptr (GArray) wanted = wanted_of (self, file);
  g_autoptr (LuJitNames) names = lu_jit_names_new (wanted, &self->budget);
  guint64 first_time = G_MAXUINT64;

  for (guint i = file->first; i < file->first + file->n; i++)
    first_time = MIN (first_time, query_at (self, i)->time);
  lu_jit_names_add_process (names, file->pid, first_time,
                            g_hash_table_lookup (self->jitdumps, GINT_TO_POINTER (file->pid)));
  for (guint i = file->first; i < file->first + file->n; i++)
    {
      LuNameQuery *query = query_at (self, i);
      LuJitName name;

      if (!lu_jit_names_find (names, query->file_offset, query->time, &name))
        continue;
      if (lu_budget_keep (&self->budget, strlen (name.name)))
        {
          query->start = name.start;
          query->end = name.end;
          query->name = lu_namer_intern (self, name.name);
        }
      g_free (name.name);
    }
}

/* Begins another file; FALSE if nothing is left of the budget for all. */
static gboolean
begin_file (LuNamer *self, guint32 number)
{
  self->n_done = number;
  return lu_budget_next_file (&self->budget);
}

/* Notes that a file cost too much. */
static void
end_file (LuNamer *self, guint32 number)
{
  static const LuNamesResult results[] = { [LU_BUDGET_TOO_LARGE] = LU_NAMES_TOO_LARGE,
                                           [LU_BUDGET_TOO_SLOW] = LU_NAMES_TOO_SLOW,
                                           [LU_BUDGET_STOPPED] = LU_NAMES_SKIPPED };

  if (self->budget.state == LU_BUDGET_WITHIN)
    return;
  g_array_index (self->files, File, number).result = results[self->budget.state];
  if (self->budget.state != LU_BUDGET_STOPPED)
    g_atomic_int_inc (&n_given_up);
}

static gboolean
take_fetched (guint32 number, const LuNameFetched *fetched, gpointer user_data)
{
  LuNamer *self = user_data;
  LuUnnamedFile unnamed;
  gboolean needs_more =
      begin_file (self, number) && name_file (self, number, fetched, &unnamed) && !unnamed.is_gone;

  end_file (self, number);
  return needs_more;
}

static gboolean
goes_on (gpointer user_data)
{
  const LuNamer *self = user_data;
  const LuNamerOptions *options = self->options;

  return options->progress == NULL
         || options->progress (self->n_done, self->files->len, options->progress_data);
}

/* Looks for symbols in all files. FALSE if progress() ended it. */
static gboolean
name_files (LuNamer *self)
{
  const LuNamerOptions *options = self->options;
  g_autoptr (GArray) unnamed = g_array_new (FALSE, FALSE, sizeof (LuUnnamedFile));

  for (guint32 i = 0; i < self->files->len && self->budget.state != LU_BUDGET_STOPPED; i++)
    {
      const File *file = &g_array_index (self->files, File, i);
      LuUnnamedFile other;

      if (file->n == 0)
        continue;
      if (begin_file (self, i) && file->pid != 0)
        name_generated (self, file);
      else if (self->budget.state == LU_BUDGET_WITHIN && name_file (self, i, NULL, &other))
        g_array_append_val (unnamed, other);
      end_file (self, i);
    }
  if (self->budget.state == LU_BUDGET_STOPPED)
    return FALSE;
  if (options->debuginfod != NULL && unnamed->len > 0)
    lu_debuginfod_fetch (options->debuginfod, unnamed,
                         options->count (unnamed, options->count_data), take_fetched, self);
  return TRUE;
}

/* Returns a number for each file, by file. Copies of a file in several containers have the same
 * one: their build-ids, digests and names agree. */
static guint32 *
number_files (const LuNamer *self)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint32 *number_of = g_new0 (guint32, self->files->len + 1);

  for (guint32 i = 0; i < self->files->len; i++)
    {
      const File *file = &g_array_index (self->files, File, i);
      const LuFileId *id = file->file.id;
      g_autofree char *base = file->pid == 0 ? lu_place_name (id->path, 0) : NULL;
      g_autofree char *key = file->pid == 0 && id->build_id != NULL
                                 ? g_strdup_printf ("%s\n%s\n%s", id->build_id,
                                                    id->digest != NULL ? id->digest : "", base)
                                 : g_strdup_printf ("%u", i);

      number_of[i] = GPOINTER_TO_UINT (g_hash_table_lookup (numbers, key));
      if (number_of[i] > 0)
        continue;
      number_of[i] = i + 1;
      g_hash_table_insert (numbers, g_steal_pointer (&key), GUINT_TO_POINTER (i + 1));
    }
  return number_of;
}

/* Names an address without a symbol. before: the query before it, perhaps of the same function. */
static void
name_place (LuNamer *self, LuNameQuery *query, const LuNameQuery *before, gsize *left)
{
  const File *file = &g_array_index (self->files, File, query->file);
  g_autofree char *name = NULL;

  if (query->end == 0)
    {
      query->start = query->file_offset;
      query->end = query->file_offset + 1;
    }
  if (before != NULL && before->file == query->file && !before->has_symbol
      && before->place == query->place)
    {
      query->name = before->name;
      return;
    }
  name = lu_place_name (file->file.id->path, query->place);
  if (strlen (name) >= *left)
    return;
  *left -= strlen (name) + 1;
  query->name = lu_namer_intern (self, name);
}

/* Names everything else in files by its place, and numbers the functions. */
static void
name_places (LuNamer *self)
{
  g_autofree guint32 *number_of = number_files (self);
  g_autoptr (LuIdTable) functions = lu_id_table_new (2);
  gsize left = MAX_PLACE_TEXT;

  for (guint i = 0; i < self->queries->len; i++)
    {
      LuNameQuery *query = query_at (self, i);
      guint64 kind = query->has_symbol ? 1 : 0;
      guint64 beginning = query->has_symbol ? query->beginning : query->start;

      if (query->is_generated)
        continue;
      if (!query->has_symbol)
        name_place (self, query, i > 0 ? query - 1 : NULL, &left);
      query->function =
          lu_id_table_add (functions, (guint64) number_of[query->file] << 1 | kind, beginning) + 1;
    }
}

gboolean
lu_namer_run (LuNamer *self, const LuNamerOptions *options)
{
  gboolean is_whole;

  sort (self);
  self->options = options;
  lu_budget_init (&self->budget, goes_on, self);
  is_whole = name_files (self);
  name_places (self);
  return is_whole;
}

void
lu_namer_run_without_files (LuNamer *self)
{
  sort (self);
  name_places (self);
}

const LuNameQuery *
lu_namer_answers (LuNamer *self, guint *n_answers)
{
  sort (self);
  *n_answers = self->queries->len;
  return (LuNameQuery *) self->queries->data;
}

LuNamesResult
lu_namer_result (const LuNamer *self, guint32 file)
{
  return g_array_index (self->files, File, file).result;
}
