/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-pprof.c - pprof's profile.proto, gzipped: samples added up by stack, thread and event.
 *
 * Each frame of the model is a location, with a line for each function that is inlined there. Each
 * file is a mapping at the addresses where the first process had it. The values of a sample are the
 * number of samples and one weight for each event. protobuf-c builds some thousand messages at a
 * time, and each lot is written as a profile with nothing else in it: concatenated profiles are one
 * profile, so memory does not grow with the recording. */

#include "format.h"
#include "profile.pb-c.h"

#include <string.h>

/* Messages that are written at once; 1 to 4 MB. */
#define LOT 4096u

typedef struct
{
  const LuModel *model;
  LuStream *stream;
  Lu__Pprof__Profile profile;
  GPtrArray *strings;     /* of char*, borrowed */
  GHashTable *string_ids; /* char* -> number */
  GPtrArray *memory;      /* everything else, owned */
  guint32 n_code_frames;  /* frames after these are inlined into them */
} Builder;

static gpointer
allocate (Builder *self, gsize n, gsize size)
{
  gpointer block = g_malloc0 (MAX (n * size, 1));

  g_ptr_array_add (self->memory, block);
  return block;
}
#define NEW(self, type, n) ((type *) allocate (self, n, sizeof (type)))

/* Writes the messages built so far and frees them. */
static void
write_lot (Builder *self)
{
  gsize size = lu__pprof__profile__get_packed_size (&self->profile);
  g_autofree guint8 *packed = g_malloc (size + 1);

  lu__pprof__profile__pack (&self->profile, packed);
  lu_stream_write (self->stream, packed, size);
  g_ptr_array_set_size (self->memory, 0);
  lu__pprof__profile__init (&self->profile);
}

static gint64
text_id (Builder *self, const char *text)
{
  gpointer found;

  if (g_hash_table_lookup_extended (self->string_ids, text, NULL, &found))
    return GPOINTER_TO_INT (found);
  g_hash_table_insert (self->string_ids, (gpointer) text, GUINT_TO_POINTER (self->strings->len));
  g_ptr_array_add (self->strings, (gpointer) text);
  return self->strings->len - 1;
}

static Lu__Pprof__ValueType *
value_type (Builder *self, const char *type, const char *unit)
{
  Lu__Pprof__ValueType *value = NEW (self, Lu__Pprof__ValueType, 1);

  lu__pprof__value_type__init (value);
  value->type = text_id (self, type);
  value->unit = text_id (self, unit);
  return value;
}

static void
add_mappings (Builder *self)
{
  guint n = self->model->modules->len;

  self->profile.n_mapping = n;
  self->profile.mapping = NEW (self, Lu__Pprof__Mapping *, n);
  for (guint i = 0; i < n; i++)
    {
      const LuModelModule *module = g_ptr_array_index (self->model->modules, i);
      Lu__Pprof__Mapping *mapping = NEW (self, Lu__Pprof__Mapping, 1);

      lu__pprof__mapping__init (mapping);
      mapping->id = i + 1;
      mapping->memory_start = module->mapped.start;
      mapping->memory_limit = module->mapped.end;
      mapping->file_offset = module->file_offset;
      mapping->filename = text_id (self, module->path);
      mapping->build_id = text_id (self, module->id->build_id != NULL ? module->id->build_id : "");
      mapping->has_functions = TRUE;
      mapping->has_filenames = mapping->has_line_numbers = mapping->has_inline_frames =
          self->model->n_code_frames > 0;
      self->profile.mapping[i] = mapping;
    }
}

static void
add_functions (Builder *self)
{
  guint n = self->model->functions->len;

  self->profile.n_function = n;
  self->profile.function = NEW (self, Lu__Pprof__Function *, n);
  for (guint i = 0; i < n; i++)
    {
      const LuModelFunction *source = &g_array_index (self->model->functions, LuModelFunction, i);
      Lu__Pprof__Function *function = NEW (self, Lu__Pprof__Function, 1);

      lu__pprof__function__init (function);
      function->id = i + 1;
      function->name = text_id (self, source->name);
      function->system_name = text_id (self, source->full_name);
      function->filename =
          text_id (self, source->defined_in != NULL ? source->defined_in : source->module);
      function->start_line = source->defined_at;
      self->profile.function[i] = function;
    }
}

