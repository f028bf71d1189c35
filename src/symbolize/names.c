/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.c - names of functions, file by file; see names.h.
 *
 * Queries are answered in the order of their offsets, so that a function is read once however many
 * of its addresses are asked for. */

#include "symbolize/names.h"

#include "base/fd.h"
#include "symbolize/demangle.h"
#include "symbolize/elf-symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#define MAX_VDSO   65536
#define PLT_SUFFIX "@plt"

struct _LuNames
{
  GHashTable *texts; /* set of char*, owned */
  /* of the last file */
  LuNamesLack lack;
  char *build_id; /* owned; NULL: lacks nothing */
};

/* A file that was found to be the right one. */
typedef struct
{
  LuElfSymbols *symbols; /* NULL: none */
  int fd, debug_fd;
} File;

static void
file_clear (File *self)
{
  g_clear_pointer (&self->symbols, lu_elf_symbols_free);
  lu_fd_clear (&self->fd);
  lu_fd_clear (&self->debug_fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (File, file_clear)

LuNames *
lu_names_new (void)
{
  LuNames *self = g_new0 (LuNames, 1);

  self->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

void
lu_names_free (LuNames *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->texts);
  g_free (self->build_id);
  g_free (self);
}

const char *
lu_names_intern (LuNames *self, const char *text)
{
  char *found = g_hash_table_lookup (self->texts, text);

  if (found == NULL)
    {
      found = g_strdup (text);
      g_hash_table_add (self->texts, found);
    }
  return found;
}

static gboolean
take_debug_file (File *self, int fd_taken)
{
  lu_autofd fd = fd_taken;

  if (fd < 0 || !lu_elf_symbols_add_debug_file (self->symbols, fd))
    return FALSE;
  self->debug_fd = lu_fd_steal (&fd);
  return TRUE;
}

static void
add_debug_file (File *self, const LuNameFile *file)
{
  const char *build_id = lu_elf_symbols_build_id (self->symbols);
  const char *link = lu_elf_symbols_debug_link (self->symbols);
  int fd;

  if (!lu_elf_symbols_wants_debug_file (self->symbols))
    return;
  for (guint i = 0; (fd = lu_debug_file_open (file, build_id, link, i)) != -2; i++)
    if (take_debug_file (self, fd))
      return;
}

/* TRUE: it is the one that was mapped, and is ours now. */
static gboolean
take_file (File *self, const LuNameFile *file, int fd_taken, LuNamesResult *result)
{
  lu_autofd fd = fd_taken;
  g_autoptr (LuElfSymbols) symbols = fd >= 0 ? lu_elf_symbols_new (fd, NULL) : NULL;

  if (fd >= 0 && symbols == NULL)
    *result = LU_NAMES_NO_ELF;
  if (symbols == NULL || !lu_name_file_is (file, lu_elf_symbols_build_id (symbols), fd))
    return FALSE;
  self->symbols = g_steal_pointer (&symbols);
  self->fd = lu_fd_steal (&fd);
  *result = LU_NAMES_READ;
  add_debug_file (self, file);
  return TRUE;
}

static LuNamesResult
open_file (File *self, const LuNameFile *file)
{
  LuNamesResult result = LU_NAMES_NO_FILE;

  for (guint way = 0; way < LU_NAME_FILE_WAYS; way++)
    if (take_file (self, file, lu_name_file_open (file, way), &result))
      break;
  return result;
}

/* Ours is everybody's, as long as the build-ids agree: the kernel has one. */
static LuNamesResult
open_vdso (File *self, const LuNameFile *file)
{
  guint64 at = getauxval (AT_SYSINFO_EHDR), start, end;
  g_autofree char *maps = lu_fd_read_file ("/proc/self/maps", MAX_VDSO * 16, NULL);

  for (const char *line = maps; at != 0 && line != NULL && *line != '\0';)
    {
      if (sscanf (line, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", &start, &end) == 2
          && start == at)
        {
          self->symbols = lu_elf_symbols_new_from_memory ((gconstpointer) (guintptr) at,
                                                          MIN (end - start, MAX_VDSO), NULL);
          break;
        }
      line = strchr (line, '\n');
      line = line != NULL ? line + 1 : NULL;
    }
  if (self->symbols == NULL)
    return LU_NAMES_NO_FILE;
  return g_strcmp0 (file->build_id, lu_elf_symbols_build_id (self->symbols)) == 0
             ? LU_NAMES_READ
             : LU_NAMES_NO_FILE;
}

static int
compare_queries (gconstpointer a, gconstpointer b)
{
  const LuNameQuery *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  return x->file_offset < y->file_offset ? -1 : x->file_offset > y->file_offset;
}

/* An entry of the PLT is named after a symbol that is mangled as any other. */
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
answer (LuNames *self, LuElfSymbols *symbols, LuNameQuery *query, const LuNameQuery *last)
{
  LuElfSymbol symbol;
  g_autofree char *readable = NULL;

  if (last != NULL && last->name != NULL && query->file_offset == last->file_offset)
    {
      query->start = last->start;
      query->end = last->end;
      query->name = last->name;
      return;
    }
  if (!lu_elf_symbols_find (symbols, query->file_offset, &symbol))
    return;
  query->start = symbol.start;
  query->end = symbol.end;
  readable = readable_name (symbol.name);
  query->name = lu_names_intern (self, readable);
  g_free (symbol.name);
}

static void
note_lack (LuNames *self, LuNamesLack lack, const char *build_id)
{
  g_free (self->build_id);
  self->build_id = g_strdup (build_id);
  self->lack = build_id != NULL ? lack : LU_NAMES_LACK_NOTHING;
}

/* The vDSO has no file anywhere. */
static void
find_lack (LuNames *self, const LuNameFile *file, const File *opened, LuNamesResult result)
{
  if (file->path[0] == '[')
    note_lack (self, LU_NAMES_LACK_NOTHING, NULL);
  else if (result != LU_NAMES_READ)
    note_lack (self, LU_NAMES_LACK_FILE, file->build_id);
  else if (lu_elf_symbols_wants_debug_file (opened->symbols))
    note_lack (self, LU_NAMES_LACK_DEBUG_FILE, lu_elf_symbols_build_id (opened->symbols));
  else
    note_lack (self, LU_NAMES_LACK_NOTHING, NULL);
}

LuNamesLack
lu_names_lack (const LuNames *self, const char **build_id)
{
  *build_id = self->build_id;
  return self->lack;
}

gboolean
lu_names_lack_debug_file (const LuNames *self)
{
  const char *build_id;

  return lu_names_lack (self, &build_id) == LU_NAMES_LACK_DEBUG_FILE;
}

LuNamesResult
lu_names_find_all (LuNames *self, const LuNameFile *file, LuNameQuery *queries, guint n_queries)
{
  g_auto (File) opened = { .fd = -1, .debug_fd = -1 };
  g_autoptr (GPtrArray) sorted = g_ptr_array_sized_new (n_queries);
  LuNamesResult result;

  for (guint i = 0; i < n_queries; i++)
    {
      queries[i].name = NULL;
      g_ptr_array_add (sorted, &queries[i]);
    }
  result =
      g_str_equal (file->path, "[vdso]") ? open_vdso (&opened, file) : open_file (&opened, file);
  find_lack (self, file, &opened, result);
  if (result != LU_NAMES_READ)
    return result;
  g_ptr_array_sort (sorted, compare_queries);
  for (guint i = 0; i < n_queries; i++)
    answer (self, opened.symbols, g_ptr_array_index (sorted, i),
            i > 0 ? g_ptr_array_index (sorted, i - 1) : NULL);
  return LU_NAMES_READ;
}
