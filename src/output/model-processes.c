/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-processes.c - processes, threads and mappings of a model; see model-private.h. */

#include "output/model-private.h"

#include "output/syscap-frames.h"

#include <string.h>

#define MAX_THREADS   (32u << 10)
#define MAX_PROCESSES (16u << 10)
#define MAX_MODULES   (16u << 10)
/* With mappings: 1 to 2 KB each. */
#define MAX_PIDS     (8u << 10)
#define MAX_JITDUMPS 4096
/* Samples of a process may come after its exit; of these many exited ones the mappings are kept. */
#define MAX_EXITED  1024
#define OTHER_FILES "[other files]"

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

  g_free (self->path);
  g_free (self->build_id);
  g_free (self);
}

void
lu_model_process_free (gpointer pointer)
{
  LuModelProcess *self = pointer;

  g_free (self->command_line);
  g_free (self->name);
  g_free (self);
}

static gboolean
is_unused (gpointer key, gpointer value, gpointer user_data)
{
  return ((const LuModelPid *) value)->sweep != *(const guint32 *) user_data;
}

/* So many do not live at once; their exits are missing. Forgets those that were not used since the
 * last time, or all. */
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
      found->epoch = ++self->epoch;
      found->sweep = self->sweep;
      g_hash_table_insert (self->pids, GINT_TO_POINTER (pid), found);
    }
  return found;
}

/* "/usr/bin/python3 -m x" -> "python3"; a path with spaces in it loses what is behind the first. */
static char *
program_name (const char *command_line)
{
  gsize length = strcspn (command_line, " ");
  g_autofree char *word = g_strndup (command_line, length);

  if (length == 0)
    return g_strdup ("?");
  /* kernel threads, and names that programs give themselves: "nginx: worker process" */
  if (word[0] != '/' || word[length - 1] == '/')
    return g_strdup (
        word[length - 1] == ':' || strchr (word, '/') == NULL ? word : strrchr (word, '/') + 1);
  return g_path_get_basename (word);
}

static void
set_command_line (LuModelProcess *process, const char *command_line)
{
  g_autofree char *valid = g_utf8_make_valid (command_line, -1);

  g_free (process->command_line);
  g_free (process->name);
  process->name = program_name (valid);
  process->command_line = g_steal_pointer (&valid);
}

/* Beyond the limit, all are one. */
static LuModelProcess *
get_process (LuModel *self, gint32 pid, LuModelPid *place)
{
  LuModelProcess *process;

  if (place->process == 0 && self->processes->len >= MAX_PROCESSES)
    {
      place->process = self->processes->len;
      set_command_line (g_ptr_array_index (self->processes, place->process - 1),
                        "(other processes)");
    }
  if (place->process == 0)
    {
      process = g_new0 (LuModelProcess, 1);
      process->pid = pid;
      process->command_line = g_strdup_printf ("%d", pid);
      process->name = pid == 0 ? g_strdup ("swapper") : g_strdup_printf ("process %d", pid);
      g_ptr_array_add (self->processes, process);
      place->process = self->processes->len;
    }
  return g_ptr_array_index (self->processes, place->process - 1);
}

/* Beyond the limit, threads of all processes of a name are one. */
guint32
lu_model_get_thread (LuModel *self, const LuSyscapRecord *record, LuModelPid *place)
{
  LuModelProcess *process = get_process (self, record->pid, place);
  guint64 key = (guint64) (guint32) record->pid << 32 | (guint32) record->sample.tid;
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
                            .process = place->process - 1,
                            .begin = record->time };

      g_array_append_val (self->threads, new);
    }
  thread = &g_array_index (self->threads, LuModelThread, id);
  thread->begin = MIN (thread->begin, record->time);
  thread->last = MAX (thread->last, record->time);
  return id;
}

/* Mappings */

