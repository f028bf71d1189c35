/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* python.c - recognizes CPython 3.6 to 3.15; see language.h.
 *
 * Versions before 3.13 have a table of offsets, made from their headers. Later ones describe
 * themselves in the file: _PyRuntime begins with a struct _Py_DebugOffsets, whose fields have other
 * places in each minor version. tests/interp/ compares both with the headers. */

#include "interp/cold-code.h"
#include "interp/file-symbols.h"
#include "interp/python-tasks.h"

#include <string.h>

#define FIRST_MINOR 6
/* The first version whose files describe themselves, and the last one that is known. */
#define FIRST_DESCRIBED 13
#define LAST_MINOR      15

/* With handlers of instructions that call each other as their last act (3.14), the function only
 * calls the first one: 0x34c to 0x4a0 bytes instead of 0x7000 and more. */
#define MAX_SIZE_WITH_HANDLERS 0x1000

#define EVALUATION "_PyEval_EvalFrameDefault"

/* By minor version, from FIRST_MINOR on; see struct lu_python_layout. */
static const struct lu_python_layout layouts[] = {
#define BEFORE_3_11(head, id, instr, filename, firstlineno, flags_at, lines_kind)                  \
  {                                                                                                \
    .interpreters_head = (head), .interp_threads = 8, .thread_next = 8, .thread_id = (id),         \
    .thread_frame = 24, .frame_code = 32, .frame_previous = 24, .frame_instr = (instr),            \
    .code_filename = (filename), .code_name = (filename) + 8, .code_firstlineno = (firstlineno),   \
    .code_argcount = 16, .code_flags = (flags_at), .text_length = 16, .text_state = 32,            \
    .text_ascii = 48, .text_compact = 72, .code_lines = (filename) + 16, .lines = (lines_kind),    \
    .bytes_size = 16, .bytes_data = 32, .entry = LU_PYTHON_ENTRY_ALWAYS,                           \
  }
  BEFORE_3_11 (0, 152, 120, 96, 36, 32, LU_PYTHON_LINES_DELTAS),
  BEFORE_3_11 (24, 176, 104, 96, 36, 32, LU_PYTHON_LINES_DELTAS),
  BEFORE_3_11 (32, 176, 104, 104, 40, 36, LU_PYTHON_LINES_DELTAS),
  BEFORE_3_11 (32, 176, 104, 104, 40, 36, LU_PYTHON_LINES_DELTAS),
  BEFORE_3_11 (32, 176, 96, 104, 40, 36, LU_PYTHON_LINES_RANGES),
  { .interpreters_head = 40,
    .interp_threads = 16,
    .thread_next = 8,
    .thread_id = 152,
    .thread_frame = 56,
    .cframe_frame = 8,
    .frame_code = 32,
    .frame_previous = 48,
    .frame_instr = 56,
    .frame_entry = 68,
    .code_filename = 112,
    .code_name = 128,
    .code_firstlineno = 72,
    .code_argcount = 56,
    .code_flags = 48,
    .code_bytes = 184,
    .code_lines = 136,
    .lines = LU_PYTHON_LINES_LOCATIONS,
    .bytes_size = 16,
    .bytes_data = 32,
    .text_length = 16,
    .text_state = 32,
    .text_ascii = 48,
    .text_compact = 72,
    .entry = LU_PYTHON_ENTRY_FLAG,
    .flags = LU_PYTHON_CFRAME },
  { .interpreters_head = 40,
    .interp_threads = 72,
    .thread_next = 8,
    .thread_id = 136,
    .thread_frame = 56,
    .frame_previous = 8,
    .frame_instr = 56,
    .frame_entry = 70,
    .code_filename = 112,
    .code_name = 128,
    .code_firstlineno = 68,
    .code_argcount = 52,
    .code_flags = 48,
    .code_bytes = 192,
    .code_lines = 136,
    .lines = LU_PYTHON_LINES_LOCATIONS,
    .bytes_size = 16,
    .bytes_data = 32,
    .text_length = 16,
    .text_state = 32,
    .text_ascii = 40,
    .text_compact = 56,
    .entry = LU_PYTHON_ENTRY_OWNER,
    .entry_owner = 3,
    .flags = LU_PYTHON_CFRAME },
};
G_STATIC_ASSERT (G_N_ELEMENTS (layouts) == FIRST_DESCRIBED - FIRST_MINOR);

