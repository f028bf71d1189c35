/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-processes.c - processes, threads and mappings of a model; see model-private.h. */

#include "model-private.h"

#include "base/printable.h"
#include "symbolize/jit-names.h"

#include <string.h>

#define MAX_THREADS   (32u << 10)
#define MAX_PROCESSES (16u << 10)
#define MAX_MODULES   (16u << 10)
/* Each takes 1 to 2 KB with its mappings. */
#define MAX_PIDS     (8u << 10)
#define MAX_JITDUMPS 4096
/* Exited processes whose mappings are kept, because samples may come after the exit. */
#define MAX_EXITED 1024
/* Characters; the kernel has names of 15 bytes. */
#define MAX_THREAD_NAME 64
#define OTHER_FILES     "[other files]"
#define MAX_STATES      1024
/* Names and sources of interpreters' functions, and their bytes. */
#define MAX_FUNCTION_NAMES (1u << 20)
#define MAX_FUNCTION_TEXT  (128u << 20)

/* Processes and threads */

void
lu_model_pid_free (gpointer pointer)
{
  g_clear_pointer (&((LuModelPid *) pointer)->maps, lu_syscap_maps_free);
  g_free (pointer);
}

void
lu_model_module_free (gpointer pointer)
{
  LuModelModule *self = pointer;

  lu_file_id_unref (self->id);
  g_free (self->path);
  g_free (self);
}

void
lu_model_process_free (gpointer pointer)
{
  LuModelProcess *self = pointer;

  g_free ((gpointer) self->labels.command_line);
  g_free (self->name);
  g_free (self);
}

static gboolean
is_unused (gpointer key, gpointer value, gpointer user_data)
{
  return ((const LuModelPid *) value)->sweep != *(const guint32 *) user_data;
}

/* Forgets the pids that were not used since the last sweep, or all. The limit is only reached if
 * exits are missing, as fewer processes live at once. */
static void
sweep_pids (LuModel *self)
{
  if (g_hash_table_foreach_remove (self->pids, is_unused, &self->sweep) == 0)
    g_hash_table_remove_all (self->pids);
  self->sweep++;
}

LuModelPid *
lu_model_get_pid (LuModel *self, gint32 pid)
{
  LuModelPid *found = g_hash_table_lookup (self->pids, GINT_TO_POINTER (pid));

  if (found != NULL)
    found->sweep = self->sweep;
  else
    {
      if (g_hash_table_size (self->pids) >= MAX_PIDS)
        sweep_pids (self);
      found = g_new0 (LuModelPid, 1);
      found->sweep = self->sweep;
      g_hash_table_insert (self->pids, GINT_TO_POINTER (pid), found);
    }
  return found;
}

static void
set_labels (LuModelProcess *process, const LuLabels *labels)
{
  g_free ((gpointer) process->labels.command_line);
  g_free (process->name);
  process->labels.command_line = g_utf8_make_valid (labels->command_line, -1);
  process->name = lu_labels_program (&process->labels);
}

/* Returns the process of a pid. Beyond the limit, all new ones are a single process. */
static LuModelProcess *
get_process (LuModel *self, gint32 pid, LuModelPid *pid_state)
{
  LuModelProcess *process;

  if (pid_state->process == 0 && self->processes->len >= MAX_PROCESSES)
    {
      pid_state->process = self->processes->len;
      set_labels (g_ptr_array_index (self->processes, pid_state->process - 1),
                  &(LuLabels){ .command_line = "(other processes)" });
    }
  if (pid_state->process == 0)
    {
      process = g_new0 (LuModelProcess, 1);
      process->pid = pid;
      process->labels.command_line = g_strdup_printf ("%d", pid);
      process->name = pid == 0 ? g_strdup ("swapper") : g_strdup_printf ("process %d", pid);
      g_ptr_array_add (self->processes, process);
      pid_state->process = self->processes->len;
    }
  return g_ptr_array_index (self->processes, pid_state->process - 1);
}

