/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwarf-lines.c - finds lines and inlined functions in one file with libdw; see dwarf-lines.h.
 *
 * Each unit with one of the addresses is walked once for all its addresses. The walk visits a
 * function before what is inlined into it, so an address collects its chain from the outside in.
 * Units are found by their own ranges, because clang writes no .debug_aranges. */

#include "symbolize/dwarf-lines.h"

#include "base/open-file.h"
#include "sandbox/sandbox.h"
#include "symbolize/dwarf-writer.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define NO_UNIT   G_MAXUINT32
#define MAX_DEPTH 256
/* Linkers move the ranges of discarded functions to this address or below it. */
#define LAST_DISCARDED 1

typedef struct
{
  guint64 address;
  guint32 number; /* index in the addresses of the caller */
  guint32 unit;   /* NO_UNIT: none */
  guint32 level;  /* the innermost level; 0: no function */
} Query;

/* A function, or one place where a function is inlined. */
typedef struct
{
  Dwarf_Off die;
  guint32 outer; /* the level that it is inlined into; 0: not inlined */
  guint32 depth; /* 1: not inlined */
} Level;

typedef struct
{
  Dwarf_Die die;
  const char *directory; /* base of relative file names; NULL: not given */
  Query **queries;       /* sorted by address; borrowed */
  guint n_queries, first_number;
} Unit;

typedef struct
{
  LuDwarfWriter *writer;
  Dwarf *dwarf;
  Query *queries; /* sorted by address */
  guint n_queries;
  Unit *units;
  guint n_units, room_for_units;
  Level *levels; /* counted from 1 */
  guint n_levels, room_for_levels;
} Reader;

/* Units */

