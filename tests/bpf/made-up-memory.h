/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* made-up-memory.h - memory of an interpreter's process as a test makes it, and what the C of the
 * BPF program reads from it (walk-languages.h). Included by one file of a test, after
 * "walk-arch.h". */

#pragma once

#include "bpf/interps.h"

#include <stdio.h>
#include <string.h>

#include "../../bpf/walk-languages.h"

#define ARENA_BYTES (1u << 20)
#define ARENA_AT    0x7f0000000000ul
#define RUNTIME     0x1000 /* ELF address */
#define THREAD      0x7f00deadb000ul
#define MAX_OUTPUT  80000
#define LINES_AT    136 /* in a code object, where the layout has lines */

/* The memory of the process; only what was taken of it is there. */
static guint8 arena[ARENA_BYTES];
static guint64 used, gap; /* gap: address of a page that is not there; 0: none */
static struct lu_python_layout layout;

static guint n_functions, n_chains;
static union
{
  struct lu_interp_function function;
  guint8 bytes[MAX_OUTPUT];
} function;
static union
{
  struct lu_interp_chain chain;
  guint8 bytes[MAX_OUTPUT];
} chain;

static inline int
read_memory (void *to, uint32_t size, uint64_t address)
{
  guint64 at = address - ARENA_AT;

  memset (to, 0, size);
  if (at >= ARENA_BYTES || size > ARENA_BYTES - at
      || (gap != 0 && address < gap + PAGE_BYTES && address + size > gap))
    return -1;
  memcpy (to, arena + at, size);
  return 0;
}

static inline void
output (const void *record, uint64_t size)
{
  if (size > MAX_OUTPUT)
    g_error ("%" G_GUINT64_FORMAT " bytes", size);
  if (*(const guint32 *) record == LU_INTERP_FUNCTION_VERSION)
    {
      n_functions++;
      memcpy (&function, record, size);
      g_assert_cmpuint (size, ==,
                        sizeof function.function + LU_INTERP_MAX_NAME + function.function.path.size
                            + function.function.lines.size);
      return;
    }
  n_chains++;
  memcpy (&chain, record, size);
  g_assert_cmpuint (chain.chain.version, ==, LU_INTERP_CHAIN_VERSION);
  g_assert_cmpuint (size, ==,
                    sizeof chain.chain + chain.chain.n_frames * sizeof *chain.chain.frames);
}

/* Making memory */

static inline guint64
take (guint64 bytes)
{
  guint64 at = used;

  used += (bytes + 63) & ~63ul;
  g_assert_cmpuint (used, <=, ARENA_BYTES);
  return ARENA_AT + at;
}

static inline void
put (guint64 address, guint64 offset, gconstpointer bytes, gsize size)
{
  memcpy (arena + (address - ARENA_AT) + offset, bytes, size);
}

static inline void
put_word (guint64 address, guint64 offset, guint64 word)
{
  put (address, offset, &word, sizeof word);
}

/* kind: bytes of each character; shift: where the kind is in the state. */
static inline guint64
add_text (const char *text, guint kind, guint shift)
{
  gsize length = strlen (text);
  guint64 address = take (LU_BPF_TEXT_HEADER + kind * length);
  guint32 state = (kind | TEXT_COMPACT | (kind == 1 ? TEXT_ASCII : 0)) << shift;

  put_word (address, layout.text_length, length);
  put (address, layout.text_state, &state, sizeof state);
  for (gsize i = 0; i < length; i++)
    put (address, (kind == 1 ? layout.text_ascii : layout.text_compact) + i * kind, &text[i], 1);
  return address;
}

static inline guint64
add_code (const char *name, guint32 line)
{
  guint64 address = take (STRUCT_BYTES);

  put_word (address, layout.code_name, add_text (name, 1, 2));
  put_word (address, layout.code_filename, add_text ("/srv/app/main.py", 1, 2));
  put (address, layout.code_firstlineno, &line, sizeof line);
  return address;
}

static inline guint64
add_frame (guint64 code, guint64 previous, guint8 entry)
{
  guint64 address = take (STRUCT_BYTES);

  put_word (address, layout.frame_code, code);
  put_word (address, layout.frame_previous, previous);
  put_word (address, layout.frame_instr,
            layout.code_bytes != 0 ? code + layout.code_bytes + 20 : 20);
  if (layout.entry != LU_PYTHON_ENTRY_ALWAYS)
    put (address, layout.frame_entry, &entry, sizeof entry);
  return address;
}

