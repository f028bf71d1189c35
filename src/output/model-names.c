/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-names.c - functions of a model's frames; see model-names.h. */

#include "output/model-names.h"

#include "output/syscap-symbols.h"
#include "symbolize/jit-names.h"
#include "symbolize/kallsyms.h"
#include "symbolize/names.h"

#include <glib/gi18n.h>
#include <string.h>

/* Of one module. */
typedef struct
{
  GArray *frames;       /* of guint32: numbers of those to be named from the file; NULL: none */
  LuNameQuery *queries; /* of these, owned */
  LuNamesResult result;
} ModuleNames;

typedef struct
{
  LuModel *model;
  LuNames *names;
  LuKallsyms *kallsyms;  /* NULL: the capture has none */
  GHashTable *functions; /* "name\nmodule" -> number + 1 */
  GHashTable *generated; /* pid -> LuJitNames */
  ModuleNames *modules;
  guint n_symbols;
  gboolean asks_files;
} Namer;

static void
set_function (Namer *self, LuModelFrame *frame, const char *name, const char *module)
{
  gboolean has_name = name != NULL;
  const char *text = has_name                           ? name
                     : frame->kind == LU_CODE_KERNEL    ? "(kernel)"
                     : frame->kind == LU_CODE_NOWHERE   ? "(outside every mapping)"
                     : frame->kind == LU_CODE_GENERATED ? "(generated code)"
                                                        : "(no symbol)";
  g_autofree char *key = g_strconcat (text, "\n", module, NULL);
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->functions, key));

  if (number == 0)
    {
      LuModelFunction function = { .kind = frame->kind, .has_name = has_name };
      g_autofree char *valid = g_utf8_make_valid (text, -1);

      function.name = g_string_chunk_insert_const (self->model->texts, valid);
      function.module = g_string_chunk_insert_const (self->model->texts, module);
      g_array_append_val (self->model->functions, function);
      number = self->model->functions->len;
      g_hash_table_insert (self->functions, g_steal_pointer (&key), GUINT_TO_POINTER (number));
    }
  frame->function = number - 1;
}

static const LuModelModule *
module_of (const Namer *self, const LuModelFrame *frame)
{
  return frame->module != G_MAXUINT32 ? g_ptr_array_index (self->model->modules, frame->module)
                                      : NULL;
}

static const char *
module_text (const Namer *self, const LuModelFrame *frame)
{
  const LuModelModule *module = module_of (self, frame);

  return module != NULL ? module->base_name : "";
}

static void
name_kernel (Namer *self, LuModelFrame *frame)
{
  LuKernelSymbol symbol = { 0 };
  gint index = self->kallsyms != NULL ? lu_kallsyms_find (self->kallsyms, frame->address) : -1;
  const char *name;

  if (index >= 0)
    lu_kallsyms_get (self->kallsyms, (guint) index, &symbol);
  name = symbol.name;
  if (name == NULL)
    name =
        lu_syscap_symbols_find (self->model->symbols, self->n_symbols, frame->pid, frame->address);
  set_function (self, frame, name, symbol.module != NULL ? symbol.module : "kernel");
}

static void
name_state (Namer *self, LuModelFrame *frame)
{
  const char *name = g_hash_table_lookup (self->model->state_names, &frame->address);

  set_function (self, frame, name != NULL ? name : "[unknown]", "");
}

/* Generated code */

static LuJitNames *
get_generated (Namer *self, gint32 pid)
{
  gpointer key = GINT_TO_POINTER (pid);
  LuJitNames *names = g_hash_table_lookup (self->generated, key);

  if (names == NULL)
    {
      names = lu_jit_names_new_of_process (pid, g_hash_table_lookup (self->model->jitdumps, key));
      g_hash_table_insert (self->generated, key, names);
    }
  return names;
}

static void
name_generated (Namer *self, LuModelFrame *frame)
{
  const char *module = frame->kind == LU_CODE_GENERATED ? "[generated]" : "";
  LuJitName found;

  if (self->asks_files
      && lu_jit_names_find (get_generated (self, frame->pid), frame->address, (guint64) frame->time,
                            &found))
    {
      frame->kind = LU_CODE_GENERATED;
      set_function (self, frame, found.name, "[generated]");
      g_free (found.name);
    }
  else
    set_function (self, frame, NULL, module);
}