static guint64
thread_key (gint32 pid, gint32 tid)
{
  return (guint64) (guint32) pid << 32 | (guint32) tid;
}

/* Beyond the limit, the new threads of all processes with one name are a single thread. */
guint32
lu_model_get_thread (LuModel *self, const LuSyscapRecord *record, LuModelPid *pid_state)
{
  LuModelProcess *process = get_process (self, record->pid, pid_state);
  guint64 key = thread_key (record->pid, record->sample.tid);
  LuModelThread *thread;
  guint32 id;

  if (lu_id_table_size (self->thread_ids) >= MAX_THREADS
      && lu_id_table_find (self->thread_ids, key, 0) == G_MAXUINT32)
    key =
        (G_GUINT64_CONSTANT (1) << 63)
        | (lu_id_table_size (self->thread_ids) < 2 * MAX_THREADS ? g_str_hash (process->name) : 0);
  id = lu_id_table_add (self->thread_ids, key, 0);
  if (id == self->threads->len)
    {
      LuModelThread new = { .pid = record->pid,
                            .tid = record->sample.tid,
                            .process = pid_state->process - 1,
                            .begin = record->time };

      g_array_append_val (self->threads, new);
    }
  thread = &g_array_index (self->threads, LuModelThread, id);
  thread->begin = MIN (thread->begin, record->time);
  thread->last = MAX (thread->last, record->time);
  return id;
}

void
lu_model_take_thread_name (LuModel *self, const char *text)
{
  LuSyscapThread thread;
  guint64 key;

  if (!lu_syscap_parse_thread (text, &thread)
      || g_hash_table_size (self->thread_names) >= 2 * MAX_THREADS)
    return;
  key = thread_key (thread.pid, thread.tid);
  g_hash_table_replace (self->thread_names, g_memdup2 (&key, sizeof key),
                        lu_printable (thread.name, MAX_THREAD_NAME));
}

void
lu_model_name_threads (LuModel *self)
{
  for (guint i = 0; i < self->threads->len; i++)
    {
      LuModelThread *thread = &g_array_index (self->threads, LuModelThread, i);
      guint64 key = thread_key (thread->pid, thread->tid);
      const char *name = g_hash_table_lookup (self->thread_names, &key);

      thread->name = lu_model_process_of (self, i)->name;
      if (name != NULL && !lu_labels_thread_is_program (thread->name, name))
        thread->name = name;
    }
}

/* Mappings */

static void
learn_function (LuModel *self, guint64 address, const char *name)
{
  gsize size = strlen (name) + 1;

  if (g_hash_table_size (self->function_names) >= MAX_FUNCTION_NAMES
      || size > MAX_FUNCTION_TEXT - self->function_text
      || g_hash_table_contains (self->function_names, &address))
    return;
  self->function_text += size;
  g_hash_table_insert (self->function_names, g_memdup2 (&address, sizeof address),
                       g_utf8_make_valid (name, -1));
}

void
lu_model_learn_state (LuModel *self, guint64 address, const char *name)
{
  if (lu_is_function_or_source (address))
    {
      learn_function (self, address, name);
      return;
    }
  if (lu_is_synthetic (address) && !g_hash_table_contains (self->state_names, &address)
      && g_hash_table_size (self->state_names) < MAX_STATES)
    g_hash_table_insert (self->state_names, g_memdup2 (&address, sizeof address),
                         g_utf8_make_valid (name, -1));
}

