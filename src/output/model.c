/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model.c - takes frames of a capture into one tree of stacks; see model.h.
 *
 * An address of a process is looked up once (address_ids) until that process maps something new.
 * Everything has a limit, so that a recording may go on for weeks: at most some 70 MB, and 30 more
 * while a tree of calls is made of it at the end. What is beyond is counted as LU_MODEL_REST. */

#include "output/model.h"

#include "base/error.h"
#include "base/fd.h"
#include "lu/status.h"
#include "output/syscap-frames.h"
#include "output/syscap-stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* 13 to 25 bytes each. */
#define MAX_NODES (512u << 10)
/* Besides: places where stacks leave the tree. */
#define MAX_REST_NODES (32u << 10)
/* Stacks by thread, 21 to 37 bytes each. */
#define MAX_COUNTED   (512u << 10)
#define MAX_ADDRESSES (128u << 10)
/* 80 to 130 bytes each. */
#define MAX_FRAMES    (128u << 10)
#define MAX_THREADS   (32u << 10)
#define MAX_PROCESSES (16u << 10)
#define MAX_MODULES   (16u << 10)
/* With mappings: 1 to 2 KB each. */
#define MAX_PIDS     (8u << 10)
#define MAX_JITDUMPS 4096
#define MAX_METADATA 4096
#define MAX_STATES   1024
/* Samples of a process may come after its exit; of these many exited ones the mappings are kept. */
#define MAX_EXITED 1024
/* A hundred years: differences of times fit everywhere. */
#define MAX_TIME         (G_GINT64_CONSTANT (3600000000000) * 24 * 36525)
#define MAX_KALLSYMS     (128u << 20)
#define MAX_SYMBOLS      (256u << 20)
#define NO_MODULE        G_MAXUINT32
#define KERNEL_FRAME     (G_GUINT64_CONSTANT (1) << 62)
#define STATE_FRAME      (G_GUINT64_CONSTANT (2) << 62)
#define PROCESS_FRAME    (G_GUINT64_CONSTANT (3) << 62)
#define KERNEL_ADDRESSES G_MAXUINT64
#define OTHER_FILES      "[other files]"

typedef struct
{
  LuSyscapMaps *maps; /* NULL: none yet */
  guint32 epoch;      /* another one after each mapping, and for each incarnation */
  guint32 process;    /* number + 1 */
  guint32 sweep;      /* number of the last one before it was used */
  gboolean has_exited;
} Pid;

static void
pid_free (gpointer pointer)
{
  g_clear_pointer (&((Pid *) pointer)->maps, lu_syscap_maps_free);
  g_free (pointer);
}

static void
module_free (gpointer pointer)
{
  LuModelModule *self = pointer;

  g_free (self->path);
  g_free (self->build_id);
  g_free (self);
}

static void
process_free (gpointer pointer)
{
  LuModelProcess *self = pointer;

  g_free (self->command_line);
  g_free (self->name);
  g_free (self);
}

LuModel *
lu_model_new (LuModelFlags flags)
{
  LuModel *self = g_new0 (LuModel, 1);

  self->flags = flags;
  self->modules = g_ptr_array_new_with_free_func (module_free);
  self->frames = g_array_new (FALSE, FALSE, sizeof (LuModelFrame));
  self->processes = g_ptr_array_new_with_free_func (process_free);
  self->threads = g_array_new (FALSE, FALSE, sizeof (LuModelThread));
  self->samples = g_array_new (FALSE, FALSE, sizeof (LuModelSample));
  self->functions = g_array_new (FALSE, FALSE, sizeof (LuModelFunction));
  self->nodes = lu_id_table_new (1);
  self->counted = lu_id_table_new (1);
  self->counts = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->metadata = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->state_names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->kallsyms = g_string_new (NULL);
  self->symbols = g_byte_array_new ();
  self->jitdumps = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->texts = g_string_chunk_new (4096);
  self->pids = g_hash_table_new_full (NULL, NULL, NULL, pid_free);
  self->module_of = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->frame_ids = lu_id_table_new (2);
  self->address_ids = lu_id_table_new (2);
  self->thread_ids = lu_id_table_new (1);
  self->frame_of_address = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->rest_frame = G_MAXUINT32;
  return self;
}

