/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* functions.c - the functions that interpreters ran; see functions.h. */

#include "interp/functions.h"

#include "base/id-table.h"
#include "base/printable.h"
#include "interp/python-lines.h"
#include "lu/status.h"

#include <string.h>

/* Distinct functions, the addresses of functions and lines, and the bytes of names. */
#define MAX_FUNCTIONS (128u << 10)
#define MAX_ADDRESSES (512u << 10)
#define MAX_TEXT      (32u << 20)
/* Bytes of distinct tables of lines, as they came and decoded. */
#define MAX_LINES (32u << 20)
/* Announcements of all processes; each takes about 40 bytes. */
#define MAX_ANNOUNCED (512u << 10)
#define MAX_PROCESSES 4096u
/* Processes that have ended; their last stacks may still have to be written. */
#define MAX_ENDED 64

/* Frames of chains whose addresses are remembered. A power of two. */
#define N_FOUND 1024

/* "File" of a frame of CPython's own (_Py_InitCleanup, 3.12), between a class and its __init__().
 */
#define INIT_CLEANUP "__init__"

typedef struct
{
  guint64 address;
  guint64 waiting;     /* address of the function that awaits, before it came; 0: none */
  guint32 n_expected;  /* how often chains had it before it came */
  gboolean is_known;   /* it has come */
  const GArray *lines; /* of LuPythonLine, borrowed; NULL: none */
} Announcement;

/* A frame of a named function, as it was found before. Most frames of a chain were in the last one,
 * too. */
typedef struct
{
  guint64 process;              /* its number */
  struct lu_interp_frame frame; /* a code of 0: none */
  guint64 address;
} Found;

/* The announcements of one process. */
typedef struct
{
  guint64 number;
  gint32 pid;
  gboolean has_ended;
  LuIdTable *ids;        /* (code, check) */
  GArray *announcements; /* of Announcement, by id */
  guint n_functions;     /* names that it was the first to have, and their bytes */
  gsize text_size;
  gsize lines_size; /* the same of tables of lines */
} Process;

struct _LuFunctions
{
  GHashTable *processes; /* number -> Process, owned */
  GQueue ended;          /* of Process, the oldest first; borrowed */
  guint n_announced;
  guint64 n_unnamed;
  GHashTable *numbers; /* source, NUL-terminated, then the name -> index in names + 1 */
  guint n_functions;   /* of these, without lines */
  GArray *names;       /* of LuFunctionNames */
  GStringChunk *texts;
  gsize text_size;
  LuIdTable *line_ids;     /* number of a function << 32 | line; line 0: the function that awaits */
  GArray *addresses;       /* of guint64, by id in line_ids */
  GHashTable *line_tables; /* first line and bytes -> GArray, both owned */
  gsize lines_size;
  Found found[N_FOUND]; /* by a hash of process and frame */
};

/* A process may take only as much as it leaves to all others together, so that none takes the room
 * of the rest. */
static gboolean
has_room (gsize own, gsize all, gsize max)
{
  return all < max && own < max - all;
}

static void
process_free (gpointer pointer)
{
  Process *self = pointer;

  lu_id_table_free (self->ids);
  g_array_unref (self->announcements);
  g_free (self);
}

LuFunctions *
lu_functions_new (void)
{
  static const LuFunctionNames fixed[] = {
    { .name = LU_FUNCTION_UNREADABLE_NAME },
    { .name = "[python: too many functions]", .number = 1 },
    { .name = "[python: functions not matched]", .number = 2 },
    { .name = "[ruby: unreadable]", .number = 3 },
    { .name = "[ruby: too many functions]", .number = 4 },
    { .name = "[ruby: functions not matched]", .number = 5 },
    { .name = "[python: awaited by 2 tasks]", .number = 6 },
    { .name = "[python: awaited by 3 tasks]", .number = 7 },
    { .name = "[python: awaited by 4 tasks]", .number = 8 },
    { .name = "[python: awaited by 5 tasks]", .number = 9 },
    { .name = "[python: awaited by 6 tasks]", .number = 10 },
    { .name = "[python: awaited by 7 tasks]", .number = 11 },
    { .name = "[python: awaited by 8 tasks]", .number = 12 },
    { .name = "[python: awaited by 9 tasks]", .number = 13 },
    { .name = "[python: awaited by 10 or more tasks]", .number = 14 },
    { .name = "[python: awaited by further tasks]", .number = 15 },
  };
  LuFunctions *self = g_new0 (LuFunctions, 1);

  G_STATIC_ASSERT (G_N_ELEMENTS (fixed) == LU_FUNCTION_FIRST - LU_FUNCTION_BASE);
  self->processes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, process_free);
  self->numbers = g_hash_table_new (g_str_hash, g_str_equal);
  self->names = g_array_new (FALSE, FALSE, sizeof (LuFunctionNames));
  g_array_append_vals (self->names, fixed, G_N_ELEMENTS (fixed));
  self->texts = g_string_chunk_new (64 << 10);
  self->line_ids = lu_id_table_new (1);
  self->addresses = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->line_tables =
      g_hash_table_new_full ((GHashFunc) g_bytes_hash, (GEqualFunc) g_bytes_equal,
                             (GDestroyNotify) g_bytes_unref, (GDestroyNotify) g_array_unref);
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
  lu_id_table_free (self->line_ids);
  g_array_unref (self->addresses);
  g_hash_table_unref (self->line_tables);
  g_free (self);
}

