/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-annotate.c - prints the source of a function with the samples of its lines; see
 * report-print.h.
 *
 * Files are named by debug information, which anybody may have made, so their text is read within
 * limits and printed without control characters. */

#include "config.h"

#include "base/fd.h"
#include "base/open-file.h"
#include "base/printable.h"
#include "color.h"
#include "report-print.h"
#include "symbolize/elf-file.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Lines without samples that are shown around one with samples. */
#define CONTEXT 3
/* Bytes of one file, of all files, and of a line. */
#define MAX_FILE    (8u << 20)
#define MAX_SOURCES (64u << 20)
#define MAX_LINE    1000
#define TAB         8
/* Columns before the text of a line. */
#define NUMBERS 27

typedef struct
{
  const char *file;    /* owned by the model; NULL: not known */
  guint32 line;        /* 0: not known */
  guint32 module;      /* that has it; G_MAXUINT32: none */
  guint64 file_offset; /* of the code */
  guint64 self, total; /* samples */
  guint64 last_stack;  /* number of the last one that was counted in total */
} Line;

typedef struct
{
  const LuModel *model;
  const char *name; /* full */
  gboolean by_code; /* a line is an instruction, and has no file */
  LuIdTable *ids;   /* (file, line) or (module, file offset) */
  GArray *lines;    /* of Line, by id, then sorted */
  GHashTable *hot;  /* file -> samples by self */
  guint64 self, total, n_stacks;
  gsize n_left;      /* bytes of sources that may still be read */
  gboolean has_text; /* a source was there */
  gboolean is_more;  /* what follows the lines */
} Annotation;

/* Where a text is being read. */
typedef struct
{
  const char *at, *end; /* NULL: there is no text */
  guint64 number;       /* of the line */
} Cursor;

static Line *
line_of (Annotation *self, const Line *line)
{
  guint32 id = self->by_code ? lu_id_table_add (self->ids, line->module, line->file_offset)
                             : lu_id_table_add (self->ids, (guintptr) line->file, line->line);

  if (id == self->lines->len)
    g_array_append_vals (self->lines, line, 1);
  return &g_array_index (self->lines, Line, id);
}

static Line *
line_of_frame (Annotation *self, const LuModelFrame *frame)
{
  Line line = { .module = frame->module, .file_offset = frame->file_offset };

  if (frame->line > 0 && !self->by_code)
    {
      line.file = frame->file;
      line.line = frame->line;
    }
  return line_of (self, &line);
}

static void
add_stack (Annotation *self, guint32 leaf, guint64 n)
{
  gboolean is_inside = FALSE;

  self->n_stacks++;
  for (guint32 node = leaf; node != 0; node = lu_model_node (self->model, node).parent)
    {
      const LuModelFrame *frame =
          lu_model_frame (self->model, lu_model_node (self->model, node).frame);
      Line *line;

      if (!g_str_equal (lu_model_function_of (self->model, node)->full_name, self->name))
        continue;
      line = line_of_frame (self, frame);
      line->self += node == leaf ? n : 0;
      line->total += line->last_stack != self->n_stacks ? n : 0;
      line->last_stack = self->n_stacks;
      self->self += node == leaf ? n : 0;
      self->total += is_inside ? 0 : n;
      is_inside = TRUE;
    }
}

static guint64
hot_of (const Annotation *self, const char *file)
{
  return GPOINTER_TO_SIZE (g_hash_table_lookup (self->hot, file));
}

/* The hottest file comes first, no file last, by place. */
static int
compare_lines (gconstpointer a, gconstpointer b, gpointer data)
{
  const Line *x = a, *y = b;

  if (x->file == NULL && y->file == NULL && x->module != y->module)
    return x->module < y->module ? -1 : 1;
  if (x->file == NULL && y->file == NULL)
    return x->file_offset < y->file_offset ? -1 : x->file_offset > y->file_offset;
  if (x->file == y->file)
    return x->line < y->line ? -1 : x->line > y->line;
  if (x->file == NULL || y->file == NULL)
    return x->file == NULL ? 1 : -1;
  if (hot_of (data, x->file) != hot_of (data, y->file))
    return hot_of (data, x->file) > hot_of (data, y->file) ? -1 : 1;
  return strcmp (x->file, y->file);
}

