/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* disassembly.c - see disassembly.h. */

#include "symbolize/disassembly.h"

#include "arch/arch.h"
#include "base/library.h"
#include "sandbox/sandbox.h"
#include "symbolize/reader.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_CODE (1u << 20)
#define MAX_US   (5 * G_USEC_PER_SEC)
#define MAX_TEXT 256

typedef struct
{
  guint8 *bytes; /* owned */
  gsize size;
  guint64 address;
  gboolean is_64bit;
} Code;

/* Functions of the library. */
static struct
{
  __typeof__ (ZydisDecoderInit) *init_decoder;
  __typeof__ (ZydisDecoderDecodeFull) *decode;
  __typeof__ (ZydisFormatterInit) *init_formatter;
  __typeof__ (ZydisFormatterFormatInstruction) *format;
} zydis;

/* The interface changes with the minor version, and with it the name. */
gboolean
lu_disassembly_load (void)
{
  const LuLibraryFunction functions[] = {
    { "ZydisDecoderInit", &zydis.init_decoder },
    { "ZydisDecoderDecodeFull", &zydis.decode },
    { "ZydisFormatterInit", &zydis.init_formatter },
    { "ZydisFormatterFormatInstruction", &zydis.format },
  };
  g_autofree char *name =
      g_strdup_printf ("libZydis.so.%u.%u", (guint) ZYDIS_VERSION_MAJOR (ZYDIS_VERSION),
                       (guint) ZYDIS_VERSION_MINOR (ZYDIS_VERSION));

  return lu_library_load (name, functions, G_N_ELEMENTS (functions));
}

static gboolean
read_code (const LuElfFile *file, guint64 start, guint64 end, Code *code)
{
  const LuElfProgramHeader *segment = lu_elf_file_code_at_address (file, start);
  guint64 offset = segment != NULL ? start - segment->vaddr : 0;
  const LuArch *arch = lu_arch_of_machine (file->headers.machine);

  if (segment == NULL || offset >= segment->file_size || end <= start || arch == NULL
      || arch->files.decoded_bits == 0)
    return FALSE;
  code->is_64bit = arch->files.decoded_bits == 64;
  code->address = start;
  code->size = (gsize) MIN (MIN (end - start, segment->file_size - offset), MAX_CODE);
  code->bytes = g_malloc (code->size);
  return lu_elf_input_read (&file->input, segment->file_offset + offset, code->bytes, code->size);
}

static void
write_all (FILE *stream, const Code *code, const ZydisDecoder *decoder,
           const ZydisFormatter *formatter)
{
  ZydisDecodedInstruction found;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  for (gsize at = 0; at < code->size; at += found.length)
    {
      guint64 address = code->address + at;
      char text[MAX_TEXT] = "";
      guint32 numbers[2];

      if (!ZYAN_SUCCESS (
              zydis.decode (decoder, code->bytes + at, code->size - at, &found, operands))
          || !ZYAN_SUCCESS (zydis.format (formatter, &found, operands, found.operand_count_visible,
                                          text, sizeof text, address, NULL)))
        return;
      numbers[0] = found.length;
      numbers[1] = (guint32) strlen (text);
      fwrite (&address, sizeof address, 1, stream);
      fwrite (numbers, sizeof numbers, 1, stream);
      fwrite (text, numbers[1], 1, stream);
    }
}

/* Runs in the reader process. */
static void
write_instructions (gconstpointer data, int output)
{
  const struct rlimit none = { 0, 0 };
  const Code *code = data;
  FILE *stream = fdopen (output, "w");
  ZydisDecoder decoder;
  ZydisFormatter formatter;

  if (stream == NULL || setrlimit (RLIMIT_NOFILE, &none) != 0 || !lu_sandbox_restrict_parser ()
      || !ZYAN_SUCCESS (zydis.init_decoder (
          &decoder, code->is_64bit ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
          code->is_64bit ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32))
      || !ZYAN_SUCCESS (zydis.init_formatter (&formatter, ZYDIS_FORMATTER_STYLE_INTEL)))
    _exit (1);
  write_all (stream, code, &decoder, &formatter);
  _exit (fflush (stream) == 0 ? 0 : 1);
}

GArray *
lu_disassemble (const LuElfFile *file, guint64 start, guint64 end)
{
  g_autoptr (GByteArray) answers = g_byte_array_new ();
  Code code = { 0 };
  GArray *instructions;

  if (zydis.format != NULL && read_code (file, start, end, &code))
    lu_reader_run (write_instructions, &code, g_get_monotonic_time () + MAX_US, answers);
  instructions = lu_instructions_decode (answers->data, answers->len, start, start + code.size);
  g_free (code.bytes);
  return instructions;
}