/* Files */

static const char *
why_unnamed (LuNamesResult result)
{
  return result == LU_NAMES_READ      ? N_ ("no symbol there; a debug package may have it")
         : result == LU_NAMES_NO_FILE ? N_ ("the file is gone, or another one is in its place")
                                      : N_ ("not an ELF file");
}

/* Looks up what has no name yet. How many frames still have none. */
static guint
name_module (Namer *self, guint32 number, const LuNameFetched *fetched)
{
  LuModelModule *module = g_ptr_array_index (self->model->modules, number);
  ModuleNames *names = &self->modules[number];
  LuNameFile file = { .path = module->path,
                      .build_id = module->build_id,
                      .inode = module->inode,
                      .pid = module->pid,
                      .start = module->start,
                      .end = module->end,
                      .fetched = fetched };
  g_autofree LuNameQuery *queries = g_new0 (LuNameQuery, names->frames->len);
  guint n_without = 0;

  for (guint i = 0; i < names->frames->len; i++)
    queries[i].file_offset =
        lu_model_frame (self->model, g_array_index (names->frames, guint32, i))->file_offset;
  names->result = lu_names_find_all (self->names, &file, queries, names->frames->len);
  for (guint i = 0; i < names->frames->len; i++)
    {
      if (names->queries[i].name == NULL)
        names->queries[i] = queries[i];
      n_without += names->queries[i].name == NULL;
    }
  return n_without;
}

static void
set_functions (Namer *self, guint32 number)
{
  LuModelModule *module = g_ptr_array_index (self->model->modules, number);
  const ModuleNames *names = &self->modules[number];

  for (guint i = 0; i < names->frames->len; i++)
    {
      guint32 frame = g_array_index (names->frames, guint32, i);

      set_function (self, &g_array_index (self->model->frames, LuModelFrame, frame),
                    names->queries[i].name, module->base_name);
      if (names->queries[i].name == NULL)
        module->without_names = why_unnamed (names->result);
    }
}

/* Files from elsewhere */

/* The module of each frame that has no name, plus 1; 0 for others. */
static guint32 *
modules_of_unnamed (const Namer *self, const GArray *unnamed)
{
  guint32 *modules = g_new0 (guint32, self->model->frames->len + 1);

  for (guint i = 0; i < unnamed->len; i++)
    {
      guint32 number = g_array_index (unnamed, LuUnnamedFile, i).number;
      const ModuleNames *names = &self->modules[number];

      for (guint k = 0; k < names->frames->len; k++)
        if (names->queries[k].name == NULL)
          modules[g_array_index (names->frames, guint32, k)] = number + 1;
    }
  return modules;
}

/* In each of the files: samples that have a frame without a name there. */
static void
count_samples (const Namer *self, GArray *unnamed)
{
  const LuModel *model = self->model;
  g_autofree guint32 *modules = modules_of_unnamed (self, unnamed);
  g_autofree guint64 *counts = g_new0 (guint64, model->modules->len + 1);
  g_autofree guint32 *last = g_new0 (guint32, model->modules->len + 1);

  for (guint32 i = 0; i < model->counts->len; i++)
    for (guint32 node = (guint32) *lu_id_table_key (model->counted, i); node != 0;)
      {
        LuModelNode step = lu_model_node (model, node);
        guint32 module = modules[step.frame];

        if (module > 0 && last[module] != i + 1)
          {
            last[module] = i + 1;
            counts[module] += g_array_index (model->counts, guint64, i);
          }
        node = step.parent;
      }
  for (guint i = 0; i < unnamed->len; i++)
    {
      LuUnnamedFile *file = &g_array_index (unnamed, LuUnnamedFile, i);

      file->n_samples = counts[file->number + 1];
    }
}

static gboolean
take_fetched (guint32 number, const LuNameFetched *fetched, gpointer user_data)
{
  Namer *self = user_data;

  return name_module (self, number, fetched) > 0 && lu_names_lack_debug_file (self->names);
}