static void
sort_lines (Annotation *self)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      const Line *line = &g_array_index (self->lines, Line, i);

      if (line->file != NULL)
        g_hash_table_insert (self->hot, (gpointer) line->file,
                             GSIZE_TO_POINTER (hot_of (self, line->file) + line->self));
    }
  g_array_sort_with_data (self->lines, compare_lines, self);
}

/* Returns whether the source was written after the program. */
static gboolean
is_newer (const struct stat *source, const LuModelModule *module)
{
  LuElfFile program;
  struct stat built = { 0 };
  gboolean is_no_elf;

  if (!lu_elf_file_open_mapped (&program, &module->mapped, &is_no_elf))
    return FALSE;
  fstat (program.input.fd, &built);
  lu_elf_file_clear (&program);
  return source->st_mtim.tv_sec != built.st_mtim.tv_sec
             ? source->st_mtim.tv_sec > built.st_mtim.tv_sec
             : source->st_mtim.tv_nsec > built.st_mtim.tv_nsec;
}

/* Returns the text of a file, owned by the caller; NULL: it is not here. *note (untranslated) tells
 * what is wrong with it. */
static char *
read_source (Annotation *self, const Line *line, gsize *size, const char **note)
{
  struct stat info = { 0 };
  lu_autofd fd = line->file[0] == '/' ? lu_open_regular (line->file, &info) : -1;
  char *text = fd >= 0 ? lu_fd_read_all (fd, MIN (self->n_left, MAX_FILE), size) : NULL;

  *note = NULL;
  if (text == NULL)
    *note = N_ ("the file is not here");
  else if (is_newer (&info, g_ptr_array_index (self->model->modules, line->module)))
    *note = N_ ("the file is newer than the program, so its lines may not match");
  self->n_left -= text != NULL ? *size : 0;
  self->has_text |= text != NULL;
  return text;
}

/* Goes on to a line, and returns its text, owned by the caller; NULL: there is none. */
static char *
text_at (Cursor *self, guint64 number)
{
  guint width = lu_terminal_width ();
  g_autoptr (GString) text = g_string_new (NULL);

  for (; self->number < number && self->at < self->end; self->number++)
    {
      const char *newline = memchr (self->at, '\n', (gsize) (self->end - self->at));

      self->at = newline != NULL ? newline + 1 : self->end;
    }
  if (self->at == self->end)
    return NULL;
  for (const char *at = self->at; at < self->end && *at != '\n' && text->len < MAX_LINE; at++)
    if (*at == '\t')
      g_string_append_printf (text, "%*s", (int) (TAB - text->len % TAB), "");
    else if (*at != '\r')
      g_string_append_c (text, *at != 0 ? *at : '?');
  return lu_printable (text->str, width > 0 ? width - NUMBERS : 0);
}

static void
print_shares (const Annotation *self, const Line *line)
{
  lu_report_print_line_shares (line->self, line->total, self->model->n_samples);
}

/* Prints the line, and those around it from `first` to `last`, as far as there is text. */
static void
print_around (const Annotation *self, const Line *line, Cursor *source, guint64 first, guint64 last)
{
  for (guint64 number = first; number <= last; number++)
    {
      gboolean is_it = number == line->line;
      g_autofree char *text = text_at (source, number);

      if (text == NULL && (!is_it || line->total == 0))
        continue;
      print_shares (self, is_it ? line : &(Line){ 0 });
      printf (" %7" G_GUINT64_FORMAT "%s%s\n", number, text != NULL && *text != 0 ? "  " : "",
              text != NULL ? text : "");
    }
}