/* Names */

static void
append_characters (GString *decoded, const struct lu_interp_text *text, const guint8 *bytes)
{
  for (gsize i = 0; text->kind > 0 && i + text->kind <= text->size; i += text->kind)
    {
      guint32 character = 0;

      memcpy (&character, bytes + i, MIN (text->kind, sizeof character));
      g_string_append_unichar (decoded, g_unichar_validate (character) ? character : 0xfffd);
    }
}

/* Returns the text as UTF-8 without control characters, owned by the caller. */
static char *
decode (const struct lu_interp_text *text, const guint8 *bytes)
{
  g_autoptr (GString) decoded = g_string_new (NULL);

  if (text->kind == LU_INTERP_UTF8)
    g_string_append_len (decoded, (const char *) bytes, text->size);
  else
    append_characters (decoded, text, bytes);
  if (text->is_cut)
    g_string_append (decoded, "…");
  return lu_printable (decoded->str, 0);
}

/* Returns the index of the function in `names`. */
static guint
intern (LuFunctions *self, Process *process, const LuInterpFunction *function, const char *name,
        const char *source)
{
  g_autofree char *key = g_strconcat (source, "\n", name, NULL);
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->numbers, key));
  gsize size = strlen (key) + strlen (name) + strlen (source) + 3;
  LuFunctionNames names = { .first_line = function->first_line, .number = self->names->len };

  if (number > 0)
    return number - 1;
  if (process == NULL || !has_room (process->n_functions, self->n_functions, MAX_FUNCTIONS)
      || !has_room (process->text_size + size, self->text_size + size, MAX_TEXT))
    return (guint) (lu_function_in (function->language, LU_FUNCTION_TOO_MANY) - LU_FUNCTION_BASE);
  process->n_functions++;
  process->text_size += size;
  self->n_functions++;
  self->text_size += size;
  names.name = g_string_chunk_insert (self->texts, name);
  names.source = g_string_chunk_insert (self->texts, source);
  g_array_append_val (self->names, names);
  g_hash_table_insert (self->numbers, g_string_chunk_insert (self->texts, key),
                       GUINT_TO_POINTER (self->names->len));
  return self->names->len - 1;
}

static guint64
address_of (LuFunctions *self, Process *process, const LuInterpFunction *function)
{
  g_autofree char *name = decode (&function->name, function->name_text);
  g_autofree char *path = decode (&function->path, function->path_text);
  /* Not "(eval at /srv/app.rb:12)". */
  const char *slash = path[0] != '(' ? strrchr (path, '/') : NULL,
             *base = slash != NULL && slash[1] != 0 ? slash + 1 : path;
  g_autofree char *shown = g_strdup_printf ("%s (%s:%u)", name, base, function->first_line);
  g_autofree char *source = g_strdup_printf ("%s:%u", path, function->first_line);

  if (function->name.kind == 0 || name[0] == 0)
    return lu_function_in (function->language, LU_FUNCTION_UNREADABLE);
  if (function->first_line == 0 && g_str_equal (path, INIT_CLEANUP))
    return 0;
  return LU_FUNCTION_BASE + intern (self, process, function, shown, source);
}

/* Lines */

/* Returns the decoded table of a function; NULL if there is none, or no room. */
static const GArray *
intern_lines (LuFunctions *self, Process *process, const LuInterpFunction *function)
{
  g_autoptr (GByteArray) key = NULL;
  GBytes *bytes;
  GArray *lines;
  gsize size;

  if (function->lines.size == 0 && function->lines.is_cut)
    return NULL;
  key = g_byte_array_sized_new (sizeof function->first_line + sizeof function->lines
                                + function->lines.size);
  g_byte_array_append (key, (const guint8 *) &function->first_line, sizeof function->first_line);
  g_byte_array_append (key, (const guint8 *) &function->lines, sizeof function->lines);
  g_byte_array_append (key, function->lines_bytes, function->lines.size);
  bytes = g_byte_array_free_to_bytes (g_steal_pointer (&key));
  lines = g_hash_table_lookup (self->line_tables, bytes);
  if (lines != NULL || !has_room (process->lines_size, self->lines_size, MAX_LINES))
    {
      g_bytes_unref (bytes);
      return lines;
    }
  lines = lu_python_lines_decode (&function->lines, function->lines_bytes, function->first_line);
  size = g_bytes_get_size (bytes) + lines->len * sizeof (LuPythonLine);
  process->lines_size += size;
  self->lines_size += size;
  g_hash_table_insert (self->line_tables, bytes, lines);
  return lines;
}

