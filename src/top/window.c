/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* window.c - the last seconds of a recording; see window.h. */

#include "window.h"

#include "base/error.h"
#include "capture/syscap-frames.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>

/* Bytes of frames in the window, and of what explains samples. */
#define MAX_WINDOW (128u << 20)
#define MAX_STATE  (64u << 20)
/* A model is made anew when one of these is twice what it was at first, and at least this. */
#define MANY_STACKS    (256u << 10)
#define MANY_FRAMES    (64u << 10)
#define MANY_PROCESSES (8u << 10)
/* Bytes and samples that have left the window are removed when there are as many. */
#define MIN_REMOVED (64u << 10)

struct _LuTopWindow
{
  guint64 length;
  gint32 own_pid;
  GByteArray *input;  /* not yet taken */
  GByteArray *header; /* of the capture */
  LuSyscapReader *reader;
  GByteArray *frames; /* from `head` on: the frames in the window */
  gsize head;
  GHashTable *states; /* pid -> GByteArray: frames that explain later samples; -1: of no process */
  gsize state_size;
  LuModel *model;
  guint generation;
  guint64 n_lost;                        /* samples, as the messages in the window say */
  guint first;                           /* sample of the model that is in the window */
  guint n_stacks, n_frames, n_processes; /* when the model was new */
};

LuTopWindow *
lu_top_window_new (guint64 length, gint32 own_pid)
{
  LuTopWindow *self = g_new0 (LuTopWindow, 1);

  self->length = length;
  self->own_pid = own_pid;
  self->input = g_byte_array_new ();
  self->header = g_byte_array_new ();
  self->frames = g_byte_array_new ();
  self->states = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_byte_array_unref);
  return self;
}

void
lu_top_window_free (LuTopWindow *self)
{
  if (self == NULL)
    return;
  g_byte_array_unref (self->input);
  g_byte_array_unref (self->header);
  g_byte_array_unref (self->frames);
  g_hash_table_unref (self->states);
  lu_syscap_reader_free (self->reader);
  lu_model_free (self->model);
  g_free (self);
}

/* Returns the header of the frame there. */
static LuSyscapFrame
frame_at (const guint8 *bytes)
{
  LuSyscapFrame frame;

  memcpy (&frame, bytes, sizeof frame);
  return frame;
}

static gboolean
decode (const LuTopWindow *self, const guint8 *bytes, LuSyscapRecord *record)
{
  lu_syscap_reader_refill (self->reader, bytes, frame_at (bytes).len);
  return lu_syscap_reader_next (self->reader, record, NULL) == LU_SYSCAP_READ_FRAME;
}

typedef gboolean (*FrameFunc) (const LuSyscapRecord *record, gpointer user_data, GError **error);

static gboolean
each_of (const LuTopWindow *self, const GByteArray *frames, FrameFunc func, gpointer user_data,
         GError **error)
{
  gsize at = frames == self->frames ? self->head : 0;
  LuSyscapRecord record;

  for (; at < frames->len; at += frame_at (frames->data + at).len)
    if (decode (self, frames->data + at, &record) && !func (&record, user_data, error))
      return FALSE;
  return TRUE;
}

/* Calls func for all that is kept, in the order of a capture. */
static gboolean
each (const LuTopWindow *self, FrameFunc func, gpointer user_data, GError **error)
{
  const GByteArray *shared = g_hash_table_lookup (self->states, GINT_TO_POINTER (-1));
  gboolean ok = shared == NULL || each_of (self, shared, func, user_data, error);
  GHashTableIter iter;
  gpointer key, frames;

  g_hash_table_iter_init (&iter, self->states);
  while (ok && g_hash_table_iter_next (&iter, &key, &frames))
    ok = frames == shared || each_of (self, frames, func, user_data, error);
  return ok && each_of (self, self->frames, func, user_data, error);
}

static gboolean
take (const LuSyscapRecord *record, gpointer user_data, GError **error)
{
  lu_model_take (user_data, record);
  return TRUE;
}

static guint
n_stacks (const LuModel *model)
{
  return MAX (lu_id_table_size (model->nodes), lu_model_n_counts (model));
}

static void
renew_model (LuTopWindow *self)
{
  lu_model_free (self->model);
  self->model = lu_model_new (LU_MODEL_TIMES);
  lu_model_begin (self->model, lu_syscap_reader_header (self->reader));
  each (self, take, self->model, NULL);
  self->first = 0;
  self->generation++;
  self->n_stacks = n_stacks (self->model);
  self->n_frames = self->model->frames->len;
  self->n_processes = self->model->processes->len;
}

static gboolean
is_worn (const LuTopWindow *self)
{
  return n_stacks (self->model) > MAX (MANY_STACKS, 2 * self->n_stacks)
         || self->model->frames->len > MAX (MANY_FRAMES, 2 * self->n_frames)
         || self->model->processes->len > MAX (MANY_PROCESSES, 2 * self->n_processes);
}

