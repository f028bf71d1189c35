/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-code.c - prints instructions with the samples that hit them; see report-print.h.
 *
 * Code is taken apart from the start of a function on, because instructions have no fixed size: its
 * FDE says where that is. */

#include "config.h"

#include "base/printable.h"
#include "color.h"
#include "report-print.h"
#include "symbolize/disassembly.h"
#include "symbolize/elf-fdes.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>

/* Instructions without samples that are shown around one with samples. */
#define CONTEXT 3
/* Bytes of code that no FDE covers. */
#define MAX_UNKNOWN 64
/* Columns before the text of an instruction. */
#define NUMBERS 32

typedef struct
{
  LuElfFile file;
  LuElfFdes *fdes; /* owned; NULL: none */
  guint64 all;
} Code;

/* Some hits of one function, and its instructions. */
typedef struct
{
  const LuReportHit *hits;
  guint64 bias; /* of ELF addresses over file offsets */
  guint n;
  GArray *instructions; /* of LuInstruction; owned */
} Piece;

void
lu_report_print_line_shares (guint64 self, guint64 total, guint64 all)
{
  const guint64 shares[] = { self, total };

  for (guint i = 0; i < G_N_ELEMENTS (shares); i++)
    {
      fputs (i > 0 ? " " : "", stdout);
      if (shares[i] > 0)
        lu_color_print_percent (lu_report_percent (shares[i], all));
      else
        printf ("%8s", "");
    }
}

/* Adds up the hits in an instruction; *hit is the first one that is not before it. */
static LuReportHit
hits_in (const Piece *self, const LuInstruction *instruction, guint *hit)
{
  guint64 end = instruction->address + instruction->size - self->bias;
  LuReportHit sum = { 0 };

  for (; *hit < self->n && self->hits[*hit].file_offset < end; (*hit)++)
    {
      sum.self += self->hits[*hit].self;
      sum.total += self->hits[*hit].total;
    }
  return sum;
}

static void
print_piece (const Piece *self, guint64 all)
{
  guint n = self->instructions->len, hit = 0, width = lu_terminal_width ();
  g_autofree LuReportHit *sums = g_new0 (LuReportHit, n + (gsize) 1);
  guint until = 0, last = 0;

  for (guint i = 0; i < n; i++)
    sums[i] = hits_in (self, &g_array_index (self->instructions, LuInstruction, i), &hit);
  for (guint i = 0; i < n; i++)
    {
      const LuInstruction *instruction = &g_array_index (self->instructions, LuInstruction, i);
      g_autofree char *text =
          lu_printable (instruction->text, width > NUMBERS ? width - NUMBERS : 0);

      for (guint k = i; k <= i + CONTEXT && k < n; k++)
        if (sums[k].total > 0)
          until = k + CONTEXT + 1;
      if (i >= until)
        continue;
      if (last > 0 && last < i)
        printf ("%25s\n", "…");
      last = i + 1;
      lu_report_print_line_shares (sums[i].self, sums[i].total, all);
      printf (" %9" G_GINT64_MODIFIER "x    %s\n", instruction->address, text);
    }
}

/* Prints the hits of one function, from the first one on, and returns how many they are. */
static guint
print_function (const Code *self, const LuReportHit *hits, guint n)
{
  const LuElfProgramHeader *segment = lu_elf_file_code_at_offset (&self->file, hits->file_offset);
  Piece piece = { .hits = hits, .n = 1 };
  guint64 start, end;

  if (segment == NULL)
    return 1;
  piece.bias = segment->vaddr - segment->file_offset;
  start = hits->file_offset + piece.bias;
  if (self->fdes == NULL || !lu_elf_fdes_find (self->fdes, start, &start, &end))
    end = start + MAX_UNKNOWN;
  while (piece.n < n && hits[piece.n].file_offset + piece.bias < end)
    piece.n++;
  piece.instructions = lu_disassemble (&self->file, start, end);
  print_piece (&piece, self->all);
  g_array_unref (piece.instructions);
  return piece.n;
}

void
lu_report_print_code (const LuModelModule *module, const LuReportHit *hits, guint n, guint64 all)
{
  g_autofree char *path = lu_printable (module->path, 0);
  Code self = { .all = all };
  gboolean is_no_elf, is_here = lu_elf_file_open_mapped (&self.file, &module->mapped, &is_no_elf);

  printf ("\n%s%s%s\n", path, is_here ? "" : ": ", is_here ? "" : _ ("the file is not here"));
  if (!is_here)
    return;
  printf ("%8s %8s %9s\n", _ ("self"), _ ("total"), _ ("address"));
  self.fdes = lu_elf_fdes_new (&self.file, NULL);
  for (guint i = 0; i < n;)
    i += print_function (&self, &hits[i], n - i);
  lu_elf_fdes_free (self.fdes);
  lu_elf_file_clear (&self.file);
}
