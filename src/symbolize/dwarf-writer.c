/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwarf-writer.c - writes what a reader of DWARF finds; see dwarf-writer.h. */

#include "symbolize/dwarf-writer.h"

#include "symbolize/dwarf-lines.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a text; the rest is cut off. */
#define MAX_TEXT 16384

void *
lu_dwarf_allocate (gsize n, gsize size)
{
  void *block = calloc (MAX (n, 1), size);

  if (block == NULL)
    _exit (1);
  return block;
}

void *
lu_dwarf_reallocate (void *block, gsize n, gsize size)
{
  block = realloc (block, n * size);
  if (block == NULL)
    _exit (1);
  return block;
}

LuDwarfWriter *
lu_dwarf_writer_new (int output)
{
  LuDwarfWriter *self = lu_dwarf_allocate (1, sizeof *self);

  self->output = fdopen (output, "w");
  if (self->output == NULL)
    _exit (1);
  return self;
}

void
lu_dwarf_put (LuDwarfWriter *self, gconstpointer bytes, gsize size)
{
  if (size > 0 && fwrite (bytes, size, 1, self->output) != 1)
    _exit (1);
}

void
lu_dwarf_put_u32 (LuDwarfWriter *self, guint32 value)
{
  lu_dwarf_put (self, &value, sizeof value);
}

void
lu_dwarf_flush (LuDwarfWriter *self)
{
  if (fflush (self->output) != 0)
    _exit (1);
}

guint32
lu_dwarf_text_number (LuDwarfWriter *self, const char *text, const char *directory)
{
  guint64 hash = (guint64) (guintptr) text * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15);
  guint slot = (guint) (hash >> 40) % LU_DWARF_TEXTS;

  if (text == NULL)
    return 0;
  if (self->texts[slot] != text)
    {
      gsize size = strnlen (text, MAX_TEXT);
      gsize before = directory != NULL && directory[0] == '/' && text[0] != '/'
                         ? strnlen (directory, MAX_TEXT)
                         : 0;

      self->texts[slot] = text;
      self->numbers[slot] = ++self->n_texts;
      lu_dwarf_put_u32 (self, LU_DWARF_TEXT);
      lu_dwarf_put_u32 (self, (guint32) (size + before + (before > 0)));
      lu_dwarf_put (self, directory, before);
      lu_dwarf_put (self, "/", before > 0);
      lu_dwarf_put (self, text, size);
    }
  return self->numbers[slot];
}
