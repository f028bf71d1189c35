/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-names.c - gives the frames of a model their functions; see model.h. */

#include "capture/syscap-symbols.h"
#include "model-private.h"
#include "symbolize/kallsyms.h"
#include "symbolize/place-names.h"
#include "symbolize/short-name.h"

#include <glib/gi18n.h>
#include <string.h>

/* Tells the namer's numbers of functions from those of the capture. */
#define NAMED_HERE (G_GUINT64_CONSTANT (1) << 32)

#define TAIL_CALL " [tail call]"

typedef struct
{
  LuModel *model;
  LuNamer *namer;
  LuKallsyms *kallsyms;  /* NULL: the capture has none */
  GHashTable *functions; /* "name\nmodule\nidentity" -> number + 1 */
  guint n_symbols;       /* in __symbols__ */
  gboolean opens_files, is_tail_call;
} Naming;

/* Two frames are of one function if their names are equal in all parts. */
typedef struct
{
  const char *name; /* NULL: none */
  const char *module;
  /* Tells functions of one name apart: a number of the capture or of the namer, or an address in
   * the kernel, and a recording has only one of these kinds for a name. 0: not told apart. */
  guint64 identity;
  gboolean is_place; /* the name is no symbol */
} Name;

static const char *
text_without_name (LuCodeKind kind)
{
  switch (kind)
    {
    case LU_CODE_KERNEL:
      return LU_PLACE_KERNEL;
    case LU_CODE_NOWHERE:
      return LU_PLACE_NOWHERE;
    case LU_CODE_GENERATED:
      return LU_PLACE_GENERATED;
    default:
      return "(too many names)";
    }
}

static const char *
add_suffix (LuModel *self, const char *name)
{
  g_autofree char *text = g_strconcat (name, TAIL_CALL, NULL);

  return g_string_chunk_insert_const (self->texts, text);
}

void
lu_model_set_name (LuModel *self, LuModelFunction *function, const char *full_name)
{
  g_autofree char *name = NULL;

  function->name = function->full_name = full_name;
  if (function->has_name && function->kind == LU_CODE_USER && !(self->flags & LU_MODEL_FULL_NAMES))
    {
      name = lu_short_name (full_name);
      if (g_utf8_validate (name, -1, NULL))
        function->name = g_string_chunk_insert_const (self->texts, name);
    }
  if (function->is_tail_call)
    {
      function->name = add_suffix (self, function->name);
      function->full_name = add_suffix (self, full_name);
    }
}

static void
set_function (Naming *self, LuModelFrame *frame, const Name *name)
{
  gboolean has_name = name->name != NULL && !name->is_place;
  const char *text = name->name != NULL ? name->name : text_without_name (frame->kind);
  g_autofree char *key =
      g_strdup_printf ("%s\n%s\n%" G_GINT64_MODIFIER "x", text, name->module, name->identity);
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->functions, key));

  if (number == 0)
    {
      LuModelFunction function = { .kind = frame->kind,
                                   .has_name = has_name,
                                   .is_tail_call = self->is_tail_call };
      g_autofree char *valid = g_utf8_make_valid (text, -1);

      lu_model_set_name (self->model, &function,
                         g_string_chunk_insert_const (self->model->texts, valid));
      function.module = g_string_chunk_insert_const (self->model->texts, name->module);
      g_array_append_val (self->model->functions, function);
      number = self->model->functions->len;
      g_hash_table_insert (self->functions, g_steal_pointer (&key), GUINT_TO_POINTER (number));
    }
  frame->function = number - 1;
}

/* Finds the name of a frame in the capture itself. */
static gboolean
find_in_capture (const Naming *self, const LuModelFrame *frame, LuSyscapSymbol *symbol)
{
  return lu_syscap_symbols_find (self->model->symbols, self->n_symbols, frame->pid, frame->address,
                                 symbol);
}

static void
name_kernel (Naming *self, LuModelFrame *frame)
{
  LuKernelSymbol symbol = { 0 };
  LuSyscapSymbol captured;
  Name name = { .module = "kernel" };

  if (lu_kallsyms_find (self->kallsyms, frame->address, &symbol))
    {
      name = (Name){ .name = symbol.name, .module = "kernel", .identity = symbol.address };
      frame->offset = frame->address - symbol.address;
      if (symbol.module != NULL)
        name.module = symbol.module;
    }
  else if (find_in_capture (self, frame, &captured))
    {
      name.name = captured.name;
      name.is_place = captured.is_place;
    }
  set_function (self, frame, &name);
}

static void
name_state (Naming *self, LuModelFrame *frame)
{
  const char *name = g_hash_table_lookup (self->model->state_names, &frame->address);

  set_function (self, frame, &(Name){ .name = name != NULL ? name : "[unknown]", .module = "" });
}

