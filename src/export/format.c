/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format.c - the table of formats, and writing a recording in one of them; see format.h. */

#include "format.h"

#include "base/fd.h"

#include <string.h>

#define KALLSYMS "/proc/kallsyms"
/* The first symbols are in this part. */
#define KALLSYMS_START (1u << 20)

/* All formats, in the order of the help: X (NAME) is lu_format_NAME in format-NAME.c. */
#define FORMATS(X)                                                                                 \
  X (folded) X (html) X (speedscope) X (firefox) X (perf) X (pprof) X (perfetto) X (callgrind)

#define X(name) extern const LuFormat lu_format_##name;
FORMATS (X)
#undef X
#define X(name) &lu_format_##name,
static const LuFormat *const formats[] = { FORMATS (X) };
#undef X

struct _LuExport
{
  const LuFormat *format;
  LuStream *stream;
  LuModel *model;       /* NULL: the format takes frames */
  gboolean is_borrowed; /* the model belongs to another export */
  gpointer state;       /* of a format that takes frames */
  guint64 kernel_start; /* for begin(); 0: not known yet */
  LuModelLinesFlags lines;
  LuExportRemark remark;
  LuExportFilter filter; /* NULL: all samples */
  gpointer filter_data;
};

const LuFormat *
lu_format_of (const char *path)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    for (guint s = 0; formats[i]->suffixes[s] != NULL; s++)
      if (g_str_has_suffix (path, formats[i]->suffixes[s]))
        return formats[i];
  return NULL;
}

const LuFormat *
lu_format_at (guint index)
{
  return index < G_N_ELEMENTS (formats) ? formats[index] : NULL;
}

const LuFormat *
lu_format_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_equal (formats[i]->name, name))
      return formats[i];
  return NULL;
}

char *
lu_format_names (void)
{
  GString *names = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", formats[i]->name);
  return g_string_free (names, FALSE);
}

char *
lu_format_suffixes (void)
{
  GString *suffixes = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (formats[i]->suffixes[0] != NULL)
      g_string_append_printf (suffixes, "%s%s", i > 0 ? ", " : "", formats[i]->suffixes[0]);
  return g_string_free (suffixes, FALSE);
}

guint64
lu_format_kernel_start (void)
{
  g_autofree char *text = lu_fd_read_file (KALLSYMS, KALLSYMS_START, NULL);
  const char *line = text != NULL ? strstr (text, " _text\n") : NULL;

  while (line != NULL && line > text && line[-1] != '\n')
    line--;
  return line != NULL ? g_ascii_strtoull (line, NULL, 16) : 0;
}

LuExport *
lu_export_new (const LuFormat *format, int fd)
{
  LuExport *self = g_new0 (LuExport, 1);

  self->format = format;
  self->stream = lu_stream_new (fd, format->gzip);
  if (format->write != NULL)
    self->model = lu_model_new (format->needs);
  return self;
}

void
lu_export_set_lines (LuExport *self, LuModelLinesFlags flags, LuExportRemark remark)
{
  self->lines = flags;
  self->remark = remark;
  if (flags != 0 && self->format->has_lines_of_functions)
    self->lines |= LU_MODEL_INLINES;
}

/* Models with lines are not shared, because each format changes its model. A model with times
 * serves formats that do not need them. */
void
lu_export_share (LuExport *self, LuExport *other)
{
  const LuModelFlags times = LU_MODEL_TIMES | LU_MODEL_SOME_TIMES;

  if (self->model == NULL || other->model == NULL
      || ((self->model->flags ^ other->model->flags) & ~times) != 0 || self->lines != 0
      || other->lines != 0)
    return;
  other->model->flags |= self->model->flags & times;
  if (!self->is_borrowed)
    lu_model_free (self->model);
  self->model = other->model;
  self->is_borrowed = TRUE;
}

void
lu_export_set_naming (LuExport *self, LuDebuginfod *debuginfod, LuNamerProgress go_on,
                      gpointer user_data)
{
  if (self->model != NULL)
    {
      self->model->debuginfod = debuginfod;
      self->model->go_on = go_on;
      self->model->go_on_data = user_data;
    }
}

void
lu_export_add_flags (LuExport *self, LuModelFlags flags)
{
  if (self->model != NULL)
    self->model->flags |= flags;
}

void
lu_export_set_filter (LuExport *self, LuModelFlags needs, LuExportFilter func, gpointer user_data)
{
  g_assert (self->model != NULL);
  self->model->flags |= needs;
  self->filter = func;
  self->filter_data = user_data;
}

void
lu_export_set_kernel_start (LuExport *self, guint64 address)
{
  self->kernel_start = address;
}

void
lu_export_begin (LuExport *self, const LuSyscapHeader *header)
{
  if (self->is_borrowed)
    return;
  if (self->model != NULL)
    lu_model_begin (self->model, header);
  else
    self->state = self->format->begin (self->stream, header,
                                       self->kernel_start != 0 ? self->kernel_start
                                                               : lu_format_kernel_start ());
}

void
lu_export_take (LuExport *self, const LuSyscapRecord *record)
{
  if (self->is_borrowed)
    return;
  if (self->model != NULL)
    lu_model_take (self->model, record);
  else
    self->format->take (self->state, record);
}

static void
end_state (LuExport *self)
{
  if (self->state != NULL)
    self->format->end (g_steal_pointer (&self->state));
}

static void
add_lines (LuExport *self)
{
  g_autofree char *left_out = NULL;

  lu_model_add_lines (self->model, self->lines);
  left_out = lu_model_lines_left_out (self->model);
  if (left_out != NULL && self->remark != NULL)
    self->remark (left_out);
  if ((self->lines & LU_MODEL_LINES) && self->format->shows_only_functions)
    lu_model_split_lines (self->model);
}

gboolean
lu_export_end (LuExport *self, GError **error)
{
  if (self->model != NULL && !self->is_borrowed)
    {
      lu_model_end (self->model);
      lu_model_name (self->model, 0);
      lu_model_add_tail_calls (self->model);
      if (self->lines != 0)
        add_lines (self);
      if (self->filter != NULL && !self->filter (self->filter_data, self->model, error))
        return FALSE;
    }
  if (self->model != NULL)
    self->format->write (self->model, self->stream);
  end_state (self);
  return lu_stream_finish (self->stream, error);
}

guint64
lu_export_size (const LuExport *self)
{
  return lu_stream_size (self->stream);
}

void
lu_export_free (LuExport *self)
{
  if (self == NULL)
    return;
  end_state (self);
  if (!self->is_borrowed)
    lu_model_free (self->model);
  lu_stream_free (self->stream);
  g_free (self);
}
