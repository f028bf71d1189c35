/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* functions.c - the functions that interpreters ran; see functions.h. */

#include "interp/functions.h"

#include "base/id-table.h"
#include "base/printable.h"
#include "lu/status.h"

#include <string.h>

/* Distinct functions, and the bytes of their names. */
#define MAX_FUNCTIONS (128u << 10)
#define MAX_TEXT      (32u << 20)
/* Announcements of all processes; each takes about 40 bytes. */
#define MAX_ANNOUNCED (512u << 10)
#define MAX_PROCESSES 4096u
/* Processes that have ended; their last stacks may still have to be written. */
#define MAX_ENDED 64

/* "File" of a frame of CPython's own (_Py_InitCleanup, 3.12), between a class and its __init__().
 */
#define INIT_CLEANUP "__init__"

/* The announcements of one process. */
typedef struct
{
  guint64 number;
  gint32 pid;
  gboolean has_ended;
  LuIdTable *ids;    /* (code, check) */
  GArray *addresses; /* of guint64, by id */
} Process;

struct _LuFunctions
{
  GHashTable *processes; /* number -> Process, owned */
  GQueue ended;          /* of Process, the oldest first; borrowed */
  guint n_announced;
  GHashTable *numbers; /* source, NUL-terminated, then the name -> index in names + 1 */
  GArray *names;       /* of LuFunctionNames */
  GStringChunk *texts;
  gsize text_size;
};

static void
process_free (gpointer pointer)
{
  Process *self = pointer;

  lu_id_table_free (self->ids);
  g_array_unref (self->addresses);
  g_free (self);
}

LuFunctions *
lu_functions_new (void)
{
  static const LuFunctionNames fixed[] = { { "[python: unreadable]", NULL },
                                           { "[python: too many functions]", NULL },
                                           { "[python: functions not matched]", NULL } };
  LuFunctions *self = g_new0 (LuFunctions, 1);

  G_STATIC_ASSERT (G_N_ELEMENTS (fixed) == LU_FUNCTION_FIRST - LU_FUNCTION_BASE);
  self->processes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, process_free);
  self->numbers = g_hash_table_new (g_str_hash, g_str_equal);
  self->names = g_array_new (FALSE, FALSE, sizeof (LuFunctionNames));
  g_array_append_vals (self->names, fixed, G_N_ELEMENTS (fixed));
  self->texts = g_string_chunk_new (64 << 10);
  return self;
}

void
lu_functions_free (LuFunctions *self)
{
  if (self == NULL)
    return;
  g_queue_clear (&self->ended);
  g_hash_table_unref (self->processes);
  g_hash_table_unref (self->numbers);
  g_array_unref (self->names);
  g_string_chunk_free (self->texts);
  g_free (self);
}

/* Names */

/* Returns the text as UTF-8 without control characters, owned by the caller. */
static char *
decode (const struct lu_interp_text *text, const guint8 *bytes)
{
  g_autoptr (GString) decoded = g_string_new (NULL);

  for (gsize i = 0; text->kind > 0 && i + text->kind <= text->size; i += text->kind)
    {
      guint32 character = 0;

      memcpy (&character, bytes + i, MIN (text->kind, sizeof character));
      g_string_append_unichar (decoded, g_unichar_validate (character) ? character : 0xfffd);
    }
  if (text->is_cut)
    g_string_append (decoded, "…");
  return lu_printable (decoded->str, 0);
}

/* Returns the index of the function in `names`. */
static guint
intern (LuFunctions *self, const char *name, const char *source)
{
  g_autofree char *key = g_strconcat (source, "\n", name, NULL);
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->numbers, key));
  gsize size = strlen (key) + strlen (name) + strlen (source) + 3;
  LuFunctionNames names;

  if (number > 0)
    return number - 1;
  if (self->names->len >= MAX_FUNCTIONS || size > MAX_TEXT - self->text_size)
    return LU_FUNCTION_TOO_MANY - LU_FUNCTION_BASE;
  self->text_size += size;
  names.name = g_string_chunk_insert (self->texts, name);
  names.source = g_string_chunk_insert (self->texts, source);
  g_array_append_val (self->names, names);
  g_hash_table_insert (self->numbers, g_string_chunk_insert (self->texts, key),
                       GUINT_TO_POINTER (self->names->len));
  return self->names->len - 1;
}