/* Returns the name of a function that awaits, from "work (app.py:12)". Owned by the caller. */
static char *
name_that_awaits (const char *name)
{
  const char *place = strrchr (name, '(');
  guint size = place != NULL && place > name ? (guint) (place - name) : 0;

  return g_strdup_printf ("%.*s[awaits] %s", (int) size, name, name + size);
}

/* Returns the address of the function that awaits, while `of` runs; if there is no room for it,
 * TOO_MANY. */
static guint64
address_that_awaits (LuFunctions *self, Process *process, guint64 of)
{
  LuFunctionNames names = lu_functions_names (self, of);
  guint64 address = LU_FUNCTION_BASE + self->names->len;
  g_autofree char *name = NULL;
  gsize size;
  guint32 id;

  if (names.source == NULL)
    return of;
  id = lu_id_table_find (self->line_ids, (guint64) names.number << 32, 0);
  if (id < self->addresses->len)
    return g_array_index (self->addresses, guint64, id);
  name = name_that_awaits (names.name);
  size = strlen (name) + 1;
  if (!has_room (process->n_functions, self->n_functions, MAX_FUNCTIONS)
      || !has_room (process->text_size + size, self->text_size + size, MAX_TEXT)
      || self->names->len >= MAX_ADDRESSES)
    return LU_FUNCTION_TOO_MANY;
  process->n_functions++;
  process->text_size += size;
  self->n_functions++;
  self->text_size += size;
  lu_id_table_add (self->line_ids, (guint64) names.number << 32, 0);
  names.name = g_string_chunk_insert (self->texts, name);
  names.number = self->names->len;
  g_array_append_val (self->names, names);
  g_array_append_val (self->addresses, address);
  return address;
}

/* Returns the address of a function and its line that runs. */
static guint64
address_with_line (LuFunctions *self, guint64 of, const GArray *lines, guint32 instr)
{
  LuFunctionNames names = lu_functions_names (self, of);
  guint64 address = LU_FUNCTION_BASE + self->names->len;
  guint32 id;

  names.line = lines != NULL ? lu_python_lines_find (lines, instr) : 0;
  if (names.line == 0 || names.source == NULL || self->names->len >= MAX_ADDRESSES)
    return of;
  id = lu_id_table_add (self->line_ids, (guint64) names.number << 32 | names.line, 0);
  if (id < self->addresses->len)
    return g_array_index (self->addresses, guint64, id);
  g_array_append_val (self->names, names);
  g_array_append_val (self->addresses, address);
  return address;
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
  process->announcements = g_array_new (FALSE, FALSE, sizeof (Announcement));
  g_hash_table_insert (self->processes, g_memdup2 (&number, sizeof number), process);
  return process;
}

/* Returns the address of a function that a chain has, while its announcement has not come yet:
 * names [address] will be its own. */
static guint64
expect (LuFunctions *self, Process *process, guint language)
{
  LuFunctionNames unreadable =
      lu_functions_names (self, lu_function_in (language, LU_FUNCTION_UNREADABLE));

  if (!has_room (process->n_functions, self->n_functions, MAX_FUNCTIONS))
    return lu_function_in (language, LU_FUNCTION_TOO_MANY);
  unreadable.number = self->names->len;
  process->n_functions++;
  self->n_functions++;
  g_array_append_val (self->names, unreadable);
  return LU_FUNCTION_BASE + self->names->len - 1;
}

/* Returns the announcement with that number, which is made if it is new; NULL: there is no room. */
static Announcement *
get_announcement (LuFunctions *self, Process *process, guint64 code, guint32 check)
{
  Announcement none = { 0 };
  guint32 id;

  if (process == NULL || !has_room (process->announcements->len, self->n_announced, MAX_ANNOUNCED))
    return NULL;
  id = lu_id_table_add (process->ids, code & LU_INTERP_CODE_MASK, check);
  if (id == process->announcements->len)
    {
      g_array_append_val (process->announcements, none);
      self->n_announced++;
    }
  return &g_array_index (process->announcements, Announcement, id);
}

