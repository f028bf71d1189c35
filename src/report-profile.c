/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-profile.c - adds a capture up by function; see report-profile.h.
 *
 * Two passes over the file: names (kernel symbols, end states) come in anywhere, also behind the
 * samples that need them. In the second pass mappings apply to the samples behind them in the file,
 * which is how our writer orders them. A name is looked up once per address and file. */

#include "report-profile.h"

#include "base/error.h"
#include "output/syscap-frames.h"
#include "output/syscap-reader.h"
#include "output/syscap-stack.h"
#include "symbolize/kallsyms.h"
#include "symbolize/names.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <string.h>

#define MAX_KALLSYMS (128u * 1024 * 1024)

typedef struct
{
  guint32 id;
  char *path;
  char *build_id;        /* hexadecimal; NULL: unknown */
  const char *base_name; /* in the profile's strings */
  GHashTable *functions; /* file offset -> LuReportFunction, borrowed */
} Module;

typedef struct
{
  LuProfile *profile;
  gboolean is_minus_1; /* return addresses are stored minus 1 */
  GString *kallsyms_text;
  LuKallsyms *kallsyms;
  GHashTable *states;           /* synthetic address -> LuReportState, borrowed */
  GHashTable *functions;        /* "name\nmodule" -> LuReportFunction, borrowed */
  GHashTable *kernel_functions; /* address -> LuReportFunction, borrowed */
  GHashTable *modules;          /* mapping name -> Module */
  GHashTable *pids;             /* pid -> LuSyscapMaps */
  LuNames *names;
} Loader;

static void
function_free (gpointer pointer)
{
  g_free (((LuReportFunction *) pointer)->name);
  g_free (pointer);
}

static void
state_free (gpointer pointer)
{
  g_free (((LuReportState *) pointer)->name);
  g_free (pointer);
}

static void
module_free (gpointer pointer)
{
  Module *self = pointer;

  g_free (self->path);
  g_free (self->build_id);
  g_hash_table_unref (self->functions);
  g_free (self);
}

static void
loader_clear (Loader *self)
{
  g_string_free (self->kallsyms_text, TRUE);
  g_clear_pointer (&self->kallsyms, lu_kallsyms_free);
  g_hash_table_unref (self->states);
  g_hash_table_unref (self->functions);
  g_hash_table_unref (self->kernel_functions);
  g_hash_table_unref (self->modules);
  g_hash_table_unref (self->pids);
  lu_names_free (self->names);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Loader, loader_clear)

static void
loader_init (Loader *self, LuProfile *profile)
{
  self->profile = profile;
  self->kallsyms_text = g_string_new (NULL);
  self->states = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->functions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->kernel_functions = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->modules = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, module_free);
  self->pids = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) lu_syscap_maps_free);
  self->names = lu_names_new ();
}

static gpointer
find_u64 (GHashTable *table, guint64 key)
{
  return g_hash_table_lookup (table, &key);
}

static void
insert_u64 (GHashTable *table, guint64 key, gpointer value)
{
  g_hash_table_insert (table, g_memdup2 (&key, sizeof key), value);
}

static gboolean
is_synthetic (guint64 address)
{
  return (address >> 32) == (LU_SYNTHETIC_BASE >> 32);
}

/* The lost samples that the statistics of the recorder name. */
static gint64
lost_of_stats (const char *json)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root;
  JsonObject *stats, *lost;

  if (!json_parser_load_from_data (parser, json, -1, NULL))
    return -1;
  root = json_parser_get_root (parser);
  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return -1;
  stats = json_node_get_object (root);
  if (!json_object_has_member (stats, "lost")
      || !JSON_NODE_HOLDS_OBJECT (json_object_get_member (stats, "lost")))
    return -1;
  lost = json_object_get_object_member (stats, "lost");
  if (!json_object_has_member (lost, "samples")
      || !JSON_NODE_HOLDS_VALUE (json_object_get_member (lost, "samples")))
    return -1;
  return json_object_get_int_member (lost, "samples");
}

static void
learn_name (Loader *self, guint64 address, const char *name)
{
  gsize length = strlen (name);
  LuReportState *state;

  if (!is_synthetic (address) || find_u64 (self->states, address) != NULL)
    return;
  state = g_new0 (LuReportState, 1);
  if (length > 2 && name[0] == '[' && name[length - 1] == ']')
    state->name = g_strndup (name + 1, length - 2);
  else
    state->name = g_strdup (name);
  if (address - LU_SYNTHETIC_BASE < LU_N_STATUS)
    state->excluded = lu_status_is_excluded ((LuStatus) (address - LU_SYNTHETIC_BASE));
  g_ptr_array_add (self->profile->states, state);
  insert_u64 (self->states, address, state);
}

static void
learn_names (Loader *self, const LuSyscapRecord *record)
{
  for (guint i = 0; i < record->jitmap.n_names; i++)
    learn_name (self, record->jitmap.names[i].address, record->jitmap.names[i].name);
}

