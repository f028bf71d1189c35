/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwarf-lines.c - lines and inlined functions of one file, with libdw; see dwarf-lines.h.
 *
 * Each unit that has one of the addresses is walked once, for all of its addresses: functions in
 * front of what is inlined into them, so that an address collects its chain from the outside in.
 * Units are found by their own ranges, as clang writes no .debug_aranges. */

#include "symbolize/dwarf-lines.h"

#include "base/fd.h"
#include "symbolize/files.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define NO_UNIT     G_MAXUINT32
#define MAX_DEPTH   256
#define MAX_TEXT    16384
#define BUFFER_SIZE 65536
/* Where compilers leave the ranges of functions that the linker has thrown away. */
#define LAST_DISCARDED 1

typedef struct
{
  guint64 address;
  guint32 number; /* as the caller counts */
  guint32 unit;   /* NO_UNIT: none */
  guint32 level;  /* the innermost one; 0: no function */
} Place;

/* A function, or what is inlined there. */
typedef struct
{
  Dwarf_Off die;
  guint32 outer; /* level; 0: not inlined */
  guint32 depth; /* 1: not inlined */
} Level;

typedef struct
{
  Dwarf_Die die;
  const char *folder; /* that names of files are relative to; NULL: it does not say */
  Place **places;     /* by address, borrowed */
  guint n_places, first_number;
} Unit;

typedef struct
{
  int output;
  Dwarf *dwarf;
  Place *places; /* by address */
  guint n_places;
  Unit *units;
  guint n_units, room_for_units;
  Level *levels; /* from 1 */
  guint n_levels, room_for_levels;
  const char **texts; /* by pointer, open addressing; their numbers beside */
  guint32 *text_numbers;
  guint n_texts, n_slots;
  guint8 buffer[BUFFER_SIZE];
  gsize filled;
} Reader;

/* There is nobody who could be told. */
static void *
allocate (gsize n, gsize size)
{
  void *block = calloc (MAX (n, 1), size);

  if (block == NULL)
    _exit (1);
  return block;
}

static void *
reallocate (void *block, gsize n, gsize size)
{
  block = realloc (block, n * size);
  if (block == NULL)
    _exit (1);
  return block;
}

/* Output */

static void
flush (Reader *self)
{
  if (!lu_fd_write_all (self->output, self->buffer, self->filled))
    _exit (1);
  self->filled = 0;
}

static void
put (Reader *self, gconstpointer bytes, gsize size)
{
  if (size == 0)
    return;
  if (self->filled + size > sizeof self->buffer)
    flush (self);
  if (size > sizeof self->buffer)
    {
      if (!lu_fd_write_all (self->output, bytes, size))
        _exit (1);
      return;
    }
  memcpy (self->buffer + self->filled, bytes, size);
  self->filled += size;
}

static void
put_u32 (Reader *self, guint32 value)
{
  put (self, &value, sizeof value);
}

static guint
text_slot (const Reader *self, const char *text)
{
  guint slot = (guint) (((guint64) (guintptr) text * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15)) >> 40)
               & (self->n_slots - 1);

  while (self->texts[slot] != NULL && self->texts[slot] != text)
    slot = (slot + 1) & (self->n_slots - 1);
  return slot;
}

static void
grow_texts (Reader *self)
{
  const char **texts = self->texts;
  guint32 *numbers = self->text_numbers;
  guint n = self->n_slots;

  self->n_slots = MAX (n * 2, 1024);
  self->texts = allocate (self->n_slots, sizeof *self->texts);
  self->text_numbers = allocate (self->n_slots, sizeof *self->text_numbers);
  for (guint i = 0; i < n; i++)
    if (texts[i] != NULL)
      {
        guint slot = text_slot (self, texts[i]);

        self->texts[slot] = texts[i];
        self->text_numbers[slot] = numbers[i];
      }
  free (texts);
  free (numbers);
}

/* libdw's texts stay where they are as long as its file is open. A file's name may be relative to
 * `folder`, unless that is relative, too, and part of the name by then; else that is NULL. */
static guint32
text_number (Reader *self, const char *text, const char *folder)
{
  guint slot;

  if (text == NULL)
    return 0;
  if (self->n_texts * 2 >= self->n_slots)
    grow_texts (self);
  slot = text_slot (self, text);
  if (self->texts[slot] == NULL)
    {
      gsize size = strnlen (text, MAX_TEXT);
      gsize before =
          folder != NULL && folder[0] == '/' && text[0] != '/' ? strnlen (folder, MAX_TEXT) : 0;

      self->texts[slot] = text;
      self->text_numbers[slot] = ++self->n_texts;
      put_u32 (self, LU_DWARF_TEXT);
      put_u32 (self, (guint32) (size + before + (before > 0)));
      put (self, folder, before);
      put (self, "/", before > 0);
      put (self, text, size);
    }
  return self->text_numbers[slot];
}

