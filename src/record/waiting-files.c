/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* waiting-files.c - see waiting-files.h. */

#include "waiting-files.h"

#define MAX_WAITING 4096

struct _LuWaitingFiles
{
  GQueue files;        /* owned LuOpenMessage */
  GHashTable *samples; /* module -> how often a sample needed it */
  GHashTable *opened;  /* pid -> how many files were opened for it */
};

LuWaitingFiles *
lu_waiting_files_new (void)
{
  LuWaitingFiles *self = g_new0 (LuWaitingFiles, 1);

  self->samples = g_hash_table_new (NULL, NULL);
  self->opened = g_hash_table_new (NULL, NULL);
  return self;
}

static void
drop (gpointer data)
{
  LuOpenMessage *message = data;

  lu_module_unref (message->module);
  g_free (message);
}

void
lu_waiting_files_free (LuWaitingFiles *self)
{
  if (self == NULL)
    return;
  g_queue_clear_full (&self->files, drop);
  g_hash_table_unref (self->samples);
  g_hash_table_unref (self->opened);
  g_free (self);
}

gboolean
lu_waiting_files_is_empty (LuWaitingFiles *self)
{
  return g_queue_is_empty (&self->files);
}

void
lu_waiting_files_add (LuWaitingFiles *self, const LuOpenMessage *message)
{
  LuOpenMessage *waiting;

  if (g_queue_get_length (&self->files) == MAX_WAITING)
    return;
  waiting = g_memdup2 (message, sizeof *message);
  lu_module_ref (waiting->module);
  g_queue_push_tail (&self->files, waiting);
}

static guint
count_of (GHashTable *counts, gconstpointer key)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (counts, key));
}

static void
count_one (GHashTable *counts, gconstpointer key)
{
  g_hash_table_insert (counts, (gpointer) key, GUINT_TO_POINTER (count_of (counts, key) + 1));
}

void
lu_waiting_files_note_sample (LuWaitingFiles *self, const LuModule *module)
{
  count_one (self->samples, module);
}

static gint
compare (gconstpointer a, gconstpointer b, gpointer data)
{
  const LuWaitingFiles *self = data;
  const LuOpenMessage *first = a, *second = b;
  guint n_first = count_of (self->opened, GINT_TO_POINTER (first->pid));
  guint n_second = count_of (self->opened, GINT_TO_POINTER (second->pid));

  if (n_first != n_second)
    return n_first < n_second ? -1 : 1;
  n_first = count_of (self->samples, first->module);
  n_second = count_of (self->samples, second->module);
  return n_first > n_second ? -1 : n_first < n_second;
}

/* Gives each process that is not in `tired` one turn, and adds those that have no time to it.
 * Returns whether a file was opened. */
static gboolean
take_turns (LuWaitingFiles *self, GHashTable *tired, LuWaitingFilesFunc func, gpointer data)
{
  g_autoptr (GHashTable) served = g_hash_table_new (NULL, NULL);
  GList *next;

  g_queue_sort (&self->files, compare, self);
  for (GList *link = self->files.head; link != NULL; link = next)
    {
      gpointer pid = GINT_TO_POINTER (((LuOpenMessage *) link->data)->pid);

      next = link->next;
      if (g_hash_table_contains (tired, pid) || g_hash_table_contains (served, pid))
        continue;
      if (!func (data, link->data))
        {
          g_hash_table_add (tired, pid);
          continue;
        }
      g_hash_table_add (served, pid);
      drop (link->data);
      g_queue_delete_link (&self->files, link);
    }
  for (next = g_hash_table_get_keys (served); next != NULL; next = g_list_delete_link (next, next))
    count_one (self->opened, next->data);
  return g_hash_table_size (served) > 0;
}

void
lu_waiting_files_try (LuWaitingFiles *self, LuWaitingFilesFunc func, gpointer data)
{
  g_autoptr (GHashTable) tired = g_hash_table_new (NULL, NULL);

  while (take_turns (self, tired, func, data))
    continue;
  if (g_queue_is_empty (&self->files))
    {
      g_hash_table_remove_all (self->samples);
      g_hash_table_remove_all (self->opened);
    }
}
