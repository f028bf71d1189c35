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
  text->is_moved = TRUE;
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

/* Returns whether `b` goes on with the code of `a`, in memory and in the file. */
static gboolean
is_continued (const LuMapping *a, const LuMapping *b)
{
  return a->module == b->module && a->end == b->start
         && a->file_offset + (a->end - a->start) == b->file_offset;
}

/* Finds the largest piece of a file's code a part of which was moved, as mappings [first, last]. */
static gboolean
find_largest (const LuMapping *mappings, guint n, guint *first, guint *last)
{
  guint64 largest = 0;

  for (guint i = 0; i < n; i++)
    {
      guint begin = i;
      gboolean is_moved = mappings[i].is_moved;

      for (; i + 1 < n && is_continued (&mappings[i], &mappings[i + 1]); i++)
        is_moved |= mappings[i + 1].is_moved;
      if (!is_moved || mappings[i].end - mappings[begin].start <= largest)
        continue;
      largest = mappings[i].end - mappings[begin].start;
      *first = begin;
      *last = i;
    }
  return largest > 0;
}

gboolean
lu_moved_text_ask (const LuAddressSpace *self, guint64 address, LuCopiedText *question)
{
  const LuMapping *copy = lu_address_space_find (self, address);
  guint n, first, last;
  const LuMapping *mappings = lu_address_space_mappings (self, &n);

  if (copy == NULL || !is_kind (copy, LU_MODULE_COPIED)
      || !find_largest (mappings, n, &first, &last))
    return FALSE;
  *question = (LuCopiedText){ .start = copy->start,
                              .end = copy->end,
                              .time = copy->time,
                              .text_start = mappings[first].start,
                              .text_end = mappings[last].end };
  return TRUE;
}

gboolean
lu_moved_text_settle (const LuAddressSpace *self, const LuCopiedText *answer, LuMapping *mapping)
{
  const LuMapping *text = lu_address_space_find (self, answer->original);
  LuCopiedText question;

  if (answer->size == 0 || text == NULL || !lu_moved_text_ask (self, answer->start, &question)
      || question.start != answer->start || question.end != answer->end
      || question.time != answer->time || question.text_start != answer->text_start
      || question.text_end != answer->text_end || answer->original < question.text_start
      || answer->original >= question.text_end)
    return FALSE;
  *mapping = *text;
  mapping->start = answer->start;
  mapping->end = answer->start + answer->size;
  mapping->file_offset += answer->original - text->start;
  mapping->is_fixed = TRUE;
  mapping->is_moved = FALSE;
  mapping->is_copy = TRUE;
  return TRUE;
}

gboolean
lu_moved_text_is_possible (const LuAddressSpace *self, const LuMapping *mapping)
{
  const LuMapping *old = lu_address_space_find (self, mapping->start);

  return is_kind (mapping, LU_MODULE_ANONYMOUS) && old != NULL && is_kind (old, LU_MODULE_FILE);
}
