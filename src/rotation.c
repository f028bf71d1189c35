/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rotation.c - new outputs every so often; see rotation.h.
 *
 * Times of periods are multiples of the length from the beginning of the recording on; a period in
 * which nothing happened has no files. The next files are opened by the first thing that is theirs.
 */

#include "rotation.h"

#include "base/clock.h"
#include "base/priority.h"
#include "output/syscap.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A round over the rings takes a second at most, and stacks that were cut off wait as long for
 * others of their thread (join.h). */
#define GRACE_NS (G_GUINT64_CONSTANT (2) * 1000 * 1000 * 1000)
/* Waiting for the file that is finished just now. */
#define MAX_WAITING 1
#define WAIT_NS     (100 * 1000 * 1000)
#define SECOND_NS   (1000 * 1000 * 1000)

#define NUMBER_KEY "live-unwinder.file-number"
#define LATE_KEY   "live-unwinder.late-samples"

/* Files that were written, to be removed some time. */
typedef struct
{
  char **paths;
  struct stat *stats; /* what was created under these names */
} Finished;

struct _LuRotation
{
  LuSink parent;
  LuRotationFuncs funcs;
  gpointer user_data;
  guint64 period;
  guint keep;
  gboolean live;
  LuRecording recording;
  LuPart *current, *previous;
  guint64 start;  /* of all periods; 0 not known yet */
  guint64 newest; /* time of anything that came */
  guint64 next;   /* no further period begins before */
  guint n_parts;

  /* the thread that finishes files */
  GThread *thread;
  pthread_mutex_t mutex; /* not a GMutex: thread sanitizers see through this one */
  pthread_cond_t changed;
  GQueue waiting;     /* of LuPart */
  gboolean is_busy;   /* one is being finished */
  gboolean is_closed; /* no more will come */
  GError *error;      /* the first one */
  guint64 finished_bytes;
  GQueue finished; /* of Finished, oldest first; the thread's own */
};

static void
part_free (LuPart *part)
{
  if (part == NULL)
    return;
  lu_sink_free (part->sink);
  lu_tally_clear (&part->tally);
  g_strfreev (part->paths);
  g_free (part);
}

/* The thread that finishes files */

static void
finished_free (gpointer pointer)
{
  Finished *self = pointer;

  g_strfreev (self->paths);
  g_free (self->stats);
  g_free (self);
}

/* Only what we made: a name may have become somebody else's. */
static void
remove_files (Finished *finished)
{
  for (guint i = 0; finished->paths[i] != NULL; i++)
    {
      struct stat now;

      if (lstat (finished->paths[i], &now) == 0 && now.st_dev == finished->stats[i].st_dev
          && now.st_ino == finished->stats[i].st_ino && unlink (finished->paths[i]) != 0)
        g_debug ("%s cannot be removed", finished->paths[i]);
    }
  finished_free (finished);
}

static void
keep_files (LuRotation *self, LuPart *part)
{
  Finished *finished = g_new0 (Finished, 1);

  finished->stats = g_new0 (struct stat, g_strv_length (part->paths) + 1);
  for (guint i = 0; part->paths[i] != NULL; i++)
    if (lstat (part->paths[i], &finished->stats[i]) != 0)
      finished->stats[i] = (struct stat){ 0 };
  finished->paths = g_steal_pointer (&part->paths);
  g_queue_push_tail (&self->finished, finished);
  while (g_queue_get_length (&self->finished) > self->keep)
    remove_files (g_queue_pop_head (&self->finished));
}

static void
finish (LuRotation *self, LuPart *part)
{
  GError *error = NULL;
  gboolean ok = part->sink->ops->end (part->sink, part->end, &error);
  guint64 bytes = part->sink->ops->bytes_written (part->sink);

  if (self->keep > 0)
    keep_files (self, part);
  part_free (part);
  pthread_mutex_lock (&self->mutex);
  self->finished_bytes += bytes;
  if (!ok && self->error == NULL)
    self->error = g_steal_pointer (&error);
  pthread_mutex_unlock (&self->mutex);
  g_clear_error (&error);
}

static LuPart *
wait_for_part (LuRotation *self)
{
  LuPart *part;

  pthread_mutex_lock (&self->mutex);
  self->is_busy = FALSE;
  pthread_cond_broadcast (&self->changed);
  while (g_queue_is_empty (&self->waiting) && !self->is_closed)
    pthread_cond_wait (&self->changed, &self->mutex);
  part = g_queue_pop_head (&self->waiting);
  self->is_busy = part != NULL;
  pthread_mutex_unlock (&self->mutex);
  return part;
}

