/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* finisher.c - see finisher.h. */

#include "finisher.h"

#include "base/priority.h"

#include <pthread.h>

/* Periods that may wait while another one is being finished. */
#define MAX_WAITING 1

/* Files of a period that may be removed later. */
typedef struct
{
  char **paths;
  struct stat *stats; /* of the files that we created under these names */
} Files;

struct _LuFinisher
{
  GThread *thread;
  guint keep;
  const LuOutputDirectories *directories;
  GQueue files; /* of Files, oldest first; the thread's own */

  pthread_mutex_t mutex;  /* not a GMutex: thread sanitizers understand this one */
  pthread_cond_t changed; /* there is a period, or no more will come */
  GQueue waiting;         /* of LuPart */
  gboolean is_closed;     /* no more will come */
  GError *error;          /* the first one */
  guint64 bytes;
};

void
lu_part_free (LuPart *part)
{
  if (part == NULL)
    return;
  lu_sink_free (part->sink);
  lu_statistics_clear (&part->statistics);
  g_strfreev (part->paths);
  g_free (part);
}

static void
files_free (gpointer pointer)
{
  Files *self = pointer;

  g_strfreev (self->paths);
  g_free (self->stats);
  g_free (self);
}

/* Removes only the files that we made: other programs may use these names now. */
static void
remove_files (LuFinisher *self, Files *files)
{
  for (guint i = 0; files->paths[i] != NULL; i++)
    {
      const char *path = files->paths[i];
      struct stat now;

      if (lu_output_directories_look (self->directories, i, path, &now)
          && now.st_dev == files->stats[i].st_dev && now.st_ino == files->stats[i].st_ino
          && !lu_output_directories_remove (self->directories, i, path))
        g_debug ("%s cannot be removed", path);
    }
  files_free (files);
}

/* Notes the files of a period, and removes those of the oldest one if there are too many. */
static void
keep_files (LuFinisher *self, LuPart *part)
{
  Files *files = g_new0 (Files, 1);

  files->stats = g_new0 (struct stat, g_strv_length (part->paths) + 1);
  for (guint i = 0; part->paths[i] != NULL; i++)
    if (!lu_output_directories_look (self->directories, i, part->paths[i], &files->stats[i]))
      files->stats[i] = (struct stat){ 0 };
  files->paths = g_steal_pointer (&part->paths);
  g_queue_push_tail (&self->files, files);
  while (g_queue_get_length (&self->files) > self->keep)
    remove_files (self, g_queue_pop_head (&self->files));
}

static void
finish (LuFinisher *self, LuPart *part)
{
  GError *error = NULL;
  gboolean ok = part->sink->ops->end (part->sink, part->end, &error);
  guint64 bytes = part->sink->ops->bytes_written (part->sink);

  if (self->keep > 0)
    keep_files (self, part);
  lu_part_free (part);
  pthread_mutex_lock (&self->mutex);
  self->bytes += bytes;
  if (!ok && self->error == NULL)
    self->error = g_steal_pointer (&error);
  pthread_mutex_unlock (&self->mutex);
  g_clear_error (&error);
}

/* Returns the next period; NULL: no more will come. */
static LuPart *
wait_for_part (LuFinisher *self)
{
  LuPart *part;

  pthread_mutex_lock (&self->mutex);
  while (g_queue_is_empty (&self->waiting) && !self->is_closed)
    pthread_cond_wait (&self->changed, &self->mutex);
  part = g_queue_pop_head (&self->waiting);
  pthread_mutex_unlock (&self->mutex);
  return part;
}

static gpointer
finisher_main (gpointer data)
{
  LuFinisher *self = data;
  LuPart *part;

  lu_thread_be_humble ();
  while ((part = wait_for_part (self)) != NULL)
    finish (self, part);
  return NULL;
}

LuFinisher *
lu_finisher_new (guint keep, const LuOutputDirectories *directories)
{
  LuFinisher *self = g_new0 (LuFinisher, 1);

  self->keep = keep;
  self->directories = directories;
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->changed, NULL);
  return self;
}

gboolean
lu_finisher_has_room (LuFinisher *self)
{
  gboolean has_room;

  pthread_mutex_lock (&self->mutex);
  has_room = g_queue_get_length (&self->waiting) < MAX_WAITING;
  pthread_mutex_unlock (&self->mutex);
  return has_room;
}

void
lu_finisher_add (LuFinisher *self, LuPart *part)
{
  if (self->thread == NULL)
    self->thread = g_thread_new ("finisher", finisher_main, self);
  pthread_mutex_lock (&self->mutex);
  g_queue_push_tail (&self->waiting, part);
  pthread_cond_signal (&self->changed);
  pthread_mutex_unlock (&self->mutex);
}

gboolean
lu_finisher_check (LuFinisher *self, GError **error)
{
  gboolean ok;

  pthread_mutex_lock (&self->mutex);
  ok = self->error == NULL;
  if (!ok && error != NULL)
    *error = g_error_copy (self->error);
  pthread_mutex_unlock (&self->mutex);
  return ok;
}

guint64
lu_finisher_bytes (LuFinisher *self)
{
  guint64 bytes;

  pthread_mutex_lock (&self->mutex);
  bytes = self->bytes;
  pthread_mutex_unlock (&self->mutex);
  return bytes;
}

void
lu_finisher_end (LuFinisher *self)
{
  if (self->thread == NULL)
    return;
  pthread_mutex_lock (&self->mutex);
  self->is_closed = TRUE;
  pthread_cond_signal (&self->changed);
  pthread_mutex_unlock (&self->mutex);
  g_thread_join (g_steal_pointer (&self->thread));
}

void
lu_finisher_free (LuFinisher *self)
{
  g_queue_clear_full (&self->files, files_free);
  g_clear_error (&self->error);
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->changed);
  g_free (self);
}