LuModelInterpreted
lu_model_interpreted (const LuModel *self, guint64 address)
{
  guint64 source_address = address + LU_FUNCTION_SOURCE;
  LuModelInterpreted result = {
    .name = g_hash_table_lookup (self->function_names, &address),
    .source = g_hash_table_lookup (self->function_names, &source_address),
  };
  const char *colon = result.source != NULL ? strrchr (result.source, ':') : NULL;
  char *end;

  if (colon == NULL)
    return result;
  result.path_size = (gsize) (colon - result.source);
  result.first_line = (guint32) g_ascii_strtoull (colon + 1, &end, 10);
  result.source_size = (gsize) (end - result.source);
  if (*end != 0)
    result.line = (guint32) (result.first_line + g_ascii_strtoll (end, NULL, 10));
  return result;
}

guint64
lu_model_interpreted_identity (const LuModelInterpreted *interpreted)
{
  g_autofree char *source = g_strndup (interpreted->source, interpreted->source_size);

  return source != NULL ? g_str_hash (source) : 0;
}

static void
name_function (Naming *self, LuModelFrame *frame)
{
  LuModelInterpreted found = lu_model_interpreted (self->model, frame->address);
  LuModelFunction *function;

  set_function (self, frame,
                &(Name){ .name = found.name != NULL ? found.name : "[unknown]",
                         .module = "[interpreted]",
                         .identity = lu_model_interpreted_identity (&found) });
  if (found.path_size == 0)
    return;
  function = &g_array_index (self->model->functions, LuModelFunction, frame->function);
  if (function->defined_in == NULL)
    function->defined_in =
        g_string_chunk_insert_len (self->model->texts, found.source, (gssize) found.path_size);
  function->defined_at = found.first_line;
  frame->file = found.line != 0 ? function->defined_in : NULL;
  frame->line = found.line;
}

/* name: NULL if it has none. Code that is generated again has the same name at another address. */
static void
set_generated (Naming *self, LuModelFrame *frame, const char *name)
{
  if (name != NULL)
    frame->kind = LU_CODE_GENERATED;
  set_function (
      self, frame,
      &(Name){ .name = name, .module = frame->kind == LU_CODE_GENERATED ? "[generated]" : "" });
}

static void
name_generated (Naming *self, LuModelFrame *frame, guint32 number)
{
  const LuGeneratedQuery query = { frame->pid, frame->address, (guint64) frame->time };

  if (self->opens_files)
    lu_namer_add_generated (self->namer, &query, number);
  else
    set_generated (self, frame, NULL);
}

/* Files */

static const char *
why_unnamed (LuNamesResult result)
{
  static const char *const reasons[] = {
    [LU_NAMES_READ] = N_ ("no symbol there; a debug package may have it"),
    [LU_NAMES_NO_FILE] = N_ ("the file is gone, or another one is in its place"),
    [LU_NAMES_NO_ELF] = N_ ("not an ELF file"),
    [LU_NAMES_TOO_LARGE] = N_ ("its symbols are too large"),
    [LU_NAMES_TOO_SLOW] = N_ ("reading its symbols took too long"),
    [LU_NAMES_SKIPPED] = N_ ("skipped for lack of time or by Ctrl-C"),
  };

  return reasons[result];
}

static void
add_files (Naming *self)
{
  for (guint32 i = 0; i < self->model->modules->len; i++)
    {
      const LuModelModule *module = g_ptr_array_index (self->model->modules, i);

      lu_namer_add_file (self->namer, &module->mapped);
    }
}

static const char *
module_text (const Naming *self, const LuModelFrame *frame)
{
  const LuModelModule *module;

  if (frame->kind == LU_CODE_GENERATED)
    return "[generated]";
  if (frame->module == G_MAXUINT32)
    return "";
  module = g_ptr_array_index (self->model->modules, frame->module);
  return module->base_name;
}

/* Uses the name in the capture itself. A place there is used only if places will do, because a
 * symbol may have been installed or written since. Returns FALSE if there is none. */
static gboolean
name_from_capture (Naming *self, LuModelFrame *frame, gboolean places_will_do)
{
  LuSyscapSymbol symbol;
  Name name;

  if (!find_in_capture (self, frame, &symbol) || (symbol.is_place && !places_will_do))
    return FALSE;
  if (frame->kind == LU_CODE_NOWHERE)
    frame->kind = LU_CODE_GENERATED;
  name = (Name){ .name = symbol.name,
                 .module = module_text (self, frame),
                 .identity = symbol.function,
                 .is_place = symbol.is_place };
  set_function (self, frame, &name);
  return TRUE;
}

static void
set_functions (Naming *self)
{
  guint n_answers;
  const LuNameQuery *answers = lu_namer_answers (self->namer, &n_answers);

  for (guint i = 0; i < n_answers; i++)
    {
      const LuNameQuery *answer = &answers[i];
      LuModelFrame *frame = &g_array_index (self->model->frames, LuModelFrame, answer->number);
      Name name = { .name = answer->name,
                    .module = module_text (self, frame),
                    .identity = NAMED_HERE | answer->function,
                    .is_place = !answer->has_symbol };

      if (answer->has_symbol)
        frame->offset = answer->file_offset - answer->start;
      if (answer->is_generated)
        {
          set_generated (self, frame, answer->name);
          continue;
        }
      if (answer->has_symbol || !name_from_capture (self, frame, TRUE))
        set_function (self, frame, &name);
      if (!answer->has_symbol)
        ((LuModelModule *) g_ptr_array_index (self->model->modules, answer->file))->without_names =
            why_unnamed (lu_namer_result (self->namer, answer->file));
    }
}

