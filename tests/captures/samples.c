/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* samples.c - reads and writes files of recorded samples; see samples.h. */

#include "samples.h"

#include "base/error.h"
#include "unwind/dwfl-address-space.h"
#include "unwind/unwinder.h"

#include <gio/gio.h>
#include <inttypes.h>
#include <string.h>

#define HEAD "live-unwinder samples 1"

static const char *const kinds[] = {
  [LU_MODULE_FILE] = "file",         [LU_MODULE_VDSO] = "vdso",
  [LU_MODULE_VSYSCALL] = "vsyscall", [LU_MODULE_ANONYMOUS] = "anonymous",
  [LU_MODULE_MEMORY] = "memory",
};

/* Life cycle */

static void
clear_module (gpointer data)
{
  RecordedModule *module = data;

  g_free (module->path);
  g_clear_pointer (&module->image, g_bytes_unref);
  lu_module_unref (module->module);
}

static void
clear_sample (gpointer data)
{
  RecordedSample *recorded = data;

  g_free ((gpointer) recorded->sample.regs.words);
  g_free ((gpointer) recorded->sample.stack);
}

static void
unref_space (gpointer space)
{
  lu_address_space_unref (space);
}

Recorded *
recorded_new (void)
{
  Recorded *self = g_new0 (Recorded, 1);

  self->modules = g_array_new (FALSE, TRUE, sizeof (RecordedModule));
  self->samples = g_array_new (FALSE, TRUE, sizeof (RecordedSample));
  self->spaces = g_ptr_array_new_with_free_func (unref_space);
  g_array_set_clear_func (self->modules, clear_module);
  g_array_set_clear_func (self->samples, clear_sample);
  return self;
}

void
recorded_free (Recorded *self)
{
  if (self == NULL)
    return;
  g_free (self->command);
  g_array_unref (self->samples);
  g_ptr_array_unref (self->spaces);
  g_array_unref (self->modules);
  g_free (self);
}

/* Writing */

static void
write_bytes (GString *out, gconstpointer bytes, gsize size)
{
  g_string_append_len (out, bytes, (gssize) size);
  g_string_append_c (out, '\n');
}

static void
write_module (GString *out, const RecordedModule *module)
{
  gsize size = 0;
  gconstpointer bytes = module->image != NULL ? g_bytes_get_data (module->image, &size) : NULL;

  g_string_append_printf (out, "module %s %zx %s\n", kinds[module->kind], size, module->path);
  write_bytes (out, bytes, size);
}

typedef struct
{
  GString *out;
  guint module;
} CallWriter;

static void
write_call (guint64 file_offset, LuCallKind kind, gpointer user_data)
{
  CallWriter *writer = user_data;

  g_string_append_printf (writer->out, "call %x %" PRIx64 " %x\n", writer->module, file_offset,
                          (guint) kind);
}

static void
write_calls (GString *out, const Recorded *self)
{
  for (guint i = 0; i < self->modules->len; i++)
    {
      const LuModule *module = g_array_index (self->modules, RecordedModule, i).module;
      CallWriter writer = { .out = out, .module = i };

      if (lu_module_call_sites (module) != NULL)
        lu_call_sites_foreach (lu_module_call_sites (module), write_call, &writer);
    }
}

static guint
index_of_module (const Recorded *self, const LuModule *module)
{
  for (guint i = 0; i < self->modules->len; i++)
    if (g_array_index (self->modules, RecordedModule, i).module == module)
      return i;
  return G_MAXUINT;
}

static void
write_address_space (GString *out, const Recorded *self, const LuAddressSpace *space)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  g_string_append_printf (out, "space %x\n", n);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (out, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %x\n",
                            (guint64) mappings[i].start, (guint64) mappings[i].end,
                            (guint64) mappings[i].file_offset,
                            index_of_module (self, mappings[i].module));
}