/* First pass: what gives names. */
static void
learn (Loader *self, const LuSyscapRecord *record)
{
  switch (record->type)
    {
    case LU_SYSCAP_JITMAP:
      learn_names (self, record);
      break;
    case LU_SYSCAP_MAP: /* in captures made for a client of Sysprof */
      learn_name (self, record->map.start, record->map.path);
      break;
    case LU_SYSCAP_METADATA:
      if (g_str_equal (record->metadata.key, LU_SYSCAP_KEY_STATS))
        self->profile->n_lost = lost_of_stats (record->metadata.text);
      else if (g_str_equal (record->metadata.key, LU_SYSCAP_KEY_ADDRESS))
        self->is_minus_1 = g_str_equal (record->metadata.text, LU_SYSCAP_ADDRESS_MINUS_1);
      break;
    case LU_SYSCAP_FILE_CHUNK:
      if (g_str_equal (record->file.path, "/proc/kallsyms")
          && self->kallsyms_text->len < MAX_KALLSYMS)
        g_string_append_len (self->kallsyms_text, (const char *) record->file.bytes,
                             (gssize) record->file.size);
      break;
    default:
      break;
    }
}

static LuReportFunction *
get_function (Loader *self, const char *name, const char *module)
{
  g_autofree char *key = g_strconcat (name, "\n", module, NULL);
  LuReportFunction *function = g_hash_table_lookup (self->functions, key);

  if (function != NULL)
    return function;
  function = g_new0 (LuReportFunction, 1);
  function->name = g_strdup (name);
  function->module = g_string_chunk_insert_const (self->profile->strings, module);
  g_ptr_array_add (self->profile->functions, function);
  g_hash_table_insert (self->functions, g_steal_pointer (&key), function);
  return function;
}

static Module *
get_module (Loader *self, const char *name)
{
  Module *module = g_hash_table_lookup (self->modules, name);
  const char *separator = strrchr (name, LU_SYSCAP_NAME_SEPARATOR);
  g_autofree char *base_name = NULL;

  if (module != NULL)
    return module;
  module = g_new0 (Module, 1);
  module->id = g_hash_table_size (self->modules) + 1;
  module->path = g_strndup (name, (gsize) (separator - name));
  if (separator[1] == '@')
    module->build_id = g_strdup (separator + 2);
  base_name = g_path_get_basename (module->path);
  module->base_name = g_string_chunk_insert_const (self->profile->strings, base_name);
  module->functions = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_hash_table_insert (self->modules, g_strdup (name), module);
  return module;
}

static gboolean
ignore_frame (const LuSyscapMapping *mapping, gpointer user_data, GError **error)
{
  return TRUE;
}

static void
add_map (Loader *self, const LuSyscapRecord *record)
{
  LuSyscapMaps *maps = g_hash_table_lookup (self->pids, GINT_TO_POINTER (record->pid));
  g_autofree char *name =
      g_strdup_printf ("%s%c%s%s", record->map.path, LU_SYSCAP_NAME_SEPARATOR,
                       record->map.build_id != NULL ? "@" : "",
                       record->map.build_id != NULL ? record->map.build_id : "");
  LuSyscapMapping mapping = { .start = record->map.start,
                              .end = record->map.end,
                              .file_offset = record->map.file_offset,
                              .module_id = get_module (self, name)->id };
  gboolean shadowed, dropped;

  if (maps == NULL)
    {
      maps = lu_syscap_maps_new ();
      g_hash_table_insert (self->pids, GINT_TO_POINTER (record->pid), maps);
    }
  mapping.name = g_ref_string_new_intern (name);
  lu_syscap_maps_add (maps, &mapping, ignore_frame, NULL, &shadowed, &dropped, NULL);
  g_ref_string_release (mapping.name);
}

static LuReportFunction *
kernel_function (Loader *self, guint64 address)
{
  LuReportFunction *function = find_u64 (self->kernel_functions, address);
  LuKernelSymbol symbol = { .name = "(kernel)" };
  gint index;

  if (function != NULL)
    return function;
  index = self->kallsyms != NULL ? lu_kallsyms_find (self->kallsyms, address) : -1;
  if (index >= 0)
    lu_kallsyms_get (self->kallsyms, (guint) index, &symbol);
  function = get_function (self, symbol.name, symbol.module != NULL ? symbol.module : "kernel");
  insert_u64 (self->kernel_functions, address, function);
  return function;
}

static LuReportFunction *
user_function (Loader *self, const LuSyscapMaps *maps, guint64 address)
{
  const LuSyscapMapping *mapping = maps != NULL ? lu_syscap_maps_find (maps, address) : NULL;
  LuReportFunction *function;
  Module *module;
  guint64 file_offset;
  const char *name;

  if (mapping == NULL)
    return get_function (self, "(outside every mapping)", "");
  module = get_module (self, mapping->name);
  file_offset = address - mapping->start + mapping->file_offset;
  function = find_u64 (module->functions, file_offset);
  if (function != NULL)
    return function;
  name = lu_names_find (self->names, module->path, module->build_id, file_offset);
  function = get_function (self, name != NULL ? name : "(no symbol)", module->base_name);
  insert_u64 (module->functions, file_offset, function);
  return function;
}

