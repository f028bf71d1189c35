/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-cold.c - which function a cold part belongs to; see elf-cold.h. */

#include "symbolize/elf-cold.h"

#include <string.h>

#define SUFFIX ".cold"
/* The number of a unit that stands for all of the program. */
#define GLOBAL G_MAXUINT32
/* Static functions of one name; a kernel has some hundreds. */
#define MAX_CANDIDATES 4096

/* A function that has the name of a part's function. */
typedef struct
{
  guint64 vaddr;
  guint32 unit;
} Candidate;

typedef struct
{
  GHashTable *candidates; /* name -> GArray of Candidate */
  GHashTable *units;      /* ELF address of a part -> its unit + 1 */
  guint32 unit;           /* of the symbols that come now; 0: before the first one */
} Joining;

char *
lu_cold_function_name (const char *symbol)
{
  const char *suffix = g_strrstr (symbol, SUFFIX);
  const char *end = suffix != NULL ? suffix + strlen (SUFFIX) : NULL;

  if (suffix == NULL || suffix == symbol || (end[0] != 0 && end[0] != '.')
      || end[strspn (end, ".0123456789")] != 0)
    return NULL;
  return g_strndup (symbol, (gsize) (suffix - symbol));
}

void
lu_cold_part_clear (gpointer part)
{
  g_free (((LuColdPart *) part)->function_name);
}

static guint64
vaddr_of (const LuElfSymbols *symbols, guint64 file_offset)
{
  const LuElfProgramHeader *code =
      lu_elf_file_code_at_offset (lu_elf_symbols_file (symbols), file_offset);

  return code != NULL ? file_offset - code->file_offset + code->vaddr : 0;
}

static void
take_symbol (const LuElfSymbols *symbols, const Elf64_Sym *symbol, const char *name,
             gpointer user_data)
{
  Joining *self = user_data;
  guint type = ELF64_ST_TYPE (symbol->st_info);
  gboolean is_local = ELF64_ST_BIND (symbol->st_info) == STB_LOCAL;
  Candidate candidate = { symbol->st_value, is_local ? self->unit : GLOBAL };
  GArray *candidates;
  gint64 key = (gint64) symbol->st_value;

  if (type == STT_FILE)
    {
      self->unit++;
      return;
    }
  if (type != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
    return;
  if (is_local && g_hash_table_contains (self->units, &key) && strstr (name, SUFFIX) != NULL)
    g_hash_table_insert (self->units, g_memdup2 (&key, sizeof key),
                         GUINT_TO_POINTER (self->unit + 1));
  candidates = g_hash_table_lookup (self->candidates, name);
  if (candidates != NULL && candidates->len < MAX_CANDIDATES)
    g_array_append_val (candidates, candidate);
}

/* Returns the address of the one function in a unit; G_MAXUINT64 if there is none or several. */
static guint64
only_one (const GArray *candidates, guint32 unit)
{
  guint64 found = G_MAXUINT64;

  for (guint i = 0; i < candidates->len; i++)
    {
      const Candidate *candidate = &g_array_index (candidates, Candidate, i);

      if (candidate->unit != unit || candidate->vaddr == found)
        continue;
      if (found != G_MAXUINT64)
        return G_MAXUINT64;
      found = candidate->vaddr;
    }
  return found;
}

static void
choose (const Joining *self, const LuElfSymbols *symbols, LuColdPart *part)
{
  const GArray *candidates = g_hash_table_lookup (self->candidates, part->function_name);
  gint64 key = (gint64) vaddr_of (symbols, part->start);
  guint unit = GPOINTER_TO_UINT (g_hash_table_lookup (self->units, &key));
  guint64 vaddr = unit > 0 ? only_one (candidates, unit - 1) : G_MAXUINT64;
  const LuElfProgramHeader *code;

  if (vaddr == G_MAXUINT64)
    vaddr = only_one (candidates, GLOBAL);
  code = lu_elf_file_code_at_address (lu_elf_symbols_file (symbols), vaddr);
  if (vaddr != G_MAXUINT64 && code != NULL)
    part->function = vaddr - code->vaddr + code->file_offset;
}

void
lu_cold_parts_join (const LuElfSymbols *symbols, GArray *parts)
{
  Joining self = { .candidates = g_hash_table_new_full (g_str_hash, g_str_equal, NULL,
                                                        (GDestroyNotify) g_array_unref),
                   .units = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL) };

  for (guint i = 0; i < parts->len; i++)
    {
      LuColdPart *part = &g_array_index (parts, LuColdPart, i);
      gint64 key = (gint64) vaddr_of (symbols, part->start);

      part->function = G_MAXUINT64;
      g_hash_table_insert (self.units, g_memdup2 (&key, sizeof key), NULL);
      g_hash_table_insert (self.candidates, part->function_name,
                           g_array_new (FALSE, FALSE, sizeof (Candidate)));
    }
  if (lu_elf_symbols_each (symbols, take_symbol, &self))
    for (guint i = 0; i < parts->len; i++)
      choose (&self, symbols, &g_array_index (parts, LuColdPart, i));
  g_hash_table_unref (self.candidates);
  g_hash_table_unref (self.units);
}
