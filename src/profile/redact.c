/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* redact.c - decides which parts of a capture may be passed on; see redact.h.
 *
 * It lists what stays, not what goes: metadata by key, files by name, frames by type. A function of
 * the kernel gets its invented address in the order in which functions are hit, as in
 * syscap-kernel.c. */

#include "redact.h"

#include "base/id-table.h"
#include "capture/syscap-kernel.h"
#include "capture/syscap-symbols.h"

#include <string.h>

#define KALLSYMS      "/proc/kallsyms"
#define LOG_DOMAIN    "live-unwinder"
#define KERNEL_BEGIN  (G_GUINT64_CONSTANT (1) << 63)
#define MAX_ADDRESSES 65536
/* The range of invented addresses has no room for more; a kernel has 200,000 functions. */
#define MAX_PLACES  400000u
#define MAX_TEXT    (128u << 20)
#define MAX_SYMBOLS (64u << 20)

struct _LuRedaction
{
  LuRedactionFunc emit;
  gpointer user_data;
  GString *kallsyms;   /* /proc/kallsyms of the capture */
  GByteArray *symbols; /* __symbols__ of the capture */
  guint n_symbols;
  LuKallsyms *kernel; /* NULL: none */
  GHashTable *places; /* name, module and start -> number of its place + 1 */
  GString *lines;     /* the new /proc/kallsyms */
  LuIdTable *hits;    /* (pid, number of the place) */
  GPtrArray *names;   /* by number of the place; owned */
  guint64 addresses[MAX_ADDRESSES];
};

LuRedaction *
lu_redaction_new (LuRedactionFunc emit, gpointer user_data)
{
  LuRedaction *self = g_new0 (LuRedaction, 1);

  self->emit = emit;
  self->user_data = user_data;
  self->kallsyms = g_string_new (NULL);
  self->symbols = g_byte_array_new ();
  self->places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->lines = g_string_new (NULL);
  self->hits = lu_id_table_new (1);
  self->names = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
lu_redaction_free (LuRedaction *self)
{
  if (self == NULL)
    return;
  g_string_free (self->kallsyms, TRUE);
  g_byte_array_unref (self->symbols);
  g_clear_pointer (&self->kernel, lu_kallsyms_free);
  g_hash_table_unref (self->places);
  g_string_free (self->lines, TRUE);
  lu_id_table_free (self->hits);
  g_ptr_array_unref (self->names);
  g_free (self);
}

/* First pass */

void
lu_redaction_learn (LuRedaction *self, const LuSyscapRecord *record)
{
  if (record->type != LU_SYSCAP_FILE_CHUNK)
    return;
  if (g_str_equal (record->file.path, KALLSYMS) && self->kallsyms->len < MAX_TEXT)
    g_string_append_len (self->kallsyms, (const char *) record->file.bytes, record->file.size);
  else if (g_str_equal (record->file.path, LU_SYSCAP_SYMBOLS_FILE)
           && self->symbols->len < MAX_SYMBOLS)
    g_byte_array_append (self->symbols, record->file.bytes, record->file.size);
}

/* Second pass */

/* Tells whether an address could reveal where the kernel is. */
static gboolean
is_kernel (guint64 address)
{
  return address >= KERNEL_BEGIN && !lu_is_synthetic (address);
}

/* Returns the number of the place of a function; G_MAXUINT32 if there are too many. Functions of
 * one name stay apart if it is known where they begin (start: 0 if not). */
static guint32
place_of (LuRedaction *self, guint64 start, const char *name, const char *module)
{
  g_autofree char *key = g_strdup_printf ("%s\t%s\t%" G_GINT64_MODIFIER "x", name,
                                          module != NULL ? module : "", start);
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->places, key));

  if (number > 0)
    return number - 1;
  if (self->names->len >= MAX_PLACES)
    return G_MAXUINT32;
  number = self->names->len;
  g_string_append_printf (self->lines, "%016" G_GINT64_MODIFIER "x t %s%s%s\n",
                          lu_syscap_hidden_place (number), name, module != NULL ? "\t" : "",
                          module != NULL ? module : "");
  g_ptr_array_add (self->names, g_strdup (name));
  g_hash_table_insert (self->places, g_steal_pointer (&key), GUINT_TO_POINTER (number + 1));
  return number;
}

static guint64
hide (LuRedaction *self, gint32 pid, guint64 address)
{
  LuKernelSymbol symbol = { .address = address };
  LuSyscapSymbol named;
  guint64 start = 0;
  guint32 place;

  if (lu_kallsyms_find (self->kernel, address, &symbol))
    start = symbol.address;
  else if (lu_syscap_symbols_find (self->symbols, self->n_symbols, pid, address, &named))
    symbol.name = named.name;
  if (symbol.name == NULL)
    return LU_SYSCAP_HIDDEN_UNKNOWN;
  place = place_of (self, start, symbol.name, symbol.module);
  if (place == G_MAXUINT32)
    return LU_SYSCAP_HIDDEN_UNKNOWN;
  lu_id_table_add (self->hits, (guint64) (guint32) pid << 32 | place, 0);
  return lu_syscap_hidden_place (place) + MIN (address - symbol.address, LU_SYSCAP_HIDDEN_SIZE - 1);
}