static void
write_sample (GString *out, const RecordedSample *recorded)
{
  const LuSample *sample = &recorded->sample;

  g_string_append_printf (out, "sample %x %x %x %" PRIx64 " %x", recorded->space, sample->cpumode,
                          sample->stack_asked, sample->regs.mask, sample->stack_size);
  for (guint i = 0; i < sample->regs.n_words; i++)
    g_string_append_printf (out, " %" PRIx64, sample->regs.words[i]);
  g_string_append_c (out, '\n');
  write_bytes (out, sample->stack, sample->stack_size);
}

static gboolean
write_compressed (const GString *text, const char *path, GError **error)
{
  g_autoptr (GZlibCompressor) gzip = g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 9);
  g_autoptr (GOutputStream) memory = g_memory_output_stream_new_resizable ();
  g_autoptr (GOutputStream) stream = g_converter_output_stream_new (memory, G_CONVERTER (gzip));

  return g_output_stream_write_all (stream, text->str, text->len, NULL, NULL, error)
         && g_output_stream_close (stream, NULL, error)
         && g_file_set_contents (
             path, g_memory_output_stream_get_data (G_MEMORY_OUTPUT_STREAM (memory)),
             (gssize) g_memory_output_stream_get_data_size (G_MEMORY_OUTPUT_STREAM (memory)),
             error);
}

gboolean
recorded_write (const Recorded *self, const char *path, GError **error)
{
  g_autoptr (GString) out = g_string_new (HEAD "\n");

  g_string_append_printf (out, "command %s\n", self->command);
  for (guint i = 0; i < self->modules->len; i++)
    write_module (out, &g_array_index (self->modules, RecordedModule, i));
  write_calls (out, self);
  for (guint i = 0; i < self->spaces->len; i++)
    write_address_space (out, self, self->spaces->pdata[i]);
  for (guint i = 0; i < self->samples->len; i++)
    write_sample (out, &g_array_index (self->samples, RecordedSample, i));
  return write_compressed (out, path, error);
}

/* Reading: the cursor fails once and for all. */

typedef struct
{
  const char *at, *end;
  gboolean failed;
} Reader;

/* The words of the next line; empty at the end. */
static char **
read_line (Reader *self, gint max_words)
{
  const char *newline =
      self->at < self->end ? memchr (self->at, '\n', (gsize) (self->end - self->at)) : NULL;
  g_autofree char *line = NULL;

  if (newline == NULL || self->failed)
    return g_new0 (char *, 1);
  line = g_strndup (self->at, (gsize) (newline - self->at));
  self->at = newline + 1;
  return g_strsplit (line, " ", max_words);
}

static gconstpointer
read_bytes (Reader *self, gsize size)
{
  const char *bytes = self->at;

  if (self->failed || size >= (gsize) (self->end - self->at) || bytes[size] != '\n')
    {
      self->failed = TRUE;
      return NULL;
    }
  self->at += size + 1;
  return bytes;
}

static guint64
number (Reader *self, char **words, guint i)
{
  char *end = NULL;
  guint64 value = 0;

  if (i < g_strv_length (words))
    value = g_ascii_strtoull (words[i], &end, 16);
  if (end == NULL || end == words[i] || *end != '\0')
    self->failed = TRUE;
  return value;
}

static void
read_module (Recorded *self, Reader *reader, char **words)
{
  RecordedModule recorded = { 0 };
  gsize size = (gsize) number (reader, words, 2);
  gconstpointer bytes = read_bytes (reader, size);
  LuModuleKey key = { .has_inode = FALSE };
  LuImage *image = NULL;

  if (bytes == NULL || g_strv_length (words) != 4)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i], words[1]) == 0)
      recorded.kind = (LuModuleKind) i;
  recorded.path = g_strdup (words[3]);
  key.kind = recorded.kind;
  key.path = recorded.path + (recorded.path[0] == '/'); /* so that no engine finds the real file */
  recorded.module = lu_module_new (&key);
  if (size > 0)
    {
      recorded.image = g_bytes_new (bytes, size);
      image = lu_image_new_from_memory (bytes, size, NULL);
      reader->failed |= image == NULL;
    }
  lu_module_publish (recorded.module, image != NULL ? LU_MODULE_READY : LU_MODULE_GONE, image);
  g_array_append_val (self->modules, recorded);
}