/* Where a field is in struct _Py_DebugOffsets, in words of 8 bytes, by minor version from
 * FIRST_DESCRIBED on (pycore_runtime.h, later pycore_debug_offsets.h), and the field of the layout
 * that gets its value. */
#define N_DESCRIBED  (LAST_MINOR - FIRST_DESCRIBED + 1)
#define FIELD(name)  offsetof (struct lu_python_layout, name)
#define MAX_WORDS    103
#define COOKIE       "xdebugpy"
#define VERSION_WORD 1
#define NOT_THERE    0xff
static const struct
{
  gsize field;
  guint8 words[N_DESCRIBED];
} described[] = {
  { FIELD (interpreters_head), { 5, 5, 5 } },
  { FIELD (interp_next), { 8, 8, 8 } },
  { FIELD (interp_threads), { 9, 9, 9 } },
  { FIELD (thread_next), { 21, 24, 24 } },
  { FIELD (thread_id), { 24, 27, 30 } },
  { FIELD (thread_frame), { 23, 26, 26 } },
  { FIELD (frame_code), { 30, 33, 41 } },
  { FIELD (frame_previous), { 29, 32, 40 } },
  { FIELD (frame_instr), { 31, 34, 42 } },
  { FIELD (frame_entry), { 33, 36, 44 } },
  { FIELD (code_filename), { 35, 40, 48 } },
  { FIELD (code_name), { 37, 42, 50 } },
  { FIELD (code_firstlineno), { 39, 44, 52 } },
  { FIELD (code_argcount), { 40, 45, 53 } },
  { FIELD (code_bytes), { 43, 48, 56 } },
  { FIELD (text_length), { 69, 79, 91 } },
  { FIELD (text_state), { 68, 78, 90 } },
  { FIELD (text_ascii), { 70, 80, 92 } },
  { FIELD (code_lines), { 38, 43, 51 } },
  { FIELD (bytes_size), { 65, 75, 87 } },
  { FIELD (bytes_data), { 66, 76, 88 } },
  { FIELD (frame_copy), { NOT_THERE, 38, 46 } },
  { FIELD (code_copies), { NOT_THERE, 49, 57 } },
  { FIELD (object_type), { NOT_THERE, 51, 59 } },
  { FIELD (generator_frame), { NOT_THERE, 85, 101 } },
  { FIELD (generator_state), { NOT_THERE, 86, 102 } },
  { FIELD (frame_stack), { NOT_THERE, 37, 45 } },
  { FIELD (set_used), { NOT_THERE, 63, 75 } },
  { FIELD (set_table), { NOT_THERE, 64, 76 } },
  { FIELD (set_mask), { NOT_THERE, 65, 77 } },
};

/* Symbols */

/* Each was new in a minor version: 3.7, 3.8, 3.9, 3.10. */
static const char *const new_symbols[] = { "_PyRuntime", "PyCode_NewWithPosOnlyArgs",
                                           "PyFrame_GetCode", "Py_NewRef" };

/* Types whose objects have frames, as in struct lu_python_layout; then send_type. */
static const char *const types[] = { "PyCoro_Type", "PyGen_Type", "PyAsyncGen_Type",
                                     "_PyAsyncGenASend_Type" };

typedef struct
{
  guint64 runtime, version, head; /* ELF addresses; 0: absent */
  guint64 types[G_N_ELEMENTS (types)];
  gboolean has_new[G_N_ELEMENTS (new_symbols)];
  LuInterp *interp;
} Symbols;