static gpointer
finisher_main (gpointer data)
{
  LuRotation *self = data;
  LuPart *part;

  lu_thread_be_humble ();
  while ((part = wait_for_part (self)) != NULL)
    finish (self, part);
  return NULL;
}

static gboolean
has_room (LuRotation *self)
{
  gboolean has_room;

  pthread_mutex_lock (&self->mutex);
  has_room = g_queue_get_length (&self->waiting) < MAX_WAITING;
  pthread_mutex_unlock (&self->mutex);
  return has_room;
}

/* Whatever failed there is told to whoever writes next. */
static gboolean
check (LuRotation *self, GError **error)
{
  gboolean ok;

  pthread_mutex_lock (&self->mutex);
  ok = self->error == NULL;
  if (!ok && error != NULL)
    *error = g_error_copy (self->error);
  pthread_mutex_unlock (&self->mutex);
  return ok;
}

/* Periods */

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

/* Gives it to the thread that finishes files. */
static void
retire (LuRotation *self, LuPart **part)
{
  g_autoptr (GError) error = NULL;

  if (!describe (self, *part, &error))
    g_debug ("%s", error->message); /* its end fails likewise, and that is told */
  self->next = (*part)->end;
  pthread_mutex_lock (&self->mutex);
  g_queue_push_tail (&self->waiting, g_steal_pointer (part));
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->mutex);
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
  lu_tally_init (&part->tally);
  recording.wall_clock += ((gint64) part->begin - (gint64) self->start) / 1000;
  recording.start_time = part->begin;
  part->sink =
      self->funcs.open (part->number, recording.wall_clock, &part->paths, self->user_data, error);
  if (part->sink == NULL || !part->sink->ops->begin (part->sink, &recording, error))
    {
      part_free (part);
      return NULL;
    }
  self->n_parts++;
  self->current = part;
  return part;
}

/* The current period is over: it is the previous one now. FALSE: there is no room for that, so it
 * goes on. */
static gboolean
leave_current (LuRotation *self, guint64 time)
{
  if (self->previous != NULL && has_room (self))
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

/* Only now it is known when the recording of a file began. */
static void
start_at (LuRotation *self, guint64 time)
{
  self->start = time;
  if (self->current == NULL)
    return;
  self->current->begin = time;
  self->current->end = time + self->period;
}

/* The period of that time; NULL: its files cannot be opened. */
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
      && has_room (self))
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

LuTally *
lu_rotation_tally_at (LuRotation *self, guint64 time)
{
  if (self->previous != NULL && time < self->previous->end)
    return &self->previous->tally;
  return self->current != NULL ? &self->current->tally : NULL;
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
  self->thread = g_thread_new ("finisher", finisher_main, self);
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

/* Of the whole recording, so in the last file. */
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
  return check (self, error);
}

static void
wait_a_moment (LuRotation *self)
{
  struct timespec until;

  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_nsec += WAIT_NS;
  until.tv_sec += until.tv_nsec / SECOND_NS;
  until.tv_nsec %= SECOND_NS;
  pthread_cond_timedwait (&self->changed, &self->mutex, &until);
}

static void
wait_for_finisher (LuRotation *self)
{
  pthread_mutex_lock (&self->mutex);
  self->is_closed = TRUE;
  pthread_cond_broadcast (&self->changed);
  while (self->is_busy || !g_queue_is_empty (&self->waiting))
    {
      wait_a_moment (self);
      pthread_mutex_unlock (&self->mutex);
      self->funcs.wait (self->user_data);
      pthread_mutex_lock (&self->mutex);
    }
  pthread_mutex_unlock (&self->mutex);
  g_thread_join (g_steal_pointer (&self->thread));
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
  wait_for_finisher (self);
  return check (self, error);
}

static guint64
rotation_bytes_written (LuSink *sink)
{
  LuRotation *self = (LuRotation *) sink;
  LuPart *parts[] = { self->previous, self->current };
  guint64 bytes;

  pthread_mutex_lock (&self->mutex);
  bytes = self->finished_bytes;
  pthread_mutex_unlock (&self->mutex);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (parts[i] != NULL)
      bytes += parts[i]->sink->ops->bytes_written (parts[i]->sink);
  return bytes;
}

static void
rotation_free (LuSink *sink)
{
  LuRotation *self = (LuRotation *) sink;

  if (self->thread != NULL)
    wait_for_finisher (self);
  part_free (self->previous);
  part_free (self->current);
  g_queue_clear_full (&self->finished, finished_free);
  g_clear_error (&self->error);
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->changed);
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
  self->keep = keep;
  self->live = live;
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->changed, NULL);
  return self;
}

LuSink *
lu_rotation_sink (LuRotation *self)
{
  return &self->parent;
}