static guint32
add_module (LuModel *self, LuFileId *id, const LuSyscapRecord *record)
{
  LuModelModule *module = g_new0 (LuModelModule, 1);
  const char *slash;

  module->id = lu_file_id_ref (id);
  module->mapped = (LuNameFile){
    .id = id, .pid = record->pid, .start = record->map.start, .end = record->map.end
  };
  module->file_offset = record->map.file_offset;
  module->path = g_utf8_make_valid (id->path, -1);
  slash = strrchr (module->path, '/');
  module->base_name = slash != NULL && slash[1] != 0 ? slash + 1 : module->path;
  module->is_generated = lu_file_is_generated (id);
  g_ptr_array_add (self->modules, module);
  g_hash_table_insert (self->module_of, id, GUINT_TO_POINTER (self->modules->len));
  return self->modules->len;
}

/* Returns the number of the module. Beyond the limit, all new ones are a single module. */
static guint32
get_module (LuModel *self, const LuSyscapRecord *record)
{
  LuFileId *id = lu_file_ids_intern (self->file_ids, &record->map.file);
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->module_of, id));

  if (number == 0 && self->modules->len >= MAX_MODULES)
    {
      lu_file_id_unref (id);
      id = lu_file_ids_intern (self->file_ids, &(LuFileId){ .path = OTHER_FILES });
      number = GPOINTER_TO_UINT (g_hash_table_lookup (self->module_of, id));
    }
  if (number == 0)
    number = add_module (self, id, record);
  lu_file_id_unref (id);
  return number - 1;
}

void
lu_model_take_map (LuModel *self, const LuSyscapRecord *record)
{
  LuModelPid *pid = lu_model_get_pid (self, record->pid);
  LuSyscapMapping mapping = { .start = record->map.start,
                              .end = record->map.end,
                              .file_offset = record->map.file_offset };
  LuSyscapMapsOutput no_output = { 0 };
  guint32 module;

  /* In captures made for a client of Sysprof, mappings name the end states. */
  lu_model_learn_state (self, record->map.start, record->map.file.path);
  if (pid->maps == NULL)
    pid->maps = lu_syscap_maps_new ();
  module = get_module (self, record);
  mapping.module_id = module + 1;
  mapping.file = ((const LuModelModule *) g_ptr_array_index (self->modules, module))->id;
  lu_syscap_maps_add (pid->maps, &mapping, &no_output, NULL);
  if (lu_jit_names_is_jitdump (record->map.file.path)
      && g_hash_table_size (self->jitdumps) < MAX_JITDUMPS)
    g_hash_table_insert (self->jitdumps, GINT_TO_POINTER (record->pid),
                         g_strdup (record->map.file.path));
}

/* Process, fork and exit records */

void
lu_model_take_process (LuModel *self, const LuSyscapRecord *record)
{
  LuModelPid *pid = lu_model_get_pid (self, record->pid);
  LuModelProcess *process = get_process (self, record->pid, pid);

  pid->has_exited = FALSE;
  if (process->pid == record->pid)
    set_labels (process, &record->process);
}

static void
forget_exited (LuModel *self)
{
  while (g_queue_get_length (&self->exited) > MAX_EXITED)
    {
      gpointer key = g_queue_pop_head (&self->exited);
      const LuModelPid *pid = g_hash_table_lookup (self->pids, key);

      if (pid != NULL && pid->has_exited)
        g_hash_table_remove (self->pids, key);
    }
}

void
lu_model_take_exit (LuModel *self, const LuSyscapRecord *record)
{
  LuModelPid *pid = g_hash_table_lookup (self->pids, GINT_TO_POINTER (record->pid));

  if (pid == NULL)
    return;
  if (pid->process > 0)
    ((LuModelProcess *) g_ptr_array_index (self->processes, pid->process - 1))->end = record->time;
  pid->has_exited = TRUE;
  g_queue_push_tail (&self->exited, GINT_TO_POINTER (record->pid));
  forget_exited (self);
}

void
lu_model_take_fork (LuModel *self, const LuSyscapRecord *record)
{
  gpointer key = GINT_TO_POINTER (record->fork.child_pid);
  LuModelPid *pid = g_hash_table_lookup (self->pids, key);

  if (pid != NULL && pid->has_exited)
    g_hash_table_remove (self->pids, key);
}
