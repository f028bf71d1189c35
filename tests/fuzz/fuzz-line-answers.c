/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-line-answers.c - arbitrary answers of a DWARF reader: each answer is complete or absent. */

#include "fuzz.h"
#include "symbolize/line-answers.h"

#define N_QUERIES 8

static void
check_text (const char *text)
{
  g_assert_true (text == NULL || g_utf8_validate (text, -1, NULL));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  /* in reverse order, with one answer that has no address */
  static const guint32 numbers[] = { 7, 6, 5, 4, 3, 2, 1 };
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  GStringChunk *texts = g_string_chunk_new (4096);
  LuLineQuery queries[N_QUERIES] = { 0 };
  LuLineAnswers answers = { .texts = texts,
                            .lines = lines,
                            .queries = queries,
                            .numbers = numbers,
                            .n_numbers = G_N_ELEMENTS (numbers) };

  lu_line_answers_decode (&answers, data, size);
  g_assert_cmpuint (queries[0].n_lines, ==, 0);
  for (guint i = 0; i < N_QUERIES; i++)
    for (guint k = 0; k < queries[i].n_lines; k++)
      {
        check_text (queries[i].lines[k].function);
        check_text (queries[i].lines[k].defined_in);
        check_text (queries[i].lines[k].file);
      }
  g_string_chunk_free (texts);
  return 0;
}