static void
add_range (LuInterp *interp, guint64 start, guint64 end)
{
  for (guint i = 0; i < interp->n_ranges; i++)
    if (interp->ranges[i].start == start)
      return;
  if (interp->n_ranges < LU_INTERP_MAX_RANGES && end > start)
    interp->ranges[interp->n_ranges++] = (LuInterpRange){ start, end };
}

/* The function itself comes first, whatever the order of the symbols. */
static void
take_evaluation (LuInterp *interp, const LuFileSymbol *symbol, gboolean is_part)
{
  LuInterpRange first = interp->ranges[0];

  add_range (interp, symbol->address, symbol->address + symbol->size);
  if (is_part || interp->n_ranges < 2
      || interp->ranges[interp->n_ranges - 1].start != symbol->address)
    return;
  interp->ranges[0] = interp->ranges[interp->n_ranges - 1];
  interp->ranges[interp->n_ranges - 1] = first;
}

static void
take_symbol (const LuFileSymbol *symbol, gpointer user_data)
{
  Symbols *self = user_data;

  if (g_str_has_prefix (symbol->name, EVALUATION))
    {
      char next = symbol->name[strlen (EVALUATION)];

      if (next == 0 || next == '.')
        take_evaluation (self->interp, symbol, next == '.');
    }
  else if (g_str_equal (symbol->name, "_PyRuntime"))
    self->runtime = symbol->address;
  else if (g_str_equal (symbol->name, "PyInterpreterState_Head"))
    self->head = symbol->address;
  else if (g_str_equal (symbol->name, "Py_Version"))
    self->version = symbol->address;
  for (guint i = 0; i < G_N_ELEMENTS (new_symbols); i++)
    self->has_new[i] |= g_str_equal (symbol->name, new_symbols[i]);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (g_str_equal (symbol->name, types[i]))
      self->types[i] = symbol->address;
}

/* Versions */

/* 3.6 has its list of interpreters in a variable without a symbol in most files, which a function
 * returns: mov ADDRESS(%rip),%rax; ret. Returns 0 if that is not so. */
static guint64
read_head (const LuInterpInput *file, guint64 function)
{
  guint8 code[8];
  gint32 distance;

  if (function == 0 || !lu_interp_read (file, function, code, sizeof code)
      || memcmp (code, "\x48\x8b\x05", 3) != 0 || code[7] != 0xc3)
    return 0;
  memcpy (&distance, code + 3, sizeof distance);
  return function + 7 + (guint64) (gint64) distance;
}

/* Returns PY_VERSION_HEX without the release level; 0 if it is not Python 3. */
static guint32
read_version (const LuInterpInput *file, const Symbols *symbols)
{
  guint32 version, minor = FIRST_MINOR;

  if (symbols->version != 0)
    {
      if (!lu_interp_read (file, symbols->version, &version, sizeof version) || version >> 24 != 3)
        return 0;
      return version >> 8;
    }
  /* 3.10 and earlier do not say their version in a symbol. */
  for (guint i = 0; i < G_N_ELEMENTS (new_symbols) && symbols->has_new[i]; i++)
    minor++;
  return 3u << 16 | minor << 8;
}

static gboolean
read_described (const LuInterpInput *file, const LuInterp *interp, guint minor,
                struct lu_python_layout *layout)
{
  guint64 words[MAX_WORDS];

