/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi.c - finds and reads the entries of call frame information; see cfi.h.
 *
 * CIEs are parsed once and kept, by section and offset. Lists of FDEs come from the search table if
 * there is one. It is sorted already, so a list is sorted only if necessary. */

#include "table/cfi.h"

#include "base/leb128.h"
#include "elf/cfi-entry.h"
#include "elf/cfi-guard.h"
#include "table/opcodes.h"

#include <stdlib.h>

/* Real files have up to a few hundred CIEs; each takes 200 bytes. */
#define MAX_CIES 8192
#define TABLE_HEAD                                                                                 \
  12 /* bytes of .eh_frame_hdr before its table: version, encodings, pointer, count */
#define TABLE_ENTRY 8
#define NO_CIE      G_MAXUINT16
/* Most files have two or three CIEs, four with C++. */
#define MAX_KEPT_CIES 8
/* Four times as many as in the largest programs. */
#define MAX_FDES (4u << 20)
/* Limit for images without a search table: the list takes 8 MiB. Go programs of 100 MB have
 * 100,000. */
#define MAX_LISTED_FDES (256u << 10)
/* Entries of a hostile file can overlap, and each look-up runs one. Real CIEs have some 50 bytes,
 * and the longest program among 3.3 million FDEs is far shorter. */
#define MAX_CIE_SIZE     4096
#define MAX_PROGRAM_SIZE 65536

typedef struct
{
  LuFde *fdes;
  guint n;
  gboolean is_made;
} Index;

struct _LuCfi
{
  LuCfiInput input;
  const LuArch *arch;
  LuCodeRange *ranges;
  guint n_table; /* entries in the search table; 0: no table */
  LuCie *cies;
  guint n_cies, n_cies_allocated;
  GHashTable *cie_indices; /* section and offset -> index + 1; NULL: only look-ups */
  guint64 *kept_keys;      /* keys of the CIEs, if only for look-ups */
  guint next_kept;
  gboolean is_undecided;
  guint64 last_key;
  guint16 last_cie;
  Index indices[LU_N_CFI_SECTIONS];
  guint cfi_errors[LU_N_CFI_ERRORS];
};

/* Entries. */

static gboolean
read_entry (const LuCfiBytes *section, guint64 offset, LuCfiEntry *entry)
{
  return lu_cfi_entry_read (entry, section->bytes, section->size, section->is_eh_frame, offset);
}

static void
read_cie (LuCfi *self, guint section_id, guint64 offset, LuCie *cie)
{
  const LuCfiBytes *section = &self->input.sections[section_id];
  LuCfaRun run;
  LuCfiEntry entry;

  if (!read_entry (section, offset, &entry) || entry.next == offset || !entry.is_cie)
    {
      *cie = (LuCie){ .cfi_error = LU_CFI_ERROR_CIE };
      return;
    }
  if (lu_cursor_left (&entry.body) > MAX_CIE_SIZE)
    {
      *cie = (LuCie){ .cfi_error = LU_CFI_ERROR_BUDGET };
      return;
    }
  lu_cie_parse (cie, section, self->arch, &entry.body);
  lu_cfa_run_initial (&run, section, self->arch, cie);
}

static guint16
add_cie (LuCfi *self, guint section_id, guint64 offset)
{
  if (self->n_cies == MAX_CIES)
    return NO_CIE;
  if (self->n_cies == self->n_cies_allocated)
    {
      self->n_cies_allocated = MAX (2 * self->n_cies_allocated, 8);
      self->cies = g_renew (LuCie, self->cies, self->n_cies_allocated);
    }
  read_cie (self, section_id, offset, &self->cies[self->n_cies]);
  return (guint16) self->n_cies++;
}

/* Replaces the CIE that was kept longest. */
static guint16
keep_cie (LuCfi *self, guint64 key, guint section_id, guint64 offset)
{
  guint index;

  for (index = 0; index < self->n_cies; index++)
    if (self->kept_keys[index] == key)
      return (guint16) index;
  if (index == MAX_KEPT_CIES)
    index = self->next_kept++ % MAX_KEPT_CIES;
  else
    self->n_cies++;
  self->kept_keys[index] = key;
  read_cie (self, section_id, offset, &self->cies[index]);
  return (guint16) index;
}

