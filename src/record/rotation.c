/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rotation.c - new outputs every so often; see rotation.h.
 *
 * Periods begin at multiples of their length after the start of the recording; a period in which
 * nothing happened has no files. The first thing that belongs to a period opens its files. */

#include "rotation.h"

#include "base/clock.h"
#include "capture/syscap.h"
#include "finisher.h"

/* How late a sample may come: a round over the rings takes a second at most, and cut-off stacks
 * wait as long for other samples of their thread (join.h). */
#define GRACE_NS (G_GUINT64_CONSTANT (2) * 1000 * 1000 * 1000)

#define NUMBER_KEY "live-unwinder.file-number"
#define LATE_KEY   "live-unwinder.late-samples"

struct _LuRotation
{
  LuSink parent;
  LuRotationFuncs funcs;
  gpointer user_data;
  guint64 period;
  gboolean live;
  LuRecording recording;
  LuPart *current, *previous;
  guint64 start;  /* of the first period; 0 not known yet */
  guint64 newest; /* time of the newest event */
  guint64 next;   /* no further period begins before this */
  guint n_parts;
  LuFinisher *finisher; /* owned */
};

static gboolean
describe (LuRotation *self, LuPart *part, GError **error)
{
  const LuSinkOps *ops = part->sink->ops;
  g_autofree char *stats = self->funcs.describe (part, self->user_data);
  g_autofree char *number = g_strdup_printf ("%u", part->number);
  g_autofree char *late = g_strdup_printf ("%" G_GUINT64_FORMAT, part->n_late);

  return ops->metadata (part->sink, NUMBER_KEY, number, error)
         && (part->n_late == 0 || ops->metadata (part->sink, LATE_KEY, late, error))
         && (stats == NULL || ops->metadata (part->sink, LU_SYSCAP_KEY_STATS, stats, error));
}

/* Hands a period over to be finished. */
static void
retire (LuRotation *self, LuPart **part)
{
  g_autoptr (GError) error = NULL;

  if (!describe (self, *part, &error))
    g_debug ("%s", error->message); /* ending the sink fails as well, and that is reported */
  self->next = (*part)->end;
  lu_finisher_add (self->finisher, g_steal_pointer (part));
}

static guint64
begin_of (const LuRotation *self, guint64 time)
{
  guint64 begin = self->start;

  if (time > self->start)
    begin += (time - self->start) / self->period * self->period;
  return MAX (begin, self->next);
}

static LuPart *
open_part (LuRotation *self, guint64 time, GError **error)
{
  LuRecording recording = self->recording;
  LuPart *part = g_new0 (LuPart, 1);

  part->number = self->n_parts + 1;
  part->begin = begin_of (self, time);
  part->end = part->begin + self->period;
  lu_statistics_init (&part->statistics);
  recording.wall_clock += ((gint64) part->begin - (gint64) self->start) / 1000;
  recording.start_time = part->begin;
  part->sink =
      self->funcs.open (part->number, recording.wall_clock, &part->paths, self->user_data, error);
  if (part->sink == NULL || !part->sink->ops->begin (part->sink, &recording, error))
    {
      lu_part_free (part);
      return NULL;
    }
  self->n_parts++;
  self->current = part;
  return part;
}

/* Makes the current period, which is over, the previous one. FALSE: there is no room for that, so
 * it goes on. */
static gboolean
leave_current (LuRotation *self, guint64 time)
{
  if (self->previous != NULL && lu_finisher_has_room (self->finisher))
    retire (self, &self->previous);
  if (self->previous != NULL)
    {
      self->current->end = begin_of (self, time) + self->period;
      return FALSE;
    }
  self->previous = g_steal_pointer (&self->current);
  self->next = self->previous->end;
  return TRUE;
}

/* Sets when the recording began: for files only the first event says that. */
static void
start_at (LuRotation *self, guint64 time)
{
  self->start = time;
  if (self->current == NULL)
    return;
  self->current->begin = time;
  self->current->end = time + self->period;
}

/* Returns the period of that time; NULL: its files cannot be opened. */
static LuPart *
part_at (LuRotation *self, guint64 time, GError **error)
{
  if (self->start == 0)
    start_at (self, time);
  self->newest = MAX (self->newest, time);
  if (self->current != NULL && time >= self->current->end && !leave_current (self, time))
    return self->current;
  if (self->previous != NULL && time < self->previous->end)
    return self->previous;
  return self->current != NULL ? self->current : open_part (self, time, error);
}

static void
retire_if_over (LuRotation *self, LuPart **part, guint64 now)
{
  if (*part != NULL && now >= (*part)->end && now - (*part)->end >= MIN (GRACE_NS, self->period)
      && lu_finisher_has_room (self->finisher))
    retire (self, part);
}

