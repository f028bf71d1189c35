/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-kernel.c - kernel function names of a capture; see syscap-kernel.h.
 *
 * Each function is written at most once, whether it was hit or stands behind one that was. The
 * order of the lines is that of the hits; readers sort them. */

#include "output/syscap-kernel.h"

#include "base/id-table.h"
#include "output/syscap-frames.h"

#define PATH "/proc/kallsyms"
/* Room for the lines of some thousand functions; more only makes it grow. */
#define LINES_BYTES (64u << 10)
/* Samples come from the same places again and again; these were looked up lately. */
#define SEEN_BITS 10

struct _LuSyscapKernel
{
  LuKallsymsFile *file; /* a reference; NULL: there is none */
  LuIdTable *noted;     /* addresses of functions that have a line */
  LuIdTable *hidden;    /* the same where these have places, in this order */
  GString *lines;       /* all of them */
  gsize n_written;      /* bytes of them that are in the capture */
  guint64 seen[1 << SEEN_BITS];
};

LuSyscapKernel *
lu_syscap_kernel_new (LuKallsymsFile *file)
{
  LuSyscapKernel *self = g_new0 (LuSyscapKernel, 1);

  self->file = file != NULL ? lu_kallsyms_file_ref (file) : NULL;
  self->noted = lu_id_table_new (1);
  self->hidden = lu_id_table_new (1);
  self->lines = g_string_sized_new (LINES_BYTES);
  return self;
}

void
lu_syscap_kernel_free (LuSyscapKernel *self)
{
  if (self == NULL)
    return;
  lu_kallsyms_file_unref (self->file);
  lu_id_table_free (self->noted);
  lu_id_table_free (self->hidden);
  g_string_free (self->lines, TRUE);
  g_free (self);
}

/* Without printf, which allocates. */
static void
append_line (LuSyscapKernel *self, guint64 address, char type, const char *name, const char *module)
{
  char head[] = "................ . ";

  for (guint i = 0; i < 16; i++)
    head[i] = "0123456789abcdef"[address >> (60 - 4 * i) & 15];
  head[17] = type;
  g_string_append_len (self->lines, head, sizeof head - 1);
  g_string_append (self->lines, name);
  if (module != NULL)
    {
      g_string_append_c (self->lines, '\t');
      g_string_append (self->lines, module);
    }
  g_string_append_c (self->lines, '\n');
}

static void
note (LuSyscapKernel *self, const LuKernelSymbol *symbol)
{
  guint32 n_noted = lu_id_table_size (self->noted);

  /* Sysprof 3.46 reads only t and T: a weak function is none the less one. */
  if (lu_id_table_add (self->noted, symbol->address, 0) == n_noted)
    append_line (self, symbol->address, g_ascii_isupper (symbol->type) ? 'T' : 't', symbol->name,
                 symbol->module);
}

/* Where nothing stands behind a function, a line that ends it. */
static void
look_up (LuSyscapKernel *self, guint64 pc)
{
  LuKernelSymbol symbol;
  guint64 end;

  if (!lu_kallsyms_file_find (self->file, pc, &symbol))
    return;
  note (self, &symbol);
  end = symbol.end;
  if (lu_id_table_find (self->noted, end, 0) != G_MAXUINT32)
    return;
  if (!lu_kallsyms_file_find (self->file, end, &symbol))
    symbol = (LuKernelSymbol){ .address = end, .type = 't', .name = "_end" };
  note (self, &symbol);
}

void
lu_syscap_kernel_hit (LuSyscapKernel *self, const LuFrame *frames, guint n_frames)
{
  if (self->file == NULL)
    return;
  for (guint i = 0; i < n_frames; i++)
    {
      guint64 pc = frames[i].pc;
      guint64 *seen =
          &self->seen[(pc * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> (64 - SEEN_BITS)];

      if (!(frames[i].flags & LU_FRAME_KERNEL) || *seen == pc)
        continue;
      *seen = pc;
      look_up (self, pc);
    }
}

guint64
lu_syscap_kernel_hide (LuSyscapKernel *self, guint64 pc)
{
  guint32 number, n_hidden = lu_id_table_size (self->hidden);
  LuKernelSymbol symbol;

  if (self->file == NULL || !lu_kallsyms_file_find (self->file, pc, &symbol))
    return LU_SYSCAP_HIDDEN_UNKNOWN;
  number = lu_id_table_add (self->hidden, symbol.address, 0);
  if (number == n_hidden)
    append_line (self, lu_syscap_hidden_place (number), 't', symbol.name, symbol.module);
  return lu_syscap_hidden_place (number) + MIN (pc - symbol.address, LU_SYSCAP_HIDDEN_SIZE - 1);
}

gboolean
lu_syscap_kernel_write (LuSyscapKernel *self, LuSyscapWriter *writer, gboolean is_last,
                        GError **error)
{
  guint32 n_hidden = lu_id_table_size (self->hidden);
  gsize begin = self->n_written;

  if (is_last && n_hidden > 0)
    append_line (self, lu_syscap_hidden_place (n_hidden), 't', "_end", NULL);
  self->n_written = self->lines->len;
  if (self->n_written == begin && (!is_last || begin == 0))
    return TRUE;
  return lu_syscap_write_file (writer, PATH, self->lines->str + begin, self->n_written - begin,
                               is_last, error);
}

LuKallsyms *
lu_syscap_kernel_symbols (const LuSyscapKernel *self)
{
  return lu_kallsyms_parse (self->lines->str, self->lines->len, NULL);
}
