/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-model.c - captures of arbitrary bytes as a model, with names from the capture only, in all
 * formats. */

#include "fuzz.h"
#include "export/format.h"
#include "profile/model.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void
write_formats (const LuModel *model)
{
  const LuFormat *format;

  for (guint i = 0; (format = lu_format_at (i)) != NULL; i++)
    {
      g_autoptr (LuStream) stream =
          lu_stream_new (open ("/dev/null", O_WRONLY | O_CLOEXEC), format->gzip);

      if (format->write != NULL)
        format->write (model, stream);
      g_assert_true (lu_stream_finish (stream, NULL));
    }
}

/* The format that takes frames as they come. */
static void
write_perf_data (const uint8_t *data, size_t size)
{
  g_autoptr (LuSyscapReader) reader = lu_syscap_reader_new_from_bytes (data, size, NULL);
  g_autoptr (LuExport) export =
      lu_export_new (lu_format_find ("perf"), open ("/dev/null", O_WRONLY | O_CLOEXEC));
  LuSyscapRecord record;

  lu_export_begin (export, lu_syscap_reader_header (reader));
  while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    lu_export_take (export, &record);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (LuSyscapReader) reader = lu_syscap_reader_new_from_bytes (data, size, NULL);
  g_autoptr (LuModel) model = lu_model_new (LU_MODEL_TIMES);
  LuSyscapRecord record;
  guint64 n = 0;

  if (reader == NULL)
    return 0;
  lu_model_begin (model, lu_syscap_reader_header (reader));
  while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    lu_model_take (model, &record);
  lu_model_end (model);
  lu_model_name (model, LU_NAMES_CAPTURE_ONLY);
  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);

      n += count.n;
      for (guint32 node = count.node; node != 0; node = lu_model_node (model, node).parent)
        g_assert_nonnull (lu_model_function_of (model, node)->name);
      g_assert_nonnull (lu_model_process_of (model, count.thread)->name);
    }
  write_formats (model);
  write_perf_data (data, size);
  g_assert_cmpuint (n, ==, model->n_samples);
  g_assert_cmpuint (model->samples->len, ==, model->n_samples);
  return 0;
}