void
lu_rotation_tick (LuRotation *self)
{
  guint64 now = self->live ? lu_monotonic_ns () : self->newest;

  retire_if_over (self, &self->previous, now);
  if (self->live && self->previous == NULL)
    retire_if_over (self, &self->current, now);
}

LuStatistics *
lu_rotation_statistics_at (LuRotation *self, guint64 time)
{
  if (self->previous != NULL && time < self->previous->end)
    return &self->previous->statistics;
  return self->current != NULL ? &self->current->statistics : NULL;
}

guint
lu_rotation_n_parts (const LuRotation *self)
{
  return self->n_parts;
}

/* As a sink */

static gboolean
rotation_begin (LuSink *sink, const LuRecording *recording, GError **error)
{
  LuRotation *self = (LuRotation *) sink;

  self->recording = *recording;
  self->start = self->next = recording->start_time;
  return open_part (self, self->start, error) != NULL;
}

static gboolean
rotation_sample (LuSink *sink, const LuSinkSample *sample, GError **error)
{
  LuRotation *self = (LuRotation *) sink;
  LuPart *part = part_at (self, sample->time, error);

  if (part == NULL)
    return FALSE;
  part->n_late += sample->time < part->begin && part->number > 1;
  return part->sink->ops->sample (part->sink, sample, error);
}

static gboolean
rotation_fork (LuSink *sink, guint64 time, gint32 pid, gint32 child_pid, GError **error)
{
  LuPart *part = part_at ((LuRotation *) sink, time, error);

  return part != NULL && part->sink->ops->fork (part->sink, time, pid, child_pid, error);
}

static gboolean
rotation_exit (LuSink *sink, guint64 time, gint32 pid, GError **error)
{
  LuPart *part = part_at ((LuRotation *) sink, time, error);

  return part != NULL && part->sink->ops->exit (part->sink, time, pid, error);
}

static gboolean
rotation_log (LuSink *sink, guint64 time, const char *message, GError **error)
{
  LuPart *part = part_at ((LuRotation *) sink, time, error);

  return part != NULL && part->sink->ops->log (part->sink, time, message, error);
}

/* Metadata of the whole recording goes into the last file. */
static gboolean
rotation_metadata (LuSink *sink, const char *key, const char *text, GError **error)
{
  LuRotation *self = (LuRotation *) sink;

  return self->current == NULL
         || self->current->sink->ops->metadata (self->current->sink, key, text, error);
}

static gboolean
rotation_flush (LuSink *sink, GError **error)
{
  LuRotation *self = (LuRotation *) sink;
  LuPart *parts[] = { self->previous, self->current };

  retire_if_over (self, &self->previous, self->newest);
  parts[0] = self->previous;
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (parts[i] != NULL && !parts[i]->sink->ops->flush (parts[i]->sink, error))
      return FALSE;
  return lu_finisher_check (self->finisher, error);
}

static gboolean
rotation_end (LuSink *sink, guint64 end_time, GError **error)
{
  LuRotation *self = (LuRotation *) sink;

  if (self->previous != NULL)
    retire (self, &self->previous);
  if (self->current != NULL)
    {
      if (end_time > self->current->begin)
        self->current->end = end_time;
      retire (self, &self->current);
    }
  lu_finisher_end (self->finisher);
  return lu_finisher_check (self->finisher, error);
}

static guint64
rotation_bytes_written (LuSink *sink)
{
  LuRotation *self = (LuRotation *) sink;
  LuPart *parts[] = { self->previous, self->current };
  guint64 bytes = lu_finisher_bytes (self->finisher);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (parts[i] != NULL)
      bytes += parts[i]->sink->ops->bytes_written (parts[i]->sink);
  return bytes;
}

static void
rotation_free (LuSink *sink)
{
  LuRotation *self = (LuRotation *) sink;

  lu_finisher_end (self->finisher);
  lu_finisher_free (self->finisher);
  lu_part_free (self->previous);
  lu_part_free (self->current);
  g_free (self);
}

static const LuSinkOps rotation_ops = {
  .name = "rotation",
  .suffix = "",
  .begin = rotation_begin,
  .sample = rotation_sample,
  .fork = rotation_fork,
  .exit = rotation_exit,
  .log = rotation_log,
  .metadata = rotation_metadata,
  .flush = rotation_flush,
  .end = rotation_end,
  .bytes_written = rotation_bytes_written,
  .free = rotation_free,
};

LuRotation *
lu_rotation_new (guint64 period, guint keep, gboolean live, const LuRotationFuncs *funcs,
                 gpointer user_data)
{
  LuRotation *self = g_new0 (LuRotation, 1);

  self->parent.ops = &rotation_ops;
  self->funcs = *funcs;
  self->user_data = user_data;
  self->period = period;
  self->live = live;
  self->finisher = lu_finisher_new (keep, funcs->directories);
  return self;
}

LuSink *
lu_rotation_sink (LuRotation *self)
{
  return &self->parent;
}