static guint16
index_of_cie (LuCfi *self, guint64 key, guint section_id, guint64 offset)
{
  guint index;

  if (self->kept_keys != NULL)
    return keep_cie (self, key, section_id, offset);
  index = GPOINTER_TO_UINT (g_hash_table_lookup (self->cie_indices, GSIZE_TO_POINTER (key)));
  if (index != 0)
    return (guint16) (index - 1);
  index = add_cie (self, section_id, offset);
  if (index != NO_CIE)
    g_hash_table_insert (self->cie_indices, GSIZE_TO_POINTER (key), GUINT_TO_POINTER (index + 1));
  return (guint16) index;
}

static guint16
find_cie (LuCfi *self, guint section_id, guint64 offset)
{
  guint64 key = offset << 1 | section_id;

  if (key != self->last_key)
    self->last_cie = index_of_cie (self, key, section_id, offset);
  self->last_key = key;
  return self->last_cie;
}

/* The ranges are sorted. */
static gboolean
is_code (const LuCfi *self, guint64 start, guint64 end)
{
  guint low = 0, high = self->input.n_ranges;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (self->ranges[middle].start <= start)
        low = middle + 1;
      else
        high = middle;
    }
  return self->input.n_ranges == 0 || (low > 0 && end <= self->ranges[low - 1].end);
}

static LuCfiError
read_fde (LuCfi *self, guint section_id, LuCfiEntry *entry, LuFde *fde)
{
  const LuCfiBytes *section = &self->input.sections[section_id];
  const LuCie *cie;
  guint64 start, size;

  if (entry->cie_offset >= section->size)
    return LU_CFI_ERROR_CIE;
  fde->cie = find_cie (self, section_id, entry->cie_offset);
  if (fde->cie == NO_CIE)
    return LU_CFI_ERROR_BUDGET;
  cie = &self->cies[fde->cie];
  if (cie->cfi_error != LU_CFI_ERROR_NONE)
    return cie->cfi_error;
  /* The size has the encoding of the start, but is never relative. */
  if (!lu_cfi_read_pointer (section, LU_CFI_NO_FUNCTION, cie->pointer_encoding, &entry->body,
                            &start)
      || !lu_cfi_read_pointer (section, LU_CFI_NO_FUNCTION, cie->pointer_encoding & 0x0f,
                               &entry->body, &size))
    return LU_CFI_ERROR_ENCODING;
  if (cie->is_sized)
    lu_cursor_take (&entry->body, lu_cursor_uleb (&entry->body));
  if (entry->body.failed)
    return LU_CFI_ERROR_TRUNCATED;
  if (lu_cursor_left (&entry->body) > MAX_PROGRAM_SIZE)
    return LU_CFI_ERROR_BUDGET;
  if (start + size < start || (size > 0 && !is_code (self, start, start + size)))
    return LU_CFI_ERROR_RANGE;
  fde->start = start;
  fde->end = start + size;
  fde->offset = (guint32) entry->offset;
  fde->program = (guint32) (entry->body.at - section->bytes);
  fde->program_size = (guint32) lu_cursor_left (&entry->body);
  fde->section = (guint8) section_id;
  return LU_CFI_ERROR_NONE;
}

/* Lists of FDEs. */

static void
index_add (LuCfi *self, guint section_id, Index *index, LuCfiEntry *entry)
{
  LuCfiError cfi_error = read_fde (self, section_id, entry, &index->fdes[index->n]);

  if (cfi_error != LU_CFI_ERROR_NONE)
    self->cfi_errors[cfi_error]++;
  else if (index->fdes[index->n].start < index->fdes[index->n].end)
    index->n++; /* otherwise a rewriter (BOLT) left it for a function that was removed */
}

static void
index_from_table (LuCfi *self, Index *index)
{
  const LuCfiBytes *section = &self->input.sections[LU_CFI_EH_FRAME];

  index->fdes = g_new (LuFde, self->n_table);
  for (guint i = 0; i < self->n_table; i++)
    {
      gint32 delta;
      LuCfiEntry entry;

      memcpy (&delta, self->input.table + TABLE_HEAD + i * TABLE_ENTRY + 4, sizeof delta);
      if (read_entry (section, self->input.table_vaddr + (guint64) (gint64) delta - section->vaddr,
                      &entry)
          && entry.next != entry.offset && !entry.is_cie)
        index_add (self, LU_CFI_EH_FRAME, index, &entry);
      else
        self->cfi_errors[LU_CFI_ERROR_ENTRY]++;
    }
}