static guint
first_query_at (Query *const *queries, guint n, guint64 address)
{
  guint low = 0, high = n;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (queries[middle]->address < address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static guint32
add_unit (Reader *self, const Dwarf_Die *die)
{
  if (self->n_units == self->room_for_units)
    {
      self->room_for_units = MAX (self->room_for_units * 2, 64);
      self->units = lu_dwarf_reallocate (self->units, self->room_for_units, sizeof *self->units);
    }
  self->units[self->n_units] = (Unit){ .die = *die, .first_number = NO_UNIT };
  return self->n_units++;
}

static void
claim_queries (Reader *self, Query *const *queries, Dwarf_Die *die)
{
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  guint32 unit = NO_UNIT;

  while ((at = dwarf_ranges (die, at, &base, &low, &high)) > 0)
    {
      if (low <= LAST_DISCARDED)
        continue;
      for (guint i = first_query_at (queries, self->n_queries, low);
           i < self->n_queries && queries[i]->address < high; i++)
        {
          if (queries[i]->unit != NO_UNIT)
            continue;
          if (unit == NO_UNIT)
            unit = add_unit (self, die);
          queries[i]->unit = unit;
        }
    }
}

/* Handles units that have no ranges of their own but are in .debug_aranges. */
static void
claim_rest (Reader *self)
{
  for (guint i = 0; i < self->n_queries; i++)
    {
      Query *query = &self->queries[i];
      guint32 last = self->n_units - 1;
      Dwarf_Die die;

      if (query->unit != NO_UNIT || dwarf_addrdie (self->dwarf, query->address, &die) == NULL)
        continue;
      if (self->n_units == 0 || dwarf_dieoffset (&self->units[last].die) != dwarf_dieoffset (&die))
        last = add_unit (self, &die);
      query->unit = last;
    }
}

static void
find_units (Reader *self, Query *const *queries)
{
  Dwarf_CU *cu = NULL;
  Dwarf_Die die;
  uint8_t type;

  while (dwarf_get_units (self->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0)
    if (type == DW_UT_compile || type == DW_UT_skeleton)
      claim_queries (self, queries, &die);
  claim_rest (self);
}

static int
compare_units (const void *a, const void *b)
{
  const Unit *x = a, *y = b;

  return x->first_number < y->first_number ? -1 : x->first_number > y->first_number;
}

/* Sorts the units, so that the one with the first address of the caller comes first. */
static void
sort_units (Reader *self)
{
  for (guint i = 0; i < self->n_queries; i++)
    if (self->queries[i].unit != NO_UNIT)
      self->units[self->queries[i].unit].n_queries++;
  for (guint i = 0; i < self->n_units; i++)
    {
      self->units[i].queries = lu_dwarf_allocate (self->units[i].n_queries, sizeof (Query *));
      self->units[i].n_queries = 0;
    }
  for (guint i = 0; i < self->n_queries; i++)
    {
      Query *query = &self->queries[i];
      Unit *unit = query->unit != NO_UNIT ? &self->units[query->unit] : NULL;

      if (unit == NULL)
        continue;
      unit->queries[unit->n_queries++] = query;
      unit->first_number = MIN (unit->first_number, query->number);
    }
  qsort (self->units, self->n_units, sizeof *self->units, compare_units);
}

/* Functions */

static gboolean
is_scope (int tag)
{
  switch (tag)
    {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
      return TRUE;
    default:
      return FALSE;
    }
}

static guint32
add_level (Reader *self, Dwarf_Off die, guint32 outer)
{
  if (self->n_levels + 1 >= self->room_for_levels)
    {
      self->room_for_levels = MAX (self->room_for_levels * 2, 256);
      self->levels =
          lu_dwarf_reallocate (self->levels, self->room_for_levels, sizeof *self->levels);
    }
  self->levels[++self->n_levels] =
      (Level){ die, outer, outer > 0 ? self->levels[outer].depth + 1 : 1 };
  return self->n_levels;
}

/* Gives a level to the queries in the ranges of a function; if it is inlined, only to those in
 * `outer`. Returns that level; 0 if there are no such queries. */
static guint32
enter_function (Reader *self, const Unit *unit, Dwarf_Die *die, gboolean is_inlined, guint32 outer)
{
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  guint32 level = 0;

  if (is_inlined && (outer == 0 || self->levels[outer].depth >= LU_DWARF_MAX_LEVELS))
    return 0;
  while ((at = dwarf_ranges (die, at, &base, &low, &high)) > 0)
    for (guint i = first_query_at (unit->queries, unit->n_queries, low);
         low > LAST_DISCARDED && i < unit->n_queries && unit->queries[i]->address < high; i++)
      {
        Query *query = unit->queries[i];

        if (query->level != outer && (is_inlined || query->level != 0))
          continue;
        if (level == 0)
          level = add_level (self, dwarf_dieoffset (die), is_inlined ? outer : 0);
        query->level = level;
      }
  return level;
}

static gboolean
has_queries (const Unit *unit, Dwarf_Die *die)
{
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  gboolean is_somewhere = FALSE;

  while ((at = dwarf_ranges (die, at, &base, &low, &high)) > 0)
    {
      guint i = first_query_at (unit->queries, unit->n_queries, low);

      if (i < unit->n_queries && unit->queries[i]->address < high)
        return TRUE;
      is_somewhere = TRUE;
    }
  return !is_somewhere;
}

static void
walk (Reader *self, const Unit *unit, Dwarf_Die *parent, guint32 outer, guint depth)
{
  Dwarf_Die child, next;
  Dwarf_Off offset = dwarf_dieoffset (parent);

  if (depth > MAX_DEPTH || dwarf_child (parent, &child) != 0)
    return;
  /* The offset has to increase, because siblings may form a circle. */
  while (dwarf_dieoffset (&child) > offset)
    {
      int tag = dwarf_tag (&child);

      offset = dwarf_dieoffset (&child);
      if (is_scope (tag) && has_queries (unit, &child))
        {
          guint32 level = outer;

          if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            level = enter_function (self, unit, &child, tag == DW_TAG_inlined_subroutine, outer);
          if (level > 0 || tag != DW_TAG_inlined_subroutine)
            walk (self, unit, &child, level, depth + 1);
        }
      if (dwarf_siblingof (&child, &next) != 0)
        return;
      child = next;
    }
}

/* Answers */

static const char *
function_name (Dwarf_Die *die)
{
  Dwarf_Attribute attribute;
  const char *name;

  if (dwarf_attr_integrate (die, DW_AT_linkage_name, &attribute) != NULL
      || dwarf_attr_integrate (die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
    {
      name = dwarf_formstring (&attribute);
      if (name != NULL)
        return name;
    }
  return dwarf_diename (die);
}

static guint32
number_of (Dwarf_Die *die, unsigned int name)
{
  Dwarf_Attribute attribute;
  Dwarf_Word value;

  return dwarf_attr_integrate (die, name, &attribute) != NULL
                 && dwarf_formudata (&attribute, &value) == 0 && value <= G_MAXINT32
             ? (guint32) value
             : 0;
}

/* The files of a unit. */
typedef struct
{
  Dwarf_Files *files; /* NULL: none */
  size_t n;
  guint first; /* 1 before DWARF 5, where 0 means no file; otherwise 0 */
} Files;

typedef struct
{
  const char *file;
  guint32 line;
} Line;

static const char *
file_at (const Files *files, guint32 number)
{
  return number >= files->first && number < files->n
             ? dwarf_filesrc (files->files, number, NULL, NULL)
             : NULL;
}

static Line
call_of (const Files *files, Dwarf_Die *die)
{
  return (Line){ file_at (files, number_of (die, DW_AT_call_file)),
                 number_of (die, DW_AT_call_line) };
}

/* dwarf_decl_file() takes file 0 for none in all versions of DWARF. */
static Line
definition_of (const Files *files, Dwarf_Die *die)
{
  guint32 number = number_of (die, DW_AT_decl_file), line = number_of (die, DW_AT_decl_line);

  return (Line){ number > 0 ? dwarf_decl_file (die) : line > 0 ? file_at (files, 0) : NULL, line };
}

static Line
line_at (Dwarf_Die *unit, guint64 address)
{
  Dwarf_Line *found = dwarf_getsrc_die (unit, address);
  int line = 0;

  if (found == NULL || dwarf_lineno (found, &line) != 0 || line < 0)
    return (Line){ 0 };
  return (Line){ dwarf_linesrc (found, NULL, NULL), (guint32) line };
}

static void
answer (Reader *self, Unit *unit, const Query *query, const Files *files)
{
  guint32 levels[LU_DWARF_MAX_LEVELS][5] = { 0 };
  Line line = line_at (&unit->die, query->address);
  guint32 level = query->level;
  guint n = 0;

  do
    {
      Dwarf_Die die;
      Line definition;

      levels[n][3] = lu_dwarf_text_number (self->writer, line.file, unit->directory);
      levels[n][4] = line.line;
      if (level > 0 && dwarf_offdie (self->dwarf, self->levels[level].die, &die) != NULL)
        {
          levels[n][0] = lu_dwarf_text_number (self->writer, function_name (&die), NULL);
          definition = definition_of (files, &die);
          levels[n][1] = lu_dwarf_text_number (self->writer, definition.file, unit->directory);
          levels[n][2] = definition.line;
          line = call_of (files, &die);
        }
      n++;
      level = level > 0 ? self->levels[level].outer : 0;
    }
  while (level > 0 && n < LU_DWARF_MAX_LEVELS);
  lu_dwarf_put_u32 (self->writer, LU_DWARF_ANSWER);
  lu_dwarf_put_u32 (self->writer, query->number);
  lu_dwarf_put_u32 (self->writer, n);
  lu_dwarf_put (self->writer, levels, n * sizeof levels[0]);
}

static void
answer_unit (Reader *self, Unit *unit)
{
  Dwarf_Attribute directory;
  Dwarf_Half version;
  Files files = { 0 };

  if (dwarf_attr (&unit->die, DW_AT_comp_dir, &directory) != NULL)
    unit->directory = dwarf_formstring (&directory);
  if (dwarf_getsrcfiles (&unit->die, &files.files, &files.n) != 0)
    files.n = 0;
  files.first = dwarf_cu_info (unit->die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) == 0
                && version < 5;
  walk (self, unit, &unit->die, 0, 0);
  for (guint i = 0; i < unit->n_queries; i++)
    answer (self, unit, unit->queries[i], &files);
  lu_dwarf_flush (self->writer);
}

/* Files */

/* Opens the file with the common parts of several debug files, which dwz makes. */
static void
open_common_file (Dwarf *dwarf, int fd)
{
  const char *name;
  const void *wanted, *found;
  char link[32], path[PATH_MAX], directory[PATH_MAX];
  ssize_t size = dwelf_dwarf_gnu_debugaltlink (dwarf, &name, &wanted), length;
  int common;
  Elf *elf;

  if (size <= 0)
    return;
  snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink (link, directory, sizeof directory - 1);
  directory[MAX (length, 0)] = 0;
  if (strrchr (directory, '/') != NULL)
    strrchr (directory, '/')[0] = 0;
  if (snprintf (path, sizeof path, "%s%s%s", name[0] == '/' ? "" : directory,
                name[0] == '/' ? "" : "/", name)
      >= (int) sizeof path)
    return;
  common = lu_open_regular (path, NULL);
  elf = common >= 0 ? elf_begin (common, ELF_C_READ_MMAP, NULL) : NULL;
  if (elf != NULL && dwelf_elf_gnu_build_id (elf, &found) == size
      && memcmp (found, wanted, (gsize) size) == 0)
    dwarf_setalt (dwarf, dwarf_begin_elf (elf, DWARF_C_READ, NULL));
}

static Dwarf *
open_dwarf (int fd)
{
  const struct rlimit none = { 0, 0 };
  Elf *elf;
  Dwarf *dwarf;

  elf_version (EV_CURRENT);
  elf = elf_begin (fd, ELF_C_READ_MMAP, NULL);
  dwarf = elf != NULL ? dwarf_begin_elf (elf, DWARF_C_READ, NULL) : NULL;
  if (dwarf != NULL)
    open_common_file (dwarf, fd);
  /* From now on libdw cannot open what the file names, which may be devices or pipes, and a bug of
   * libdw can do nothing but answer. */
  return setrlimit (RLIMIT_NOFILE, &none) == 0 && lu_sandbox_restrict_parser () ? dwarf : NULL;
}

static int
compare_queries (const void *a, const void *b)
{
  const Query *x = a, *y = b;

  return x->address < y->address ? -1 : x->address > y->address;
}

void
lu_dwarf_lines_write (int fd, const guint64 *addresses, guint n_addresses, int output)
{
  Reader *self = lu_dwarf_allocate (1, sizeof *self);
  Query **queries = lu_dwarf_allocate (n_addresses, sizeof *queries);

  self->writer = lu_dwarf_writer_new (output);
  self->n_queries = n_addresses;
  self->queries = lu_dwarf_allocate (n_addresses, sizeof *self->queries);
  for (guint i = 0; i < n_addresses; i++)
    {
      self->queries[i].address = addresses[i];
      self->queries[i].number = i;
      self->queries[i].unit = NO_UNIT;
    }
  qsort (self->queries, n_addresses, sizeof *self->queries, compare_queries);
  for (guint i = 0; i < n_addresses; i++)
    queries[i] = &self->queries[i];
  self->dwarf = open_dwarf (fd);
  if (self->dwarf != NULL)
    {
      find_units (self, queries);
      sort_units (self);
      for (guint i = 0; i < self->n_units; i++)
        answer_unit (self, &self->units[i]);
    }
  lu_dwarf_put_u32 (self->writer, LU_DWARF_END);
  lu_dwarf_put_u32 (self->writer, self->dwarf != NULL);
  lu_dwarf_flush (self->writer);
}
