/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-model.c - captures of any bytes as a model, names from the capture alone. */

#include "fuzz.h"
#include "output/model-names.h"

#include <string.h>

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
  for (guint i = 0; i < model->counts->len; i++)
    {
      guint64 key = *lu_id_table_key (model->counted, i);

      n += g_array_index (model->counts, guint64, i);
      for (guint32 node = (guint32) key; node != 0; node = lu_model_node (model, node).parent)
        g_assert_nonnull (lu_model_function_of (model, node)->name);
      g_assert_nonnull (lu_model_process_of (model, (guint32) (key >> 32))->name);
    }
  g_assert_cmpuint (n, ==, model->n_samples);
  g_assert_cmpuint (model->samples->len, ==, model->n_samples);
  return 0;
}