void
lu_model_free (LuModel *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->modules);
  g_array_unref (self->frames);
  g_ptr_array_unref (self->processes);
  g_array_unref (self->threads);
  g_array_unref (self->samples);
  g_array_unref (self->functions);
  lu_id_table_free (self->nodes);
  lu_id_table_free (self->counted);
  g_array_unref (self->counts);
  g_hash_table_unref (self->metadata);
  g_hash_table_unref (self->state_names);
  g_string_free (self->kallsyms, TRUE);
  g_byte_array_unref (self->symbols);
  g_hash_table_unref (self->jitdumps);
  g_string_chunk_free (self->texts);
  g_hash_table_unref (self->pids);
  g_hash_table_unref (self->module_of);
  lu_id_table_free (self->frame_ids);
  lu_id_table_free (self->address_ids);
  lu_id_table_free (self->thread_ids);
  g_array_unref (self->frame_of_address);
  g_queue_clear (&self->exited);
  g_free (self);
}

/* Processes and threads */

static gboolean
is_unused (gpointer key, gpointer value, gpointer user_data)
{
  return ((const Pid *) value)->sweep != *(const guint32 *) user_data;
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

static Pid *
get_pid (LuModel *self, gint32 pid)
{
  Pid *found = g_hash_table_lookup (self->pids, GINT_TO_POINTER (pid));

  if (found != NULL)
    found->sweep = self->sweep;
  else
    {
      if (g_hash_table_size (self->pids) >= MAX_PIDS)
        sweep_pids (self);
      found = g_new0 (Pid, 1);
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
get_process (LuModel *self, gint32 pid, Pid *place)
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
static guint32
get_thread (LuModel *self, const LuSyscapRecord *record, Pid *place)
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

static void
learn_state (LuModel *self, guint64 address, const char *name)
{
  if (lu_model_is_synthetic (address) && !g_hash_table_contains (self->state_names, &address)
      && g_hash_table_size (self->state_names) < MAX_STATES)
    g_hash_table_insert (self->state_names, g_memdup2 (&address, sizeof address),
                         g_utf8_make_valid (name, -1));
}

static void
take_map (LuModel *self, const LuSyscapRecord *record)
{
  Pid *pid = get_pid (self, record->pid);
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
  learn_state (self, record->map.start, record->map.path);
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

/* Samples */

/* Its frame, once it is needed. */
static guint32
get_rest_frame (LuModel *self)
{
  LuModelFrame frame = { .kind = LU_CODE_STATE, .module = NO_MODULE, .address = LU_MODEL_REST };

  if (self->rest_frame != G_MAXUINT32)
    return self->rest_frame;
  learn_state (self, LU_MODEL_REST, LU_MODEL_REST_NAME);
  self->rest_frame = lu_id_table_add (self->frame_ids, STATE_FRAME, LU_MODEL_REST);
  if (self->rest_frame == self->frames->len)
    g_array_append_val (self->frames, frame);
  return self->rest_frame;
}

static guint32
add_frame (LuModel *self, guint64 key_a, guint64 key_b, const LuModelFrame *frame)
{
  guint32 id;

  if (self->frames->len >= MAX_FRAMES)
    {
      id = lu_id_table_find (self->frame_ids, key_a, key_b);
      return id != G_MAXUINT32 ? id : get_rest_frame (self);
    }
  id = lu_id_table_add (self->frame_ids, key_a, key_b);
  if (id == self->frames->len)
    g_array_append_val (self->frames, *frame);
  return id;
}

static guint32
user_frame (LuModel *self, const Pid *pid, const LuSyscapRecord *record, guint64 address)
{
  const LuSyscapMapping *mapping =
      pid->maps != NULL ? lu_syscap_maps_find (pid->maps, address) : NULL;
  LuModelFrame frame = { .kind = LU_CODE_NOWHERE,
                         .module = NO_MODULE,
                         .address = address,
                         .pid = record->pid,
                         .time = record->time };
  const LuModelModule *module;

  if (mapping == NULL)
    return add_frame (self, PROCESS_FRAME | (guint32) record->pid, address, &frame);
  frame.module = mapping->module_id - 1;
  frame.file_offset = address - mapping->start + mapping->file_offset;
  module = g_ptr_array_index (self->modules, frame.module);
  frame.kind = module->is_generated ? LU_CODE_GENERATED : LU_CODE_USER;
  if (module->is_generated)
    return add_frame (self, PROCESS_FRAME | (guint32) record->pid, address, &frame);
  return add_frame (self, frame.module, frame.file_offset, &frame);
}

static guint32
find_frame (LuModel *self, const Pid *pid, const LuSyscapRecord *record, guint64 address,
            guint64 context)
{
  gboolean is_user = context == LU_SYSCAP_CONTEXT_USER && !lu_model_is_synthetic (address);
  guint64 where = is_user ? (guint64) pid->epoch << 32 | (guint32) record->pid : KERNEL_ADDRESSES;
  LuModelFrame frame = {
    .module = NO_MODULE, .address = address, .pid = record->pid, .time = record->time
  };
  guint32 id, found;

  if (lu_id_table_size (self->address_ids) >= MAX_ADDRESSES)
    {
      lu_id_table_clear (self->address_ids);
      g_array_set_size (self->frame_of_address, 0);
    }
  id = lu_id_table_add (self->address_ids, where, address);
  if (id < self->frame_of_address->len)
    return g_array_index (self->frame_of_address, guint32, id);
  frame.kind = lu_model_is_synthetic (address) ? LU_CODE_STATE : LU_CODE_KERNEL;
  if (is_user)
    found = user_frame (self, pid, record, address);
  else
    found =
        add_frame (self, frame.kind == LU_CODE_STATE ? STATE_FRAME : KERNEL_FRAME, address, &frame);
  g_array_append_val (self->frame_of_address, found);
  return found;
}

/* Below that node, if there is room for it, else at the root. */
static guint32
rest_below (LuModel *self, guint32 node)
{
  guint64 rest = get_rest_frame (self);
  guint32 id = lu_id_table_find (self->nodes, (guint64) node << 32 | rest, 0);

  if (id == G_MAXUINT32 && lu_id_table_size (self->nodes) >= MAX_NODES + MAX_REST_NODES)
    node = 0;
  return lu_id_table_add (self->nodes, (guint64) node << 32 | rest, 0) + 1;
}

/* The node of the stack, from the root; FALSE in *is_whole if the tree has no room for all of it.
 */
static guint32
add_stack (LuModel *self, const guint32 *frames, guint n_frames, gboolean *is_whole)
{
  guint32 node = 0;

  *is_whole = TRUE;
  for (guint i = n_frames; i > 0; i--)
    {
      guint64 key = (guint64) node << 32 | frames[i - 1];
      guint32 next;

      if (lu_id_table_size (self->nodes) < MAX_NODES)
        next = lu_id_table_add (self->nodes, key, 0);
      else
        {
          next = lu_id_table_find (self->nodes, key, 0);
          if (next == G_MAXUINT32)
            {
              *is_whole = FALSE;
              return rest_below (self, node);
            }
        }
      node = next + 1;
    }
  return node;
}

static void
count_states (LuModel *self, const LuSyscapRecord *record, gboolean has_user)
{
  guint n = record->sample.n_addresses;
  guint64 root = n > 0 ? record->sample.addresses[n - 1] : 0;
  gboolean ended = lu_model_is_synthetic (root) && root != LU_SYSCAP_LEFT_OUT;
  gboolean excluded = ended && root - LU_SYNTHETIC_BASE < LU_N_STATUS
                      && lu_status_is_excluded ((LuStatus) (root - LU_SYNTHETIC_BASE));

  if (self->n_samples++ == 0)
    self->begin = self->last = record->time;
  self->begin = MIN (self->begin, record->time);
  self->last = MAX (self->last, record->time);
  if (has_user && !excluded && !self->has_chains_only)
    {
      self->n_user++;
      self->n_complete += !ended;
    }
}

/* The number of a stack of a thread; FALSE in *is_whole if there is no room for it. */
static guint32
add_count (LuModel *self, guint32 thread, guint32 *node, gboolean *is_whole)
{
  guint64 of_thread = (guint64) thread << 32;
  guint32 id;

  if (lu_id_table_size (self->counted) >= MAX_COUNTED
      && lu_id_table_find (self->counted, of_thread | *node, 0) == G_MAXUINT32)
    {
      *is_whole = FALSE;
      *node = rest_below (self, 0);
    }
  id = lu_id_table_add (self->counted, of_thread | *node, 0);
  if (id == self->counts->len)
    g_array_append_val (self->counts, (guint64){ 0 });
  return id;
}

static void
count (LuModel *self, const LuSyscapRecord *record, guint32 thread, guint32 node, gboolean is_whole)
{
  guint32 id = add_count (self, thread, &node, &is_whole);

  g_array_index (self->counts, guint64, id)++;
  self->n_left_out += !is_whole;
  if (self->flags & LU_MODEL_TIMES)
    {
      LuModelSample sample = {
        .time = record->time, .thread = thread, .node = node, .cpu = record->cpu
      };

      g_array_append_val (self->samples, sample);
    }
}

static void
take_sample (LuModel *self, const LuSyscapRecord *record)
{
  Pid *pid = get_pid (self, record->pid);
  guint64 context = LU_SYSCAP_CONTEXT_USER;
  gboolean is_leaf = TRUE, has_user = FALSE, is_whole;
  guint32 frames[G_MAXUINT16 + 1];
  guint32 node;
  guint n = 0;

  for (guint i = 0; i < record->sample.n_addresses; i++)
    {
      guint64 address = record->sample.addresses[i];

      if (address >= LU_SYSCAP_CONTEXT_MAX)
        {
          context = address;
          has_user |= context == LU_SYSCAP_CONTEXT_USER;
          continue;
        }
      if (context == LU_SYSCAP_CONTEXT_USER && !self->is_minus_1 && !is_leaf && address > 0
          && !lu_model_is_synthetic (address))
        address--;
      frames[n++] = find_frame (self, pid, record, address, context);
      is_leaf = FALSE;
    }
  count_states (self, record, has_user);
  node = add_stack (self, frames, n, &is_whole);
  count (self, record, get_thread (self, record, pid), node, is_whole);
}

/* The rest */

static void
take_file (LuModel *self, const LuSyscapRecord *record)
{
  if (g_str_equal (record->file.path, "/proc/kallsyms") && self->kallsyms->len < MAX_KALLSYMS)
    g_string_append_len (self->kallsyms, (const char *) record->file.bytes, record->file.size);
  else if (g_str_equal (record->file.path, LU_SYSCAP_SYMBOLS_FILE)
           && self->symbols->len < MAX_SYMBOLS)
    g_byte_array_append (self->symbols, record->file.bytes, record->file.size);
}

static void
take_process (LuModel *self, const LuSyscapRecord *record)
{
  Pid *pid = get_pid (self, record->pid);
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
      const Pid *pid = g_hash_table_lookup (self->pids, key);

      if (pid != NULL && pid->has_exited)
        g_hash_table_remove (self->pids, key);
    }
}

static void
take_exit (LuModel *self, const LuSyscapRecord *record)
{
  Pid *pid = g_hash_table_lookup (self->pids, GINT_TO_POINTER (record->pid));

  if (pid == NULL)
    return;
  if (pid->process > 0)
    ((LuModelProcess *) g_ptr_array_index (self->processes, pid->process - 1))->end = record->time;
  pid->has_exited = TRUE;
  g_queue_push_tail (&self->exited, GINT_TO_POINTER (record->pid));
  forget_exited (self);
}

static void
take_fork (LuModel *self, const LuSyscapRecord *record)
{
  gpointer key = GINT_TO_POINTER (record->fork.child_pid);
  Pid *pid = g_hash_table_lookup (self->pids, key);

  if (pid != NULL && pid->has_exited)
    g_hash_table_remove (self->pids, key);
}

static void
take_metadata (LuModel *self, const LuSyscapRecord *record)
{
  if (g_str_equal (record->metadata.key, LU_SYSCAP_KEY_ADDRESS))
    self->is_minus_1 = g_str_equal (record->metadata.text, LU_SYSCAP_ADDRESS_MINUS_1);
  else if (g_str_equal (record->metadata.key, LU_SYSCAP_KEY_CHAINS))
    self->has_chains_only = TRUE;
  if (g_hash_table_size (self->metadata) >= MAX_METADATA)
    return;
  g_hash_table_replace (self->metadata, g_strdup (record->metadata.key),
                        g_utf8_make_valid (record->metadata.text, -1));
}

void
lu_model_begin (LuModel *self, const LuSyscapHeader *header)
{
  self->time = CLAMP (header->time, 0, MAX_TIME);
  self->end_time = header->end_time;
  memcpy (self->capture_time, header->capture_time, sizeof header->capture_time);
}

void
lu_model_take (LuModel *self, const LuSyscapRecord *as_read)
{
  LuSyscapRecord copy = *as_read;
  const LuSyscapRecord *record = &copy;

  copy.time = CLAMP (copy.time, 0, MAX_TIME);
  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      take_sample (self, record);
      break;
    case LU_SYSCAP_MAP:
      take_map (self, record);
      break;
    case LU_SYSCAP_PROCESS:
      take_process (self, record);
      break;
    case LU_SYSCAP_EXIT:
      take_exit (self, record);
      break;
    case LU_SYSCAP_JITMAP:
      for (guint i = 0; i < record->jitmap.n_names; i++)
        learn_state (self, record->jitmap.names[i].address, record->jitmap.names[i].name);
      break;
    case LU_SYSCAP_METADATA:
      take_metadata (self, record);
      break;
    case LU_SYSCAP_FORK:
      take_fork (self, record);
      break;
    case LU_SYSCAP_FILE_CHUNK:
      take_file (self, record);
      break;
    default:
      break;
    }
}

static int
compare_samples (gconstpointer a, gconstpointer b)
{
  const LuModelSample *x = a, *y = b;

  return x->time < y->time ? -1 : x->time > y->time;
}

void
lu_model_end (LuModel *self)
{
  g_hash_table_remove_all (self->pids);
  lu_id_table_clear (self->address_ids);
  g_array_set_size (self->frame_of_address, 0);
  g_array_sort (self->samples, compare_samples);
}

LuModel *
lu_model_load (const char *path, LuModelFlags flags, GError **error)
{
  g_autoptr (LuModel) self = lu_model_new (flags);
  int fd = lu_fd_open_input (path);
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;
  LuSyscapRead what;

  if (fd < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", path, g_strerror (errno));
      return NULL;
    }
  reader = lu_syscap_reader_new (fd, error);
  if (reader == NULL)
    {
      g_prefix_error (error, "%s: ", path);
      return NULL;
    }
  lu_model_begin (self, lu_syscap_reader_header (reader));
  while ((what = lu_syscap_reader_next (reader, &record, error)) == LU_SYSCAP_READ_FRAME)
    lu_model_take (self, &record);
  if (what == LU_SYSCAP_READ_ERROR)
    {
      g_prefix_error (error, "%s: ", path);
      return NULL;
    }
  self->is_cut = lu_syscap_reader_is_cut (reader);
  self->is_finished = self->end_time != 0;
  lu_model_end (self);
  return g_steal_pointer (&self);
}

/* Queries */

LuModelNode
lu_model_node (const LuModel *self, guint32 node)
{
  guint64 key = *lu_id_table_key (self->nodes, node - 1);

  return (LuModelNode){ (guint32) (key >> 32), (guint32) key };
}

const LuModelFrame *
lu_model_frame (const LuModel *self, guint32 frame)
{
  return &g_array_index (self->frames, LuModelFrame, frame);
}

const LuModelFunction *
lu_model_function_of (const LuModel *self, guint32 node)
{
  const LuModelFrame *frame = lu_model_frame (self, lu_model_node (self, node).frame);

  return &g_array_index (self->functions, LuModelFunction, frame->function);
}

char *
lu_model_function_text (const LuModelFunction *function)
{
  const char *inlined = function->is_inlined ? " (inlined)" : "";
  g_autofree char *file = NULL;

  if (function->line == 0)
    return g_strconcat (function->name, inlined, NULL);
  file = function->file != NULL ? g_path_get_basename (function->file) : g_strdup ("?");
  return g_strdup_printf ("%s%s %s:%u", function->name, inlined, file, function->line);
}

const LuModelThread *
lu_model_thread (const LuModel *self, guint32 thread)
{
  return &g_array_index (self->threads, LuModelThread, thread);
}

const LuModelProcess *
lu_model_process_of (const LuModel *self, guint32 thread)
{
  return g_ptr_array_index (self->processes, lu_model_thread (self, thread)->process);
}

const char *
lu_model_metadata (const LuModel *self, const char *key)
{
  return g_hash_table_lookup (self->metadata, key);
}

guint64
lu_model_period (const LuModel *self)
{
  const char *text = lu_model_metadata (self, "live-unwinder.frequency");
  double frequency = text != NULL ? g_ascii_strtod (text, NULL) : 0;

  return frequency >= 0.001 && frequency <= 1e9 ? (guint64) (1e9 / frequency + 0.5) : 0;
}

void
lu_model_path (const LuModel *self, guint32 node, GArray *path)
{
  g_array_set_size (path, 0);
  for (; node != 0; node = lu_model_node (self, node).parent)
    g_array_append_val (path, node);
  for (guint i = 0; i < path->len / 2; i++)
    {
      guint32 *a = &g_array_index (path, guint32, i);
      guint32 *b = &g_array_index (path, guint32, path->len - 1 - i);
      guint32 swap = *a;

      *a = *b;
      *b = swap;
    }
}
