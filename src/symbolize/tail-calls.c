/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-calls.c - finds functions that ended with a tail call; see tail-calls.h.
 *
 * Most calls lead to the function of the frame, which their bytes show at once. The others are
 * cases, for which ways are searched in the graph. */

#include "symbolize/tail-calls.h"

#include "arch/arch.h"
#include "code/decoder.h"
#include "symbolize/tail-path.h"

#include <stdlib.h>

#define MAX_US (10 * G_USEC_PER_SEC)
#define WINDOW 65536

/* A call to a function whose frame is not there, perhaps. */
typedef struct
{
  guint query;
  guint32 from, to; /* nodes of the function called and that of the frame */
} Case;

typedef struct
{
  const LuTailCallsOptions *options;
  LuTailQuery *queries;
  LuBudget budget;
  gint64 end_us;
  LuTailGraph graph;
  GArray *cases; /* of Case */
  GArray *calls; /* of LuTailCall */
  /* The bytes of a file that were read last: */
  guint8 *window;
  guint32 window_file;
  guint64 window_start;
  gsize window_size;
} Finder;

gboolean
lu_tail_calls_load (void)
{
  return lu_decoder_load ();
}

/* Calls */

/* Returns the bytes up to a file offset, at most LU_CALL_LONGEST, and sets `n`. */
static const guint8 *
bytes_before (Finder *self, const LuElfInput *input, const LuTailQuery *query, gsize *n)
{
  guint64 start = query->return_offset - MIN (query->return_offset, LU_CALL_LONGEST);

  *n = (gsize) (query->return_offset - start);
  if (query->caller_file != self->window_file || start < self->window_start
      || query->return_offset > self->window_start + self->window_size)
    {
      self->window_file = query->caller_file;
      self->window_start = start;
      self->window_size = start < input->size ? (gsize) MIN (WINDOW, input->size - start) : 0;
      if (!lu_budget_read (&self->budget, self->window_size)
          || !lu_elf_input_read (input, start, self->window, self->window_size))
        self->window_size = 0;
    }
  return *n <= self->window_size ? self->window + (start - self->window_start) : NULL;
}

/* Returns the file offset of an ELF address of code; G_MAXUINT64 if it is none. */
static guint64
offset_of (const LuTailFile *file, guint64 address)
{
  const LuElfProgramHeader *code =
      lu_elf_file_code_at_address (lu_code_functions_file (file->functions), address);

  return code != NULL ? address - code->vaddr + code->file_offset : G_MAXUINT64;
}

/* Finds what a call by name leads to; FALSE as read_call(). */
static gboolean
find_called (Finder *self, const LuTailQuery *query, const char *name, LuTailPlace *place)
{
  LuTailFile *file = query->callee_start != G_MAXUINT64
                         ? lu_tail_graph_file (&self->graph, query->callee_file)
                         : NULL;
  guint64 address;

  if (file != NULL
      && lu_linkage_find (lu_tail_file_linkage (file), name, &address) == LU_LINKAGE_ONE
      && offset_of (file, address) == query->callee_start)
    return FALSE;
  return lu_tail_graph_place (&self->graph, query->caller_file, query->callee_file, name, place);
}

/* Finds what a call leads to by its bytes alone; FALSE if that cannot be told, or is the function
 * of the frame, as far as its start is known. */
static gboolean
read_call (Finder *self, LuTailFile *file, const LuTailQuery *query, LuTailPlace *place)
{
  const LuElfFile *elf = lu_code_functions_file (file->functions);
  const LuArch *arch = lu_arch_with_tables (elf->headers.machine);
  const LuElfProgramHeader *code = lu_elf_file_code_at_offset (elf, query->return_offset - 1);
  gsize n = 0;
  const guint8 *bytes = code != NULL ? bytes_before (self, &elf->input, query, &n) : NULL;
  const char *name;
  gint64 displacement;
  guint64 address;
  enum lu_call_kind kind;

  if (bytes == NULL)
    return FALSE;
  address = query->return_offset - code->file_offset + code->vaddr;
  kind = arch->decode_call (bytes, n, &displacement);
  if (kind == LU_CALL_DIRECT)
    {
      *place = (LuTailPlace){ query->caller_file, address + (guint64) displacement };
      if (query->caller_file == query->callee_file && query->callee_start != G_MAXUINT64
          && offset_of (file, place->address) == query->callee_start)
        return FALSE;
      name = lu_linkage_of_entry (lu_tail_file_linkage (file), place->address);
      return name == NULL || find_called (self, query, name, place);
    }
  if (kind != LU_CALL_INDIRECT || arch->files.decode_slot_call == NULL
      || !arch->files.decode_slot_call (bytes, n, &displacement))
    return FALSE;
  name = lu_linkage_of_slot (lu_tail_file_linkage (file), address + (guint64) displacement);
  return name != NULL && find_called (self, query, name, place);
}

/* Returns the function that a call leads to. It is no part of one, because it is called. */
static guint32
called_function (Finder *self, const LuTailPlace *place)
{
  guint32 number = lu_tail_graph_at (&self->graph, place->file, place->address);
  LuTailNode *node;

  if (number == LU_TAIL_NONE)
    return LU_TAIL_NONE;
  node = lu_tail_graph_node (&self->graph, number);
  if (node->start != place->address)
    return LU_TAIL_NONE;
  node->kind = LU_CODE_WHOLE;
  return number;
}