/* Units */

static guint
first_place_at (Place *const *places, guint n, guint64 address)
{
  guint low = 0, high = n;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (places[middle]->address < address)
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
      self->units = reallocate (self->units, self->room_for_units, sizeof *self->units);
    }
  self->units[self->n_units] = (Unit){ .die = *die, .first_number = NO_UNIT };
  return self->n_units++;
}

static void
claim_places (Reader *self, Place *const *places, Dwarf_Die *die)
{
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  guint32 unit = NO_UNIT;

  while ((at = dwarf_ranges (die, at, &base, &low, &high)) > 0)
    {
      if (low <= LAST_DISCARDED)
        continue;
      for (guint i = first_place_at (places, self->n_places, low);
           i < self->n_places && places[i]->address < high; i++)
        {
          if (places[i]->unit != NO_UNIT)
            continue;
          if (unit == NO_UNIT)
            unit = add_unit (self, die);
          places[i]->unit = unit;
        }
    }
}

/* Units that do not say where they are, but are in .debug_aranges. */
static void
claim_rest (Reader *self)
{
  for (guint i = 0; i < self->n_places; i++)
    {
      Place *place = &self->places[i];
      guint32 last = self->n_units - 1;
      Dwarf_Die die;

      if (place->unit != NO_UNIT || dwarf_addrdie (self->dwarf, place->address, &die) == NULL)
        continue;
      if (self->n_units == 0 || dwarf_dieoffset (&self->units[last].die) != dwarf_dieoffset (&die))
        last = add_unit (self, &die);
      place->unit = last;
    }
}