static void
read_call (Recorded *self, Reader *reader, char **words)
{
  guint64 module = number (reader, words, 1), offset = number (reader, words, 2);
  guint64 kind = number (reader, words, 3);

  reader->failed |=
      module >= self->modules->len || kind == LU_CALL_UNKNOWN || kind > LU_CALL_INDIRECT;
  if (!reader->failed)
    lu_call_sites_add (
        lu_module_make_call_sites (g_array_index (self->modules, RecordedModule, module).module),
        offset, (LuCallKind) kind);
}

static void
read_address_space (Recorded *self, Reader *reader, char **words)
{
  LuAddressSpace *space = lu_address_space_new ();
  guint64 n = number (reader, words, 1);

  for (guint64 i = 0; i < n && !reader->failed; i++)
    {
      g_auto (GStrv) line = read_line (reader, 5);
      guint64 module = number (reader, line, 3);
      LuMapping mapping = {
        .start = number (reader, line, 0),
        .end = number (reader, line, 1),
        .file_offset = number (reader, line, 2),
      };
      LuAddressSpace *next;

      reader->failed |= module >= self->modules->len || mapping.end <= mapping.start;
      if (reader->failed)
        break;
      mapping.module = g_array_index (self->modules, RecordedModule, module).module;
      next = lu_address_space_take_with_mapping (lu_address_space_ref (space), &mapping);
      lu_address_space_unref (space);
      space = next;
    }
  g_ptr_array_add (self->spaces, space);
}

static void
read_sample (Recorded *self, Reader *reader, char **words)
{
  guint n_words = g_strv_length (words) > 6 ? g_strv_length (words) - 6 : 0;
  g_autofree guint64 *registers = g_new (guint64, MAX (n_words, 1));
  RecordedSample recorded = {
    .space = (guint) number (reader, words, 1),
    .sample = {
      .cpumode = (guint8) number (reader, words, 2),
      .stack_asked = (guint32) number (reader, words, 3),
      .regs = { .abi = LU_ABI_64, .n_words = n_words, .mask = number (reader, words, 4) },
      .stack_size = (guint32) number (reader, words, 5),
    },
  };
  gconstpointer stack = read_bytes (reader, recorded.sample.stack_size);

  for (guint i = 0; i < n_words; i++)
    registers[i] = number (reader, words, 6 + i);
  reader->failed |= recorded.space >= self->spaces->len
                    || n_words != (guint) __builtin_popcountll (recorded.sample.regs.mask);
  if (reader->failed)
    return;
  recorded.sample.regs.words = g_steal_pointer (&registers);
  recorded.sample.stack = g_memdup2 (stack, recorded.sample.stack_size);
  g_array_append_val (self->samples, recorded);
}

static gboolean
read_item (Recorded *self, Reader *reader)
{
  const gchar *at = reader->at;
  g_auto (GStrv) words = NULL;

  if (reader->failed || at == reader->end)
    return FALSE;
  /* Only paths and commands have blanks in a word. */
  words = read_line (reader, g_str_has_prefix (at, "module ")    ? 4
                             : g_str_has_prefix (at, "command ") ? 2
                                                                 : -1);
  if (g_strcmp0 (words[0], "command") == 0)
    self->command = g_strdup (words[1]);
  else if (g_strcmp0 (words[0], "module") == 0)
    read_module (self, reader, words);
  else if (g_strcmp0 (words[0], "call") == 0)
    read_call (self, reader, words);
  else if (g_strcmp0 (words[0], "space") == 0)
    read_address_space (self, reader, words);
  else if (g_strcmp0 (words[0], "sample") == 0)
    read_sample (self, reader, words);
  else
    reader->failed = TRUE;
  return !reader->failed;
}