static void
name_modules (Namer *self)
{
  g_autoptr (GArray) unnamed = g_array_new (FALSE, FALSE, sizeof (LuUnnamedFile));
  LuDebuginfod *debuginfod = self->model->debuginfod;

  for (guint32 i = 0; self->asks_files && i < self->model->modules->len; i++)
    if (self->modules[i].frames != NULL && name_module (self, i, NULL) > 0)
      {
        const LuModelModule *module = g_ptr_array_index (self->model->modules, i);
        LuUnnamedFile file = { .path = module->path, .number = i };

        lu_unnamed_files_add (unnamed, file, self->names, self->model->texts);
      }
  if (debuginfod == NULL || unnamed->len == 0 || !lu_debuginfod_is_allowed (debuginfod))
    return;
  count_samples (self, unnamed);
  lu_debuginfod_fetch (debuginfod, unnamed, self->model->n_samples, take_fetched, self);
}

/* Of a capture that has names for this process: others need no file. */
static gboolean
name_from_capture (Namer *self, LuModelFrame *frame)
{
  const char *name =
      lu_syscap_symbols_find (self->model->symbols, self->n_symbols, frame->pid, frame->address);

  if (name == NULL)
    return FALSE;
  if (frame->kind == LU_CODE_NOWHERE)
    frame->kind = LU_CODE_GENERATED;
  set_function (self, frame, name,
                frame->kind == LU_CODE_GENERATED ? "[generated]" : module_text (self, frame));
  return TRUE;
}

static void
name_frame (Namer *self, guint32 number)
{
  LuModelFrame *frame = &g_array_index (self->model->frames, LuModelFrame, number);
  ModuleNames *names;

  switch (frame->kind)
    {
    case LU_CODE_KERNEL:
      name_kernel (self, frame);
      return;
    case LU_CODE_STATE:
      name_state (self, frame);
      return;
    case LU_CODE_NOWHERE:
    case LU_CODE_GENERATED:
      if (!name_from_capture (self, frame))
        name_generated (self, frame);
      return;
    case LU_CODE_USER:
      if (name_from_capture (self, frame))
        return;
      names = &self->modules[frame->module];
      if (names->frames == NULL)
        names->frames = g_array_new (FALSE, FALSE, sizeof (guint32));
      g_array_append_val (names->frames, number);
      return;
    }
}

static void
prepare_modules (Namer *self)
{
  for (guint32 i = 0; i < self->model->modules->len; i++)
    if (self->modules[i].frames != NULL)
      {
        self->modules[i].queries = g_new0 (LuNameQuery, self->modules[i].frames->len);
        self->modules[i].result = LU_NAMES_NO_FILE;
      }
}

static void
free_modules (Namer *self)
{
  for (guint32 i = 0; i < self->model->modules->len; i++)
    {
      g_clear_pointer (&self->modules[i].frames, g_array_unref);
      g_free (self->modules[i].queries);
    }
  g_free (self->modules);
}

void
lu_model_name (LuModel *model, LuModelNamesFlags flags)
{
  Namer self = { .model = model, .asks_files = !(flags & LU_NAMES_CAPTURE_ONLY) };

  self.names = lu_names_new ();
  self.kallsyms = lu_kallsyms_parse (model->kallsyms->str, model->kallsyms->len, NULL);
  self.functions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self.generated = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) lu_jit_names_free);
  self.modules = g_new0 (ModuleNames, model->modules->len + 1);
  self.n_symbols = lu_syscap_symbols_count (model->symbols);
  model->has_kernel_names = self.kallsyms != NULL;

  g_array_set_size (model->functions, 0);
  for (guint32 i = 0; i < model->frames->len; i++)
    name_frame (&self, i);
  prepare_modules (&self);
  name_modules (&self);
  for (guint32 i = 0; i < model->modules->len; i++)
    if (self.modules[i].frames != NULL)
      set_functions (&self, i);
  free_modules (&self);

  g_hash_table_unref (self.generated);
  g_hash_table_unref (self.functions);
  g_clear_pointer (&self.kallsyms, lu_kallsyms_free);
  lu_names_free (self.names);
}
