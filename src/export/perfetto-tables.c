/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perfetto-tables.c - interned data of a Perfetto trace; see perfetto-tables.h. */

#include "perfetto-tables.h"

#include "base/hex.h"

#include <string.h>

/* Entries in one packet. */
#define LOT 1024u

enum
{
  SEQUENCE_BEGINS = 1,
  SEQUENCE_GOES_ON = 2,
  UNIT_NANOSECONDS = 1,
  KIND_NATIVE = 1,
  KIND_KERNEL = 2,
  KIND_INTERPRETED = 3,
  KIND_JIT = 4,
};

void
lu_perfetto_write (LuPerfetto *self, Lu__Perfetto__TracePacket *packet)
{
  g_autofree guint8 *packed = NULL;
  guint8 head[11] = { 1 << 3 | 2 }; /* field 1 of Trace, its length */
  gsize size, n = 1;

  packet->has_trusted_packet_sequence_id = packet->has_sequence_flags = TRUE;
  packet->trusted_packet_sequence_id = 1;
  packet->sequence_flags = self->has_begun ? SEQUENCE_GOES_ON : SEQUENCE_BEGINS;
  self->has_begun = TRUE;
  size = lu__perfetto__trace_packet__get_packed_size (packet);
  packed = g_malloc (size + 1);
  lu__perfetto__trace_packet__pack (packet, packed);
  for (gsize left = size;; left >>= 7)
    {
      head[n++] = (guint8) ((left & 0x7f) | (left >= 0x80 ? 0x80 : 0));
      if (left < 0x80)
        break;
    }
  lu_stream_write (self->stream, head, n);
  lu_stream_write (self->stream, packed, size);
}

static void
write_data (LuPerfetto *self, Lu__Perfetto__InternedData *data)
{
  Lu__Perfetto__TracePacket packet = LU__PERFETTO__TRACE_PACKET__INIT;

  packet.interned_data = data;
  lu_perfetto_write (self, &packet);
}

/* Texts */

/* A list of texts is for one of these. */
typedef enum
{
  TEXT_FUNCTION,
  TEXT_SOURCE,
  TEXT_PATH,
  TEXT_BUILD_ID,
} TextKind;

static guint8 *
build_id_of (const LuModelModule *module, gsize *size)
{
  const char *digits = module->id->build_id;
  guint8 *bytes;

  if (digits == NULL)
    return NULL;
  bytes = g_malloc (strlen (digits) / 2 + 1);
  *size = lu_hex_read_bytes (digits, bytes, strlen (digits) / 2);
  return bytes;
}

/* Returns a text as bytes, owned by the caller; NULL: there is none. */
static guint8 *
text_of (const LuModel *model, TextKind kind, guint number, gsize *size)
{
  const LuModelFunction *function = NULL;
  const LuModelModule *module = NULL;
  const char *text;

  if (kind <= TEXT_SOURCE)
    function = &g_array_index (model->functions, LuModelFunction, number);
  else
    module = g_ptr_array_index (model->modules, number);
  if (kind == TEXT_BUILD_ID)
    return build_id_of (module, size);
  text = kind == TEXT_FUNCTION ? function->name
         : kind == TEXT_SOURCE ? function->defined_in
                               : module->path + (module->path[0] == '/');
  if (text == NULL)
    return NULL;
  *size = strlen (text);
  return (guint8 *) g_strdup (text);
}

/* Makes entries for n texts, and returns how many there are. */
static size_t
make_texts (const LuModel *model, TextKind kind, guint first, guint n,
            Lu__Perfetto__InternedString **list)
{
  size_t n_list = 0;

  for (guint i = first; i < first + n; i++)
    {
      gsize size = 0;
      guint8 *text = text_of (model, kind, i, &size);
      Lu__Perfetto__InternedString *entry;

      if (text == NULL)
        continue;
      entry = g_new (Lu__Perfetto__InternedString, 1);
      lu__perfetto__interned_string__init (entry);
      entry->has_iid = entry->has_str = TRUE;
      entry->iid = 1 + i;
      entry->str.data = text;
      entry->str.len = size;
      list[n_list++] = entry;
    }
  return n_list;
}