/* Prints `n` lines of one file. */
static void
print_file (Annotation *self, const Line *lines, guint n)
{
  gsize size = 0;
  const char *note;
  g_autofree char *text = read_source (self, lines, &size, &note);
  g_autofree char *name = lu_printable (lines->file, 0);
  Cursor source = { .at = text, .end = text != NULL ? text + size : NULL, .number = 1 };
  guint64 context = text != NULL ? CONTEXT : 0, done = 0;

  printf ("\n%s%s%s\n%8s %8s %7s\n", name, note != NULL ? ": " : "", note != NULL ? _ (note) : "",
          _ ("self"), _ ("total"), _ ("line"));
  for (guint i = 0; i < n; i++)
    {
      guint64 line = lines[i].line;
      guint64 first = MAX (done + 1, line > context ? line - context : 1);
      guint64 last = i + 1 < n ? MIN (line + context, lines[i + 1].line - G_GUINT64_CONSTANT (1))
                               : line + context;

      if (done > 0 && first > done + 1)
        printf ("%25s\n", "…");
      print_around (self, &lines[i], &source, first, last);
      done = last;
    }
}

static const LuModelModule *
module_of (const Annotation *self, const Line *line)
{
  return line->module != G_MAXUINT32 ? g_ptr_array_index (self->model->modules, line->module)
                                     : NULL;
}

static void
print_unknown (const Annotation *self, const Line *line)
{
  const LuModelModule *module = module_of (self, line);
  const char *why = module != NULL ? module->without_lines : NULL;

  putchar ('\n');
  print_shares (self, line);
  printf ("  %s%s%s\n", _ ("(line not known)"), why != NULL ? ": " : "",
          why != NULL ? _ (why) : "");
}

static void
print_code (const Annotation *self, const Line *lines, guint n)
{
  g_autofree LuReportHit *hits = g_new (LuReportHit, n + (gsize) 1);

  for (guint i = 0; i < n; i++)
    hits[i] = (LuReportHit){ lines[i].file_offset, lines[i].self, lines[i].total };
  lu_report_print_code (module_of (self, lines), hits, n, self->model->n_samples);
}

static void
print (Annotation *self)
{
  const Line *lines = (const Line *) (gpointer) self->lines->data;
  guint n;

  for (guint i = 0; i < self->lines->len; i += n)
    {
      n = 1;
      while (i + n < self->lines->len && lines[i + n].file == lines[i].file
             && (lines[i].file != NULL || lines[i + n].module == lines[i].module))
        n++;
      if (lines[i].file != NULL)
        print_file (self, &lines[i], n);
      else if (self->by_code && module_of (self, &lines[i]) != NULL)
        print_code (self, &lines[i], n);
      else if (!self->is_more)
        print_unknown (self, &lines[i]);
    }
}

static void
add_definition (Annotation *self, const LuModelFunction *function)
{
  Line line = { .file = function->defined_in, .line = function->defined_at };

  if (line.file == NULL || line.line == 0 || self->lines->len == 0)
    return;
  line.module = g_array_index (self->lines, Line, 0).module;
  line_of (self, &line);
}

static void
collect (Annotation *self, const LuModelFunction *function, gboolean by_code)
{
  self->by_code = by_code;
  self->self = self->total = self->n_stacks = 0;
  self->ids = lu_id_table_new (2);
  g_array_set_size (self->lines, 0);
  for (guint i = 0; i < lu_model_n_counts (self->model); i++)
    add_stack (self, lu_model_count (self->model, i).node, lu_model_count (self->model, i).n);
  if (!by_code)
    add_definition (self, function);
  lu_id_table_free (self->ids);
  sort_lines (self);
}

void
lu_report_print_source (const LuModel *model, const LuModelFunction *function,
                        LuReportCode wants_code)
{
  Annotation self = { .model = model, .name = function->full_name, .n_left = MAX_SOURCES };
  g_autofree char *name = lu_printable (function->name, 0);

  self.lines = g_array_new (FALSE, FALSE, sizeof (Line));
  self.hot = g_hash_table_new (NULL, NULL);
  collect (&self, function, wants_code == LU_REPORT_CODE);
  printf (_ ("\n%s: total %" PRIu64 " (%.2f %%), self %" PRIu64 " (%.2f %%)\n"), name, self.total,
          lu_report_percent (self.total, model->n_samples), self.self,
          lu_report_percent (self.self, model->n_samples));
  print (&self);
  if (wants_code == LU_REPORT_CODE_IF_NEEDED && !self.has_text)
    {
      self.is_more = TRUE;
      collect (&self, function, TRUE);
      print (&self);
    }
  g_array_unref (self.lines);
  g_hash_table_unref (self.hot);
}
