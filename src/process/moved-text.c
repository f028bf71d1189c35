/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* moved-text.c - see moved-text.h. */

#include "process/moved-text.h"

static gboolean
is_kind (const LuMapping *mapping, LuModuleKind kind)
{
  return lu_module_key (mapping->module)->kind == kind;
}

/* Returns the number of anonymous mappings that follow each other from there on without a gap. */
static guint
count_anonymous (const LuMapping *mappings, guint first, guint n)
{
  guint i = first;

  while (i < n && is_kind (&mappings[i], LU_MODULE_ANONYMOUS)
         && (i == first || mappings[i].start == mappings[i - 1].end))
    i++;
  return i - first;
}

/* Finds the code of a file around the mappings [first, first + n_moved). */
static gboolean
find_text (const LuMapping *mappings, guint first, guint n_moved, guint n, LuMapping *text)
{
  const LuMapping *left = &mappings[first - (first > 0)], *right = &mappings[first + n_moved];

  if (first == 0 || n_moved == 0 || first + n_moved == n)
    return FALSE;
  *text = *left;
  text->start = mappings[first].start;
  text->end = mappings[first + n_moved - 1].end;
  text->file_offset += text->start - left->start;
  return is_kind (left, LU_MODULE_FILE) && left->module == right->module && left->end == text->start
         && right->start == text->end
         && right->file_offset == text->file_offset + (text->end - text->start);
}

gboolean
lu_moved_text_is_copied (const LuMapping *mapping)
{
  return mapping->is_fixed && is_kind (mapping, LU_MODULE_ANONYMOUS);
}

static void
adopt_copies (LuAddressSpace **self, LuModule *copied)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (*self, &n);

  for (guint i = 0; i < n; i++)
    {
      LuMapping copy = mappings[i];

      if (!lu_moved_text_is_copied (&copy))
        continue;
      copy.module = copied;
      *self = lu_address_space_take_with_mapping (*self, &copy);
      mappings = lu_address_space_mappings (*self, &n);
    }
}

gboolean
lu_moved_text_adopt (LuAddressSpace **self, LuModule *copied)
{
  gboolean has_moved = FALSE;
  guint n, i = 0;
  const LuMapping *mappings = lu_address_space_mappings (*self, &n);

  while (i < n)
    {
      guint n_moved = count_anonymous (mappings, i, n);
      LuMapping text;

      if (find_text (mappings, i, n_moved, n, &text))
        {
          *self = lu_address_space_take_with_mapping (*self, &text);
          mappings = lu_address_space_mappings (*self, &n);
          n_moved = 1; /* they are one now */
          has_moved = TRUE;
        }
      i += MAX (n_moved, 1);
    }
  if (has_moved)
    adopt_copies (self, copied);
  return has_moved;
}

gboolean
lu_moved_text_is_possible (const LuAddressSpace *self, const LuMapping *mapping)
{
  const LuMapping *old = lu_address_space_find (self, mapping->start);

  return is_kind (mapping, LU_MODULE_ANONYMOUS) && old != NULL && is_kind (old, LU_MODULE_FILE);
}
