/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lines.c - asks a reader process about each file; see lines.h. */

#include "symbolize/lines.h"

#include "symbolize/dwarf-lines.h"
#include "symbolize/elf-file.h"
#include "symbolize/line-answers.h"
#include "symbolize/reader.h"

#define MAX_FILE (G_GUINT64_CONSTANT (4) << 30)

struct _LuLines
{
  GStringChunk *texts;
  GPtrArray *lines; /* blocks of LuLine, owned */
  gint64 end_us;
  guint file_seconds;
  gboolean is_interrupted;
};

/* The file that was mapped, and the file with its DWARF: the same one, or its debug file. */
typedef struct
{
  LuElfFile elf, debug;
  const LuElfFile *dwarf;
} File;

static void
file_clear (File *self)
{
  lu_elf_file_clear (&self->elf);
  lu_elf_file_clear (&self->debug);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (File, file_clear)

LuLines *
lu_lines_new (guint file_seconds, guint total_seconds)
{
  LuLines *self = g_new0 (LuLines, 1);

  self->texts = g_string_chunk_new (65536);
  self->lines = g_ptr_array_new_with_free_func (g_free);
  self->file_seconds = file_seconds;
  self->end_us = g_get_monotonic_time () + (gint64) total_seconds * G_USEC_PER_SEC;
  return self;
}

void
lu_lines_free (LuLines *self)
{
  if (self == NULL)
    return;
  g_string_chunk_free (self->texts);
  g_ptr_array_unref (self->lines);
  g_free (self);
}

/* Files */

static gboolean
has_dwarf (const LuElfFile *file)
{
  return lu_elf_headers_find_section (&file->headers, ".debug_info") != NULL
         || lu_elf_headers_find_section (&file->headers, ".zdebug_info") != NULL;
}

static gboolean
open_debug_file (File *self, const LuNameFile *file)
{
  guint candidate = 0;

  while (lu_elf_file_open_debug (&self->debug, &self->elf, file, &candidate))
    {
      if (has_dwarf (&self->debug))
        return TRUE;
      lu_elf_file_clear (&self->debug);
    }
  return FALSE;
}

static LuLinesResult
open_file (File *self, const LuNameFile *file)
{
  gboolean is_no_elf;

  if (!lu_elf_file_open_mapped (&self->elf, file, &is_no_elf))
    return LU_LINES_NO_FILE;
  if (has_dwarf (&self->elf))
    self->dwarf = &self->elf;
  else if (open_debug_file (self, file))
    self->dwarf = &self->debug;
  else
    return LU_LINES_NO_DWARF;
  return self->dwarf->input.size > MAX_FILE ? LU_LINES_TOO_LARGE : LU_LINES_READ;
}

/* Returns the ELF address of a byte of code; 0 if the byte is not code. */
static guint64
address_of (const LuElfFile *file, guint64 file_offset)
{
  const LuElfProgramHeader *code = lu_elf_file_code_at_offset (file, file_offset);

  return code != NULL ? file_offset - code->file_offset + code->vaddr : 0;
}

/* The reader */

typedef struct
{
  int dwarf_fd;
  const guint64 *addresses;
  guint n;
} Request;

static void
write_lines (gconstpointer data, int output)
{
  const Request *request = data;

  lu_dwarf_lines_write (request->dwarf_fd, request->addresses, request->n, output);
}

static LuLinesResult
run_reader (LuLines *self, const Request *request, GByteArray *answers)
{
  static const LuLinesResult results[] = {
    [LU_READER_READ] = LU_LINES_READ,         [LU_READER_TOO_LARGE] = LU_LINES_TOO_LARGE,
    [LU_READER_TOO_SLOW] = LU_LINES_TOO_SLOW, [LU_READER_BROKEN] = LU_LINES_BROKEN,
    [LU_READER_ENDED] = LU_LINES_SKIPPED,
  };
  gint64 end_us = g_get_monotonic_time () + (gint64) self->file_seconds * G_USEC_PER_SEC;
  LuReaderResult result = lu_reader_run (write_lines, request, MIN (end_us, self->end_us), answers);

  self->is_interrupted |= result == LU_READER_ENDED;
  return results[result];
}

static LuLinesResult
ask (LuLines *self, const File *file, LuLineQuery *queries, guint n_queries)
{
  g_autofree guint64 *addresses = g_new (guint64, n_queries + 1);
  g_autofree guint32 *numbers = g_new (guint32, n_queries + 1);
  g_autoptr (GByteArray) answers = g_byte_array_new ();
  LuLineAnswers decoded = {
    .texts = self->texts, .lines = self->lines, .queries = queries, .numbers = numbers
  };
  LuLinesResult result;
  guint n = 0;

  for (guint i = 0; i < n_queries; i++)
    {
      addresses[n] = address_of (&file->elf, queries[i].file_offset);
      numbers[n] = i;
      n += addresses[n] > 0;
    }
  decoded.n_numbers = n;
  result = run_reader (self, &(Request){ file->dwarf->input.fd, addresses, n }, answers);
  if (!lu_line_answers_decode (&decoded, answers->data, answers->len) && result == LU_LINES_READ)
    result = LU_LINES_NO_DWARF;
  return result;
}

LuLinesResult
lu_lines_find_all (LuLines *self, const LuNameFile *file, LuLineQuery *queries, guint n_queries)
{
  g_auto (File) opened = { .elf = { .input = { .fd = -1 } }, .debug = { .input = { .fd = -1 } } };
  LuLinesResult result;

  for (guint i = 0; i < n_queries; i++)
    {
      queries[i].lines = NULL;
      queries[i].n_lines = 0;
    }
  if (self->is_interrupted || g_get_monotonic_time () >= self->end_us)
    return LU_LINES_SKIPPED;
  result = open_file (&opened, file);
  return result == LU_LINES_READ ? ask (self, &opened, queries, n_queries) : result;
}