  if (!lu_interp_read (file, interp->file.runtime, words, sizeof words)
      || memcmp (words, COOKIE, sizeof *words) != 0
      || (words[VERSION_WORD] >> 16 & 0xffff) != (3u << 8 | minor))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (described); i++)
    {
      guint8 word = described[i].words[minor - FIRST_DESCRIBED];
      guint64 offset = word != NOT_THERE ? words[word] : 0;
      guint16 value = (guint16) offset;

      if (offset > G_MAXINT16)
        return FALSE;
      memcpy ((guint8 *) layout + described[i].field, &value, sizeof value);
    }
  /* These have not changed since 3.12: co_flags is an int before co_argcount;
   * PyCompactUnicodeObject has two words more than PyASCIIObject; FRAME_OWNED_BY_INTERPRETER (3.13:
   * _CSTACK) is 3. */
  layout->code_flags = layout->code_argcount - 4;
  layout->text_compact = layout->text_ascii + 16;
  layout->entry = LU_PYTHON_ENTRY_OWNER;
  layout->entry_owner = 3;
  layout->lines = LU_PYTHON_LINES_LOCATIONS;
  layout->flags = minor >= 14 ? LU_PYTHON_TAGGED : 0;
  /* FRAME_SUSPENDED, FRAME_SUSPENDED_YIELD_FROM and, from 3.15 on, one more of that kind: from then
   * on, what is awaited has a word more above it on the stack. */
  layout->first_suspended = minor >= 15 ? 1 : 0xfe;
  layout->n_suspended = minor >= 15 ? 3 : 2;
  layout->awaited_at = minor >= 15 ? 2 : 1;
  return TRUE;
}

/* Before 3.13, a structure on the native stack becomes the current one before it points to the
 * frame: up to 0x65 bytes into the function in the builds of 3.11 that were looked at, 0xa6
 * in 3.12. Other calls of functions go on not far behind that, without these steps. */
static guint
two_steps (guint minor)
{
  return minor == 11 ? 0x70 : minor == 12 ? 0xb0 : 0;
}

static LuInterpOutcome
fill_layout (const LuInterpInput *file, LuInterp *interp)
{
  guint minor = interp->file.version >> 8 & 0xff;

  if (minor < FIRST_MINOR || minor > LAST_MINOR)
    return LU_INTERP_UNKNOWN;
  interp->two_steps = two_steps (minor);
  if (minor < FIRST_DESCRIBED)
    interp->file.python = layouts[minor - FIRST_MINOR];
  else if (!read_described (file, interp, minor, &interp->file.python))
    return LU_INTERP_UNKNOWN;
  return LU_INTERP_FOUND;
}

/* Most builds of distributions have no symbol for the part that was moved away. */
static void
find_parts (const LuInterpInput *file, LuInterp *interp)
{
  LuInterpRange cold;

  interp->has_handlers = interp->ranges[0].end - interp->ranges[0].start < MAX_SIZE_WITH_HANDLERS;
  if (interp->n_ranges == 1 && lu_cold_code_find (file, &interp->ranges[0], &cold))
    add_range (interp, cold.start, cold.end);
}

static LuInterpOutcome
recognize (const LuInterpInput *file, LuInterp *interp)
{
  Symbols symbols = { .interp = interp };
  LuInterpOutcome outcome;

  lu_file_symbols_each (file, take_symbol, &symbols);
  if (symbols.runtime == 0)
    symbols.runtime = read_head (file, symbols.head);
  if (symbols.runtime == 0 || interp->n_ranges == 0)
    return LU_INTERP_ABSENT;
  interp->file.language = LU_INTERP_PYTHON;
  interp->file.runtime = symbols.runtime;
  interp->file.version = read_version (file, &symbols);
  outcome = interp->file.version != 0 ? fill_layout (file, interp) : LU_INTERP_ABSENT;
  if (outcome != LU_INTERP_FOUND)
    return outcome;
  find_parts (file, interp);
  memcpy (interp->file.python.generator_types, symbols.types,
          sizeof interp->file.python.generator_types);
  interp->file.python.send_type = symbols.types[G_N_ELEMENTS (types) - 1];
  lu_python_tasks_read (file, &interp->file.tasks);
  return LU_INTERP_FOUND;
}

const LuLanguage lu_language_python = {
  .name = "Python", .section = ".PyRuntime", .part = "python", .recognize = recognize
};
