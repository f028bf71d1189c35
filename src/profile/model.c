/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model.c - turns a capture into one tree of stacks; see model.h.
 *
 * Everything has a limit, so that a recording may go on for weeks: a model takes at most some 70
 * MB, and 30 more while a call tree is made of it at the end. Samples beyond the limits are counted
 * in LU_MODEL_REST. */

#include "model.h"

#include "base/error.h"
#include "base/fd.h"
#include "model-private.h"

#include <errno.h>
#include <string.h>

#define MAX_METADATA 4096
/* Nanoseconds of a hundred years, so that differences of times cannot overflow. */
#define MAX_TIME     (G_GINT64_CONSTANT (3600000000000) * 24 * 36525)
#define MAX_KALLSYMS (128u << 20)
#define MAX_SYMBOLS  (256u << 20)

LuModel *
lu_model_new (LuModelFlags flags)
{
  LuModel *self = g_new0 (LuModel, 1);

  self->flags = flags;
  self->modules = g_ptr_array_new_with_free_func (lu_model_module_free);
  self->frames = g_array_new (FALSE, FALSE, sizeof (LuModelFrame));
  self->processes = g_ptr_array_new_with_free_func (lu_model_process_free);
  self->threads = g_array_new (FALSE, FALSE, sizeof (LuModelThread));
  self->samples = g_array_new (FALSE, FALSE, sizeof (LuModelSample));
  self->functions = g_array_new (FALSE, FALSE, sizeof (LuModelFunction));
  self->nodes = lu_id_table_new (1);
  self->counted = lu_id_table_new (1);
  self->counts = g_array_new (FALSE, FALSE, sizeof (LuModelSum));
  self->events = lu_syscap_events_new ();
  self->metadata = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->state_names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->function_names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->kallsyms = g_string_new (NULL);
  self->symbols = g_byte_array_new ();
  self->counters = g_array_new (FALSE, FALSE, sizeof (LuModelCounter));
  g_array_set_clear_func (self->counters, lu_model_counter_clear);
  self->values = g_array_new (FALSE, FALSE, sizeof (LuModelValue));
  self->jitdumps = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->texts = g_string_chunk_new (4096);
  self->pids = g_hash_table_new_full (NULL, NULL, NULL, lu_model_pid_free);
  self->thread_names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  self->file_ids = lu_file_ids_new ();
  self->module_of = g_hash_table_new (NULL, NULL);
  self->frame_ids = lu_id_table_new (2);
  self->thread_ids = lu_id_table_new (1);
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
  lu_syscap_events_free (self->events);
  g_hash_table_unref (self->metadata);
  g_hash_table_unref (self->state_names);
  g_hash_table_unref (self->function_names);
  g_string_free (self->kallsyms, TRUE);
  g_byte_array_unref (self->symbols);
  g_hash_table_unref (self->jitdumps);
  g_array_unref (self->counters);
  g_array_unref (self->values);
  g_string_chunk_free (self->texts);
  g_hash_table_unref (self->pids);
  g_hash_table_unref (self->thread_names);
  g_hash_table_unref (self->module_of);
  lu_file_ids_free (self->file_ids);
  lu_id_table_free (self->frame_ids);
  lu_id_table_free (self->thread_ids);
  g_queue_clear (&self->exited);
  g_free (self);
}

/* Reading */

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
take_metadata (LuModel *self, const LuSyscapRecord *record)
{
  if (g_str_equal (record->metadata.key, LU_SYSCAP_KEY_ADDRESS))
    self->is_minus_1 = g_str_equal (record->metadata.text, LU_SYSCAP_ADDRESS_MINUS_1);
  else if (g_str_equal (record->metadata.key, LU_SYSCAP_KEY_CHAINS))
    self->has_chains_only = TRUE;
  if (g_str_equal (record->metadata.key, LU_SYSCAP_KEY_THREAD))
    {
      lu_model_take_thread_name (self, record->metadata.text);
      return;
    }
  lu_syscap_events_take (self->events, record->metadata.key, record->metadata.text);
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
      lu_model_take_sample (self, record);
      break;
    case LU_SYSCAP_MAP:
      lu_model_take_map (self, record);
      break;
    case LU_SYSCAP_PROCESS:
      lu_model_take_process (self, record);
      break;
    case LU_SYSCAP_EXIT:
      lu_model_take_exit (self, record);
      break;
    case LU_SYSCAP_JITMAP:
      for (guint i = 0; i < record->jitmap.n_names; i++)
        lu_model_learn_state (self, record->jitmap.names[i].address, record->jitmap.names[i].name);
      break;
    case LU_SYSCAP_CTRDEF:
      lu_model_take_counters (self, record);
      break;
    case LU_SYSCAP_CTRSET:
      lu_model_take_values (self, record);
      break;
    case LU_SYSCAP_METADATA:
      take_metadata (self, record);
      break;
    case LU_SYSCAP_FORK:
      lu_model_take_fork (self, record);
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
  lu_model_name_threads (self);
  g_hash_table_remove_all (self->pids);
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
  /* Both are written at the very end; a pipe gets only the second one. */
  self->is_finished = self->end_time != 0 || lu_model_metadata (self, LU_SYSCAP_KEY_STATS) != NULL;
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
  g_autofree char *file = NULL, *name = NULL;
  const char *place;

  if (function->line == 0)
    return g_strconcat (function->name, inlined, NULL);
  file = function->file != NULL ? g_path_get_basename (function->file) : g_strdup ("?");
  /* The name of an interpreter's function says where it begins. */
  place = function->kind == LU_CODE_FUNCTION ? strrchr (function->name, '(') : NULL;
  if (place != NULL && place > function->name)
    name = g_strndup (function->name, (gsize) (place - function->name - 1));
  return g_strdup_printf ("%s%s %s:%u", name != NULL ? name : function->name, inlined, file,
                          function->line);
}

const LuModelProcess *
lu_model_process_of (const LuModel *self, guint32 thread)
{
  return g_ptr_array_index (self->processes, lu_model_thread (self, thread)->process);
}

LuModelCount
lu_model_count (const LuModel *self, guint index)
{
  guint64 key = *lu_id_table_key (self->counted, index);
  const LuModelSum *sum = &g_array_index (self->counts, LuModelSum, index);
  const LuEventInfo *event = lu_model_event (self, (guint32) (key >> 56));

  return (LuModelCount){ .event = (guint32) (key >> 56),
                         .thread = (guint32) (key >> 32) & 0xffffff,
                         .node = (guint32) key,
                         .n = sum->n,
                         .weight = event->varies ? sum->weight : sum->n * event->weight };
}

guint64
lu_model_interval (const LuModel *self)
{
  const char *frequency = lu_model_metadata (self, LU_SYSCAP_KEY_FREQUENCY);

  return frequency != NULL ? lu_event_of_frequency (NULL, g_ascii_strtod (frequency, NULL)).weight
                           : 0;
}

guint64
lu_model_sample_weight (const LuModel *self, const LuModelSample *sample)
{
  return lu_event_weight (lu_model_event (self, sample->event), sample->weight);
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