static guint64
address_of (LuFunctions *self, const LuInterpFunction *function)
{
  g_autofree char *name = decode (&function->name, function->name_text);
  g_autofree char *path = decode (&function->path, function->path_text);
  const char *slash = strrchr (path, '/'),
             *base = slash != NULL && slash[1] != 0 ? slash + 1 : path;
  g_autofree char *shown = g_strdup_printf ("%s (%s:%u)", name, base, function->first_line);
  g_autofree char *source = g_strdup_printf ("%s:%u", path, function->first_line);

  if (function->name.kind == 0 || name[0] == 0)
    return LU_FUNCTION_UNREADABLE;
  if (function->first_line == 0 && g_str_equal (path, INIT_CLEANUP))
    return 0;
  return LU_FUNCTION_BASE + intern (self, shown, source);
}

/* Processes */

static Process *
get_process (LuFunctions *self, guint64 number, gint32 pid)
{
  Process *process = g_hash_table_lookup (self->processes, &number);

  if (process != NULL || g_hash_table_size (self->processes) >= MAX_PROCESSES)
    return process;
  process = g_new0 (Process, 1);
  process->number = number;
  process->pid = pid;
  process->ids = lu_id_table_new (2);
  process->addresses = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_hash_table_insert (self->processes, g_memdup2 (&number, sizeof number), process);
  return process;
}

void
lu_functions_learn (LuFunctions *self, guint64 number, gint32 pid, const LuInterpFunction *function)
{
  Process *process = get_process (self, number, pid);
  guint64 address = address_of (self, function);
  guint32 id;

  if (process == NULL || self->n_announced >= MAX_ANNOUNCED)
    return;
  id = lu_id_table_add (process->ids, function->code & LU_INTERP_CODE_MASK, function->check);
  if (id < process->addresses->len)
    {
      g_array_index (process->addresses, guint64, id) = address;
      return;
    }
  g_array_append_val (process->addresses, address);
  self->n_announced++;
}

guint64
lu_functions_find (const LuFunctions *self, guint64 number, const struct lu_interp_frame *frame)
{
  const Process *process = g_hash_table_lookup (self->processes, &number);
  gboolean is_full =
      self->n_announced >= MAX_ANNOUNCED || g_hash_table_size (self->processes) >= MAX_PROCESSES;
  guint32 id = G_MAXUINT32;

  if ((frame->code & LU_INTERP_UNREADABLE) != 0)
    return LU_FUNCTION_UNREADABLE;
  if (process != NULL)
    id = lu_id_table_find (process->ids, frame->code & LU_INTERP_CODE_MASK, frame->check);
  if (id != G_MAXUINT32)
    return g_array_index (process->addresses, guint64, id);
  return is_full ? LU_FUNCTION_TOO_MANY : LU_FUNCTION_UNREADABLE;
}

static void
forget (LuFunctions *self, const Process *process)
{
  guint64 number = process->number;

  self->n_announced -= process->addresses->len;
  g_hash_table_remove (self->processes, &number);
}

void
lu_functions_end (LuFunctions *self, gint32 pid)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->processes);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Process *process = value;

      if (process->pid != pid || process->has_ended)
        continue;
      process->has_ended = TRUE;
      g_queue_push_tail (&self->ended, process);
    }
  while (g_queue_get_length (&self->ended) > MAX_ENDED)
    forget (self, g_queue_pop_head (&self->ended));
}

LuFunctionNames
lu_functions_names (const LuFunctions *self, guint64 address)
{
  guint64 index = address - LU_FUNCTION_BASE;

  return index < self->names->len ? g_array_index (self->names, LuFunctionNames, index)
                                  : g_array_index (self->names, LuFunctionNames, 0);
}