static void
write_texts (LuPerfetto *self, TextKind kind, guint n)
{
  for (guint first = 0; first < n; first += LOT)
    {
      Lu__Perfetto__InternedData data = LU__PERFETTO__INTERNED_DATA__INIT;
      g_autofree Lu__Perfetto__InternedString **entries =
          g_new (Lu__Perfetto__InternedString *, LOT);
      size_t n_entries = make_texts (self->model, kind, first, MIN (LOT, n - first), entries);

      data.n_function_names = kind == TEXT_FUNCTION ? n_entries : 0;
      data.n_source_paths = kind == TEXT_SOURCE ? n_entries : 0;
      data.n_mapping_paths = kind == TEXT_PATH ? n_entries : 0;
      data.n_build_ids = kind == TEXT_BUILD_ID ? n_entries : 0;
      data.function_names = data.source_paths = data.mapping_paths = data.build_ids = entries;
      if (n_entries > 0)
        write_data (self, &data);
      for (size_t i = 0; i < n_entries; i++)
        {
          g_free (entries[i]->str.data);
          g_free (entries[i]);
        }
    }
}

/* Files */

static void
write_mappings (LuPerfetto *self)
{
  for (guint i = 0; i < self->model->modules->len; i++)
    {
      const LuModelModule *module = g_ptr_array_index (self->model->modules, i);
      Lu__Perfetto__InternedData data = LU__PERFETTO__INTERNED_DATA__INIT;
      Lu__Perfetto__Mapping mapping = LU__PERFETTO__MAPPING__INIT, *pointer = &mapping;
      guint64 path = 1 + i;

      mapping.has_iid = mapping.has_start = mapping.has_end = TRUE;
      mapping.has_start_offset = mapping.has_exact_offset = TRUE;
      mapping.iid = 1 + i;
      mapping.has_build_id = module->id->build_id != NULL;
      mapping.build_id = 1 + i;
      mapping.start = module->mapped.start;
      mapping.end = module->mapped.end;
      mapping.start_offset = mapping.exact_offset = module->file_offset;
      mapping.path_string_ids = &path;
      mapping.n_path_string_ids = 1;
      data.mappings = &pointer;
      data.n_mappings = 1;
      write_data (self, &data);
    }
}

/* Frames and stacks */

static guint32
kind_of (LuCodeKind kind)
{
  static const guint32 kinds[] = { [LU_CODE_USER] = KIND_NATIVE,
                                   [LU_CODE_KERNEL] = KIND_KERNEL,
                                   [LU_CODE_GENERATED] = KIND_JIT,
                                   [LU_CODE_FUNCTION] = KIND_INTERPRETED };

  return kind < G_N_ELEMENTS (kinds) ? kinds[kind] : 0;
}

static void
describe_frame (const LuModel *model, guint32 number, Lu__Perfetto__Frame *entry)
{
  const LuModelFrame *frame = lu_model_frame (model, number);
  const LuModelFunction *function =
      &g_array_index (model->functions, LuModelFunction, frame->function);

  lu__perfetto__frame__init (entry);
  entry->has_iid = entry->has_function_name_id = entry->has_kind = TRUE;
  entry->iid = 1 + number;
  entry->function_name_id = 1 + frame->function;
  entry->kind = kind_of (frame->kind);
  entry->has_kind = entry->kind != 0;
  if (function->defined_in != NULL)
    {
      entry->has_source_path_iid = TRUE;
      entry->source_path_iid = 1 + frame->function;
    }
  entry->has_line_number = frame->line > 0;
  entry->line_number = frame->line;
  if (frame->kind == LU_CODE_USER && frame->module != G_MAXUINT32 && !frame->is_inlined)
    {
      const LuModelModule *module = g_ptr_array_index (model->modules, frame->module);

      entry->has_mapping_id = entry->has_rel_pc = TRUE;
      entry->mapping_id = 1 + frame->module;
      entry->rel_pc = frame->file_offset - module->file_offset;
    }
}

static void
write_frames (LuPerfetto *self)
{
  guint n = self->model->frames->len;

  for (guint first = 0; first < n; first += LOT)
    {
      Lu__Perfetto__InternedData data = LU__PERFETTO__INTERNED_DATA__INIT;
      g_autofree Lu__Perfetto__Frame *entries = g_new (Lu__Perfetto__Frame, LOT);
      g_autofree Lu__Perfetto__Frame **pointers = g_new (Lu__Perfetto__Frame *, LOT);

      data.frames = pointers;
      for (guint i = first; i < MIN (first + LOT, n); i++)
        {
          describe_frame (self->model, i, &entries[i - first]);
          pointers[data.n_frames++] = &entries[i - first];
        }
      write_data (self, &data);
    }
}