static gboolean
is_generated (const char *path)
{
  return path[0] == 0 || g_str_has_prefix (path, "//anon") || g_str_has_prefix (path, "[heap]")
         || g_str_has_prefix (path, "[stack") || g_str_has_prefix (path, "[anon")
         || g_str_has_prefix (path, "/memfd:") || g_str_has_prefix (path, "/dev/zero")
         || g_str_has_prefix (path, "anon_inode:") || g_str_has_prefix (path, "/anon_hugepage");
}

static guint32 get_module (LuModel *self, const char *name, const LuSyscapRecord *record);

/* Beyond the limit, all are one. */
static guint32
get_other_files (LuModel *self, const LuSyscapRecord *record)
{
  LuSyscapRecord other = *record;

  other.map.path = OTHER_FILES;
  other.map.build_id = NULL;
  return get_module (self, OTHER_FILES, &other);
}

static guint32
get_module (LuModel *self, const char *name, const LuSyscapRecord *record)
{
  guint32 id = GPOINTER_TO_UINT (g_hash_table_lookup (self->module_of, name));
  LuModelModule *module;
  const char *slash;

  if (id == 0 && self->modules->len >= MAX_MODULES && !g_str_equal (name, OTHER_FILES))
    return get_other_files (self, record);
  if (id > 0)
    return id - 1;
  module = g_new0 (LuModelModule, 1);
  module->path = g_utf8_make_valid (record->map.path, -1);
  slash = strrchr (module->path, '/');
  module->base_name = slash != NULL && slash[1] != 0 ? slash + 1 : module->path;
  module->build_id = g_strdup (record->map.build_id);
  module->inode = record->map.inode;
  module->pid = record->pid;
  module->start = record->map.start;
  module->end = record->map.end;
  module->file_offset = record->map.file_offset;
  module->is_generated = is_generated (record->map.path);
  g_ptr_array_add (self->modules, module);
  g_hash_table_insert (self->module_of, g_strdup (name), GUINT_TO_POINTER (self->modules->len));
  return self->modules->len - 1;
}

static gboolean
ignore_frame (const LuSyscapMapping *mapping, gpointer user_data, GError **error)
{
  return TRUE;
}

void
lu_model_take_map (LuModel *self, const LuSyscapRecord *record)
{
  LuModelPid *pid = lu_model_get_pid (self, record->pid);
  const char *slash = strrchr (record->map.path, '/');
  g_autofree char *name =
      g_strdup_printf ("%s%c%s%s", record->map.path, LU_SYSCAP_NAME_SEPARATOR,
                       record->map.build_id != NULL ? "@" : "",
                       record->map.build_id != NULL ? record->map.build_id : "");
  LuSyscapMapping mapping = { .start = record->map.start,
                              .end = record->map.end,
                              .file_offset = record->map.file_offset };
  gboolean shadowed, dropped;

  /* in captures made for a client of Sysprof */
  lu_model_learn_state (self, record->map.start, record->map.path);
  if (pid->maps == NULL)
    pid->maps = lu_syscap_maps_new ();
  mapping.module_id = get_module (self, name, record) + 1;
  mapping.name = g_ref_string_new_intern (name);
  lu_syscap_maps_add (pid->maps, &mapping, ignore_frame, NULL, &shadowed, &dropped, NULL);
  g_ref_string_release (mapping.name);
  pid->epoch = ++self->epoch;
  if (slash != NULL && g_str_has_prefix (slash + 1, "jit-")
      && g_str_has_suffix (record->map.path, ".dump")
      && g_hash_table_size (self->jitdumps) < MAX_JITDUMPS)
    g_hash_table_insert (self->jitdumps, GINT_TO_POINTER (record->pid),
                         g_strdup (record->map.path));
}

/* What happens to processes */

void
lu_model_take_process (LuModel *self, const LuSyscapRecord *record)
{
  LuModelPid *pid = lu_model_get_pid (self, record->pid);
  LuModelProcess *process = get_process (self, record->pid, pid);

  pid->has_exited = FALSE;
  if (process->pid == record->pid)
    set_command_line (process, record->process.command_line);
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