static void
index_from_walk (LuCfi *self, guint section_id, Index *index)
{
  const LuCfiBytes *section = &self->input.sections[section_id];
  guint n_allocated = 0;
  guint64 offset = 0;
  LuCfiEntry entry;

  while (read_entry (section, offset, &entry))
    {
      /* The terminator ends .eh_frame if no section header does. */
      if (entry.next == offset && section->is_eh_frame)
        return;
      offset = entry.next != offset ? entry.next : offset + sizeof (guint32);
      if (entry.next == entry.offset || entry.is_cie)
        continue;
      if (index->n == (self->input.max_listed > 0 ? self->input.max_listed : MAX_FDES))
        {
          self->cfi_errors[LU_CFI_ERROR_BUDGET]++;
          break;
        }
      if (index->n == n_allocated)
        {
          n_allocated = MAX (2 * n_allocated, 64);
          index->fdes = g_renew (LuFde, index->fdes, n_allocated);
        }
      index_add (self, section_id, index, &entry);
    }
  if (offset < section->size)
    self->cfi_errors[LU_CFI_ERROR_ENTRY]++;
}

static int
compare_fdes (const void *a, const void *b)
{
  const LuFde *left = a, *right = b;

  if (left->start != right->start)
    return left->start < right->start ? -1 : 1;
  return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static gboolean
is_sorted (const Index *index)
{
  for (guint i = 1; i < index->n; i++)
    if (index->fdes[i].start < index->fdes[i - 1].start)
      return FALSE;
  return TRUE;
}

const LuFde *
lu_cfi_fdes (LuCfi *self, LuCfiSectionId section, guint *n_fdes)
{
  Index *index = &self->indices[section];

  if (!index->is_made && self->input.sections[section].bytes != NULL)
    {
      if (section == LU_CFI_EH_FRAME && self->n_table > 0)
        index_from_table (self, index);
      else
        index_from_walk (self, section, index);
      if (!is_sorted (index))
        qsort (index->fdes, index->n, sizeof *index->fdes, compare_fdes);
    }
  index->is_made = TRUE;
  *n_fdes = index->n;
  return index->fdes;
}

/* Looking up. */

static guint64
table_start (const LuCfi *self, guint i)
{
  gint32 delta;

  memcpy (&delta, self->input.table + TABLE_HEAD + i * TABLE_ENTRY, sizeof delta);
  return self->input.table_vaddr + (guint64) (gint64) delta;
}

/* Returns the index of the first entry that starts above the address. */
static guint
table_upper_bound (const LuCfi *self, guint64 address)
{
  guint low = 0, high = self->n_table;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (table_start (self, middle) <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Finds the FDE of a section for the code at the address; *next: start of the FDE after it. */
static gboolean
find_by_table (LuCfi *self, guint64 address, LuFde *fde, guint64 *next)
{
  const LuCfiBytes *section = &self->input.sections[LU_CFI_EH_FRAME];
  guint i = table_upper_bound (self, address);
  gint32 delta;
  LuCfiEntry entry;

  *next = i < self->n_table ? table_start (self, i) : G_MAXUINT64;
  if (i == 0)
    return FALSE;
  memcpy (&delta, self->input.table + TABLE_HEAD + (i - 1) * TABLE_ENTRY + 4, sizeof delta);
  return read_entry (section, self->input.table_vaddr + (guint64) (gint64) delta - section->vaddr,
                     &entry)
         && entry.next != entry.offset && !entry.is_cie
         && read_fde (self, LU_CFI_EH_FRAME, &entry, fde) == LU_CFI_ERROR_NONE
         && address >= fde->start && address < fde->end;
}

static gboolean
find_by_index (LuCfi *self, LuCfiSectionId section, guint64 address, LuFde *fde, guint64 *next)
{
  guint low = 0, high;
  const LuFde *fdes = lu_cfi_fdes (self, section, &high);
  guint n = high;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (fdes[middle].start <= address)
        low = middle + 1;
      else
        high = middle;
    }
  *next = low < n ? fdes[low].start : G_MAXUINT64;
  if (low == 0)
    return FALSE;
  *fde = fdes[low - 1];
  return address < fde->end;
}

/* Looks an address up without lists of FDEs. */
static gboolean
find_without_lists (LuCfi *self, guint64 address, LuFde *fde, guint64 *from, guint64 *to)
{
  gboolean has_eh_frame = self->input.sections[LU_CFI_EH_FRAME].bytes != NULL;
  gboolean found = self->n_table > 0 && find_by_table (self, address, fde, to);

  self->is_undecided = !found
                       && (self->input.sections[LU_CFI_DEBUG_FRAME].bytes != NULL
                           || (has_eh_frame && self->n_table == 0));
  if (found)
    *to = MIN (fde->end, *to);
  *from = found ? fde->start : 0;
  return found;
}

gboolean
lu_cfi_is_undecided (const LuCfi *self)
{
  return self->is_undecided;
}

gboolean
lu_cfi_find (LuCfi *self, guint64 address, LuFde *fde, guint64 *from, guint64 *to)
{
  guint64 next, eh_next;
  gboolean found;

  if (self->kept_keys != NULL)
    return find_without_lists (self, address, fde, from, to);
  if (self->n_table > 0 && !self->indices[LU_CFI_EH_FRAME].is_made)
    found = find_by_table (self, address, fde, &next);
  else
    found = find_by_index (self, LU_CFI_EH_FRAME, address, fde, &next);
  *from = found ? fde->start : 0;
  if (!found && self->input.sections[LU_CFI_DEBUG_FRAME].bytes != NULL)
    {
      eh_next = next;
      found = find_by_index (self, LU_CFI_DEBUG_FRAME, address, fde, &next);
      next = MIN (next, eh_next);
      /* An FDE of .eh_frame below may reach into this one, so only the code from the address on is
       * certain. */
      *from = address;
    }
  if (found)
    *to = MIN (fde->end, next);
  return found;
}

/* Life cycle. */

/* A table that is not sorted or leads out of the section is unreliable. The entries it leads to are
 * checked when they are used. */
static gboolean
is_usable_table (const LuCfiInput *input, guint n)
{
  const LuCfiBytes *section = &input->sections[LU_CFI_EH_FRAME];
  gint32 previous = G_MININT32;

  for (guint i = 0; i < n; i++)
    {
      gint32 pair[2]; /* start of the code, position of its FDE */

      memcpy (pair, input->table + TABLE_HEAD + i * TABLE_ENTRY, sizeof pair);
      if (pair[0] < previous
          || input->table_vaddr + (guint64) (gint64) pair[1] - section->vaddr >= section->size)
        return FALSE;
      previous = pair[0];
    }
  return TRUE;
}

/* Returns the number of entries of a search table in the form that linkers write: version 1,
 * pointer to .eh_frame, count, pairs of 32-bit numbers relative to the table (LSB Core, 10.6.2). */
static guint
count_table (const LuCfiInput *input)
{
  static const guint8 form[] = { 0x03, 0x3b };
  const LuCfiBytes *section = &input->sections[LU_CFI_EH_FRAME];
  guint64 eh_frame;
  guint32 n;

  if (input->table == NULL || input->table_size < TABLE_HEAD || section->bytes == NULL
      || !lu_cfi_table_eh_frame (input->table, input->table_size, input->table_vaddr, &eh_frame)
      || eh_frame != section->vaddr || memcmp (input->table + 2, form, sizeof form) != 0)
    return 0;
  memcpy (&n, input->table + 8, sizeof n);
  if (n > (input->table_size - TABLE_HEAD) / TABLE_ENTRY || n > MAX_FDES)
    return 0;
  return is_usable_table (input, n) ? n : 0;
}

static int
compare_ranges (const void *a, const void *b)
{
  const LuCodeRange *left = a, *right = b;

  return left->start < right->start ? -1 : left->start > right->start;
}

LuCfi *
lu_cfi_new (const LuCfiInput *input)
{
  const LuArch *arch = lu_arch_with_tables (input->machine);
  LuCfi *self;

  if (arch == NULL)
    return NULL;
  self = g_new0 (LuCfi, 1);
  self->input = *input;
  self->arch = arch;
  self->ranges = g_memdup2 (input->ranges, input->n_ranges * sizeof *input->ranges);
  if (input->n_ranges > 0)
    qsort (self->ranges, input->n_ranges, sizeof *self->ranges, compare_ranges);
  self->input.ranges = self->ranges;
  self->n_table = count_table (input);
  self->cie_indices = g_hash_table_new (NULL, NULL);
  self->last_key = G_MAXUINT64;
  /* Offsets are stored in 32 bits; sections of images are smaller anyway. */
  for (guint i = 0; i < LU_N_CFI_SECTIONS; i++)
    self->input.sections[i].size = MIN (input->sections[i].size, G_MAXUINT32);
  return self;
}

LuCfi *
lu_cfi_new_for_image (const LuImage *image)
{
  guint n_segments, n_ranges = 0;
  const LuSegment *segments = lu_image_segments (image, &n_segments);
  g_autofree LuCodeRange *ranges = g_new (LuCodeRange, MAX (n_segments, 1));
  LuCfiInput input = { .machine = lu_image_machine (image) };
  LuCfiBytes *eh_frame = &input.sections[LU_CFI_EH_FRAME];
  LuCfiBytes *debug_frame = &input.sections[LU_CFI_DEBUG_FRAME];

  if (!lu_image_is_64bit (image))
    return NULL;
  for (guint i = 0; i < n_segments; i++)
    if (segments[i].executable)
      ranges[n_ranges++] = (LuCodeRange){
        .start = segments[i].vaddr,
        .end = segments[i].vaddr + segments[i].memory_size,
      };
  /* Without executable code no entry is valid. */
  if (n_ranges == 0)
    ranges[n_ranges++] = (LuCodeRange){ 0 };
  input.ranges = ranges;
  input.n_ranges = n_ranges;
  input.max_listed = MAX_LISTED_FDES;
  input.table = lu_image_cfi (image, LU_IMAGE_EH_FRAME_HDR, &input.table_size, &input.table_vaddr);
  eh_frame->bytes = lu_image_cfi (image, LU_IMAGE_EH_FRAME, &eh_frame->size, &eh_frame->vaddr);
  eh_frame->is_eh_frame = TRUE;
  eh_frame->data_base = input.table_vaddr;
  eh_frame->text_base = lu_image_text (image);
  debug_frame->bytes =
      lu_image_cfi (image, LU_IMAGE_DEBUG_FRAME, &debug_frame->size, &debug_frame->vaddr);
  return lu_cfi_new (&input);
}

LuCfi *
lu_cfi_new_for_look_ups (const LuImage *image)
{
  LuCfi *self = lu_cfi_new_for_image (image);

  if (self == NULL)
    return NULL;
  g_clear_pointer (&self->cie_indices, g_hash_table_unref);
  self->kept_keys = g_new (guint64, MAX_KEPT_CIES);
  self->cies = g_new (LuCie, MAX_KEPT_CIES);
  return self;
}

void
lu_cfi_free (LuCfi *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < LU_N_CFI_SECTIONS; i++)
    g_free (self->indices[i].fdes);
  g_clear_pointer (&self->cie_indices, g_hash_table_unref);
  g_free (self->kept_keys);
  g_free (self->cies);
  g_free (self->ranges);
  g_free (self);
}

const LuArch *
lu_cfi_arch (const LuCfi *self)
{
  return self->arch;
}

const LuCfiBytes *
lu_cfi_section (const LuCfi *self, const LuFde *fde)
{
  return &self->input.sections[fde->section];
}

const LuCie *
lu_cfi_cie (const LuCfi *self, const LuFde *fde)
{
  return &self->cies[fde->cie];
}

LuCursor
lu_cfi_program (const LuCfi *self, const LuFde *fde)
{
  LuCursor cursor;

  lu_cursor_init (&cursor, lu_cfi_section (self, fde)->bytes + fde->program, fde->program_size);
  return cursor;
}

gsize
lu_cfi_size (const LuCfi *self)
{
  gsize size = 0;

  for (guint i = 0; i < LU_N_CFI_SECTIONS; i++)
    size += self->input.sections[i].size;
  return size;
}

const guint *
lu_cfi_errors (const LuCfi *self)
{
  return self->cfi_errors;
}

void
lu_cfi_add_error (LuCfi *self, LuCfiError cfi_error)
{
  self->cfi_errors[cfi_error]++;
}