static void
take_sample (LuRedaction *self, LuSyscapRecord *record)
{
  guint n = MIN (record->sample.n_addresses, MAX_ADDRESSES);

  for (guint i = 0; i < n; i++)
    {
      guint64 address = record->sample.addresses[i];
      gboolean is_hidden = is_kernel (address) && address < PERF_CONTEXT_MAX;

      self->addresses[i] = is_hidden ? hide (self, record->pid, address) : address;
    }
  record->sample.n_addresses = n;
  record->sample.addresses = self->addresses;
  self->emit (record, self->user_data);
}

static gboolean
is_kept (const char *key)
{
  static const char *const keys[] = { "uname.sysname", "uname.release",
                                      "uname.version", "uname.machine",
                                      "n-cpu",         "page-size",
                                      "capture-time",  "org.gnome.sysprof.app-id" };

  if (g_str_equal (key, "live-unwinder.command") || g_str_equal (key, LU_SYSCAP_KEY_REDACTED)
      || g_str_equal (key, LU_SYSCAP_KEY_THREAD))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (g_str_equal (key, keys[i]))
      return TRUE;
  return g_str_has_prefix (key, "live-unwinder.");
}

void
lu_redaction_begin (LuRedaction *self)
{
  const LuSyscapRecord record = { .type = LU_SYSCAP_METADATA,
                                  .cpu = -1,
                                  .pid = -1,
                                  .metadata = { .key = LU_SYSCAP_KEY_REDACTED, .text = "yes" } };

  self->kernel = lu_kallsyms_parse (self->kallsyms->str, self->kallsyms->len, NULL);
  self->n_symbols = lu_syscap_symbols_count (self->symbols);
  self->emit (&record, self->user_data);
}

void
lu_redaction_take (LuRedaction *self, const LuSyscapRecord *as_read)
{
  LuSyscapRecord record = *as_read;
  g_autofree char *program = NULL;

  switch (record.type)
    {
    case LU_SYSCAP_SAMPLE:
      take_sample (self, &record);
      break;
    case LU_SYSCAP_PROCESS:
      record.process.command_line = program = lu_labels_program (&record.process);
      self->emit (&record, self->user_data);
      break;
    case LU_SYSCAP_MAP:
      if (!is_kernel (record.map.start))
        self->emit (&record, self->user_data);
      break;
    case LU_SYSCAP_METADATA:
      if (is_kept (record.metadata.key))
        self->emit (&record, self->user_data);
      break;
    case LU_SYSCAP_LOG:
      if (g_str_equal (record.log.domain, LOG_DOMAIN))
        self->emit (&record, self->user_data);
      break;
    case LU_SYSCAP_FORK:
    case LU_SYSCAP_EXIT:
    case LU_SYSCAP_JITMAP:
      self->emit (&record, self->user_data);
      break;
    default:
      break; /* files are written at the end */
    }
}

/* The end */

static void
emit_file (LuRedaction *self, const char *path, gconstpointer bytes, gsize size)
{
  const LuSyscapRecord record = {
    .type = LU_SYSCAP_FILE_CHUNK,
    .cpu = -1,
    .pid = -1,
    .file = { .path = path, .bytes = bytes, .size = (guint) size, .is_last = TRUE }
  };

  self->emit (&record, self->user_data);
}

static void
add_kept_symbols (LuRedaction *self, GArray *symbols)
{
  for (guint i = 0; i < self->n_symbols; i++)
    {
      LuSyscapSymbol symbol;

      if (lu_syscap_symbols_get (self->symbols, i, &symbol) && !is_kernel (symbol.begin)
          && !is_kernel (symbol.end))
        g_array_append_val (symbols, symbol);
    }
}

static void
emit_symbols (LuRedaction *self)
{
  g_autoptr (GArray) symbols = g_array_new (FALSE, FALSE, sizeof (LuSyscapSymbol));
  g_autoptr (GByteArray) file = NULL;
  guint n_left_out;

  add_kept_symbols (self, symbols);
  for (guint32 i = 0; i < lu_id_table_size (self->hits); i++)
    {
      guint64 key = *lu_id_table_key (self->hits, i);
      guint64 begin = lu_syscap_hidden_place ((guint32) key);
      LuSyscapSymbol symbol = { .begin = begin,
                                .end = begin + LU_SYSCAP_HIDDEN_SIZE,
                                .pid = (gint32) (key >> 32),
                                .name = g_ptr_array_index (self->names, (guint32) key) };

      g_array_append_val (symbols, symbol);
    }
  file = lu_syscap_symbols_encode (symbols, MAX_SYMBOLS, &n_left_out);
  emit_file (self, LU_SYSCAP_SYMBOLS_FILE, file->data, file->len);
}

void
lu_redaction_end (LuRedaction *self)
{
  if (self->names->len > 0)
    {
      g_string_append_printf (self->lines, "%016" G_GINT64_MODIFIER "x t _end\n",
                              lu_syscap_hidden_place (self->names->len));
      emit_file (self, KALLSYMS, self->lines->str, self->lines->len);
    }
  if (self->n_symbols > 0)
    emit_symbols (self);
}