/* The root frame that says how the walk ended, or NULL for a complete stack. */
static LuReportState *
end_state (Loader *self, const LuSyscapRecord *record)
{
  guint n = record->sample.n_addresses;
  guint64 root = n > 0 ? record->sample.addresses[n - 1] : 0;

  return is_synthetic (root) && root != LU_SYSCAP_LEFT_OUT ? find_u64 (self->states, root) : NULL;
}

static void
count_sample (Loader *self, const LuSyscapRecord *record)
{
  LuProfile *profile = self->profile;
  const LuReportState *ended;
  LuReportState *state = end_state (self, record);
  gboolean has_user = FALSE;

  if (profile->n_samples++ == 0)
    profile->begin = profile->end = record->time;
  profile->begin = MIN (profile->begin, record->time);
  profile->end = MAX (profile->end, record->time);
  for (guint i = 0; i < record->sample.n_addresses; i++)
    has_user |= record->sample.addresses[i] == LU_SYSCAP_CONTEXT_USER;
  if (state != NULL)
    state->n++;
  ended = state;
  if (has_user && (ended == NULL || !ended->excluded))
    {
      profile->n_user++;
      profile->n_complete += ended == NULL;
    }
}

static void
add_sample (Loader *self, const LuSyscapRecord *record)
{
  const LuSyscapMaps *maps = g_hash_table_lookup (self->pids, GINT_TO_POINTER (record->pid));
  guint64 context = LU_SYSCAP_CONTEXT_USER;
  gboolean is_leaf = TRUE;

  count_sample (self, record);
  for (guint i = 0; i < record->sample.n_addresses; i++)
    {
      guint64 address = record->sample.addresses[i];
      LuReportFunction *function;

      if (address >= LU_SYSCAP_CONTEXT_MAX)
        {
          context = address;
          continue;
        }
      if (is_synthetic (address))
        continue;
      if (context == LU_SYSCAP_CONTEXT_USER)
        {
          if (!self->is_minus_1 && !is_leaf && address > 0)
            address--;
          function = user_function (self, maps, address);
        }
      else
        function = kernel_function (self, address);
      function->self += is_leaf;
      is_leaf = FALSE;
      if (function->last_sample != self->profile->n_samples)
        {
          function->last_sample = self->profile->n_samples;
          function->total++;
        }
    }
}

/* Second pass. */
static void
add_up (Loader *self, const LuSyscapRecord *record)
{
  if (record->type == LU_SYSCAP_MAP)
    add_map (self, record);
  else if (record->type == LU_SYSCAP_SAMPLE)
    add_sample (self, record);
}

static gboolean
read_all (Loader *self, const char *path, void (*handle) (Loader *, const LuSyscapRecord *),
          GError **error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;
  LuSyscapRead what;

  if (fd < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", path, g_strerror (errno));
      return FALSE;
    }
  reader = lu_syscap_reader_new (fd, error);
  if (reader == NULL)
    {
      g_prefix_error (error, "%s: ", path);
      return FALSE;
    }
  while ((what = lu_syscap_reader_next (reader, &record, error)) == LU_SYSCAP_READ_FRAME)
    handle (self, &record);
  if (what == LU_SYSCAP_READ_ERROR)
    g_prefix_error (error, "%s: ", path);
  self->profile->is_cut = lu_syscap_reader_is_cut (reader);
  self->profile->is_finished = lu_syscap_reader_header (reader)->end_time != 0;
  return what == LU_SYSCAP_READ_END;
}

LuProfile *
lu_profile_load (const char *path, GError **error)
{
  g_autoptr (LuProfile) profile = g_new0 (LuProfile, 1);
  g_auto (Loader) loader = { 0 };

  profile->functions = g_ptr_array_new_with_free_func (function_free);
  profile->states = g_ptr_array_new_with_free_func (state_free);
  profile->strings = g_string_chunk_new (4096);
  profile->n_lost = -1;
  loader_init (&loader, profile);

  if (!read_all (&loader, path, learn, error))
    return NULL;
  loader.kallsyms = lu_kallsyms_parse (loader.kallsyms_text->str, loader.kallsyms_text->len, NULL);
  profile->has_kernel_names = loader.kallsyms != NULL;
  if (!read_all (&loader, path, add_up, error))
    return NULL;
  return g_steal_pointer (&profile);
}

void
lu_profile_free (LuProfile *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->functions);
  g_ptr_array_unref (self->states);
  g_string_chunk_free (self->strings);
  g_free (self);
}