static guint32
callee_function (Finder *self, const LuTailQuery *query)
{
  LuTailFile *file = lu_tail_graph_file (&self->graph, query->callee_file);
  const LuElfProgramHeader *code =
      file != NULL ? lu_elf_file_code_at_offset (lu_code_functions_file (file->functions),
                                                 query->callee_offset)
                   : NULL;

  return code != NULL ? lu_tail_graph_at (&self->graph, query->callee_file,
                                          query->callee_offset - code->file_offset + code->vaddr)
                      : LU_TAIL_NONE;
}

static void
find_cases (Finder *self, guint n_queries)
{
  guint32 last = G_MAXUINT32;

  for (guint i = 0; i < n_queries; i++)
    {
      const LuTailQuery *query = &self->queries[i];
      LuTailFile *file;
      Case found = { .query = i };
      LuTailPlace place;

      if (query->caller_file != last && !lu_budget_next_file (&self->budget))
        return;
      last = query->caller_file;
      file = lu_tail_graph_file (&self->graph, last);
      if (file == NULL || query->return_offset == 0 || !read_call (self, file, query, &place))
        continue;
      found.from = called_function (self, &place);
      found.to = found.from != LU_TAIL_NONE ? callee_function (self, query) : LU_TAIL_NONE;
      if (found.to != LU_TAIL_NONE && found.to != found.from)
        g_array_append_val (self->cases, found);
    }
}

/* Cases */

static void
add_calls (Finder *self, LuTailQuery *query, const LuTailPath *path)
{
  query->first = self->calls->len;
  for (guint i = 0; i < path->n; i++)
    {
      const LuTailNode *node = lu_tail_graph_node (&self->graph, path->steps[i].node);
      const LuTailFile *file = g_ptr_array_index (self->graph.files, node->file);
      guint64 from = path->steps[i].from;
      LuTailCall call = { node->file, offset_of (file, from != 0 ? from : node->start) };

      if (call.file_offset != G_MAXUINT64)
        g_array_append_val (self->calls, call);
    }
  query->n = self->calls->len - query->first;
}

/* Decides all cases but those for which the kinds of functions have to be known first; is_last: as
 * well as it can. */
static void
decide (Finder *self, gboolean is_last)
{
  guint n = 0;

  if (!lu_budget_next_file (&self->budget))
    return;
  for (guint i = 0; i < self->cases->len && lu_budget_read (&self->budget, 0); i++)
    {
      Case each = g_array_index (self->cases, Case, i);
      LuTailPath path;

      lu_tail_path_find (&self->graph, each.from, each.to, &path);
      if (path.is_open && !is_last)
        {
          g_array_index (self->cases, Case, n++) = each;
          continue;
        }
      if (path.is_open)
        path.n =
            lu_tail_graph_node (&self->graph, each.to)->kind == LU_CODE_WHOLE ? MIN (path.n, 1) : 0;
      add_calls (self, &self->queries[each.query], &path);
    }
  g_array_set_size (self->cases, n);
}

/* All */

static int
compare_queries (const void *a, const void *b)
{
  const LuTailQuery *x = a, *y = b;

  if (x->caller_file != y->caller_file)
    return x->caller_file < y->caller_file ? -1 : 1;
  return x->return_offset < y->return_offset ? -1 : x->return_offset > y->return_offset;
}

static gboolean
goes_on (gpointer user_data)
{
  const Finder *self = user_data;
  const LuTailCallsOptions *options = self->options;

  return g_get_monotonic_time () < self->end_us
         && (options->progress == NULL
             || options->progress (options->n_files, options->n_files, options->progress_data));
}

GArray *
lu_tail_calls_find (const LuTailCallsOptions *options, LuTailQuery *queries, guint n_queries)
{
  Finder self = { .options = options,
                  .queries = queries,
                  .end_us = g_get_monotonic_time () + MAX_US,
                  .calls = g_array_new (FALSE, FALSE, sizeof (LuTailCall)),
                  .window_file = G_MAXUINT32 };

  for (guint i = 0; i < n_queries; i++)
    queries[i].first = queries[i].n = 0;
  if (n_queries == 0 || !lu_decoder_load ())
    return self.calls;
  qsort (queries, n_queries, sizeof *queries, compare_queries);
  lu_budget_init (&self.budget, goes_on, &self);
  lu_tail_graph_init (&self.graph, &self.budget);
  for (guint i = 0; i < options->n_files; i++)
    lu_tail_graph_add_file (&self.graph, &options->files[i]);
  self.cases = g_array_new (FALSE, FALSE, sizeof (Case));
  self.window = g_malloc (WINDOW);
  find_cases (&self, n_queries);
  decide (&self, FALSE);
  lu_tail_graph_judge (&self.graph);
  decide (&self, TRUE);
  g_free (self.window);
  g_array_unref (self.cases);
  lu_tail_graph_clear (&self.graph);
  return self.calls;
}