/* The whole of a gzip file, with a zero behind it. */
static GBytes *
read_compressed (const char *path, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GInputStream) input = G_INPUT_STREAM (g_file_read (file, NULL, error));
  g_autoptr (GZlibDecompressor) gzip = g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP);
  g_autoptr (GInputStream) stream = NULL;
  g_autoptr (GOutputStream) memory = g_memory_output_stream_new_resizable ();

  if (input == NULL)
    return NULL;
  stream = g_converter_input_stream_new (input, G_CONVERTER (gzip));
  if (g_output_stream_splice (memory, stream, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, error) < 0)
    return NULL;
  return g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (memory));
}

Recorded *
recorded_read (const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = read_compressed (path, error);
  g_autoptr (Recorded) self = recorded_new ();
  g_auto (GStrv) head = NULL;
  Reader reader = { 0 };
  gsize size;

  if (bytes == NULL)
    return NULL;
  reader.at = g_bytes_get_data (bytes, &size);
  reader.end = reader.at + size;
  head = read_line (&reader, 1);
  if (g_strcmp0 (head[0], HEAD) == 0)
    while (read_item (self, &reader))
      ;
  if (!reader.failed && self->samples->len > 0)
    return g_steal_pointer (&self);
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID, "%s: no file of recorded samples", path);
  return NULL;
}

/* Stacks */

static void
append_frame (GString *text, const Recorded *self, LuAddressSpace *space, const LuFrame *frame)
{
  gboolean is_caller = (frame->flags & LU_FRAME_RETURN_ADDRESS) != 0;
  const LuMapping *mapping = lu_address_space_find (space, frame->pc - is_caller);
  guint64 bias = 0;

  if (mapping != NULL)
    bias = lu_dwfl_mapping_describe (mapping, lu_arch_of_abi (LU_ABI_64)).bias;
  if (mapping != NULL)
    g_string_append_printf (text, "%u:%" PRIx64, index_of_module (self, mapping->module),
                            frame->pc - bias);
  else
    g_string_append_printf (text, "?:%" PRIx64, (guint64) frame->pc);
  if (!is_caller)
    g_string_append_c (text, '!');
  if ((frame->flags & LU_FRAME_INFERRED) != 0)
    g_string_append_c (text, '~');
}

char *
recorded_stack_to_text (const Recorded *self, guint space, const LuStack *stack)
{
  GString *text = g_string_new (lu_status_key (stack->status));

  for (guint i = 0; i < stack->n_frames; i++)
    {
      g_string_append_c (text, ' ');
      append_frame (text, self, self->spaces->pdata[space], &stack->frames[i]);
    }
  return g_string_free (text, FALSE);
}

static void
unwind (LuUnwinder *unwinder, const LuSample *sample, LuAddressSpace *space, LuStack *stack)
{
  lu_stack_reset (stack);
  unwinder->ops->unwind (unwinder, &(LuUnwindRequest){ .sample = sample, .space = space }, stack);
}

GString *
recorded_expectations (const Recorded *self)
{
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(NULL), table = lu_unwinder_table.new(NULL);
  g_autofree LuStack *stack = g_new (LuStack, 1);
  GString *text = g_string_new ("# SPDX-License-"
                                "Identifier: LGPL-2.1-or-later\n"
                                "# SPDX-FileCopyrightText: 2026 The live-unwinder authors\n");

  g_string_append_printf (text, "# %s\n", self->command);
  for (guint i = 0; i < self->modules->len; i++)
    g_string_append_printf (text, "# %u = %s\n", i,
                            g_array_index (self->modules, RecordedModule, i).path);
  for (guint i = 0; i < self->samples->len; i++)
    {
      const RecordedSample *recorded = &g_array_index (self->samples, RecordedSample, i);
      g_autofree char *line = NULL;

      unwind (dwfl, &recorded->sample, self->spaces->pdata[recorded->space], stack);
      if (stack->status == LU_STATUS_UNSUPPORTED_RULE)
        unwind (table, &recorded->sample, self->spaces->pdata[recorded->space], stack);
      line = recorded_stack_to_text (self, recorded->space, stack);
      g_string_append_printf (text, "%s\n", line);
    }
  return text;
}
