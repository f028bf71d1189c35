/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cold-code.c - finds the part of a function that the compiler moved away; see cold-code.h.
 *
 * Bytes are looked at without decoding instructions: what looks like a jump inside another
 * instruction leads somewhere, hardly ever into code and never to one place again and again. */

#include "interp/cold-code.h"

#include "base/cursor.h"
#include "elf/eh-frame.h"

#define MAX_FUNCTION (1u << 20)
#define MAX_TABLE    (16u << 20)
/* Debian's CPython 3.11 has 379. */
#define MIN_JUMPS 8

/* The search table of .eh_frame_hdr (Linux Standard Base 5.0, 10.6.2) in its usual encoding. */
typedef struct
{
  guint64 vaddr; /* of .eh_frame_hdr, which the entries are relative to */
  guint8 *bytes; /* owned */
  guint32 n;
} Table;

#define HEAD 12
/* pc-relative pointer, 32-bit count, entries relative to the table */
#define VERSION_AND_ENCODINGS 0x3b031b01u

static gboolean
read_table (const LuInterpInput *file, Table *table)
{
  LuElfPart part, eh_frame;
  LuCursor cursor;

  lu_elf_find_eh_frame (file->headers, file->input, &part, &eh_frame);
  if (part.size < HEAD || part.size > MAX_TABLE || part.size > file->input->size)
    return FALSE;
  table->bytes = g_malloc (part.size);
  table->vaddr = part.vaddr;
  if (!lu_elf_input_read (file->input, part.file_offset, table->bytes, part.size))
    return FALSE;
  lu_cursor_init (&cursor, table->bytes, part.size);
  if (lu_cursor_u32 (&cursor) != VERSION_AND_ENCODINGS)
    return FALSE;
  lu_cursor_u32 (&cursor);
  table->n = MIN (lu_cursor_u32 (&cursor), (guint32) ((part.size - HEAD) / 8));
  return table->n > 0;
}

/* word 0: where the FDE's code begins; 1: where the FDE is. */
static guint64
entry (const Table *self, guint32 i, guint word)
{
  gint32 value;

  memcpy (&value, self->bytes + HEAD + i * sizeof (guint64) + word * sizeof value, sizeof value);
  return self->vaddr + (guint64) (gint64) value;
}

/* Returns the number of the last entry that begins at the address or before it. */
static guint32
find (const Table *self, guint64 address)
{
  guint32 low = 0, high = self->n;

  while (high - low > 1)
    {
      guint32 middle = low + (high - low) / 2;

      if (entry (self, middle, 0) <= address)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* Reads the range of an FDE in its usual encoding: length, CIE, start and size in 32 bits each. */
static gboolean
read_range (const LuInterpInput *file, const Table *table, guint32 number, LuInterpRange *range)
{
  guint64 address = entry (table, number, 1);
  gint32 words[4];

  if (!lu_interp_read (file, address, words, sizeof words))
    return FALSE;
  range->start = address + 8 + (guint64) (gint64) words[2];
  range->end = range->start + (guint32) words[3];
  return range->start == entry (table, number, 0) && range->end > range->start;
}

/* Counts, for each FDE, how many jumps of the function lead behind its start. */
static void
count_jumps (const LuInterpInput *file, const Table *table, const LuInterpRange *function,
             const guint8 *code, guint16 *n_jumps)
{
  gsize size = function->end - function->start;

  for (gsize i = 0; i + LU_ARCH_JUMP_BYTES <= size; i += file->arch->files.code_unit)
    {
      gint64 distance;
      guint64 target;
      guint32 number;

      if (!file->arch->files.looks_like_jump (code + i, &distance))
        continue;
      target = function->start + i + (guint64) distance;
      if (target >= function->start && target < function->end)
        continue;
      number = find (table, target);
      if (target > entry (table, number, 0) && n_jumps[number] < G_MAXUINT16)
        n_jumps[number]++;
    }
}

static gboolean
choose (const LuInterpInput *file, const Table *table, const guint16 *n_jumps, LuInterpRange *cold)
{
  guint32 best = 0;
  guint64 n_all = 0;

  for (guint32 i = 0; i < table->n; i++)
    {
      n_all += n_jumps[i];
      if (n_jumps[i] > n_jumps[best])
        best = i;
    }
  return n_jumps[best] >= MIN_JUMPS && n_jumps[best] * 10ull >= n_all * 9
         && read_range (file, table, best, cold);
}

gboolean
lu_cold_code_find (const LuInterpInput *file, const LuInterpRange *function, LuInterpRange *cold)
{
  gsize size = function->end - function->start;
  g_autofree guint8 *code = NULL;
  g_autofree guint16 *n_jumps = NULL;
  Table table = { 0 };
  gboolean is_found = FALSE;

  if (function->end <= function->start || size > MAX_FUNCTION
      || file->arch->files.looks_like_jump == NULL)
    return FALSE;
  code = g_malloc (size);
  if (lu_interp_read (file, function->start, code, size) && read_table (file, &table))
    {
      n_jumps = g_new0 (guint16, table.n);
      count_jumps (file, &table, function, code, n_jumps);
      is_found = choose (file, &table, n_jumps, cold);
    }
  g_free (table.bytes);
  return is_found;
}