/* Gives an expected address the names that have come. */
static void
settle (LuFunctions *self, guint64 expected, guint64 address)
{
  LuFunctionNames names = lu_functions_names (self, address);

  if (expected >= LU_FUNCTION_FIRST)
    g_array_index (self->names, LuFunctionNames, expected - LU_FUNCTION_BASE) = names;
}

void
lu_functions_learn (LuFunctions *self, guint64 number, gint32 pid, const LuInterpFunction *function)
{
  Process *process = get_process (self, number, pid);
  guint64 address = address_of (self, process, function);
  Announcement *announcement = get_announcement (self, process, function->code, function->check);
  const GArray *lines;

  if (announcement == NULL)
    return;
  if (announcement->n_expected > 0 && address >= LU_FUNCTION_FIRST)
    {
      settle (self, announcement->address, address);
      if (announcement->waiting != 0)
        settle (self, announcement->waiting, address_that_awaits (self, process, address));
      self->n_unnamed -= announcement->n_expected;
    }
  lines = intern_lines (self, process, function);
  if (announcement->is_known && (announcement->address != address || announcement->lines != lines))
    memset (self->found, 0, sizeof self->found);
  *announcement = (Announcement){ .address = address, .is_known = TRUE, .lines = lines };
}

/* Returns the address of a frame with LU_INTERP_NOTE. */
static guint64
address_of_note (const struct lu_interp_frame *frame)
{
  return frame->check == 0 ? LU_FUNCTION_MORE_WAITERS
                           : LU_FUNCTION_WAITERS + CLAMP (frame->check, 2, 10) - 2;
}

/* Finds the address of a function that was announced. */
static guint64
find_announced (LuFunctions *self, Process *process, const Announcement *announcement,
                const struct lu_interp_frame *frame)
{
  guint64 address = announcement->address;

  self->n_unnamed += (guint64) lu_is_unreadable_function (address);
  if ((frame->code & LU_INTERP_AWAITS) != 0)
    address = address_that_awaits (self, process, address);
  return address_with_line (self, address, announcement->lines, frame->instr);
}

/* Finds the address of a function without what was found before. */
static guint64
find_anew (LuFunctions *self, const LuFunctionsOf *of, const struct lu_interp_frame *frame)
{
  Announcement *announcement = NULL;
  Process *process = get_process (self, of->process, of->pid);
  gboolean is_readable = (frame->code & LU_INTERP_UNREADABLE) == 0;
  guint64 *expected;

  if ((frame->code & LU_INTERP_NOTE) != 0)
    return address_of_note (frame);
  if (is_readable)
    announcement = get_announcement (self, process, frame->code, frame->check);
  if (announcement != NULL && announcement->is_known)
    return find_announced (self, process, announcement, frame);
  self->n_unnamed++;
  if (announcement == NULL)
    return lu_function_in (of->language,
                           is_readable ? LU_FUNCTION_TOO_MANY : LU_FUNCTION_UNREADABLE);
  expected =
      (frame->code & LU_INTERP_AWAITS) != 0 ? &announcement->waiting : &announcement->address;
  if (*expected == 0)
    *expected = expect (self, process, of->language);
  announcement->n_expected += *expected >= LU_FUNCTION_FIRST;
  return *expected;
}

static Found *
found_at (LuFunctions *self, guint64 number, const struct lu_interp_frame *frame)
{
  guint64 hash = (frame->code ^ (guint64) frame->instr << 32 ^ frame->check ^ number << 40)
                 * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  return &self->found[hash >> 32 & (N_FOUND - 1)];
}

/* The address of a named function stays until another announcement says something else. */
guint64
lu_functions_find (LuFunctions *self, const LuFunctionsOf *of, const struct lu_interp_frame *frame)
{
  guint64 number = of->process;
  Found *found = found_at (self, number, frame);
  guint64 n_unnamed = self->n_unnamed, address;

  if (found->process == number && found->frame.code == frame->code
      && found->frame.check == frame->check && found->frame.instr == frame->instr
      && frame->code != 0)
    return found->address;
  address = find_anew (self, of, frame);
  if (self->n_unnamed == n_unnamed)
    *found = (Found){ .process = number, .frame = *frame, .address = address };
  return address;
}

guint64
lu_functions_unnamed (const LuFunctions *self)
{
  return self->n_unnamed;
}

static void
forget (LuFunctions *self, const Process *process)
{
  guint64 number = process->number;

  for (guint i = 0; i < N_FOUND; i++)
    if (self->found[i].process == number)
      self->found[i].frame.code = 0;
  self->n_announced -= process->announcements->len;
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