/* Returns the samples that a frame says were lost. */
static guint64
lost_in (const LuTopWindow *self, const guint8 *bytes)
{
  LuSyscapRecord record;
  guint64 n;

  return frame_at (bytes).type == LU_SYSCAP_LOG && decode (self, bytes, &record)
                 && sscanf (record.log.message, LU_SYSCAP_LOST, &n) == 1
             ? n
             : 0;
}

/* Leaving the window */

static void
forget_sample (LuTopWindow *self)
{
  GArray *samples = self->model->samples;
  const LuModelSample *sample = &g_array_index (samples, LuModelSample, self->first++);
  LuModelCount where = { .event = sample->event, .thread = sample->thread, .node = sample->node };
  guint32 id = lu_id_table_find (self->model->counted, lu_model_count_key (&where), 0);
  LuModelSum *sum = &g_array_index (self->model->counts, LuModelSum, id);

  sum->n--;
  sum->weight -= sample->weight;
  self->model->n_samples--;
  if (self->first >= MIN_REMOVED && self->first >= samples->len / 2)
    {
      g_array_remove_range (samples, 0, self->first);
      self->first = 0;
    }
}

static gboolean
forget_process (LuTopWindow *self, gint32 pid)
{
  const GByteArray *frames = g_hash_table_lookup (self->states, GINT_TO_POINTER (pid));

  self->state_size -= frames != NULL ? frames->len : 0;
  return g_hash_table_remove (self->states, GINT_TO_POINTER (pid));
}

/* Returns the process that a frame is about, so that it can go when that ends; -1: none, or all. */
static gint32
process_of (const LuTopWindow *self, const guint8 *bytes)
{
  LuSyscapFrame frame = frame_at (bytes);
  LuSyscapThread thread;
  LuSyscapRecord record;
  gint32 pid = -1;

  if (frame.type == LU_SYSCAP_MAP || frame.type == LU_SYSCAP_PROCESS)
    return frame.pid;
  if (!decode (self, bytes, &record))
    return -1;
  if (frame.type == LU_SYSCAP_FILE_CHUNK) /* its mounts */
    sscanf (record.file.path, "/proc/%d/", &pid);
  else if (frame.type == LU_SYSCAP_METADATA
           && g_str_equal (record.metadata.key, LU_SYSCAP_KEY_THREAD)
           && lu_syscap_parse_thread (record.metadata.text, &thread))
    pid = thread.pid;
  return pid;
}

/* Keeps a frame that explains later samples. */
static void
keep_state (LuTopWindow *self, const guint8 *bytes)
{
  LuSyscapFrame frame = frame_at (bytes);
  gint32 pid = process_of (self, bytes);
  GByteArray *frames;

  if (frame.type == LU_SYSCAP_EXIT)
    forget_process (self, frame.pid);
  if (frame.type == LU_SYSCAP_EXIT || frame.type == LU_SYSCAP_FORK || frame.type == LU_SYSCAP_LOG
      || self->state_size + frame.len > MAX_STATE)
    return;
  frames = g_hash_table_lookup (self->states, GINT_TO_POINTER (pid));
  if (frames == NULL)
    {
      frames = g_byte_array_new ();
      g_hash_table_insert (self->states, GINT_TO_POINTER (pid), frames);
    }
  g_byte_array_append (frames, bytes, frame.len);
  self->state_size += frame.len;
}

static void
forget_old (LuTopWindow *self, guint64 now)
{
  while (self->head < self->frames->len)
    {
      const guint8 *bytes = self->frames->data + self->head;
      LuSyscapFrame frame = frame_at (bytes);

      if ((guint64) frame.time + self->length > now && self->frames->len - self->head < MAX_WINDOW)
        break;
      self->n_lost -= lost_in (self, bytes);
      if (frame.type == LU_SYSCAP_SAMPLE)
        forget_sample (self);
      else
        keep_state (self, bytes);
      self->head += frame.len;
    }
  if (self->head >= MIN_REMOVED && self->head >= self->frames->len / 2)
    {
      g_byte_array_remove_range (self->frames, 0, (guint) self->head);
      self->head = 0;
    }
}

/* The stream */

void
lu_top_window_feed (LuTopWindow *self, gconstpointer bytes, gsize size)
{
  g_byte_array_append (self->input, bytes, (guint) size);
}

static gboolean
begin (LuTopWindow *self, GError **error)
{
  g_byte_array_append (self->header, self->input->data, sizeof (LuSyscapHeader));
  self->reader = lu_syscap_reader_new_from_bytes (self->header->data, self->header->len, error);
  if (self->reader == NULL)
    return FALSE;
  renew_model (self);
  return TRUE;
}

