/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwarf-writer.h - writes what a reader of DWARF finds to a pipe, in the format of dwarf-lines.h;
 * used by dwarf-lines.c.
 *
 * Runs in the reader process, after a fork() of a program with threads: no GLib, and any failure
 * ends the process. */

#pragma once

#include <glib.h>
#include <stdio.h>

/* Texts whose numbers are remembered. */
#define LU_DWARF_TEXTS 65536

typedef struct
{
  FILE *output;
  const char *texts[LU_DWARF_TEXTS]; /* by a hash of their pointers */
  guint32 numbers[LU_DWARF_TEXTS];   /* of these texts */
  guint n_texts;
} LuDwarfWriter;

/* Like calloc() and reallocarray(), but end the process if there is no memory. */
void *lu_dwarf_allocate (gsize n, gsize size);
void *lu_dwarf_reallocate (void *block, gsize n, gsize size);

/* Takes the descriptor. The writer is as large as its tables. */
LuDwarfWriter *lu_dwarf_writer_new (int output);
void lu_dwarf_put (LuDwarfWriter *self, gconstpointer bytes, gsize size);
void lu_dwarf_put_u32 (LuDwarfWriter *self, guint32 value);
void lu_dwarf_flush (LuDwarfWriter *self);

/* Returns the number of a text, writing it first unless it is remembered; 0 for NULL. Texts are
 * compared by pointer, so they have to stay where they are, as those of libdw do while its file is
 * open. `directory` is prepended to a relative file name if it is absolute itself; otherwise the
 * name contains it already. NULL: there is none. */
guint32 lu_dwarf_text_number (LuDwarfWriter *self, const char *text, const char *directory);
