/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tee.c - gives one stream of frames to several formats; see tee.h. */

#include "tee.h"

struct _LuTee
{
  GPtrArray *exports;     /* of LuExport, owned */
  LuModel *model;         /* borrowed; NULL: none */
  LuSyscapReader *reader; /* NULL before the first bytes */
};

LuTee *
lu_tee_new (void)
{
  LuTee *self = g_new0 (LuTee, 1);

  self->exports = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_export_free);
  return self;
}

void
lu_tee_free (LuTee *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->exports);
  lu_syscap_reader_free (self->reader);
  g_free (self);
}

void
lu_tee_add (LuTee *self, LuExport *export)
{
  for (guint i = 0; i < self->exports->len; i++)
    lu_export_share (export, g_ptr_array_index (self->exports, i));
  g_ptr_array_add (self->exports, export);
}

void
lu_tee_add_model (LuTee *self, LuModel *model)
{
  self->model = model;
}

static gboolean
begin (LuTee *self, gconstpointer bytes, gsize size)
{
  self->reader = lu_syscap_reader_new_from_bytes (bytes, size, NULL);
  for (guint i = 0; self->reader != NULL && i < self->exports->len; i++)
    lu_export_begin (g_ptr_array_index (self->exports, i), lu_syscap_reader_header (self->reader));
  if (self->reader != NULL && self->model != NULL)
    lu_model_begin (self->model, lu_syscap_reader_header (self->reader));
  return self->reader != NULL;
}

static void
tap_feed (gconstpointer bytes, gsize size, gpointer user_data)
{
  LuTee *self = user_data;
  LuSyscapRecord record;

  if (self->reader != NULL)
    lu_syscap_reader_refill (self->reader, bytes, size);
  else if (!begin (self, bytes, size))
    return;
  while (lu_syscap_reader_next (self->reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    {
      for (guint i = 0; i < self->exports->len; i++)
        lu_export_take (g_ptr_array_index (self->exports, i), &record);
      if (self->model != NULL)
        lu_model_take (self->model, &record);
    }
}

static gboolean
tap_end (gpointer user_data, GError **error)
{
  LuTee *self = user_data;
  gboolean ok = TRUE;

  if (self->model != NULL)
    lu_model_end (self->model);
  for (guint i = 0; self->reader != NULL && i < self->exports->len; i++)
    ok = lu_export_end (g_ptr_array_index (self->exports, i), ok ? error : NULL) && ok;
  return ok;
}

static guint64
tap_get_written (gpointer user_data)
{
  const LuTee *self = user_data;
  guint64 size = 0;

  for (guint i = 0; i < self->exports->len; i++)
    size += lu_export_size (g_ptr_array_index (self->exports, i));
  return size;
}

static void
tap_free (gpointer user_data)
{
  lu_tee_free (user_data);
}

const LuSyscapTapOps lu_tee_tap_ops = {
  .feed = tap_feed,
  .end = tap_end,
  .get_written = tap_get_written,
  .free = tap_free,
};