static void
take_frame (LuTopWindow *self, const guint8 *bytes, gboolean is_paused)
{
  LuSyscapRecord record;
  gboolean is_sample = frame_at (bytes).type == LU_SYSCAP_SAMPLE;

  if (is_sample && (is_paused || (self->own_pid != 0 && frame_at (bytes).pid == self->own_pid)))
    return;
  if (!decode (self, bytes, &record))
    return;
  lu_model_take (self->model, &record);
  self->n_lost += lost_in (self, bytes);
  g_byte_array_append (self->frames, bytes, frame_at (bytes).len);
}

gboolean
lu_top_window_update (LuTopWindow *self, guint64 now, gboolean is_paused, GError **error)
{
  gsize at = 0;

  if (self->reader == NULL && self->input->len < sizeof (LuSyscapHeader))
    return TRUE;
  if (self->reader == NULL)
    {
      if (!begin (self, error))
        return FALSE;
      at = sizeof (LuSyscapHeader);
    }
  while (self->input->len - at >= sizeof (LuSyscapFrame))
    {
      guint16 length = frame_at (self->input->data + at).len;

      if (length < sizeof (LuSyscapFrame) || length % LU_SYSCAP_ALIGN != 0)
        {
          g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                               _ ("the recorder sent something that is no capture"));
          return FALSE;
        }
      if (length > self->input->len - at)
        break;
      take_frame (self, self->input->data + at, is_paused);
      at += length;
    }
  g_byte_array_remove_range (self->input, 0, (guint) at);
  if (!is_paused && now > 0)
    forget_old (self, now);
  if (is_worn (self))
    renew_model (self);
  return TRUE;
}

gboolean
lu_top_window_has_begun (const LuTopWindow *self)
{
  return self->model != NULL;
}

LuModel *
lu_top_window_model (const LuTopWindow *self, guint *generation)
{
  *generation = self->generation;
  return self->model;
}

double
lu_top_window_seconds (const LuTopWindow *self)
{
  const GArray *samples = self->model != NULL ? self->model->samples : NULL;

  if (samples == NULL || samples->len <= self->first)
    return 0;
  return (double) (g_array_index (samples, LuModelSample, samples->len - 1).time
                   - g_array_index (samples, LuModelSample, self->first).time)
         / 1e9;
}

guint64
lu_top_window_n_lost (const LuTopWindow *self)
{
  return self->n_lost;
}

/* A capture that is written. */
typedef struct
{
  LuSyscapWriter *writer; /* owned */
  LuModel *model;         /* knows the mappings of each sample; owned */
  LuSyscapHits *hits;     /* owned */
} Copy;

static void
copy_clear (Copy *self)
{
  lu_syscap_writer_free (self->writer);
  lu_syscap_hits_free (self->hits); /* has files of the model */
  lu_model_free (self->model);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Copy, copy_clear)

static gboolean
copy (const LuSyscapRecord *record, gpointer user_data, GError **error)
{
  Copy *self = user_data;

  lu_model_take (self->model, record);
  if (record->type == LU_SYSCAP_SAMPLE)
    lu_model_add_hits (self->model, record, self->hits);
  return lu_syscap_copy_frame (self->writer, record, error);
}

static gboolean
write_names (Copy *self, LuNamerProgress go_on, gpointer user_data, GError **error)
{
  const GString *text = self->model->kallsyms;
  g_autoptr (LuKallsyms) kernel = lu_kallsyms_parse (text->str, text->len, NULL);
  LuSyscapHitsResult result;
  g_autoptr (GByteArray) names =
      lu_syscap_hits_name (self->hits, kernel, go_on, user_data, &result);
  const LuSyscapFile file = {
    .path = LU_SYSCAP_SYMBOLS_FILE, .bytes = names->data, .size = names->len, .is_last = TRUE
  };

  return lu_syscap_write_file (self->writer, &file, error);
}

gboolean
lu_top_window_write (const LuTopWindow *self, int fd, LuNamerProgress go_on, gpointer user_data,
                     GError **error)
{
  g_auto (Copy)
      capture = { lu_syscap_writer_new (fd), lu_model_new (0), lu_syscap_hits_new (TRUE) };
  gint64 begin_time = g_get_monotonic_time () * 1000, end_time = begin_time;

  for (guint i = self->first; self->model != NULL && i < self->model->samples->len; i++)
    {
      gint64 time = g_array_index (self->model->samples, LuModelSample, i).time;

      begin_time = MIN (begin_time, time);
      end_time = i == self->first ? time : MAX (end_time, time);
    }
  if (self->reader != NULL)
    lu_model_begin (capture.model, lu_syscap_reader_header (self->reader));
  return lu_syscap_writer_header (capture.writer, (guint64) begin_time,
                                  g_get_real_time () - g_get_monotonic_time () + begin_time / 1000,
                                  error)
         && (self->reader == NULL || each (self, copy, &capture, error))
         && write_names (&capture, go_on, user_data, error)
         && lu_syscap_writer_finish (capture.writer, (guint64) end_time, error);
}
