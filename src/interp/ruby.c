/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ruby.c - recognizes CRuby 2.7, 3.1, 3.3 and 3.4; see language.h.
 *
 * Ruby does not describe itself. Its structures are those of vm_core.h and of the headers in
 * include/ruby; what differs between versions is in a table here. Where a thread keeps its
 * execution context is read from the code of rb_current_receiver(), which begins with it in all
 * versions and is not hidden in any. */

#include "interp/cold-code.h"
#include "interp/file-symbols.h"
#include "interp/ruby-code.h"

#include <stdlib.h>
#include <string.h>

#define MAX_VERSION 16
/* Bytes of rb_current_receiver() that are looked at. */
#define MAX_CODE 48

/* By major and minor version. */
static const struct
{
  guint16 version;
  struct lu_ruby_layout layout;
} versions[] = {
  { 0x207,
    { .context = LU_RUBY_CONTEXT_VARIABLE,
      .context_thread = 56,
      .thread_id = 72,
      .frame_size = 56,
      .has_short_strings = TRUE,
      .has_tagged_first_line = TRUE } },
  { 0x301, { .frame_size = 64, .has_short_strings = TRUE, .has_tagged_first_line = TRUE } },
  { 0x303, { .frame_size = 56 } },
  { 0x304, { .frame_size = 56 } },
};

typedef struct
{
  guint64 version, context, receiver; /* ELF addresses; 0: absent */
  LuInterpRange function;             /* rb_vm_exec() */
} Symbols;

static void
take_symbol (const LuFileSymbol *symbol, gpointer user_data)
{
  Symbols *self = user_data;

  if (g_str_equal (symbol->name, "ruby_version"))
    self->version = symbol->address;
  else if (g_str_equal (symbol->name, "ruby_current_execution_context_ptr"))
    self->context = symbol->address;
  else if (g_str_equal (symbol->name, "rb_current_receiver"))
    self->receiver = symbol->address;
  else if (g_str_equal (symbol->name, "rb_vm_exec"))
    self->function = (LuInterpRange){ symbol->address, symbol->address + symbol->size };
}

/* Reads a text such as "3.1.2". Returns 0 if it is none. */
static guint32
read_version (const LuInterpInput *file, guint64 address)
{
  char text[MAX_VERSION] = "";
  guint numbers[3];
  char *at = text;

  for (gsize i = 0; i + 1 < sizeof text && lu_interp_read (file, address + i, &text[i], 1); i++)
    if (text[i] == 0)
      break;
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      guint64 number = g_ascii_strtoull (at, &at, 10);

      numbers[i] = (guint) MIN (number, 0xff);
      if (*at != (i + 1 < G_N_ELEMENTS (numbers) ? '.' : 0))
        return 0;
      at++;
    }
  return numbers[0] << 16 | numbers[1] << 8 | numbers[2];
}

/* Skips an instruction if it is the next one. */
static gboolean
skip (const guint8 **code, const char *instruction, gsize size)
{
  if (memcmp (*code, instruction, size) != 0)
    return FALSE;
  *code += size;
  return TRUE;
}

static gint32
take_number (const guint8 **code)
{
  gint32 number;

  memcpy (&number, *code, sizeof number);
  *code += sizeof number;
  return number;
}

/* Reads which offset of the block at %rax is loaded to %rax. */
static gboolean
read_load (const guint8 *code, struct lu_ruby_layout *layout)
{
  layout->context_at = 0;
  if (skip (&code, "\x48\x8b\x00", 3))
    return TRUE;
  if (skip (&code, "\x48\x8b\x40", 3))
    layout->context_at = (gint8) *code;
  else if (skip (&code, "\x48\x8b\x80", 3))
    layout->context_at = take_number (&code);
  else
    return FALSE;
  return TRUE;
}

/* Reads where the code takes the execution context from: mov %fs:NUMBER,%rax; or lea
 * TLS_INDEX,%rdi; call __tls_get_addr; mov NUMBER(%rax),%rax, whose first two may have prefixes. */
static gboolean
read_context (const LuInterpInput *file, guint64 address, LuInterp *interp)
{
  struct lu_ruby_layout *layout = &interp->file.ruby;
  guint8 bytes[MAX_CODE];
  const guint8 *code = bytes;

  if (address == 0 || !lu_interp_read (file, address, bytes, sizeof bytes))
    return FALSE;
  skip (&code, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
  if (skip (&code, "\x64\x48\x8b\x04\x25", 5))
    {
      layout->context = LU_RUBY_CONTEXT_THREAD;
      layout->context_at = take_number (&code);
      return TRUE;
    }
  skip (&code, "\x48\x83\xec\x08", 4); /* sub $8,%rsp */
  skip (&code, "\x66", 1);
  if (!skip (&code, "\x48\x8d\x3d", 3))
    return FALSE;
  layout->context = LU_RUBY_CONTEXT_MODULE;
  interp->file.runtime = (guint64) (gint64) take_number (&code);
  interp->file.runtime += address + (guint64) (code - bytes);
  skip (&code, "\x66\x66\x48", 3);
  if (!skip (&code, "\xe8", 1))
    return FALSE;
  take_number (&code);
  return read_load (code, layout);
}

static gboolean
fill_layout (const LuInterpInput *file, const Symbols *symbols, LuInterp *interp)
{
  for (guint i = 0; i < G_N_ELEMENTS (versions); i++)
    if (versions[i].version == interp->file.version >> 8)
      {
        interp->file.ruby = versions[i].layout;
        interp->file.runtime = symbols->context;
        return versions[i].layout.context_thread != 0
                   ? symbols->context != 0
                   : read_context (file, symbols->receiver, interp);
      }
  return FALSE;
}

static LuInterpOutcome
recognize (const LuInterpInput *file, LuInterp *interp)
{
  Symbols symbols = { 0 };
  LuInterpRange function;

  lu_file_symbols_each (file, take_symbol, &symbols);
  if (symbols.version == 0)
    return LU_INTERP_ABSENT;
  interp->file.language = LU_INTERP_RUBY;
  interp->file.version = read_version (file, symbols.version);
  if (interp->file.version == 0)
    return LU_INTERP_ABSENT;
  function = symbols.function;
  if (!fill_layout (file, &symbols, interp)
      || (function.end <= function.start && !lu_ruby_code_find (file, &function)))
    return LU_INTERP_UNKNOWN;
  interp->ranges[interp->n_ranges++] = function;
  if (lu_cold_code_find (file, &function, &interp->ranges[interp->n_ranges]))
    interp->n_ranges++;
  /* rb_vm_exec() calls vm_exec_core(), which runs the functions. */
  interp->has_handlers = TRUE;
  return LU_INTERP_FOUND;
}

const LuLanguage lu_language_ruby = { .name = "Ruby", .part = "ruby", .recognize = recognize };
