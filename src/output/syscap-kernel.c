/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-kernel.c - kernel function names of a capture; see syscap-kernel.h.
 *
 * Each function is written at most once, whether it was hit or stands behind one that was. The
 * order of the lines is that of the hits; readers sort them. */

#include "output/syscap-kernel.h"

#include "output/syscap-frames.h"

#define PATH "/proc/kallsyms"

struct _LuSyscapKernel
{
  LuKallsyms *symbols; /* owned; may be NULL */
  guint8 *is_written;  /* one bit per symbol */
  GString *lines;      /* not in the capture yet */
  gboolean any;        /* a chunk is in the capture */
  gboolean has_end;    /* the line that ends the last function was noted */
};

LuSyscapKernel *
lu_syscap_kernel_new (LuKallsyms *symbols)
{
  LuSyscapKernel *self = g_new0 (LuSyscapKernel, 1);

  self->symbols = symbols;
  self->lines = g_string_new (NULL);
  if (symbols != NULL)
    self->is_written = g_malloc0 (lu_kallsyms_size (symbols) / 8 + 1);
  return self;
}

void
lu_syscap_kernel_free (LuSyscapKernel *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->symbols, lu_kallsyms_free);
  g_free (self->is_written);
  g_string_free (self->lines, TRUE);
  g_free (self);
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
  g_string_append_printf (self->lines, "%016" G_GINT64_MODIFIER "x %c %s", symbol.address,
                          g_ascii_isupper (symbol.type) ? 'T' : 't', symbol.name);
  if (symbol.module != NULL)
    g_string_append_printf (self->lines, "\t%s", symbol.module);
  g_string_append_c (self->lines, '\n');
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
  g_string_append_printf (self->lines, "%016" G_GINT64_MODIFIER "x t _end\n", symbol.end);
}

void
lu_syscap_kernel_hit (LuSyscapKernel *self, const LuFrame *frames, guint n_frames)
{
  if (self->symbols == NULL)
    return;
  for (guint i = 0; i < n_frames; i++)
    {
      gint index;

      if (!(frames[i].flags & LU_FRAME_KERNEL))
        continue;
      index = lu_kallsyms_find (self->symbols, frames[i].pc);
      if (index < 0)
        continue;
      note (self, (guint) index);
      if ((guint) index + 1 < lu_kallsyms_size (self->symbols))
        note (self, (guint) index + 1);
      else
        note_end (self, (guint) index);
    }
}

gboolean
lu_syscap_kernel_write (LuSyscapKernel *self, LuSyscapWriter *writer, gboolean is_last,
                        GError **error)
{
  gboolean ok = TRUE;

  if (self->lines->len > 0 || (is_last && self->any))
    {
      ok = lu_syscap_write_file (writer, PATH, self->lines->str, self->lines->len, is_last, error);
      self->any = TRUE;
    }
  g_string_set_size (self->lines, 0);
  return ok;
}