static void
find_units (Reader *self, Place *const *places)
{
  Dwarf_CU *cu = NULL;
  Dwarf_Die die;
  uint8_t type;

  while (dwarf_get_units (self->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0)
    if (type == DW_UT_compile || type == DW_UT_skeleton)
      claim_places (self, places, &die);
  claim_rest (self);
}

static int
compare_units (const void *a, const void *b)
{
  const Unit *x = a, *y = b;

  return x->first_number < y->first_number ? -1 : x->first_number > y->first_number;
}

/* The unit with the caller's first address comes first. */
static void
sort_units (Reader *self)
{
  for (guint i = 0; i < self->n_places; i++)
    if (self->places[i].unit != NO_UNIT)
      self->units[self->places[i].unit].n_places++;
  for (guint i = 0; i < self->n_units; i++)
    {
      self->units[i].places = allocate (self->units[i].n_places, sizeof (Place *));
      self->units[i].n_places = 0;
    }
  for (guint i = 0; i < self->n_places; i++)
    {
      Place *place = &self->places[i];
      Unit *unit = place->unit != NO_UNIT ? &self->units[place->unit] : NULL;

      if (unit == NULL)
        continue;
      unit->places[unit->n_places++] = place;
      unit->first_number = MIN (unit->first_number, place->number);
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
      self->levels = reallocate (self->levels, self->room_for_levels, sizeof *self->levels);
    }
  self->levels[++self->n_levels] =
      (Level){ die, outer, outer > 0 ? self->levels[outer].depth + 1 : 1 };
  return self->n_levels;
}

/* The level below `outer` that the function is for places which are in its ranges, and in `outer`
 * if it is inlined there; 0: there are none. */
static guint32
enter_function (Reader *self, const Unit *unit, Dwarf_Die *die, gboolean is_inlined, guint32 outer)
{
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  guint32 level = 0;

  if (is_inlined && (outer == 0 || self->levels[outer].depth >= LU_DWARF_MAX_LEVELS))
    return 0;
  while ((at = dwarf_ranges (die, at, &base, &low, &high)) > 0)
    for (guint i = first_place_at (unit->places, unit->n_places, low);
         low > LAST_DISCARDED && i < unit->n_places && unit->places[i]->address < high; i++)
      {
        Place *place = unit->places[i];

        if (place->level != outer && (is_inlined || place->level != 0))
          continue;
        if (level == 0)
          level = add_level (self, dwarf_dieoffset (die), is_inlined ? outer : 0);
        place->level = level;
      }
  return level;
}

static gboolean
has_places (const Unit *unit, Dwarf_Die *die)
{
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  gboolean is_somewhere = FALSE;

  while ((at = dwarf_ranges (die, at, &base, &low, &high)) > 0)
    {
      guint i = first_place_at (unit->places, unit->n_places, low);

      if (i < unit->n_places && unit->places[i]->address < high)
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
  /* a sibling that is not further on would lead in a circle */
  while (dwarf_dieoffset (&child) > offset)
    {
      int tag = dwarf_tag (&child);

      offset = dwarf_dieoffset (&child);
      if (is_scope (tag) && has_places (unit, &child))
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

/* Of a unit. */
typedef struct
{
  Dwarf_Files *files; /* NULL: none */
  size_t n;
  guint first; /* before DWARF 5, files are counted from 1, and 0 is none */
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

/* libdw takes 0 for none in all versions. */
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
answer (Reader *self, Unit *unit, const Place *place, const Files *files)
{
  guint32 levels[LU_DWARF_MAX_LEVELS][5] = { 0 };
  Line line = line_at (&unit->die, place->address);
  guint32 level = place->level;
  guint n = 0;

  do
    {
      Dwarf_Die die;
      Line definition;

      levels[n][3] = text_number (self, line.file, unit->folder);
      levels[n][4] = line.line;
      if (level > 0 && dwarf_offdie (self->dwarf, self->levels[level].die, &die) != NULL)
        {
          levels[n][0] = text_number (self, function_name (&die), NULL);
          definition = definition_of (files, &die);
          levels[n][1] = text_number (self, definition.file, unit->folder);
          levels[n][2] = definition.line;
          line = call_of (files, &die);
        }
      n++;
      level = level > 0 ? self->levels[level].outer : 0;
    }
  while (level > 0 && n < LU_DWARF_MAX_LEVELS);
  put_u32 (self, LU_DWARF_ANSWER);
  put_u32 (self, place->number);
  put_u32 (self, n);
  put (self, levels, n * sizeof levels[0]);
}

static void
answer_unit (Reader *self, Unit *unit)
{
  Dwarf_Attribute folder;
  Dwarf_Half version;
  Files files = { 0 };

  if (dwarf_attr (&unit->die, DW_AT_comp_dir, &folder) != NULL)
    unit->folder = dwarf_formstring (&folder);
  if (dwarf_getsrcfiles (&unit->die, &files.files, &files.n) != 0)
    files.n = 0;
  files.first = dwarf_cu_info (unit->die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) == 0
                && version < 5;
  walk (self, unit, &unit->die, 0, 0);
  for (guint i = 0; i < unit->n_places; i++)
    answer (self, unit, unit->places[i], &files);
  flush (self);
}

/* Files */

/* What several debug files have in common may stand in one more file (dwz). */
static void
open_common_file (Dwarf *dwarf, int fd)
{
  const char *name;
  const void *wanted, *found;
  char link[32], path[PATH_MAX], folder[PATH_MAX];
  ssize_t size = dwelf_dwarf_gnu_debugaltlink (dwarf, &name, &wanted), length;
  int common;
  Elf *elf;

  if (size <= 0)
    return;
  snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink (link, folder, sizeof folder - 1);
  folder[MAX (length, 0)] = 0;
  if (strrchr (folder, '/') != NULL)
    strrchr (folder, '/')[0] = 0;
  if (snprintf (path, sizeof path, "%s%s%s", name[0] == '/' ? "" : folder,
                name[0] == '/' ? "" : "/", name)
      >= (int) sizeof path)
    return;
  common = lu_name_file_open_regular (path);
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
  /* libdw would open what else the file names: devices, pipes */
  return setrlimit (RLIMIT_NOFILE, &none) == 0 ? dwarf : NULL;
}

static int
compare_places (const void *a, const void *b)
{
  const Place *x = a, *y = b;

  return x->address < y->address ? -1 : x->address > y->address;
}

void
lu_dwarf_lines_write (int fd, const guint64 *addresses, guint n_addresses, int output)
{
  Reader *self = allocate (1, sizeof *self);
  Place **places = allocate (n_addresses, sizeof *places);

  self->output = output;
  self->n_places = n_addresses;
  self->places = allocate (n_addresses, sizeof *self->places);
  for (guint i = 0; i < n_addresses; i++)
    {
      self->places[i].address = addresses[i];
      self->places[i].number = i;
      self->places[i].unit = NO_UNIT;
    }
  qsort (self->places, n_addresses, sizeof *self->places, compare_places);
  for (guint i = 0; i < n_addresses; i++)
    places[i] = &self->places[i];
  self->dwarf = open_dwarf (fd);
  if (self->dwarf != NULL)
    {
      find_units (self, places);
      sort_units (self);
      for (guint i = 0; i < self->n_units; i++)
        answer_unit (self, &self->units[i]);
    }
  put_u32 (self, LU_DWARF_END);
  put_u32 (self, self->dwarf != NULL);
  flush (self);
}