/* Marks the nodes at which samples end. */
static guint8 *
mark_stacks (const LuModel *model)
{
  guint8 *is_stack = g_new0 (guint8, lu_id_table_size (model->nodes) + (gsize) 1);

  for (guint i = 0; i < model->samples->len; i++)
    is_stack[g_array_index (model->samples, LuModelSample, i).node] = 1;
  is_stack[0] = 0;
  return is_stack;
}

static void
write_stacks (LuPerfetto *self)
{
  g_autofree guint8 *is_stack = mark_stacks (self->model);
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint32 node = 1; node <= lu_id_table_size (self->model->nodes); node++)
    {
      Lu__Perfetto__InternedData data = LU__PERFETTO__INTERNED_DATA__INIT;
      Lu__Perfetto__Callstack stack = LU__PERFETTO__CALLSTACK__INIT, *pointer = &stack;

      if (!is_stack[node])
        continue;
      lu_model_path (self->model, node, path);
      g_array_set_size (ids, 0);
      for (guint i = 0; i < path->len; i++)
        {
          guint32 above = g_array_index (path, guint32, i);
          guint64 id = 1 + (guint64) lu_model_node (self->model, above).frame;

          g_array_append_val (ids, id);
        }
      stack.has_iid = TRUE;
      stack.iid = node;
      stack.frame_ids = (guint64 *) (gpointer) ids->data;
      stack.n_frame_ids = ids->len;
      data.callstacks = &pointer;
      data.n_callstacks = 1;
      write_data (self, &data);
    }
}

/* Threads and events */

static void
write_threads (LuPerfetto *self)
{
  for (guint i = 0; i < self->model->threads->len; i++)
    {
      const LuModelThread *thread = lu_model_thread (self->model, i);
      Lu__Perfetto__InternedData data = LU__PERFETTO__INTERNED_DATA__INIT;
      Lu__Perfetto__StackSample__TaskContext context =
          LU__PERFETTO__STACK_SAMPLE__TASK_CONTEXT__INIT;
      Lu__Perfetto__StackSample__TaskContext *pointer = &context;

      context.has_iid = context.has_pid = context.has_tid = TRUE;
      context.iid = 1 + i;
      context.pid = (guint32) thread->pid;
      context.tid = (guint32) thread->tid;
      data.stack_sample_task_contexts = &pointer;
      data.n_stack_sample_task_contexts = 1;
      write_data (self, &data);
    }
}

static void
write_events (LuPerfetto *self)
{
  for (guint i = 0; i < lu_model_n_events (self->model); i++)
    {
      const LuEventInfo *event = lu_model_event (self->model, i);
      Lu__Perfetto__InternedData data = LU__PERFETTO__INTERNED_DATA__INIT;
      Lu__Perfetto__StackSample__CounterDescriptor descriptor =
          LU__PERFETTO__STACK_SAMPLE__COUNTER_DESCRIPTOR__INIT;
      Lu__Perfetto__StackSample__CounterDescriptor *pointer = &descriptor;

      descriptor.has_iid = TRUE;
      descriptor.iid = 1 + i;
      descriptor.name = (char *) event->name;
      descriptor.has_unit = g_str_equal (event->unit, LU_UNIT_TIME);
      descriptor.unit = UNIT_NANOSECONDS;
      if (!descriptor.has_unit)
        descriptor.unit_str = (char *) event->unit;
      data.stack_sample_counter_descriptors = &pointer;
      data.n_stack_sample_counter_descriptors = 1;
      write_data (self, &data);
    }
}

void
lu_perfetto_write_tables (LuPerfetto *self)
{
  write_threads (self);
  write_events (self);
  write_texts (self, TEXT_FUNCTION, self->model->functions->len);
  write_texts (self, TEXT_SOURCE, self->model->functions->len);
  write_texts (self, TEXT_PATH, self->model->modules->len);
  write_texts (self, TEXT_BUILD_ID, self->model->modules->len);
  write_mappings (self);
  write_frames (self);
  write_stacks (self);
}