/* Returns the address where the module is mapped; if there are several, the first one. */
static guint64
address_in_mapping (const LuModelModule *module, const LuModelFrame *frame)
{
  guint64 address = frame->file_offset - module->file_offset + module->mapped.start;

  return address >= module->mapped.start && address < module->mapped.end ? address : frame->address;
}

static Lu__Pprof__Line *
new_line (Builder *self, const LuModelFrame *frame)
{
  Lu__Pprof__Line *line = NEW (self, Lu__Pprof__Line, 1);

  lu__pprof__line__init (line);
  line->function_id = frame->function + 1;
  line->line = frame->line;
  return line;
}

/* Adds the innermost function first. Functions inlined at a frame are consecutive, outermost first.
 */
static void
add_lines (Builder *self, Lu__Pprof__Location *location, guint32 end, guint32 number)
{
  guint32 first = end;

  while (first > self->n_code_frames && lu_model_frame (self->model, first - 1)->outer == number)
    first--;
  location->line = NEW (self, Lu__Pprof__Line *, end - first + 1);
  for (guint32 i = end; i > first; i--)
    location->line[location->n_line++] = new_line (self, lu_model_frame (self->model, i - 1));
  location->line[location->n_line++] = new_line (self, lu_model_frame (self->model, number));
}

/* Returns the index after the last frame inlined into each frame. */
static guint32 *
find_ends (Builder *self)
{
  guint32 *ends = g_new0 (guint32, self->n_code_frames + 1);

  for (guint32 i = self->n_code_frames; i < self->model->frames->len; i++)
    ends[lu_model_frame (self->model, i)->outer] = i + 1;
  return ends;
}

static void
add_lot_of_locations (Builder *self, guint32 first, guint32 n, const guint32 *ends)
{
  self->profile.location = NEW (self, Lu__Pprof__Location *, n);
  for (guint32 i = first; i < first + n; i++)
    {
      const LuModelFrame *frame = lu_model_frame (self->model, i);
      Lu__Pprof__Location *location = NEW (self, Lu__Pprof__Location, 1);

      lu__pprof__location__init (location);
      location->id = i + 1;
      location->address = frame->address;
      add_lines (self, location, ends[i], i);
      if (frame->module != G_MAXUINT32)
        {
          location->mapping_id = frame->module + 1;
          if (frame->kind == LU_CODE_USER)
            location->address =
                address_in_mapping (g_ptr_array_index (self->model->modules, frame->module), frame);
        }
      self->profile.location[self->profile.n_location++] = location;
    }
  write_lot (self);
}

static void
add_locations (Builder *self)
{
  g_autofree guint32 *ends = find_ends (self);

  for (guint32 i = 0; i < self->n_code_frames; i += LOT)
    add_lot_of_locations (self, i, MIN (LOT, self->n_code_frames - i), ends);
}

/* text: NULL: it is a number. Strings are numbered in the order of calls, so no two are made in the
 * arguments of one, which compilers may evaluate in any order. */
static void
set_label (Builder *self, Lu__Pprof__Label *label, const char *key, const char *text, gint64 number)
{
  lu__pprof__label__init (label);
  label->key = text_id (self, key);
  label->str = text != NULL ? text_id (self, text) : 0;
  label->num = number;
}

static void
add_labels (Builder *self, Lu__Pprof__Sample *sample, guint32 number)
{
  const LuModelThread *thread = lu_model_thread (self->model, number);
  const LuModelProcess *process = lu_model_process_of (self->model, number);
  Lu__Pprof__Label *labels = NEW (self, Lu__Pprof__Label, 4);

  set_label (self, &labels[0], "comm", process->name, 0);
  set_label (self, &labels[1], "pid", NULL, thread->pid);
  set_label (self, &labels[2], "tid", NULL, thread->tid);
  set_label (self, &labels[3], "thread", thread->name, 0);
  sample->n_label = 4;
  sample->label = NEW (self, Lu__Pprof__Label *, 4);
  for (guint i = 0; i < 4; i++)
    sample->label[i] = &labels[i];
}

