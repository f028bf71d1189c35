/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-cfi.c - see go-cfi.h.
 *
 * Compiled functions with a frame save the frame pointer just below the return address, by the
 * instruction after the one that makes room (preprocess() in obj6.go of Go's assembler), or
 * since Go 1.21 by a push. Functions in assembly may do otherwise, so there it is unknown. Where a
 * call leaves its return address in a register, that is saved at the lower end of the frame, and
 * the frame pointer below the stack pointer (obj7.go).
 * Functions that write the stack pointer have an entry for their first instruction only: their
 * depths do not count from one place. */

#include "elf/go-cfi.h"

#include "arch/arch.h"

#include <string.h>

/* All entries together; kubelet has 5 MB. */
#define MAX_BYTES (64u << 20)
/* Functions share depths, but hostile ones all: this many ranges, and some more for each function.
 */
#define MAX_RANGES          (1u << 20)
#define RANGES_PER_FUNCTION 16
/* Real frames are smaller by far. */
#define MAX_DEPTH (1 << 30)
/* The longest instruction that saves the frame pointer, which makes it unknown meanwhile. */
#define SAVING 8

/* DWARF 5, 7.24. */
enum
{
  NOP = 0,
  ADVANCE = 0x40,
  OFFSET = 0x80,
  ADVANCE_2 = 3,
  ADVANCE_4 = 4,
  UNDEFINED = 7,
  SAME = 8,
  DEF_CFA = 0xc,
  DEF_CFA_OFFSET = 0xe,
};

/* Where the caller's frame pointer is. */
typedef enum
{
  FP_SAME,
  FP_UNKNOWN,
  FP_SAVED,
} FpPlace;

typedef struct
{
  const LuArch *arch;
  GByteArray *bytes;
  gboolean has_flags;
  gboolean has_link; /* the return address is at the lower end of a frame */
  guint n_ranges;    /* that may still be read */
  /* The current entry: */
  guint64 pc;
  gint64 depth;
  FpPlace fp;
} Writer;

static void
put (Writer *self, gconstpointer bytes, guint n)
{
  g_byte_array_append (self->bytes, bytes, n);
}

static void
put_u8 (Writer *self, guint8 value)
{
  put (self, &value, sizeof value);
}

static void
put_u32 (Writer *self, guint32 value)
{
  put (self, &value, sizeof value);
}

static void
put_u64 (Writer *self, guint64 value)
{
  put (self, &value, sizeof value);
}

static void
put_uleb (Writer *self, guint64 value)
{
  for (; value >= 0x80; value >>= 7)
    put_u8 (self, (guint8) (value | 0x80));
  put_u8 (self, (guint8) value);
}

/* Begins an entry and returns where it is. */
static guint
begin_entry (Writer *self, guint32 cie)
{
  guint at = self->bytes->len;

  put_u32 (self, 0);
  put_u32 (self, cie);
  return at;
}

/* Pads an entry and writes its length. */
static void
end_entry (Writer *self, guint at)
{
  guint32 length;

  while (self->bytes->len % 8 != 0)
    put_u8 (self, NOP);
  length = self->bytes->len - at - (guint32) sizeof length;
  memcpy (self->bytes->data + at, &length, sizeof length);
}

/* Writes that a register is saved so many bytes below the CFA; 0: it is still there. */
static void
put_saved (Writer *self, guint16 reg, gint64 below)
{
  put_u8 (self, below > 0 ? (guint8) (OFFSET | reg) : SAME);
  put_uleb (self, below > 0 ? (guint64) below / 8 : reg);
}

/* At the start of a function, the return address is on top, or in the link register. */
static void
put_cie (Writer *self)
{
  guint at = begin_entry (self, G_MAXUINT32);

  put_u8 (self, 1); /* version */
  put_u8 (self, 0); /* no augmentation */
  put_uleb (self, 1);
  put_u8 (self, 0x78); /* factor of offsets: -8 */
  put_u8 (self, (guint8) self->arch->ra);
  put_u8 (self, DEF_CFA);
  put_uleb (self, self->arch->sp);
  put_uleb (self, self->has_link ? 0 : 8);
  put_saved (self, self->arch->ra, self->has_link ? 0 : 8);
  end_entry (self, at);
}

static void
advance (Writer *self, guint64 pc)
{
  guint64 bytes = pc - self->pc;

  self->pc = pc;
  if (bytes == 0)
    return;
  if (bytes < 0x40)
    put_u8 (self, (guint8) (ADVANCE | bytes));
  else if (bytes <= G_MAXUINT16)
    {
      guint16 narrow = (guint16) bytes;

      put_u8 (self, ADVANCE_2);
      put (self, &narrow, sizeof narrow);
    }
  else
    {
      put_u8 (self, ADVANCE_4);
      put_u32 (self, (guint32) bytes);
    }
}

/* Writes what holds from `pc` on. */
static void
put_state (Writer *self, guint64 pc, gint64 depth, FpPlace fp)
{
  if (depth == self->depth && fp == self->fp)
    return;
  advance (self, pc);
  if (depth != self->depth)
    {
      put_u8 (self, DEF_CFA_OFFSET);
      put_uleb (self, (guint64) depth + (self->has_link ? 0 : 8));
      if (self->has_link)
        put_saved (self, self->arch->ra, depth);
    }
  if (fp == FP_UNKNOWN && fp != self->fp)
    {
      put_u8 (self, UNDEFINED);
      put_uleb (self, self->arch->fp);
    }
  if (fp != FP_UNKNOWN && (fp != self->fp || (self->has_link && depth != self->depth)))
    put_saved (self, self->arch->fp, fp == FP_SAME ? 0 : self->has_link ? depth + 8 : 16);
  self->depth = depth;
  self->fp = fp;
}

/* Writes where the stack and the frame pointer are at each instruction. Returns how far the depths
 * are known. */
static guint64
put_depths (Writer *self, const LuGoTable *table, const LuGoTableFunction *function)
{
  gboolean is_usual = self->has_flags && (function->flags & LU_GO_FLAG_ASSEMBLY) == 0;
  gboolean has_frame = FALSE;
  guint64 start, end, known = function->start;
  LuGoDepths depths;
  gint64 depth;

  lu_go_table_depths (table, function, &depths);
  while (self->n_ranges > 0 && lu_go_depths_next (&depths, &start, &end, &depth) && depth >= 0
         && depth <= MAX_DEPTH)
    {
      FpPlace fp = is_usual ? FP_SAVED : FP_UNKNOWN;

      self->n_ranges--;
      if (depth > 0 && !has_frame)
        {
          put_state (self, start, depth, FP_UNKNOWN);
          start += MIN (end - start, SAVING);
        }
      if (start < end)
        put_state (self, start, depth, depth == 0 ? FP_SAME : fp);
      has_frame |= depth > 0;
      known = end;
    }
  return known;
}

static void
put_function (Writer *self, const LuGoTable *table, const LuGoTableFunction *function)
{
  guint at = begin_entry (self, 0);
  guint64 size;

  put_u64 (self, function->start);
  put_u64 (self, 0);
  self->pc = function->start;
  self->depth = 0;
  self->fp = FP_SAME;
  size = (function->flags & LU_GO_FLAG_SP_WRITE) != 0
             ? MIN (function->end - function->start, self->arch->files.code_unit)
             : put_depths (self, table, function) - function->start;
  memcpy (self->bytes->data + at + 16, &size, sizeof size);
  if (size > 0)
    end_entry (self, at);
  else
    g_byte_array_set_size (self->bytes, at);
}

void
lu_go_describe (const LuGoTable *table, guint16 machine, LuSyntheticSection *debug_frame)
{
  guint n = lu_go_table_n_functions (table);
  Writer writer = { .arch = lu_arch_with_tables (machine),
                    .has_flags = lu_go_table_has_flags (table),
                    .n_ranges = MAX_RANGES + n * RANGES_PER_FUNCTION };
  LuGoTableFunction function;

  if (writer.arch == NULL || !writer.arch->files.has_go_frames)
    return;
  writer.has_link = writer.arch->has_link_register;
  writer.bytes = g_byte_array_new ();
  put_cie (&writer);
  for (guint i = 0; i < n && writer.bytes->len < MAX_BYTES; i++)
    if (lu_go_table_function (table, i, &function))
      put_function (&writer, table, &function);
  *debug_frame = (LuSyntheticSection){ .size = writer.bytes->len };
  debug_frame->bytes = g_byte_array_free (writer.bytes, FALSE);
}