static inline guint64
add_thread (guint64 id, guint64 frame, guint64 next)
{
  guint64 address = take (STRUCT_BYTES);

  if ((layout.flags & LU_PYTHON_CFRAME) != 0 && frame != 0)
    {
      guint64 between = take (64);

      put_word (between, layout.cframe_frame, frame);
      frame = between;
    }
  put_word (address, layout.thread_id, id);
  put_word (address, layout.thread_frame, frame);
  put_word (address, layout.thread_next, next);
  return address;
}

static inline guint64
add_interpreter (guint64 thread, guint64 next)
{
  guint64 address = take (STRUCT_BYTES);

  put_word (address, layout.interp_threads, thread);
  put_word (address, layout.interp_next, next);
  return address;
}

/* Layouts */

static const struct lu_python_layout old = { .interpreters_head = 32,
                                             .interp_threads = 8,
                                             .thread_next = 8,
                                             .thread_id = 176,
                                             .thread_frame = 24,
                                             .frame_code = 32,
                                             .frame_previous = 24,
                                             .frame_instr = 104,
                                             .code_filename = 104,
                                             .code_name = 112,
                                             .code_firstlineno = 40,
                                             .code_argcount = 16,
                                             .code_flags = 36,
                                             .text_length = 16,
                                             .text_state = 32,
                                             .text_ascii = 48,
                                             .text_compact = 72,
                                             .entry = LU_PYTHON_ENTRY_ALWAYS };
static const struct lu_python_layout with_flag = { .interpreters_head = 40,
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
                                                   .text_length = 16,
                                                   .text_state = 32,
                                                   .text_ascii = 48,
                                                   .text_compact = 72,
                                                   .entry = LU_PYTHON_ENTRY_FLAG,
                                                   .flags = LU_PYTHON_CFRAME };
static const struct lu_python_layout with_owner = { .interpreters_head = 40,
                                                    .interp_threads = 72,
                                                    .thread_next = 8,
                                                    .thread_id = 152,
                                                    .thread_frame = 72,
                                                    .frame_previous = 8,
                                                    .frame_instr = 56,
                                                    .frame_entry = 70,
                                                    .code_filename = 112,
                                                    .code_name = 128,
                                                    .code_firstlineno = 68,
                                                    .code_argcount = 52,
                                                    .code_flags = 48,
                                                    .code_bytes = 200,
                                                    .text_length = 16,
                                                    .text_state = 32,
                                                    .text_ascii = 40,
                                                    .text_compact = 56,
                                                    .entry = LU_PYTHON_ENTRY_OWNER,
                                                    .entry_owner = 3,
                                                    .flags = LU_PYTHON_TAGGED };

/* Reading */

static guint64 runtime;

static inline void
begin_file (const struct lu_interp_file *file)
{
  LuBpfBacking backing = { .shared = &user_host.shared };
  LuBpfInterps interps = { .backing = &backing };

  memset (arena, 0, sizeof arena);
  memset (user_host.shared.announced_functions, 0, sizeof user_host.shared.announced_functions);
  used = gap = 0;
  runtime = take (STRUCT_BYTES);
  user_host.read_memory = read_memory;
  user_host.output = output;
  user_host.thread_pointer = THREAD;
  user_host.walk.interp = lu_bpf_interps_add (&interps, file);
  user_host.walk.interp_bias = runtime - RUNTIME;
  g_assert_cmpuint (user_host.walk.interp, ==, 1);
}

static inline void
begin_with (const struct lu_python_layout *of, guint32 version)
{
  const struct lu_interp_file file = {
    .language = LU_INTERP_PYTHON, .version = version, .runtime = RUNTIME, .python = *of
  };

  layout = *of;
  begin_file (&file);
}

static inline void
set_interpreter (guint64 interpreter)
{
  put_word (runtime, layout.interpreters_head, interpreter);
}

/* Makes the process's only thread run the frame. */
static inline void
run (guint64 frame)
{
  set_interpreter (add_interpreter (add_thread (THREAD, frame, 0), 0));
}

/* Returns the LuCounter of the outcome. */
static inline guint64
read_chain (void)
{
  n_functions = n_chains = 0;
  memset (&chain, 0, sizeof chain);
  return (guint64) tell_chain (NULL, 0);
}

static inline void
check_frame (guint i, guint64 code, gboolean is_entry)
{
  const struct lu_interp_frame *frame = &chain.chain.frames[i];

  g_assert_cmpuint (i, <, chain.chain.n_frames);
  g_assert_cmphex (frame->code & LU_INTERP_CODE_MASK, ==, code);
  g_assert_cmpint ((frame->code & LU_INTERP_ENTRY) != 0, ==, is_entry);
  g_assert_cmpint ((frame->code & LU_INTERP_UNREADABLE) != 0, ==, FALSE);
}