static void
add_sample (Builder *self, LuModelCount count)
{
  Lu__Pprof__Sample *sample = NEW (self, Lu__Pprof__Sample, 1);
  gsize depth = 0;

  lu__pprof__sample__init (sample);
  for (guint32 node = count.node; node != 0; node = lu_model_node (self->model, node).parent)
    depth++;
  sample->location_id = NEW (self, guint64, depth);
  for (guint32 node = count.node; node != 0; node = lu_model_node (self->model, node).parent)
    if (lu_model_node (self->model, node).frame < self->n_code_frames)
      sample->location_id[sample->n_location_id++] = lu_model_node (self->model, node).frame + 1u;
  sample->n_value = lu_model_n_events (self->model) + 1;
  sample->value = NEW (self, gint64, sample->n_value);
  sample->value[0] = (gint64) count.n;
  sample->value[1 + count.event] = (gint64) count.weight;
  add_labels (self, sample, count.thread);
  self->profile.sample[self->profile.n_sample++] = sample;
}

static void
add_samples (Builder *self)
{
  for (guint i = 0; i < lu_model_n_counts (self->model); i++)
    {
      if (self->profile.n_sample == 0)
        self->profile.sample = NEW (self, Lu__Pprof__Sample *, LOT);
      add_sample (self, lu_model_count (self->model, i));
      if (self->profile.n_sample == LOT)
        write_lot (self);
    }
  write_lot (self);
}

/* A single event that samples time is called "cpu", as in the profiles of other programs. */
static Lu__Pprof__ValueType *
type_of_event (Builder *self, guint32 number)
{
  const LuEventInfo *event = lu_model_event (self->model, number);
  gboolean is_time = g_str_equal (event->unit, LU_UNIT_TIME);

  return value_type (self, is_time && lu_model_n_events (self->model) == 1 ? "cpu" : event->name,
                     event->unit);
}

/* Adds the sample types: the number of samples, and the weight of each event. Readers show the
 * weight of the first event, if it has any. */
static void
add_types (Builder *self)
{
  guint n_events = lu_model_n_events (self->model);
  const LuEventInfo *first = lu_model_event (self->model, 0);

  self->profile.n_sample_type = n_events + 1;
  self->profile.sample_type = NEW (self, Lu__Pprof__ValueType *, n_events + 1);
  self->profile.sample_type[0] = value_type (self, "samples", "count");
  for (guint i = 0; i < n_events; i++)
    self->profile.sample_type[i + 1] = type_of_event (self, i);
  self->profile.period_type = type_of_event (self, 0);
  self->profile.period = (gint64) lu_model_event (self->model, 0)->weight;
  self->profile.default_sample_type =
      self->profile.sample_type[first->varies || first->weight > 0 ? 1 : 0]->type;
}

static void
add_head (Builder *self)
{
  const LuModel *model = self->model;
  g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (model->capture_time, NULL);
  const char *command = lu_model_metadata (model, "live-unwinder.command");

  add_types (self);
  self->profile.time_nanos = date != NULL ? CLAMP (g_date_time_to_unix (date), 0, G_MAXINT32)
                                                * G_GINT64_CONSTANT (1000000000)
                                          : 0;
  self->profile.duration_nanos = MAX (model->last - model->begin, 0);
  if (command == NULL)
    return;
  self->profile.n_comment = 1;
  self->profile.comment = NEW (self, gint64, 1);
  self->profile.comment[0] = text_id (self, command);
}

static void
write_pprof (const LuModel *model, LuStream *stream)
{
  Builder self = { .model = model, .stream = stream };

  self.n_code_frames = model->n_code_frames > 0 ? model->n_code_frames : model->frames->len;
  lu__pprof__profile__init (&self.profile);
  self.strings = g_ptr_array_new ();
  self.string_ids = g_hash_table_new (g_str_hash, g_str_equal);
  self.memory = g_ptr_array_new_with_free_func (g_free);
  text_id (&self, "");
  add_head (&self);
  add_mappings (&self);
  add_functions (&self);
  write_lot (&self);
  add_locations (&self);
  add_samples (&self);
  self.profile.n_string_table = self.strings->len;
  self.profile.string_table = (char **) self.strings->pdata;
  write_lot (&self);
  g_ptr_array_unref (self.strings);
  g_hash_table_unref (self.string_ids);
  g_ptr_array_unref (self.memory);
}

const LuFormat lu_format_pprof = {
  .name = "pprof",
  .suffixes = { ".pb.gz", ".pprof" },
  .gzip = TRUE,
  .has_lines_of_functions = TRUE,
  .write = write_pprof,
};
