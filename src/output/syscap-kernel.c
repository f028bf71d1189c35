/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-kernel.c - kernel function names of a capture; see syscap-kernel.h.
 *
 * Each function is written at most once, whether it was hit or stands behind one that was. The
 * order of the lines is that of the hits; readers sort them. */

#include "output/syscap-kernel.h"

#include "output/syscap-frames.h"

#define PATH "/proc/kallsyms"
/* Room for the lines of one flush; more only makes it grow. */
#define LINES_BYTES (64u << 10)
/* Samples come from the same places again and again; these were looked up lately. */
#define SEEN_BITS 10

struct _LuSyscapKernel
{
  LuKallsymsFile *file;      /* a reference; NULL: there is none */
  const LuKallsyms *symbols; /* of the file; NULL before it is read, or if it cannot be */
  guint8 *is_written;        /* one bit per symbol */
  GString *lines;            /* not in the capture yet */
  guint64 seen[1 << SEEN_BITS];
  guint32 *hidden; /* number of a symbol's place + 1, by symbol; NULL: none has one */
  guint32 n_hidden;
  GString *hidden_lines; /* of all of these */
  gboolean any;          /* a chunk is in the capture */
  gboolean has_end;      /* the line that ends the last function was noted */
};

LuSyscapKernel *
lu_syscap_kernel_new (LuKallsymsFile *file)
{
  LuSyscapKernel *self = g_new0 (LuSyscapKernel, 1);

  self->file = file != NULL ? lu_kallsyms_file_ref (file) : NULL;
  self->lines = g_string_sized_new (LINES_BYTES);
  self->hidden_lines = g_string_new (NULL);
  return self;
}

void
lu_syscap_kernel_free (LuSyscapKernel *self)
{
  if (self == NULL)
    return;
  lu_kallsyms_file_unref (self->file);
  g_free (self->is_written);
  g_string_free (self->lines, TRUE);
  g_string_free (self->hidden_lines, TRUE);
  g_free (self->hidden);
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
note (LuSyscapKernel *self, guint index)
{
  LuKernelSymbol symbol;

  if (self->is_written[index / 8] & 1u << index % 8)
    return;
  self->is_written[index / 8] |= (guint8) (1u << index % 8);
  lu_kallsyms_get (self->symbols, index, &symbol);
  /* Sysprof 3.46 reads only t and T: a weak function is none the less one. */
  append_line (self, symbol.address, g_ascii_isupper (symbol.type) ? 'T' : 't', symbol.name,
               symbol.module);
}

/* A line that ends the last function of all. */
static void
note_end (LuSyscapKernel *self, guint index)
{
  LuKernelSymbol symbol;

  if (self->has_end)
    return;
  self->has_end = TRUE;
  lu_kallsyms_get (self->symbols, index, &symbol);
  append_line (self, symbol.end, 't', "_end", NULL);
}

/* FALSE: there are no symbols. */
static gboolean
load (LuSyscapKernel *self)
{
  if (self->symbols != NULL || self->file == NULL)
    return self->symbols != NULL;
  self->symbols = lu_kallsyms_file_load (self->file);
  if (self->symbols == NULL)
    g_clear_pointer (&self->file, lu_kallsyms_file_unref);
  else
    self->is_written = g_malloc0 (lu_kallsyms_size (self->symbols) / 8 + 1);
  return self->symbols != NULL;
}

static void
look_up (LuSyscapKernel *self, guint64 pc)
{
  gint index;

  index = load (self) ? lu_kallsyms_find (self->symbols, pc) : -1;
  if (index < 0)
    return;
  note (self, (guint) index);
  if ((guint) index + 1 < lu_kallsyms_size (self->symbols))
    note (self, (guint) index + 1);
  else
    note_end (self, (guint) index);
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

/* Both lines of the capture and those for names at the end. */
static void
append_hidden (LuSyscapKernel *self, const char *name, const char *module)
{
  gsize before = self->lines->len;

  append_line (self, lu_syscap_hidden_place (self->n_hidden), 't', name, module);
  g_string_append_len (self->hidden_lines, self->lines->str + before,
                       (gssize) (self->lines->len - before));
}

guint64
lu_syscap_kernel_hide (LuSyscapKernel *self, guint64 pc)
{
  LuKernelSymbol symbol;
  gint index;

  index = load (self) ? lu_kallsyms_find (self->symbols, pc) : -1;
  if (index < 0)
    return LU_SYSCAP_HIDDEN_UNKNOWN;
  if (self->hidden == NULL)
    self->hidden = g_new0 (guint32, lu_kallsyms_size (self->symbols));
  lu_kallsyms_get (self->symbols, (guint) index, &symbol);
  if (self->hidden[index] == 0)
    {
      append_hidden (self, symbol.name, symbol.module);
      self->hidden[index] = ++self->n_hidden;
    }
  return lu_syscap_hidden_place (self->hidden[index] - 1)
         + MIN (pc - symbol.address, LU_SYSCAP_HIDDEN_SIZE - 1);
}

LuKallsyms *
lu_syscap_kernel_hidden_symbols (const LuSyscapKernel *self)
{
  return lu_kallsyms_parse (self->hidden_lines->str, self->hidden_lines->len, NULL);
}

gboolean
lu_syscap_kernel_write (LuSyscapKernel *self, LuSyscapWriter *writer, gboolean is_last,
                        GError **error)
{
  gboolean ok = TRUE;

  if (is_last && self->n_hidden > 0)
    append_hidden (self, "_end", NULL);
  if (self->lines->len > 0 || (is_last && self->any))
    {
      ok = lu_syscap_write_file (writer, PATH, self->lines->str, self->lines->len, is_last, error);
      self->any = TRUE;
    }
  g_string_set_size (self->lines, 0);
  return ok;
}

const LuKallsyms *
lu_syscap_kernel_symbols (const LuSyscapKernel *self)
{
  return self->symbols;
}
