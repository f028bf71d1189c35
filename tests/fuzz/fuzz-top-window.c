/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-top-window.c - the stream of a recorder of arbitrary bytes, in pieces: the model of the
 * window always counts the samples that are in it, and the capture of the window has them. */

#include "fuzz.h"
#include "top/window.h"

#include <sys/mman.h>
#include <unistd.h>

static guint64
count (const LuModel *model)
{
  guint64 n = 0;

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    n += lu_model_count (model, i).n;
  g_assert_cmpuint (n, ==, model->n_samples);
  return n;
}

/* No file is read. */
static gboolean
stop (guint done, guint total, gpointer user_data)
{
  return FALSE;
}

/* Returns the samples of the capture that is written of the window. */
static guint64
count_written (const LuTopWindow *window)
{
  int fd = memfd_create ("window", MFD_CLOEXEC);
  int copy = dup (fd);
  LuSyscapRecord record;
  guint64 n = 0;

  g_assert_true (lu_top_window_write (window, copy, stop, NULL, NULL));
  lseek (fd, 0, SEEK_SET);
  g_autoptr (LuSyscapReader) reader = lu_syscap_reader_new (fd, NULL);
  g_assert_nonnull (reader);
  while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    n += record.type == LU_SYSCAP_SAMPLE;
  return n;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  guint64 length = size > 300 ? (guint64) (data[299] % 4) << 20 : 1;
  g_autoptr (LuTopWindow) window = lu_top_window_new (length, 0);
  size_t piece = size / 7 + 1;
  guint generation;

  for (size_t at = 0; at < size; at += piece)
    {
      guint64 now = 0;
      LuModel *model;

      lu_top_window_feed (window, data + at, MIN (piece, size - at));
      if (!lu_top_window_update (window, 0, FALSE, NULL))
        return 0;
      model = lu_top_window_model (window, &generation);
      if (model == NULL)
        continue;
      now = (guint64) model->last + length / 2;
      if (!lu_top_window_update (window, now, at / piece % 3 == 2, NULL))
        return 0;
      model = lu_top_window_model (window, &generation);
      g_assert_cmpuint (count (model), ==, count_written (window));
    }
  return 0;
}