/* Counting samples without names */

/* Returns, for each frame without a name, the number of its module plus 1; 0 for all others. */
static guint32 *
modules_of_unnamed (const Naming *self, const GArray *unnamed)
{
  g_autofree gboolean *is_unnamed = g_new0 (gboolean, self->model->modules->len + 1);
  guint32 *modules = g_new0 (guint32, self->model->frames->len + 1);
  guint n_answers;
  const LuNameQuery *answers = lu_namer_answers (self->namer, &n_answers);

  for (guint i = 0; i < unnamed->len; i++)
    is_unnamed[g_array_index (unnamed, LuUnnamedFile, i).number] = TRUE;
  for (guint i = 0; i < n_answers; i++)
    if (answers[i].name == NULL && !answers[i].is_generated && is_unnamed[answers[i].file])
      modules[answers[i].number] = answers[i].file + 1;
  return modules;
}

/* Counts a sample once for each file in which it has a frame without a name. */
static guint64
count_samples (GArray *unnamed, gpointer user_data)
{
  const Naming *self = user_data;
  const LuModel *model = self->model;
  g_autofree guint32 *modules = modules_of_unnamed (self, unnamed);
  g_autofree guint64 *counts = g_new0 (guint64, model->modules->len + 1);
  g_autofree guint32 *last = g_new0 (guint32, model->modules->len + 1);

  for (guint32 i = 0; i < lu_model_n_counts (model); i++)
    for (guint32 node = lu_model_count (model, i).node; node != 0;)
      {
        LuModelNode step = lu_model_node (model, node);
        guint32 module = modules[step.frame];

        if (module > 0 && last[module] != i + 1)
          {
            last[module] = i + 1;
            counts[module] += lu_model_count (model, i).n;
          }
        node = step.parent;
      }
  for (guint i = 0; i < unnamed->len; i++)
    {
      LuUnnamedFile *file = &g_array_index (unnamed, LuUnnamedFile, i);

      file->n_samples = counts[file->number + 1];
    }
  return model->n_samples;
}

/* Frames */

/* Names a frame of the kernel or a state. All others are left to lu_namer_run(), unless the capture
 * names them. */
static void
name_frame (Naming *self, guint32 number)
{
  LuModelFrame *frame = &g_array_index (self->model->frames, LuModelFrame, number);

  switch (frame->kind)
    {
    case LU_CODE_KERNEL:
      name_kernel (self, frame);
      return;
    case LU_CODE_STATE:
      name_state (self, frame);
      return;
    case LU_CODE_FUNCTION:
      name_function (self, frame);
      return;
    case LU_CODE_NOWHERE:
    case LU_CODE_GENERATED:
      if (!name_from_capture (self, frame, FALSE))
        name_generated (self, frame, number);
      return;
    case LU_CODE_USER:
      /* A capture names what it has, and no tail calls. */
      if (self->is_tail_call || !name_from_capture (self, frame, FALSE))
        lu_namer_add (self->namer, frame->module, frame->file_offset, number);
      return;
    }
}

/* Names the frames from `first` on. */
static void
name_frames (Naming *self, guint32 first)
{
  LuModel *model = self->model;
  LuNamerOptions options = { .progress = model->go_on,
                             .progress_data = model->go_on_data,
                             .debuginfod = model->debuginfod,
                             .count = count_samples,
                             .count_data = self };

  self->namer = lu_namer_new (model->jitdumps);
  self->functions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  add_files (self);
  for (guint32 i = first; i < model->frames->len; i++)
    name_frame (self, i);
  if (self->opens_files)
    lu_namer_run (self->namer, &options);
  else
    lu_namer_run_without_files (self->namer);
  set_functions (self);
  g_hash_table_unref (self->functions);
  lu_namer_free (self->namer);
}

void
lu_model_name (LuModel *model, LuModelNamesFlags flags)
{
  Naming self = { .model = model, .opens_files = !(flags & LU_NAMES_CAPTURE_ONLY) };

  self.kallsyms = lu_kallsyms_parse (model->kallsyms->str, model->kallsyms->len, NULL);
  self.n_symbols = lu_syscap_symbols_count (model->symbols);
  model->has_kernel_names = self.kallsyms != NULL;
  g_array_set_size (model->functions, 0);
  name_frames (&self, 0);
  g_clear_pointer (&self.kallsyms, lu_kallsyms_free);
}

void
lu_model_name_tail_calls (LuModel *model, guint32 first)
{
  Naming self = { .model = model, .opens_files = TRUE, .is_tail_call = TRUE };

  name_frames (&self, first);
}
